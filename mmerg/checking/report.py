"""The parts of a check of a corpus: facts, problems, and lines for a terminal.

check_counts(corpus).problems    # none: the corpus is as published
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from rich.console import RenderableType

from mmerg.checking.clips import Flaw
from mmerg.console.tables import NONE, Table
from mmerg.console.terminal import escape, printable
from mmerg.corpora.dialogue import LONGER, Clip, Corpus
from mmerg.corpora.protocols import Selection, describe
from mmerg.corpora.published import Expected, expected, known_bad
from mmerg.engine.keyframes import COULD_SHOW_TARGET, recent_clips
from mmerg.errors import preview
from mmerg.settings.model import ProtocolSettings

DAMAGE = (  # notes that say that a file is not as it was published
    *("rows_malformed", "rows_incomplete", "lines_unreadable", "lines_garbled", "dialogues_without_turns"),
    *("evaluations_unreadable", "evaluations_without_turn", "labels_missing", "labels_unknown"),
)
NAMED = {  # as in conf/protocol
    "last": ProtocolSettings(),
    "last_labelled": ProtocolSettings(targets="labelled", max_per_dialogue=1),
}
UNKNOWN = "there are no official counts"
SOME = 5  # clips that a message names; the JSON has all


@dataclass(frozen=True)
class Section:
    """facts: for the JSON file, always the same for one corpus. problems: a line each. shown: for a terminal."""

    facts: dict[str, object]
    problems: Sequence[str]
    shown: Sequence[RenderableType]


class Count(NamedTuple):
    """How many of something a corpus has, and how many were published (None: not known)."""

    what: str
    found: int
    official: int | None = None

    @property
    def wrong(self) -> bool:
        return self.official not in (None, self.found)

    def __str__(self) -> str:
        return f"{self.found} {self.what}" + f" ({self.official} official)" * self.wrong


def count(corpus: Corpus, known: Expected) -> list[Count]:
    """Counts of dialogues, turns, replies (where their number was published), and turns by label. Labels are compared
    only where the corpus has all published ones: a smaller set was chosen on purpose."""
    turns = [turn for dialogue in corpus.dialogues for turn in dialogue.turns]
    labels = Counter(turn.emotion for turn in turns)
    published = known.labels if set(known.labels) <= set(corpus.labels) else {}
    counts = [Count("dialogues", len(corpus.dialogues), known.dialogues), Count("turns", len(turns), known.turns)]
    if known.replies is not None:
        replies = sum(
            not dialogue.responders or turn.speaker in dialogue.responders
            for dialogue in corpus.dialogues
            for turn in dialogue.turns[1:]
        )
        counts.append(Count("replies", replies, known.replies))
    counts += [Count(f"turns of {label}", labels[label], published.get(label)) for label in corpus.labels]
    return counts + [Count("turns without a label", labels[None])] * bool(labels[None])


def check_counts(corpus: Corpus, official: Expected | None = None, memory: bool = False) -> Section:
    """A corpus against its official counts; `official` in place of the known ones. memory: exemplars come from it; its
    counts are shown on one line."""
    known = official or expected(corpus.name, corpus.split) or Expected(None, None)
    counts, name = count(corpus, known), f"{corpus.name} {corpus.split}"
    wrong = ", ".join(str(one) for one in counts if one.wrong)
    damage = [
        f"{note} {corpus.notes[note]}: the files differ from the release" for note in DAMAGE if note in corpus.notes
    ]
    problems = [f"{'memory: ' * memory}{name}: {problem}" for problem in (wrong, *damage) if problem]
    source = known.source or None
    facts: dict[str, object] = {"name": corpus.name, "split": corpus.split, "fingerprint": corpus.fingerprint}
    facts |= {"counts": [one._asdict() for one in counts], "source": source, "notes": dict(corpus.notes)}
    if memory:
        verdict = UNKNOWN if source is None else "differs" if wrong else "as published"
        sizes = ", ".join(str(one) for one in counts if not one.what.startswith("turns "))
        return Section(facts, problems, [escape(f"memory: {name}: {sizes}; {verdict}")])
    rows = []
    for one in counts:
        verdict = "✗ differs" if one.wrong else "✓" if one.official is not None else NONE
        if one.found or one.official:
            rows.append((one.what, str(one.found), NONE if one.official is None else str(one.official), verdict))
    shown: list[RenderableType] = [
        escape(f"{name}; {f'official: {source}' if source else UNKNOWN}"),
        Table("", ("what", "found", "official", "verdict"), rows),
    ]
    shown += [escape(f"notes of the reader: {_list(corpus.notes)}")] * bool(corpus.notes)
    return Section(facts, problems, shown)


def check_targets(
    protocol: ProtocolSettings,
    selection: Selection,
    corpus: Corpus,
    last_turns: int,
    flaws: Mapping[Clip, Flaw] | None,
) -> Section:
    """The samples of the protocol, and how many have a usable clip in the `last_turns` turns before the target. flaws:
    of clips as samples have them, ended at the target; None where the reader looks for no clips."""
    useless = {clip: flaw.reason for clip, flaw in (flaws or {}).items()}
    in_vain: Counter[str] = Counter()
    with_clip, dropped = 0, list[str]()
    for sample in selection.samples:
        turns = recent_clips(sample.scene, last_turns)
        clips = [clip for clip in turns.values() if clip]
        with_clip += any(clip not in useless for clip in clips)
        in_vain.update(useless[clip] for clip in clips if clip in useless)
        dropped += [f"{sample.id} turn {number}" for number in sample.dropped if number in turns]
    in_vain[COULD_SHOW_TARGET] = len(dropped)
    reasons = dict(sorted((+in_vain).items()))
    targets = Counter(sample.target.emotion if sample.target else None for sample in selection.samples)
    labels = {label: targets[label] for label in corpus.labels} | ({"": targets[None]} if targets[None] else {})
    published = expected(corpus.name, corpus.split)
    known = published.samples if published and published.sample_labels in (None, len(corpus.labels)) else {}
    same = protocol.model_copy(update={"name": "", "history": None, "seed": 0})
    official = known.get(next((name for name, one in NAMED.items() if one == same), ""))

    taken, text = len(selection.samples), describe(protocol, selection)
    problems = [] if taken else [f"the protocol selects no sample: {text}"]
    if taken and official not in (None, taken):
        problems.append(f"{taken} samples ({official} official): {text}")
    shares = (f"{label or 'no label'} {n} ({100 * n / taken:.1f} %)" for label, n in labels.items() if n)
    shown = [f"protocol: {text}", f"targets: {', '.join(shares)}"]
    if flaws is not None:
        vain = f"; without usable frames: {_list(reasons)}" if reasons else ""
        where = f"samples with a usable clip in the last {last_turns} turns before the target"
        shown.append(f"{where}: {with_clip} of {taken}{vain}")
        if dropped:
            shown.append(f"clips that could show the target, excluded: {preview(dropped, SOME)}")
    facts = {
        **{"told": text, "samples": taken, "left_out": dict(selection.left_out), "labels": labels},
        **{
            "with_clip": with_clip,
            "in_vain": reasons,
            COULD_SHOW_TARGET: dropped,
            "last_turns": last_turns,
            "official": official,
        },
    }
    return Section(facts, problems, list(map(escape, shown)))


@dataclass(frozen=True)
class BadClip:
    """A clip that is missing or has a flaw. known: it is so in the published release."""

    clip: str
    turns: tuple[str, ...]
    reason: str
    what: str
    known: bool = False


def bad_clips(
    corpus: Corpus, own: Mapping[Clip, Sequence[str]], flaws: Mapping[Clip, Flaw], root: str | None
) -> list[BadClip]:
    """The bad clips of the corpus. A file is named by its path under `root`, elsewhere by its name alone."""
    roots = [Path(root), Path(root).resolve()] if root else []
    turns: dict[tuple[str, Flaw], list[str]] = {}  # many may share a file
    for turn, file in corpus.absent.items():
        turns.setdefault((file or turn, Flaw("missing", "there is no such file")), []).append(turn)
    for clip, of in own.items():
        if flaw := flaws.get(clip):
            path = clip.path
            name = next((path.relative_to(place) for place in roots if path.is_relative_to(place)), path.name)
            turns.setdefault((str(name), flaw), []).extend(of)
    known = known_bad(corpus.name, corpus.split)
    return [
        BadClip(name, tuple(of), *flaw, known.get(Path(name).stem) == flaw.reason) for (name, flaw), of in turns.items()
    ]


def check_clips(
    corpus: Corpus,
    own: Mapping[Clip, Sequence[str]],
    bad: Sequence[BadClip],
    long: Mapping[str, tuple[float, float]],
) -> Section:
    """The clips of the corpus. Problems are clips that give no frames, by reason, unless they are bad in the published
    release; and turns whose clip is missing and has no name in `bad`. long: see `long_clips`."""
    reasons: dict[str, dict[str, None]] = {}  # one file may have several bad spans
    for one in bad:
        if not one.known:
            reasons.setdefault(one.reason, {})[printable(one.clip or one.turns[0])] = None
    problems = [f"clips {why}: {len(names)} ({preview(list(names), SOME)})" for why, names in sorted(reasons.items())]
    missing = corpus.notes.get("clips_missing", 0)
    if (unnamed := missing - sum(len(one.turns) for one in bad if one.reason == "missing")) > 0:
        problems.append(f"clips missing: {unnamed} without a known name")

    files, turns = len({clip.path for clip in own}), sum(map(len, own.values()))
    of = sum(len(dialogue.turns) for dialogue in corpus.dialogues)
    useless = sum(one.reason != "missing" for one in bad)
    known = sum(one.known for one in bad)
    line = f"clips: {turns} of {of} turns have one; {files} files opened; {missing} missing, {useless} cannot be used"
    shown = [escape(line + f"; {known} of these are bad in the published release" * bool(known))]
    if long:
        named = [f"{turn}: row {row:g} s, clip {clip:g} s" for turn, (row, clip) in long.items()]
        shown.append(escape(f"clips over {LONGER:g} times as long as their row, cut off there: {preview(named, SOME)}"))
    facts = {"files": files, "turns": turns, "of": of, "missing": missing, "long": long}
    return Section(facts | {"bad": list(map(asdict, bad))}, problems, shown)


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
