"""Whether two runs can be compared, sample by sample: one corpus, one protocol, one label set, the same hidden targets.

must_compare(read_run(a), read_run(b))    # RunError that says what differs
"""

from collections.abc import Iterator

from mmerg.errors import RunError, some
from mmerg.runs.manifest import Manifest
from mmerg.runs.result import Result
from mmerg.scoring.answers import ScoredRun, describe_improper, improper
from mmerg.scoring.paired import Pairing


def must_compare(a: ScoredRun, b: ScoredRun) -> None:
    """Raises RunError where a sample of one is not the same task in the other."""
    if differences := list(_differences(a.manifest, b.manifest)):
        raise RunError(
            f"these runs cannot be compared: {'; '.join(differences)}",
            where=f"{a.path} and {b.path}",
            hint="compare runs of one dataset and protocol; mmerg score RUN RUN prints figures side by side",
        )


def must_have_one_target(pairing: Pairing, a: ScoredRun, b: ScoredRun) -> None:
    """Raises RunError where the two results of a sample name different labels or replies of the data."""
    pairs = zip(pairing.a, pairing.b, strict=True)
    apart = [f"{one.id} ({told})" for one, other in pairs if (told := _targets_apart(one, other))]
    if apart:
        raise RunError(
            f"the runs disagree on the data's own labels or replies, in {len(apart)} of the {len(pairing.a)} samples "
            f"that both finished: {some(apart)}",
            where=f"{a.path} and {b.path}",
            hint="one of them was made of another version of the data, or its results were changed: run it again; "
            "its calls come from the cache where nothing that is asked has changed",
        )


def warnings(a: ScoredRun, b: ScoredRun) -> Iterator[str]:
    """What a reader must know of a comparison that is allowed."""
    if a.manifest.identity == b.manifest.identity:
        yield f"{a.name} and {b.name} have one identity: the same corpus, engine, prompts and settings"
    for run in (a, b):
        if told := describe_improper(improper(run.answers)):
            yield f"{run.name}: {told}"
        if (missing := run.manifest.protocol.samples - len(run.answers)) > 0:
            yield f"{run.name} is not finished: {missing} samples of its protocol have no result yet"


def _differences(a: Manifest, b: Manifest) -> Iterator[str]:
    files, other_files = (run.identity.get("corpus") for run in (a, b))
    if not files or not other_files:
        yield "a manifest does not say of which files its run is (identity.corpus)"
    elif files != other_files:
        one, other = (f"{run.corpus.name} {run.corpus.split}" for run in (a, b))
        yield f"another corpus ({one} and {other})" if one != other else f"{one} was not the same files"
    ours, theirs = _protocol(a), _protocol(b)
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            yield f"protocol.{name} is {ours.get(name)} and {theirs.get(name)}"
    labels, others = (", ".join(sorted(set(run.corpus.labels))) or "none" for run in (a, b))
    if labels != others:
        yield f"the labels are {labels} and {others}"


def _targets_apart(one: Result, other: Result) -> str:
    """In what two results of a sample differ that both have from the data."""
    if one.gold_emotion != other.gold_emotion:
        return f"the label is {one.gold_emotion or 'none'} and {other.gold_emotion or 'none'}"
    return "another reply" if one.gold_response != other.gold_response else ""


def _protocol(manifest: Manifest) -> dict[str, object]:
    """What the protocol was set to; a setting that is not there is one that is off."""
    settings = manifest.setting("protocol", {})
    kept = {name: value for name, value in settings.items() if name != "name" and value is not None}
    if "sample" not in kept:
        kept.pop("seed", None)  # nothing is drawn
    return kept
