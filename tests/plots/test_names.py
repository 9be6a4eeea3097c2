"""Short labels of runs, and captions of figures."""

from pathlib import Path

import pytest

from mmerg.plots.run_data import RunData, describe_runs
from mmerg.runs.config_diff import label_runs
from mmerg.runs.manifest import RunRef, read_run_refs
from tests.scoring.run_builder import build_run, make_manifest, result


def make_ref(run: str, backbone: str = "big", system: str = "merg", corpus: str = "meld") -> RunRef:
    config = {"backbone": {"name": backbone}}
    manifest = make_manifest([], corpus=corpus, protocol="n=5", system=system, model=backbone, config=config)
    return RunRef(Path("runs") / run, manifest)


def make_named(run: str, name: str = "", *tags: str) -> RunRef:
    manifest = make_ref(run).manifest
    return RunRef(Path("runs") / run, manifest.model_copy(update={"name": name, "tags": tags}))


def make_configured(run: str, **config: object) -> RunRef:
    return RunRef(Path("runs") / run, make_manifest([], model="big", config={"backbone": {"name": "big"}} | config))


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([], []),
        ([make_ref("x-1")], ["big"]),
        ([make_ref("x-1"), make_ref("x-2", "small")], ["big", "small"]),
        ([make_ref("x-1"), make_ref("x-2", system="hef")], ["big merg", "big hef"]),
        ([make_ref("x-1"), make_ref("x-2", corpus="demo")], ["big meld", "big demo"]),
        (
            [make_ref("x-1"), make_ref("x-2", system="hef"), make_ref("x-3", corpus="demo")],
            ["big merg meld", "big hef meld", "big merg demo"],
        ),
        ([make_ref("x-1"), make_ref("x-2")], ["big (1)", "big (2)"]),
        ([make_configured("x-1", seed=0), make_configured("x-2", seed=1)], ["big seed 0", "big seed 1"]),
        (
            [
                make_configured("x-1", seed=0),
                make_configured("x-2", seed=1),
                make_configured("x-3", seed=1, protocol={"targets": "all"}),
            ],
            ["big seed 0 targets last", "big seed 1 targets last", "big seed 1 targets all"],
        ),
        (
            [make_named("x-1", "mine"), make_named("x-2", "mine", "hot"), make_named("x-3", "", "hot")],
            ["mine", "mine hot", "hot"],
        ),
        ([make_named("x-1", "mine"), make_named("x-2", "mine")], ["mine (1)", "mine (2)"]),
        ([make_named("x-1", "mine"), make_ref("x-2", "small")], ["mine", "small"]),
    ],
)
def test_labels_name_what_differs_between_runs(runs: list[RunRef], expected: list[str]) -> None:
    assert label_runs(runs) == expected


def test_captions_name_the_runs_and_their_number_of_finished_samples(tmp_path: Path) -> None:
    whole, part = (
        RunData(read_run_refs([build_run(tmp_path / name, [result("a/1")], samples=samples, model=name)])[0])
        for name, samples in (("big", 1), ("small", 5))
    )
    assert describe_runs([whole]) == "demo test · targets=last emotions=all, n=1 · merg · big"
    protocols = "targets=last emotions=all, n=1; targets=last emotions=all, n=5, 1 of 5 finished"
    assert describe_runs([whole, part]) == f"demo test · {protocols} · merg · big; small"
