"""IEMOCAP: ten actors in pairs, five sessions of plays and improvisations, an avi per dialogue (Busso et al., 2008).

Reads `Session{1..5}/dialog/{transcriptions,EmoEvaluation}` of the unpacked full release. No video is opened.

    Ses05F_impro01_F000 [006.2901-008.2357]: Excuse me.
    [6.2901 - 8.2357]	Ses05F_impro01_F000	neu	[2.5000, 2.5000, 2.5000]

    corpus = Iemocap("~/data/IEMOCAP_full_release", sessions=(5,)).load()
    select(corpus, ProtocolSettings(targets="labelled", max_per_dialogue=1))    # 31 samples, one per dialogue
"""

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from mmerg.corpora import files
from mmerg.corpora.dialogue import Clip, Corpus, Crop, Dialogue, Turn
from mmerg.errors import CorpusError

LABEL_SETS = {
    "six": ("angry", "happy", "excited", "sad", "frustrated", "neutral"),
    "four": ("angry", "happy", "sad", "neutral"),
}
LABELS = {"ang": "angry", "hap": "happy", "exc": "excited", "sad": "sad", "fru": "frustrated", "neu": "neutral"}
OTHER_CODES = ("xxx", "sur", "fea", "oth", "dis", "missing")  # xxx: no majority of evaluators
ACTORS = {"F": "Woman", "M": "Man"}
LEFT, RIGHT = Crop(0.0, 0.0, 0.5, 1.0), Crop(0.5, 0.0, 0.5, 1.0)
SIDES: dict[str, tuple[Crop | None, Crop | None]] = {  # the crop for the actor with the markers, and for the other
    "auto": (LEFT, RIGHT),
    "swapped": (RIGHT, LEFT),
    "left": (LEFT, LEFT),
    "right": (RIGHT, RIGHT),
    "full": (None, None),
}
RELEASE = "IEMOCAP_full_release"
TRANSCRIPTIONS, EVALUATIONS, FILMS = "dialog/transcriptions", "dialog/EmoEvaluation", "dialog/avi/DivX"
DIALOGUE = re.compile(r"Ses0([1-5])[FM]_(?:impro|script)[0-9]{2}[0-9a-z_]{0,9}")
ROOT_HINT = f"set dataset.root to {RELEASE}, the folder that holds Session1 to Session5, or to its parent folder"
SECONDS = r"([0-9]{1,6}(?:\.[0-9]{1,9})?)"
UTTERANCE = re.compile(rf"(Ses\w+)_([FM])(\w+)\s*\[\s*{SECONDS}\s*-\s*{SECONDS}\s*\]\s*:\s*(.+)", re.ASCII | re.DOTALL)
EVALUATION = re.compile(rb"\[[^\]]*\]\s+(Ses\w+)\s+([A-Za-z]{3})\b")


class Utterance(NamedTuple):
    """A line of a transcription."""

    start: float  # seconds from the start of the recording
    end: float
    id: str
    actor: str  # F or M
    text: str


@checked_dataclass(frozen=True)
class Iemocap:
    """The reader of sessions of IEMOCAP. Times are seconds on the clock of the dialogue's avi.

    Attributes:
        root: IEMOCAP_full_release or its parent folder.
        label_set: six, or four, which counts excited as happy. Turns with any other label have no emotion.
        speaker_side: the part of the picture that a turn's clip shows, as the actors are filmed side by side. full
            shows both. auto shows the left half for the actor with the markers (the letter in the dialogue's name) and
            the right half for the other; swapped is the opposite. left and right show one half for both.
        clips: whether to find the clips; if not, only the texts are read.
    """

    root: str | Path
    sessions: Annotated[Sequence[Annotated[int, Field(ge=1, le=5)]], Field(min_length=1)] = (5,)
    label_set: Literal["six", "four"] = "six"
    speaker_side: Literal["full", "auto", "swapped", "left", "right"] = "full"
    clips: bool = True

    def load(self) -> Corpus:
        """Reads the dialogues of the sessions. Raises CorpusError if files are missing or cannot be used."""
        sessions = sorted(set(self.sessions))
        root = files.root_folder(self.root, ROOT_HINT)
        notes, digest = Counter[str](), sha256()
        clips = files.Clips([root], notes, look=self.clips)
        dialogues: list[Dialogue] = []
        for session in sessions:
            name = f"Session{session}"
            what, hint = f"no folder {name} for IEMOCAP", f"{ROOT_HINT}; dataset.sessions sets the sessions to read"
            folder = files.find([root / name, root / RELEASE / name], what, hint, is_there=files.is_folder)
            for dialogue in list_dialogues(folder):
                paths = (folder / kind / f"{dialogue}.txt" for kind in (TRANSCRIPTIONS, EVALUATIONS))
                transcription, evaluation = map(files.read_bytes, paths)
                sizes = f"{dialogue}\0{len(transcription)}\0{len(evaluation)}\0"
                digest.update(sizes.encode() + transcription + evaluation)
                utterances = read_transcription(transcription, dialogue, notes)
                codes = read_evaluation(evaluation, notes)
                notes["evaluations_without_turn"] += len(codes.keys() - {utterance.id for utterance in utterances})
                if not utterances:
                    notes["dialogues_without_turns"] += 1
                    continue
                film = (folder / FILMS / f"{dialogue}.avi").relative_to(root).as_posix()
                turns: list[Turn] = []
                for number, utterance in enumerate(utterances, start=1):
                    file = clips.find(f"{dialogue}/{number}", film)
                    turns.append(self._build_turn(utterance, codes.get(utterance.id, "missing"), file, notes))
                # The same plays are performed in all sessions, in parts and in several takes.
                play = dialogue.split("_")[1][: len("script01")]
                script = play if play.startswith("script") else None
                dialogues.append(Dialogue(dialogue, tuple(turns), script=script, conversation=dialogue))
        split = f"session{'+'.join(map(str, sessions))}"
        labels, counts = LABEL_SETS[self.label_set], files.nonzero(notes)
        return Corpus("iemocap", split, labels, tuple(dialogues), digest.hexdigest(), counts, clips.absent)

    def _build_turn(self, utterance: Utterance, code: str, film: Path | None, notes: Counter[str]) -> Turn:
        """Builds a turn. It has no emotion if the code of its label is not in the label set."""
        emotion = "happy" if code == "exc" and self.label_set == "four" else LABELS.get(code)
        if emotion not in LABEL_SETS[self.label_set]:
            notes[f"labels_{code if code in (*LABELS, *OTHER_CODES) else 'unknown'}"] += 1
            emotion = None
        end = utterance.end if utterance.end > utterance.start else None
        notes["spans_reversed"] += end is None
        markers, other = SIDES[self.speaker_side]
        crop = markers if utterance.actor == utterance.id[len("Ses05")] else other
        clip = Clip(film, utterance.start, end, crop) if film and end else None
        return Turn(ACTORS[utterance.actor], utterance.text, emotion, clip, utterance.start, end)


def list_dialogues(session: Path) -> list[str]:
    """Lists the dialogues with a transcription or an evaluation, sorted; other files are ignored. Raises CorpusError if
    there is no transcription or no evaluation."""
    names: set[str] = set()
    for kind in (TRANSCRIPTIONS, EVALUATIONS):
        folder = session / kind
        matches = (DIALOGUE.fullmatch(file.stem) for file in folder.glob("*.txt") if not files.is_folder(file))
        found = {match[0] for match in matches if match and session.name == f"Session{match[1]}"}
        if not found:
            nearest = next(filter(files.is_folder, (folder, *folder.parents)))
            where = f"looked for {folder}/Ses0{session.name[-1]}….txt; {files.describe_folder(nearest)}"
            hint = f"unpack {kind} of {session.name} from the full release; sentences/ is not used"
            raise CorpusError(f"{session.name} has no dialogue in {kind}", where=where, hint=hint)
        names |= found
    return sorted(names)


def read_transcription(data: bytes, dialogue: str, notes: Counter[str]) -> list[Utterance]:
    """Reads the utterances of `dialogue`, sorted by start, end and id.

    Counts `lines_skipped` (remarks, and a bare `F:` or `M:`), `lines_unreadable` (without times, text or an id of this
    dialogue) and `turns_repeated` (the first is kept).
    """
    utterances: dict[str, Utterance] = {}
    for line in map(str.strip, files.decode_lines(data, notes)):
        match = UTTERANCE.fullmatch(line)
        if match and match[1] == dialogue:
            _, actor, number, start, end, text = match.groups()
            id = f"{dialogue}_{actor}{number}"
            notes["turns_repeated"] += id in utterances
            utterances.setdefault(id, Utterance(float(start), float(end), id, actor, text))
        elif line:
            notes["lines_unreadable" if line.startswith("Ses") else "lines_skipped"] += 1
    return sorted(utterances.values())


def read_evaluation(data: bytes, notes: Counter[str]) -> dict[str, str]:
    """Reads the code of the label that most evaluators chose, by utterance ("xxx" if there is no majority).

    Counts `evaluations_unreadable` (without an utterance or a label) and `evaluations_repeated` (the first is kept).
    """
    labels: dict[str, str] = {}
    for line in data.removeprefix(files.BYTE_ORDER_MARK).splitlines():
        if match := EVALUATION.match(line):
            utterance, label = (part.decode("ascii") for part in match.groups())
            notes["evaluations_repeated"] += utterance in labels
            labels.setdefault(utterance, label.lower())
        else:
            notes["evaluations_unreadable"] += line.startswith(b"[")
    return labels
