"""Where IEMOCAP's release keeps what is read: `Session{1..5}/dialog/{transcriptions,EmoEvaluation,avi/DivX}`.

Each folder is listed once; AppleDouble files (`._Ses…`), subfolders and files not named like a dialogue are passed
over. A session unpacked in part is an error that names what is missing: with fewer dialogues it is another test set.

    folder = session_folder(Path("IEMOCAP_full_release"), 5)
    dialogue_names(folder)    # ["Ses05F_impro01", ..., "Ses05M_script03_2"]: 31
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from mmerg.corpora.files import holdings, is_folder
from mmerg.errors import CorpusError

RELEASE = "IEMOCAP_full_release"
TRANSCRIPTIONS, EVALUATIONS, FILMS = "dialog/transcriptions", "dialog/EmoEvaluation", "dialog/avi/DivX"
DIALOGUE = re.compile(r"Ses0([1-5])([FM])_(impro|script)([0-9]{2})[0-9a-z_]{0,9}")
ROOT_HINT = f"set dataset.root to {RELEASE}, the folder that holds Session1 to Session5, or to the folder it is in"
MAX_NAMED = 5


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
    lacking = [
        f"{folder} lacks {_some(names)}"
        for folder, names in ((TRANSCRIPTIONS, judged - spoken), (EVALUATIONS, spoken - judged))
        if names
    ]
    if lacking:
        raise _not_whole(session, "; ".join(lacking))
    return sorted(spoken)


def refuse_unjudged(session: Path, names: set[str]) -> None:
    """Raises CorpusError where dialogues (`names`) have turns and not one evaluation: their file is cut or empty."""
    if names:
        raise _not_whole(session, f"{EVALUATIONS} holds no evaluation in the files of {_some(names)}")


def _not_whole(session: Path, what: str) -> CorpusError:
    """The error for a session of which a part is not there."""
    hint = f"each dialogue has a .txt file in {TRANSCRIPTIONS} and in {EVALUATIONS}; unpack these folders again"
    return CorpusError(f"{session.name} is not whole: {what}", where=str(session), hint=hint)


def _listed(session: Path, inner: str) -> set[str]:
    """The session's dialogues that have a text file in a folder."""
    folder = session / inner
    hint = f"unpack {inner} of {session.name} from the full release, too; sentences/ is not read"
    if not is_folder(folder):
        last = next(above for above in folder.parents if is_folder(above))
        raise CorpusError(f"{session.name} has no {inner}", where=f"looked for {folder}; {holdings(last)}", hint=hint)
    try:
        with os.scandir(folder) as entries:
            # A link that leads nowhere is listed, so that reading it says so.
            files = [e.name for e in entries if e.name.endswith(".txt") and not is_folder(Path(e.path))]
    except OSError as error:
        what = f"cannot list {inner} of {session.name}: {error.strerror}"
        raise CorpusError(what, where=str(folder), hint="check that you may read the folder") from error
    matches = (DIALOGUE.fullmatch(name.removesuffix(".txt")) for name in files)
    names = {match[0] for match in matches if match and session.name == f"Session{match[1]}"}
    if not names:
        where = f"looked for {folder / f'Ses0{session.name[-1]}….txt'}; {holdings(folder)}"
        raise CorpusError(f"{session.name} has no dialogue in {inner}", where=where, hint=hint)
    return names


def _some(names: set[str]) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - MAX_NAMED} more" if len(ordered) > MAX_NAMED else ""
    return ", ".join(ordered[:MAX_NAMED]) + more
