"""The inputs of a system's agents, other than each other's outputs, by the settings of its run. Systems with different
inputs differ in more than their method."""

from collections import Counter
from collections.abc import Iterator, Sequence

from mmerg.runs.identity import canonicalize
from mmerg.runs.manifest import Manifest, RunRef
from mmerg.settings.kinds import Plain
from mmerg.settings.tree import get_path

FRAMES = {"own": "frames", "blank": "grey frames", "shuffled": "frames of another dialogue"}
SOURCES = {
    "mmerg.sources.situation.Situation": "the situation",
    "mmerg.sources.sem.Sem": "the hints of a small empathetic model",
}


def list_inputs(manifest: Manifest) -> tuple[str, ...]:
    """Lists the inputs; () for imported replies, whose inputs are unknown."""
    return () if manifest.imported else tuple(_describe_inputs(manifest))


def _describe_inputs(manifest: Manifest) -> Iterator[str]:
    settings = canonicalize(manifest.settings)
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
        keys = [str(get_path(memory, "key.text")) for memory in memories]
        by_situation = " found by situation" if any("situation" in key for key in keys) else ""
        yield f"{count} exemplar{'s' * (count > 1)}{by_situation}"


def describe_unequal_inputs(runs: Sequence[RunRef]) -> str:
    """Lists the inputs of each system, or of each run if runs of a system differ; "" if all inputs are equal."""
    inputs_of_runs = [(run, ", ".join(list_inputs(run.manifest)) or "unknown") for run in runs]
    variants = Counter(system for system, _ in {(run.manifest.system, inputs) for run, inputs in inputs_of_runs})
    names: dict[str, dict[str, None]] = {}
    for run, inputs in inputs_of_runs:
        system = run.manifest.system
        names.setdefault(inputs, {})[system if variants[system] == 1 else run.run] = None
    groups = "; ".join(f"{', '.join(group)}: {inputs}" for inputs, group in names.items())
    return f"inputs differ: {groups}" if len(names) > 1 else ""
