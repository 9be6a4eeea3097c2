"""The inputs of systems, and descriptions of unequal inputs."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from mmerg.backends.protocol import Engine
from mmerg.runs.inputs import describe_unequal_inputs, list_inputs
from mmerg.runs.manifest import IMPORTED, Corpus, Manifest, ProtocolSection, RunRef
from mmerg.runs.result import Result
from tests.configs import parse_settings

ENGINE = Engine(backend="ollama", version="1", model="m", digest="d", capabilities=("vision",))
BLIND = ENGINE.model_copy(update={"capabilities": ()})


def run(system: str, *settings: str, name: str = "", engine: Engine = ENGINE) -> RunRef:
    manifest = Manifest(
        identity={},
        engine=engine,
        corpus=Corpus(name="demo", split="test", labels=()),
        protocol=ProtocolSection(description="last", samples=1, dialogues=1),
        settings=parse_settings("dataset=demo", f"system={system}", *settings).plain(),
    )
    return RunRef(Path(name or system), manifest)


def describe(runs: Sequence[RunRef]) -> str:
    return describe_unequal_inputs(runs, [list_inputs(run.manifest, ()) for run in runs])


@pytest.mark.parametrize(
    ("run", "inputs"),
    [
        (run("one_pass"), "the dialogue, frames"),
        (run("one_pass", "frames=none"), "the dialogue"),
        (run("one_pass", "frames=blank"), "the dialogue, grey frames"),
        (run("one_pass", engine=BLIND), "the dialogue, measured descriptions of frames"),
        (run("merg", "memory.top_k=3"), "the dialogue, frames, 3 exemplars"),
        (run("one_shot"), "the dialogue, frames, 1 exemplar"),
        (run("merg", "memory=none"), "the dialogue, frames"),
        (run("trace"), "the dialogue, up to 2 exemplars found by situation (if any)"),
        (run("trace_code"), "the dialogue, the situation (if any), up to 2 exemplars found by situation (if any)"),
        (run("hef", "sem=x"), "the dialogue, the hints of a small empathetic model"),
        (run("hef", "ablation=hef/without_sem"), "the dialogue"),
        (run("one_pass", "auditor=x.json"), "the dialogue, frames, a calibration on labels of another split"),
    ],
)
def test_inputs_follow_from_settings(run: RunRef, inputs: str) -> None:
    assert ", ".join(list_inputs(run.manifest, ())) == inputs


@pytest.mark.parametrize(
    ("frames", "exemplars", "inputs"),
    [
        (0, 0, "the dialogue"),
        (1, 18, "the dialogue, frames in 5% of samples, 1 exemplar in 90% of samples"),
        (19, 20, "the dialogue, frames, 1 exemplar"),
    ],
)
def test_frames_and_exemplars_are_inputs_only_of_samples_that_have_them(
    frames: int, exemplars: int, inputs: str
) -> None:
    results = [Result(id=str(n), status="ok", frames=n < frames, exemplars=n < exemplars) for n in range(20)]
    assert ", ".join(list_inputs(run("merg").manifest, results)) == inputs


def test_unequal_inputs_are_listed() -> None:
    plain, shot, merg = run("one_pass", "frames=none"), run("one_shot"), run("merg")
    assert describe([plain, plain]) == describe([shot, merg]) == describe([]) == ""
    assert describe([shot, plain, merg]) == (
        "inputs differ: one_shot, merg: the dialogue, frames, 1 exemplar; one_pass: the dialogue"
    )
    other = run("merg", "memory=none", name="merg-2")
    assert describe([merg, other]) == (
        "inputs differ: merg: the dialogue, frames, 1 exemplar; merg-2: the dialogue, frames"
    )


def test_inputs_of_imported_replies_are_unknown() -> None:
    other = run("one_pass", name="CEM", engine=ENGINE.model_copy(update={"backend": IMPORTED}))
    assert list_inputs(other.manifest, ()) == ()
    assert "one_pass: unknown" in describe([run("merg"), other])
