"""IEMOCAP's text files: where the release keeps them, what was said and when, and what the evaluators agreed on.

Read is `Session{1..5}/dialog/{transcriptions,EmoEvaluation}`; AppleDouble files (`._Ses…`), subfolders and files not
named like a dialogue are passed over. A session unpacked in part is an error: with fewer dialogues it is another test
set. A transcription, in which all turns of one actor may come before those of the other:

    Ses05F_impro01_F000 [006.2901-008.2357]: Excuse me.

An evaluation; only lines like the second are read, evaluators' own are not:

    % [START_TIME - END_TIME] TURN_NAME EMOTION [V, A, D]
    [6.2901 - 8.2357]	Ses05F_impro01_F000	neu	[2.5000, 2.5000, 2.5000]
    C-E2:	Neutral;	()

Damage to a line costs the line, and is counted. What labels mean is the reader's.

    folder = session_folder(Path("IEMOCAP_full_release"), 5)
    dialogue_names(folder)    # ["Ses05F_impro01", ..., "Ses05M_script03_2"]: 31
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from mmerg.corpora.files import MARK, decode_lines, holdings, is_folder, listing
from mmerg.errors import CorpusError

RELEASE = "IEMOCAP_full_release"
TRANSCRIPTIONS, EVALUATIONS, FILMS = "dialog/transcriptions", "dialog/EmoEvaluation", "dialog/avi/DivX"
DIALOGUE = re.compile(r"Ses0([1-5])([FM])_(impro|script)([0-9]{2})[0-9a-z_]{0,9}")
ROOT_HINT = f"set dataset.root to {RELEASE}, the folder that holds Session1 to Session5, or to the folder it is in"
MAX_NAMED = 5
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


def session_folder(root: Path, session: int) -> Path:
    """The folder of a session, in `root` or in the release's folder there. Raises CorpusError where there is none."""
    name = f"Session{session}"
    bases = (root, root / RELEASE)
    for base in bases:
        if is_folder(base / name):
            return base / name
    known = [holdings(base) for base in bases if is_folder(base)]
    raise CorpusError(
        f"no folder {name} for IEMOCAP's session {session}",
        where=f"looked for {bases[0] / name} and {bases[1] / name}; {'; '.join(known)}",
        hint=f"{ROOT_HINT}; dataset.sessions says which sessions are read",
    )


def dialogue_names(session: Path) -> list[str]:
    """The names of a session's dialogues, in order. Raises CorpusError unless each has both of its text files."""
    spoken, judged = (_listed(session, folder) for folder in (TRANSCRIPTIONS, EVALUATIONS))
    refuse_without(session, f"{TRANSCRIPTIONS} lacks", judged - spoken)
    refuse_without(session, f"{EVALUATIONS} lacks", spoken - judged)
    return sorted(spoken)


def refuse_without(session: Path, what: str, names: set[str]) -> None:
    """Raises CorpusError where there are dialogues (`names`) of which a part is not there (`what`)."""
    if names:
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        raise CorpusError(
            f"{session.name} is not whole: {what} {', '.join(sorted(names)[:MAX_NAMED])}{more}",
            where=str(session),
            hint=f"each dialogue has a .txt file in {TRANSCRIPTIONS} and in {EVALUATIONS}; unpack these folders again",
        )


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
    for line in data.removeprefix(MARK).splitlines():
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


def _listed(session: Path, inner: str) -> set[str]:
    """The session's dialogues that have a text file in a folder."""
    folder = session / inner
    hint = f"unpack {inner} of {session.name} from the full release, too; sentences/ is not read"
    if not is_folder(folder):
        last = next(above for above in folder.parents if is_folder(above))
        raise CorpusError(f"{session.name} has no {inner}", where=f"looked for {folder}; {holdings(last)}", hint=hint)
    # A link that leads nowhere is listed, so that reading it says so.
    files = [name for name in listing(folder, f"{inner} of {session.name}") if name.endswith(".txt")]
    matches = (DIALOGUE.fullmatch(name.removesuffix(".txt")) for name in files if not is_folder(folder / name))
    names = {match[0] for match in matches if match and session.name == f"Session{match[1]}"}
    if not names:
        where = f"looked for {folder / f'Ses0{session.name[-1]}….txt'}; {holdings(folder)}"
        raise CorpusError(f"{session.name} has no dialogue in {inner}", where=where, hint=hint)
    return names
