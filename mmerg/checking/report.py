"""The sections of a check of a corpus: its counts, the targets of the protocol, and the clips.

check_counts(corpus).problems    # none if the corpus is as published
"""

import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import RenderableType

from mmerg.console.tables import NONE, Table
from mmerg.console.terminal import escape, printable
from mmerg.corpora.dialogue import OVERLONG, Clip, Corpus
from mmerg.corpora.protocols import Selection, describe
from mmerg.corpora.published import PublishedCounts, find_counts, get_bad_clips
from mmerg.engine.keyframes import COULD_SHOW_TARGET, get_recent_clips
from mmerg.errors import ClipError, preview
from mmerg.settings.model import ProtocolSettings

DAMAGE = (  # notes of the reader that mean that a file is not as published
    *("rows_malformed", "rows_incomplete", "lines_unreadable", "lines_garbled", "dialogues_without_turns"),
    *("evaluations_unreadable", "evaluations_without_turn", "labels_missing", "labels_unknown"),
)
PROTOCOLS = {  # as in conf/protocol
    "last": ProtocolSettings(),
    "last_labelled": ProtocolSettings(targets="labelled", max_per_dialogue=1),
}
MAX_NAMES = 20  # in a message


class Section(NamedTuple):
    """A section of the output."""

    problems: Sequence[str]  # one line each
    shown: Sequence[RenderableType]  # printed before the problems of all sections


class Count(NamedTuple):
    """A count of the corpus, and the published count (None if unknown)."""

    what: str
    found: int
    official: int | None = None

    @property
    def differs(self) -> bool:
        return self.official not in (None, self.found)


def count_parts(corpus: Corpus, known: PublishedCounts) -> list[Count]:
    """Counts the dialogues, the turns, the replies (if their number is published), and the turns by label. Labels are
    compared only if the corpus has all published labels, as a smaller set was chosen on purpose."""
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
    if labels[None]:
        counts.append(Count("turns without a label", labels[None]))
    return counts


def check_counts(corpus: Corpus, title: str = "corpus") -> Section:
    known = find_counts(corpus.name, corpus.split) or PublishedCounts(None, None)
    counts, name = count_parts(corpus, known), f"{title}: {corpus.name} {corpus.split}"
    differing = ", ".join(
        f"{count.found} {count.what} ({count.official} official)" for count in counts if count.differs
    )
    damage = [
        f"{note} {corpus.notes[note]}: the files differ from the release" for note in DAMAGE if note in corpus.notes
    ]
    rows = []
    for count in counts:
        if not (count.found or count.official):
            continue
        if count.official is None:
            official, verdict = NONE, NONE
        else:
            official, verdict = str(count.official), "✗ differs" if count.differs else "✓"
        rows.append((count.what, str(count.found), official, verdict))
    source = f"official counts: {known.source}" if known.source else "there are no official counts"
    notes = [f"notes of the reader: {_list(corpus.notes)}"] if corpus.notes else []
    table = Table(f"{name}; {source}", ("what", "found", "official", "verdict"), rows, notes)
    return Section([f"{name}: {problem}" for problem in (differing, *damage) if problem], [table])


def check_targets(
    protocol: ProtocolSettings, selection: Selection, corpus: Corpus, last_turns: int, bad: Mapping[Clip, ClipError]
) -> Section:
    """Counts the samples of the protocol, by label, and those with a usable clip in the `last_turns` turns before the
    target. bad: see `find_bad_clips`."""
    unusable: Counter[str] = Counter()
    with_clip, excluded = 0, list[str]()
    for sample in selection.samples:
        turns = get_recent_clips(sample.scene, last_turns)
        clips = [clip for clip in turns.values() if clip]
        with_clip += any(clip not in bad for clip in clips)
        unusable.update(bad[clip].reason for clip in clips if clip in bad)
        excluded += [f"{sample.id} turn {number}" for number in sample.dropped if number in turns]
    if excluded:
        unusable[COULD_SHOW_TARGET] = len(excluded)
    labels = Counter(sample.target.emotion if sample.target else None for sample in selection.samples)
    published = find_counts(corpus.name, corpus.split)
    known = published.samples if published and published.sample_labels in (None, len(corpus.labels)) else {}
    unnamed = protocol.model_copy(update={"name": "", "history": None, "seed": 0})
    official = next((known.get(name) for name, settings in PROTOCOLS.items() if settings == unnamed), None)

    found, text = len(selection.samples), describe(protocol, selection)
    problems = [] if found else [f"the protocol selects no sample: {text}"]
    if found and official not in (None, found):
        problems.append(f"{found} samples ({official} official): {text}")
    shares = (
        f"{label or 'no label'} {labels[label]} ({100 * labels[label] / found:.1f} %)"
        for label in (*corpus.labels, None)
        if labels[label]
    )
    without = f"; without usable frames: {_list(dict(sorted(unusable.items())))}" if unusable else ""
    usable = f"samples with a usable clip in the last {last_turns} turns before the target: {with_clip} of {found}"
    shown = [f"protocol: {text}", f"targets: {', '.join(shares)}", usable + without]
    if excluded:
        shown.append(f"clips that could show the target, excluded: {preview(excluded, MAX_NAMES)}")
    return Section(problems, list(map(escape, shown)))


def check_clips(
    corpus: Corpus, bad: Mapping[Clip, ClipError], long: Mapping[str, tuple[float, float]], root: str | None
) -> Section:
    """Lists the clips that are missing or give no frames, by reason, without those that are bad in the published
    release. Files are named by their path under `root`. bad: see `find_bad_clips`. long: see `find_long_clips`."""
    of_turns = {turn.clip for dialogue in corpus.dialogues for turn in dialogue.turns if turn.clip}
    found = {(file, "missing"): None for file in corpus.absent.values()}
    for clip, error in bad.items():
        # A clip that was cut off where the reply starts may be empty, which is not a fault of the file.
        if clip in of_turns or error.reason != "empty":
            name = os.path.relpath(clip.path, Path(root).resolve()) if root else clip.path.name
            found[name, error.reason] = None
    known = get_bad_clips(corpus.name, corpus.split)
    reasons: dict[str, list[str]] = defaultdict(list)
    for name, reason in found:
        if known.get(Path(name).stem) != reason:
            reasons[reason].append(printable(name))
    problems = [
        f"clips {reason}: {len(names)} ({preview(names, MAX_NAMES)})" for reason, names in sorted(reasons.items())
    ]
    turns = sum(len(dialogue.turns) for dialogue in corpus.dialogues)
    with_clip = sum(bool(turn.clip) for dialogue in corpus.dialogues for turn in dialogue.turns)
    line = f"clips: {with_clip} of {turns} turns have one; {len(corpus.absent)} are missing"
    ignored = len(found) - sum(map(len, reasons.values()))
    shown = [escape(f"{line}; {ignored} clips are bad in the published release" if ignored else line)]
    if long:
        named = [f"{turn}: row {row:g} s, clip {clip:g} s" for turn, (row, clip) in long.items()]
        shown.append(escape(f"clips over {OVERLONG:g} times as long as their row, cut off there: {', '.join(named)}"))
    return Section(problems, shown)


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
