"""All that a check found, what of it is wrong, and its bytes as JSON: the same corpus gives the same bytes.

report.problems()    # ["3 clips are missing: …"]; none where the corpus is sound
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from mmerg.checking.counts import Count
from mmerg.checking.targets import Targets
from mmerg.console.terminal import shown

DAMAGE = (  # notes that say that a file is not as it was published
    *("rows_malformed", "rows_incomplete", "lines_unreadable", "dialogues_without_turns"),
    *("evaluations_unreadable", "evaluations_without_turn", "labels_missing", "labels_unknown"),
)
SOME = 5  # clips that a message names; the JSON has all


@dataclass(frozen=True)
class BadClip:
    """A clip that is missing or has a flaw. known: it is so in the published release. escape: frames are taken."""

    clip: str
    turns: tuple[str, ...]
    reason: str
    what: str
    known: bool = False
    escape: bool = False


@dataclass(frozen=True)
class Clips:
    """looked: `open` or `list`. turns: with a clip that is there, of `of` turns. missing: turns without the clip they
    should have, also where `bad` cannot name it."""

    looked: str
    files: int
    turns: int
    of: int
    missing: int
    bad: Sequence[BadClip]

    def wrong(self) -> dict[str, list[BadClip]]:
        """Those that are no fault of the release and give no frames, by reason."""
        return _by_reason(one for one in self.bad if not one.known and not one.escape)


@dataclass(frozen=True)
class Part:
    """A corpus that was read, against its official counts (`source`: whose they are, None: none are known)."""

    name: str
    split: str
    fingerprint: str
    counts: Sequence[Count]
    source: str | None
    notes: Mapping[str, int]

    def problems(self) -> list[str]:
        """Counts that are not the official ones, and rows that could not be used."""
        wrong = ", ".join(f"{one.found} {one.what} ({one.official} official)" for one in self.counts if one.wrong)
        damaged = [
            f"{name} {self.notes[name]}: the files are not as published" for name in DAMAGE if self.notes.get(name)
        ]
        return [f"{self.name} {self.split}: {problem}" for problem in ([wrong] if wrong else []) + damaged]


@dataclass(frozen=True)
class Report:
    """A corpus, its clips (None: its reader looks for none), the samples of a protocol, and where exemplars come from
    (None: from nowhere). unread: why the memory's corpus cannot be read. refused: why a run would not take it."""

    corpus: Part
    clips: Clips | None
    targets: Targets
    memory: Part | None = None
    unread: str = ""
    refused: str = ""

    def problems(self) -> list[str]:
        """What is wrong with the data, a line each; none where it is sound."""
        found = self.corpus.problems()
        if self.clips:
            found += _clip_problems(self.clips)
        found += self.targets.problems()
        if self.memory:
            found += [f"memory: {problem}" for problem in self.memory.problems()]
        if self.unread:
            found.append(f"memory: {self.unread}")
        if self.refused:
            found.append(f"memory: a run would stop here: {self.refused}")
        return found

    def to_json(self) -> bytes:
        """UTF-8, a line feed at the end."""
        content = asdict(self) | {"problems": self.problems()}
        return (json.dumps(content, indent=1) + "\n").encode()


def merged(bad: Iterable[BadClip]) -> tuple[BadClip, ...]:
    """The same with one entry for each file and fault, where many turns share a file."""
    found: dict[tuple[str, str, str], BadClip] = {}
    for one in bad:
        before = found.setdefault((one.clip, one.reason, one.what), one)
        if before is not one:
            found[one.clip, one.reason, one.what] = replace(before, turns=(*before.turns, *one.turns))
    return tuple(found.values())


def _clip_problems(clips: Clips) -> list[str]:
    found = []
    for reason, bad in clips.wrong().items():
        files = list(dict.fromkeys(one.clip or one.turns[0] for one in bad))  # one file may have several bad spans
        more = f" and {len(files) - SOME} more" if len(files) > SOME else ""
        found.append(f"clips {reason}: {len(files)} ({', '.join(map(shown, files[:SOME]))}{more})")
    named = sum(len(one.turns) for one in clips.bad if one.reason == "missing")
    if clips.missing > named:
        found.append(f"clips missing: {clips.missing - named} that cannot be named")
    return found


def _by_reason(bad: Iterable[BadClip]) -> dict[str, list[BadClip]]:
    reasons: dict[str, list[BadClip]] = {}
    for one in bad:
        reasons.setdefault(one.reason, []).append(one)
    return dict(sorted(reasons.items()))
