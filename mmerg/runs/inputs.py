"""The inputs of a system's agents besides each other's outputs, by the settings of its run. Systems with different
inputs differ in more than their method."""

from collections.abc import Iterable, Iterator, Sequence

from mmerg.runs.identity import canonical
from mmerg.runs.manifest import Manifest, RunRef
from mmerg.settings.kinds import Plain
from mmerg.settings.tree import get_path

FRAMES = {"own": "frames", "blank": "grey frames", "shuffled": "frames of another dialogue"}
SOURCES = {
    "mmerg.sources.situation.Situation": "the situation",
    "mmerg.sources.sem.Sem": "the hints of a small empathetic model",
}


def list_inputs(manifest: Manifest) -> tuple[str, ...]:
    """Descriptions of the inputs; () for imported replies."""
    return () if manifest.imported else tuple(_inputs(manifest))


def _inputs(manifest: Manifest) -> Iterator[str]:
    settings = canonical(manifest.settings)
    agents = [*(get_path(settings, "system.stages") or {}).values(), get_path(settings, "system.auditor")]
    if any("D" in (get_path(agent, "sees") or ()) for agent in agents):
        yield "the dialogue"
    if get_path(settings, "frames.seen_by") not in (None, "none"):
        frames = FRAMES[get_path(settings, "frames.show") or "own"]
        yield frames if manifest.engine.vision else f"measured descriptions of {frames}"
    memories: list[Plain] = []
    for symbol, source in settings["sources"].items():
        if "top_k" not in source:
            target = source["_target_"]
            yield SOURCES.get(target, f"{symbol} of {target}")
        elif source not in memories:  # equal settings find the same exemplars
            memories.append(source)
    if count := sum(source["top_k"] for source in memories):
        by = " found by situation" if any("situation" in str(get_path(one, "key.text")) for one in memories) else ""
        yield f"{count} exemplar{'s' * (count > 1)}{by}"


def unequal_inputs(runs: Sequence[RunRef]) -> str:
    """Describes which runs see inputs that others do not; "" if all are equal. Names a run by its system, unless
    another run of that system has other inputs."""
    of_system: dict[str, set[tuple[str, ...]]] = {}
    for run in runs:
        of_system.setdefault(run.manifest.system, set()).add(list_inputs(run.manifest))
    names: dict[tuple[str, ...], dict[str, None]] = {}
    for run in runs:
        system = run.manifest.system
        names.setdefault(list_inputs(run.manifest), {})[system if len(of_system[system]) == 1 else run.run] = None
    unknown = names.pop((), {})
    shared = set(next(iter(names), ())).intersection(*names)
    more, less = [], []
    for inputs, who in names.items() if len(names) > 1 else ():
        if own := [one for one in inputs if one not in shared]:
            more.append(f"{_and(who)} {'see' if len(who) > 1 else 'sees'} {_and(own)}")
        else:
            less.append(f"{_and(who)} {'do' if len(who) > 1 else 'does'} not")
    if unknown:
        less.append(f"what {_and(unknown)} saw is not known")
    return f"inputs differ: {', '.join([*more, *less])}" if more or less else ""


def _and(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
