"""The text files of IEMOCAP: what was said and when, and what the evaluators agreed on. Bytes in, records out.

A transcription, `dialog/transcriptions/Ses05F_impro01.txt`; all turns of one actor may come before those of the other:

    Ses05F_impro01_F000 [006.2901-008.2357]: Excuse me.

An evaluation, `dialog/EmoEvaluation/Ses05F_impro01.txt`; only lines like the second are read, evaluators' own are not:

    % [START_TIME - END_TIME] TURN_NAME EMOTION [V, A, D]
    [6.2901 - 8.2357]	Ses05F_impro01_F000	neu	[2.5000, 2.5000, 2.5000]
    C-E2:	Neutral;	()

Damage costs the line it is on, and is counted. No byte raises anything; what labels mean is the reader's.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from mmerg.corpora.files import decode_lines

SECONDS = r"([0-9]{1,6}(?:\.[0-9]{1,9})?)"
SPOKEN = re.compile(rf"(Ses\w+)_([FM])(\w+)\s*\[\s*{SECONDS}\s*-\s*{SECONDS}\s*\]\s*:\s*(.+)", re.ASCII | re.DOTALL)
JUDGED = re.compile(rb"\[[^\]]*\]\s+(Ses\w+)\s+([A-Za-z]{3})\b")


@dataclass(frozen=True, slots=True)
class Utterance:
    """One line of a transcription: actor "F" or "M", seconds from the start of the dialogue's recordings, and words."""

    id: str
    actor: str
    start: float
    end: float
    text: str


def read_transcription(data: bytes, dialogue: str, notes: Counter[str]) -> list[Utterance]:
    """The utterances of `dialogue` in order of time (then of end and id), whatever their order in the file.

    Lines are UTF-8 or else cp1252, which is Latin-1 where that has letters, and quotes and dashes where Latin-1 has
    controls. Counts `lines_skipped` (not an utterance: bare `F:` and `M:` lines, remarks), `lines_unreadable` (an
    utterance without an id of this dialogue, times or words), `turns_repeated` (an id again: the first one counts).
    """
    said: dict[str, Utterance] = {}
    for line in map(str.strip, decode_lines(data, notes)):
        if not line.startswith("Ses"):
            notes["lines_skipped"] += bool(line)
            continue
        match = SPOKEN.fullmatch(line)
        if not match or match[1] != dialogue:
            notes["lines_unreadable"] += 1
            continue
        _, actor, number, start, end, text = match.groups()
        utterance = Utterance(f"{dialogue}_{actor}{number}", actor, float(start), float(end), text)
        notes["turns_repeated"] += utterance.id in said
        said.setdefault(utterance.id, utterance)
    return sorted(said.values(), key=lambda utterance: (utterance.start, utterance.end, utterance.id))


def read_evaluation(data: bytes, notes: Counter[str]) -> dict[str, str]:
    """The label that each utterance's evaluators agreed on, as spelled in the file ("xxx": on none), by utterance.

    Counts `evaluations_unreadable` (a summary line without an utterance and a label) and `evaluations_repeated` (the
    first one counts).
    """
    labels: dict[str, str] = {}
    for line in data.removeprefix(b"\xef\xbb\xbf").splitlines():
        if not line.startswith(b"["):
            continue
        match = JUDGED.match(line)
        if not match:
            notes["evaluations_unreadable"] += 1
            continue
        utterance, label = match[1].decode("ascii"), match[2].decode("ascii").lower()
        notes["evaluations_repeated"] += utterance in labels
        labels.setdefault(utterance, label)
    return labels
