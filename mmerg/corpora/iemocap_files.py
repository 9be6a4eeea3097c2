"""IEMOCAP's text files: where the release keeps them, what was said and when, and what the evaluators agreed on.

Files in `Session{1..5}/dialog/{transcriptions,EmoEvaluation}` that are not named like a dialogue are passed over. A
transcription, in which all turns of one actor may come before those of the other:

    Ses05F_impro01_F000 [006.2901-008.2357]: Excuse me.

An evaluation, of which lines like the second are read:

    % [START_TIME - END_TIME] TURN_NAME EMOTION [V, A, D]
    [6.2901 - 8.2357]	Ses05F_impro01_F000	neu	[2.5000, 2.5000, 2.5000]
    C-E2:	Neutral;	()
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from mmerg.corpora.files import MARK, decode_lines, holdings, is_folder
from mmerg.errors import CorpusError

RELEASE = "IEMOCAP_full_release"
TRANSCRIPTIONS, EVALUATIONS, FILMS = "dialog/transcriptions", "dialog/EmoEvaluation", "dialog/avi/DivX"
DIALOGUE = re.compile(r"Ses0([1-5])([FM])_(impro|script)([0-9]{2})[0-9a-z_]{0,9}")
ROOT_HINT = f"set dataset.root to {RELEASE}, the folder that holds Session1 to Session5, or to the folder it is in"
MAX_NAMED = 5
SECONDS = r"([0-9]{1,6}(?:\.[0-9]{1,9})?)"
SPOKEN = re.compile(rf"(Ses\w+)_([FM])(\w+)\s*\[\s*{SECONDS}\s*-\s*{SECONDS}\s*\]\s*:\s*(.+)", re.ASCII | re.DOTALL)
JUDGED = re.compile(rb"\[[^\]]*\]\s+(Ses\w+)\s+([A-Za-z]{3})\b")


class Utterance(NamedTuple):
    """One line of a transcription, times in seconds from the start of the dialogue's recordings; actor is F or M."""

    start: float
    end: float
    id: str
    actor: str
    text: str


def session_folder(root: Path, session: int) -> Path:
    """The folder of a session, in `root` or in the release there. Raises CorpusError where there is none."""
    name = f"Session{session}"
    bases = (root, root / RELEASE)
    if found := next((base / name for base in bases if is_folder(base / name)), None):
        return found
    known = "; ".join(holdings(base) for base in bases if is_folder(base))
    raise CorpusError(
        f"no folder {name} for IEMOCAP's session {session}",
        where=f"looked for {bases[0] / name} and {bases[1] / name}; {known}",
        hint=f"{ROOT_HINT}; dataset.sessions says which sessions are read",
    )


def dialogue_names(session: Path) -> list[str]:
    """The names of a session's dialogues, in order. Raises CorpusError unless each has both of its text files."""
    spoken, judged = (_listed(session, folder) for folder in (TRANSCRIPTIONS, EVALUATIONS))
    refuse_without(session, f"{TRANSCRIPTIONS} lacks", judged - spoken)
    refuse_without(session, f"{EVALUATIONS} lacks", spoken - judged)
    return sorted(spoken)


def refuse_without(session: Path, what: str, names: set[str]) -> None:
    """Raises CorpusError where there are dialogues of which a part is not there (`what`)."""
    if names:
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        raise CorpusError(
            f"{session.name} is not whole: {what} {', '.join(sorted(names)[:MAX_NAMED])}{more}",
            where=str(session),
            hint=f"each dialogue has a .txt file in {TRANSCRIPTIONS} and in {EVALUATIONS}; unpack these folders again",
        )


def read_transcription(data: bytes, dialogue: str, notes: Counter[str]) -> list[Utterance]:
    """The utterances of `dialogue` in order of start, end and id, whatever their order in the file.

    Counts `lines_skipped` (bare `F:` and `M:`, remarks), `lines_unreadable` (no id of this dialogue, times or words)
    and `turns_repeated` (the first counts).
    """
    said: dict[str, Utterance] = {}
    for line in map(str.strip, decode_lines(data, notes)):
        match = SPOKEN.fullmatch(line)
        if match and match[1] == dialogue:
            _, actor, number, start, end, text = match.groups()
            id = f"{dialogue}_{actor}{number}"
            notes["turns_repeated"] += id in said
            said.setdefault(id, Utterance(float(start), float(end), id, actor, text))
        elif line:
            notes["lines_unreadable" if line.startswith("Ses") else "lines_skipped"] += 1
    return sorted(said.values())


def read_evaluation(data: bytes, notes: Counter[str]) -> dict[str, str]:
    """The label that each utterance's evaluators agreed on, as spelled in the file ("xxx": on none), by utterance.

    Counts `evaluations_unreadable` (no utterance or label) and `evaluations_repeated` (the first counts).
    """
    labels: dict[str, str] = {}
    for line in data.removeprefix(MARK).splitlines():
        if match := JUDGED.match(line):
            utterance, label = (part.decode("ascii") for part in match.groups())
            notes["evaluations_repeated"] += utterance in labels
            labels.setdefault(utterance, label.lower())
        else:
            notes["evaluations_unreadable"] += line.startswith(b"[")
    return labels


def _listed(session: Path, inner: str) -> set[str]:
    """The session's dialogues that have a text file in a folder."""
    folder = session / inner
    hint = f"unpack {inner} of {session.name} from the full release, too; sentences/ is not read"
    if not is_folder(folder):
        last = next(filter(is_folder, folder.parents))
        raise CorpusError(f"{session.name} has no {inner}", where=f"looked for {folder}; {holdings(last)}", hint=hint)
    try:
        files = [name for name in os.listdir(folder) if name.endswith(".txt")]  # noqa: PTH208  (names, not paths)
    except OSError as error:
        what = f"cannot list {inner} of {session.name}: {error.strerror}"
        raise CorpusError(what, where=str(folder), hint="check that you may read the folder") from error
    # A link that leads nowhere is listed, so that reading it says so.
    matches = (DIALOGUE.fullmatch(name.removesuffix(".txt")) for name in files if not is_folder(folder / name))
    names = {match[0] for match in matches if match and session.name == f"Session{match[1]}"}
    if not names:
        where = f"looked for {folder / f'Ses0{session.name[-1]}….txt'}; {holdings(folder)}"
        raise CorpusError(f"{session.name} has no dialogue in {inner}", where=where, hint=hint)
    return names
