"""Which settings affect results, and so start another run."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from mmerg.runs.identity import RUNTIME_KEYS, digest_settings
from tests.configs import BASE, dump_settings


@pytest.fixture(scope="module")
def base() -> dict[str, Any]:
    return dump_settings(*BASE, "memory=minilm", "dataset.memory.root=/m", "protocol.sample=3")


def leaves(node: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in node.items():
        here = f"{path}.{key}" if path else key
        if isinstance(value, dict) and value:
            yield from leaves(value, here)
        else:
            yield here


def other(value: Any) -> Any:
    """Another value of the same type."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}x"
        case list():
            return [*value, "x"]
        case _:
            return {"x": 1} if isinstance(value, dict) else "x"


def test_only_runtime_settings_do_not_change_the_identity(base: dict[str, Any]) -> None:
    before = digest_settings(base)
    unmoved = set()
    for path in leaves(base):
        if path.startswith("memory.") or path == "sem":  # others name it: what they hold of it decides
            continue
        changed = copy.deepcopy(base)
        *parents, last = path.split(".")
        node = changed
        for name in parents:
            node = node[name]
        node[last] = other(node[last])
        if digest_settings(changed) == before:
            unmoved.add(path)
    keys = [key.replace("memory.", "sources.M.") for key in RUNTIME_KEYS]
    ours = {path for path in leaves(base) if any(path == key or path.startswith(f"{key}.") for key in keys)}
    places = {path for path in leaves(base) if path.endswith(".root")}
    idle = {"system.prompts", "system.label_sets"}
    assert unmoved == ours | places | idle | {"protocol.name"}
    assert digest_settings(copy.deepcopy(base)) == before


MELD = ("dataset=meld", "dataset.root=/meld")
TO_AUDITOR = ("system.stages.sgrg.sees=[D,E,e,P]", "system.auditor.sees=[D,M,R]")
REFINED = ("system=self_refine", "system.auditor.stop=good_enough")
TRACE = ("dataset=empathetic", "dataset.root=/ed", "system=trace")
BY = "system.stages.mpa.function={_target_:"
OWN_LOOP = ("system.auditor=null", "system.loop=my_loops.vote")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("memory=none",), ("memory.top_k=0",)),
        (("memory.top_k=0",), ("memory.top_k=0", "memory.exclude_same_reply=false")),
        (("system.stages.sgrg.sees=[D,E,e,P]",), ("system.stages.sgrg.sees=[D,E,e,P]", "memory=none")),
        (("system.without=[mpa,psp]",), ("system.without=[psp,mpa,psp]",)),
        (("system.without=[gra]",), ("system.without=[gra]", "system.max_iterations=5")),
        (("protocol=last_labelled",), ("protocol.targets=labelled", "protocol.max_per_dialogue=1")),
        (("frames=none",), ("frames=none", "frames.per_clip=1")),
        ((), ("dataset.root=/other",)),  # its corpus has a digest of its own, which names the folder
        (("system.without=[psp]",), ("system.without=[psp]", "system.stages.psp.sampling.num_predict=9")),
        (("backbone.gguf=/a/m.gguf", "backend=embedded"), ("backbone.gguf=/b/m.gguf", "backend=embedded")),
        (("memory.embedder.folder=/a/m",), ("memory.embedder.folder=/b/m",)),
        (TRACE, (*TRACE, "frames.last_turns=5")),
        ((*TRACE, "system.without=[srp]"), (*TRACE, "system.without=[srp]", "sources.K.top_k=3")),
    ],
)
def test_equivalent_settings_are_one_run(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert digest_settings(dump_settings(*MELD, *one)) == digest_settings(dump_settings(*MELD, *other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("memory.top_k=1",), ("memory.top_k=2",)),
        (("protocol.sample=3", "protocol.seed=4"), ("protocol.sample=3", "protocol.seed=5")),
        (("system.max_iterations=1",), ("system.max_iterations=2",)),
        (TO_AUDITOR, (*TO_AUDITOR, "memory.top_k=2")),
        (OWN_LOOP, (*OWN_LOOP, "system.max_iterations=5")),
        (("backbone.sampling.stop=/a/END",), ("backbone.sampling.stop=/b/END",)),
        (("system.stages.sgrg.check=/a/b",), ("system.stages.sgrg.check=/c/b",)),
        ((f"{BY}x.Own,root:1}}",), (f"{BY}x.Own,root:2}}",)),
        (("system.loop={_target_:x.loop,table:/a/m.json}",), ("system.loop={_target_:x.loop,table:/b/m.json}",)),
        (("+memory.embedder.table=/a/m.json",), ("+memory.embedder.table=/b/m.json",)),
        (TRACE, (*TRACE, "dataset.memory.split=valid")),
        ((*REFINED,), (*REFINED, "system.final_selection=last")),
        (("system=best_of_n",), ("system=best_of_n", "system.n=5")),
        (OWN_LOOP, (*OWN_LOOP, "system.n=5")),
    ],
)
def test_different_settings_are_two_runs(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert digest_settings(dump_settings(*MELD, *one)) != digest_settings(dump_settings(*MELD, *other))


def test_settings_of_imported_replies_have_an_identity(base: dict[str, Any]) -> None:
    """They lack the system, frames and backend. Tables and plots group runs by it."""
    assert len(digest_settings({key: base[key] for key in ("dataset", "protocol")} | {"system": {"name": "CEM"}})) == 64
