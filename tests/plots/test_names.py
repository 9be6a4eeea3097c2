"""Short labels of runs, and captions of figures."""

from pathlib import Path

import pytest

from mmerg.plots.run_data import RunData, describe_runs
from mmerg.runs.config_diff import label_runs
from mmerg.runs.manifest import RunRef, check_runs
from tests.scoring.run_builder import build_run, make_manifest, result


def about(run: str, backbone: str = "big", system: str = "merg", corpus: str = "meld", protocol: str = "n=5") -> RunRef:
    config = {"backbone": {"name": backbone}}
    manifest = make_manifest([], corpus=corpus, protocol=protocol, system=system, model=backbone, config=config)
    return RunRef(Path("runs") / run, manifest)


def called(run: str, name: str = "", *tags: str) -> RunRef:
    manifest = about(run).manifest
    return RunRef(Path("runs") / run, manifest.model_copy(update={"name": name, "tags": tags}))


def set_to(run: str, **config: object) -> RunRef:
    return RunRef(Path("runs") / run, make_manifest([], model="big", config={"backbone": {"name": "big"}} | config))


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([], []),
        ([about("x-1")], ["big"]),
        ([about("x-1"), about("x-2", "small")], ["big", "small"]),
        ([about("x-1"), about("x-2", system="hef")], ["big merg", "big hef"]),
        ([about("x-1"), about("x-2", corpus="demo")], ["big meld", "big demo"]),
        (
            [about("x-1"), about("x-2", system="hef"), about("x-3", corpus="demo")],
            ["big merg meld", "big hef meld", "big merg demo"],
        ),
        ([about("x-1"), about("x-2")], ["big (1)", "big (2)"]),
        ([set_to("x-1", seed=0), set_to("x-2", seed=1)], ["big seed 0", "big seed 1"]),
        (
            [set_to("x-1", seed=0), set_to("x-2", seed=1), set_to("x-3", seed=1, protocol={"targets": "all"})],
            ["big seed 0 targets last", "big seed 1 targets last", "big seed 1 targets all"],
        ),
        ([called("x-1", "mine"), called("x-2", "mine", "hot"), called("x-3", "", "hot")], ["mine", "mine hot", "hot"]),
        ([called("x-1", "mine"), called("x-2", "mine")], ["mine (1)", "mine (2)"]),
        ([called("x-1", "mine"), about("x-2", "small")], ["mine", "small"]),
    ],
)
def test_labels(runs: list[RunRef], expected: list[str]) -> None:
    assert label_runs(runs) == expected


def test_captions_name_the_runs_and_their_number_of_finished_samples(tmp_path: Path) -> None:
    whole, part = (
        RunData(check_runs([build_run(tmp_path / name, [result("a/1")], samples=samples, model=name)])[0])
        for name, samples in (("big", 1), ("small", 5))
    )
    assert describe_runs([whole]) == "demo test · targets=last emotions=all, n=1 · merg · big"
    protocols = "targets=last emotions=all, n=1; targets=last emotions=all, n=1 of 5"
    assert describe_runs([whole, part]) == f"demo test · {protocols} · merg · big; small"
