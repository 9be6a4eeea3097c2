"""Short labels of runs, and captions of figures."""

from pathlib import Path

import pytest

from mmerg.plots.run_data import describe_runs
from mmerg.runs.config_diff import labels
from mmerg.runs.manifest import RunRef
from tests.scoring.run_builder import manifest_of


def about(run: str, backbone: str = "big", system: str = "merg", corpus: str = "meld", protocol: str = "n=5") -> RunRef:
    config = {"backbone": {"name": backbone}}
    manifest = manifest_of([], corpus=corpus, protocol=protocol, system=system, model=backbone, config=config)
    return RunRef(Path("runs") / run, manifest)


def called(run: str, name: str = "", *tags: str) -> RunRef:
    manifest = about(run).manifest
    return RunRef(Path("runs") / run, manifest.model_copy(update={"name": name, "tags": tags}))


def set_to(run: str, **config: object) -> RunRef:
    return RunRef(Path("runs") / run, manifest_of([], model="big", config={"backbone": {"name": "big"}} | config))


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
    assert labels(runs) == expected


def test_captions() -> None:
    assert describe_runs([about("x-1")]) == "meld test · n=5 · merg · big"
    assert (
        describe_runs([about("x-1"), about("x-2", "small", protocol="n=6")])
        == "meld test · n=5; n=6 · merg · big; small"
    )
