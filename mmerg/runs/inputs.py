"""The inputs of a system's agents, other than each other's outputs. Systems with different inputs differ in more than
their method."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from mmerg.runs.identity import canonicalize
from mmerg.runs.manifest import Manifest, RunRef
from mmerg.runs.result import Result
from mmerg.settings.kinds import Plain
from mmerg.settings.tree import get_path

FRAMES = {"own": "frames", "blank": "grey frames", "shuffled": "frames of another dialogue"}
NEARLY_ALL = 0.95  # share of samples that have an input; below it, the share is named
SOURCES = {
    "mmerg.sources.situation.Situation": "the situation (if any)",
    "mmerg.sources.sem.Sem": "the hints of a small empathetic model",
}


def list_inputs(manifest: Manifest, results: Collection[Result]) -> tuple[str, ...]:
    """Lists the inputs by the settings, and the frames and exemplars that samples had; () for imported replies, whose
    inputs are unknown."""
    return () if manifest.imported else tuple(_describe_inputs(manifest, results))


def _describe_inputs(manifest: Manifest, results: Collection[Result]) -> Iterator[str]:
    settings = canonicalize(manifest.settings)
    agents = [*(get_path(settings, "system.stages") or {}).values(), get_path(settings, "system.auditor")]
    if any("D" in (get_path(agent, "sees") or ()) for agent in agents):
        yield "the dialogue"
    if get_path(settings, "frames.seen_by") not in (None, "none"):
        frames = FRAMES[get_path(settings, "frames.show") or "own"]
        frames = frames if manifest.engine.vision else f"measured descriptions of {frames}"
        yield from _add_share(frames, [result.frames for result in results if result.ok])
    memories: list[Plain] = []
    for symbol, source in settings["sources"].items():
        if "top_k" not in source:
            target = source["_target_"]
            yield SOURCES.get(target, f"{symbol} of {target}")
        elif source not in memories:  # equal settings find the same exemplars
            memories.append(source)
    if count := sum(source["top_k"] for source in memories):
        keys = [str(get_path(memory, "key.text")) for memory in memories]
        by_situation = " found by situation (if any)" if any("situation" in key for key in keys) else ""
        at_most = "up to " if any(get_path(memory, "min_similarity") is not None for memory in memories) else ""
        exemplars = f"{at_most}{count} exemplar{'s' * (count > 1)}{by_situation}"
        yield from _add_share(exemplars, [result.exemplars for result in results if result.ok])
    if settings.get("auditor"):
        yield "a calibration on labels of another split"


def _add_share(text: str, counts: Sequence[int]) -> Iterator[str]:
    """Yields the text of an input, with the share of samples that have it unless nearly all do; nothing if none has
    it. counts: of each sample."""
    if share := sum(map(bool, counts)) / len(counts) if counts else 1.0:
        yield text if share >= NEARLY_ALL else f"{text} in {max(share, 0.01):.0%} of samples"


def describe_unequal_inputs(runs: Sequence[RunRef], inputs_of_runs: Sequence[Sequence[str]]) -> str:
    """Lists the inputs of each system, or of each run if runs of a system differ; "" if all inputs are equal.
    inputs_of_runs: from `list_inputs`."""
    pairs = [(run, ", ".join(inputs) or "unknown") for run, inputs in zip(runs, inputs_of_runs, strict=True)]
    variants = Counter(system for system, _ in {(run.manifest.system, inputs) for run, inputs in pairs})
    names: dict[str, dict[str, None]] = {}
    for run, inputs in pairs:
        system = run.manifest.system
        names.setdefault(inputs, {})[system if variants[system] == 1 else run.run] = None
    groups = "; ".join(f"{', '.join(group)}: {inputs}" for inputs, group in names.items())
    return f"inputs differ: {groups}" if len(names) > 1 else ""
