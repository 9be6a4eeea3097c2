"""A small IEMOCAP in the exact layout of the release, with faults that are switched on by name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

DIALOGUES = {1: 28, 2: 30, 3: 32, 4: 30, 5: 31}
VOTES = {"neu": "Neutral", "ang": "Anger", "sad": "Sadness", "hap": "Happiness", "exc": "Excited", "fru": "Frustration"}
APPLE_DOUBLE = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        \x00\x02\x00\x00"


@dataclass
class Utterance:
    """A turn."""

    actor: str  # F or M
    start: float  # seconds
    end: float
    text: str = "Excuse me."
    label: str | None = "neu"  # None if nobody evaluated the turn
    id: str = ""  # the id of the utterance, if it is not the next number of its actor


@dataclass
class Recording:
    """A dialogue. Its files list all turns of the actor with the markers, then all turns of the other."""

    name: str
    utterances: Sequence[Utterance]
    more: str = ""  # raw lines at the end of the transcription
    remarks: str = ""  # raw lines at the end of the evaluation

    @property
    def session(self) -> int:
        return int(self.name[4])

    def with_ids(self) -> list[tuple[str, Utterance]]:
        """Returns the turns with ids, in the order of the files. Ids count the turns of an actor by time, from 0."""
        rows: list[tuple[str, Utterance]] = []
        for actor in (self.name[5], "FM".replace(self.name[5], "")):
            spoken = [utterance for utterance in self.utterances if utterance.actor == actor]
            spoken.sort(key=lambda utterance: utterance.start)
            rows += [
                (utterance.id or f"{self.name}_{actor}{number:03d}", utterance)
                for number, utterance in enumerate(spoken)
            ]
        return rows

    def transcription(self) -> str:
        lines = [f"{id} [{turn.start:08.4f}-{turn.end:08.4f}]: {turn.text}\n" for id, turn in self.with_ids()]
        return "".join(lines) + self.more

    def evaluation(self) -> str:
        blocks = ["% [START_TIME - END_TIME] TURN_NAME EMOTION [V, A, D]\n"]
        for number, (id, turn) in enumerate(self.with_ids()):
            if turn.label is None:
                continue
            vote = VOTES.get(turn.label, "Other")
            lines = [f"[{turn.start:.4f} - {turn.end:.4f}]\t{id}\t{turn.label}\t[2.5000, 2.5000, 2.5000]"]
            lines += [f"C-E{evaluator}:\t{vote};\t()" for evaluator in range(2, 4 + number % 2)]
            lines += [f"C-{turn.actor}1:\t{vote}; Other;\t(between [these] two)"]
            lines += ["A-E3:\tval 3; act 2; dom  2;\t()", f"A-{turn.actor}1:\tval 3; act 2; dom  3;\t()"]
            blocks.append("\n".join(lines) + "\n")
        return "\n".join(blocks) + "\n" + self.remarks


def improvised(name: str = "Ses05F_impro01") -> Recording:
    """Makes five turns, each of which overlaps the next. The last but one is the last with one of the six labels."""
    return Recording(
        name,
        [
            Utterance("F", 6.2901, 8.2357, "Excuse me.", "neu"),
            Utterance("M", 7.5712, 10.4750, "Do you have your forms?", "fru"),
            Utterance("F", 10.0100, 11.3925, "Yeah: here. [LAUGHTER]", "hap"),
            Utterance("M", 11.1600, 14.2000, "Let me see them.", "exc"),
            Utterance("F", 13.9000, 15.5000, "Is there a problem?", "xxx"),
        ],
    )


def played(name: str = "Ses05M_script01_1b") -> Recording:
    """Makes two turns of a play in which the man wears the markers."""
    return Recording(
        name, [Utterance("M", 1.0, 3.5, "She's coming.", "sad"), Utterance("F", 3.2, 5.0, "Is she?", "ang")]
    )


@dataclass
class Builder:
    """A corpus of `recordings` whose sessions `write(root)` writes; the other fields switch faults on."""

    recordings: Sequence[Recording] = field(default_factory=lambda: [improvised(), played()])
    encoding: str = "utf-8"
    newline: str = "\n"
    prefix: bytes = b""  # a byte order mark
    stray_files: bool = False  # AppleDouble files, folders and files with names that are like those of dialogues
    release: str = ""  # the folder of the release in root
    without: frozenset[str] = frozenset()  # paths in a session that are not written: folders ("dialog/avi") or files

    def write(self, root: Path) -> Path:
        base = root / self.release if self.release else root
        for recording in self.recordings:
            session = base / f"Session{recording.session}"
            files = {
                f"dialog/transcriptions/{recording.name}.txt": self._bytes(recording.transcription()),
                f"dialog/EmoEvaluation/{recording.name}.txt": self._bytes(recording.evaluation()),
                **dict.fromkeys(_list_unread_files(recording), b"1 2 3\n"),
            }
            if self.stray_files:
                files |= dict.fromkeys(_list_stray_files(recording), APPLE_DOUBLE)
            for path, data in files.items():
                if not any(path == without or path.startswith(f"{without}/") for without in self.without):
                    file = session / path
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(data)
            if self.stray_files:
                (session / f"dialog/transcriptions/Ses0{recording.session}F_impro99.txt").mkdir(exist_ok=True)
        return base

    def _bytes(self, text: str) -> bytes:
        return self.prefix + text.replace("\n", self.newline).encode(self.encoding)


def _list_unread_files(recording: Recording) -> Iterable[str]:
    """Lists the files of a dialogue that are not read, and its video, which is not opened."""
    yield f"dialog/avi/DivX/{recording.name}.avi"
    yield f"dialog/wav/{recording.name}.wav"
    yield f"dialog/lab/Ses0{recording.session}_F/{recording.name}.lab"
    yield f"dialog/MOCAP_hand/{recording.name}.txt"
    yield f"dialog/EmoEvaluation/Attribute/{recording.name}_e3.txt"
    yield f"dialog/EmoEvaluation/Categorical/{recording.name}_e2_cat.txt"
    yield f"dialog/EmoEvaluation/Self-evaluation/{recording.name}_f1.txt"
    yield from (f"sentences/wav/{recording.name}/{name}.wav" for name, _ in recording.with_ids())


def _list_stray_files(recording: Recording) -> Iterable[str]:
    for folder in ("dialog/transcriptions", "dialog/EmoEvaluation"):
        yield f"{folder}/._{recording.name}.txt"
        yield f"{folder}/{recording.name} (1).txt"
        yield f"{folder}/{recording.name}.txt.orig"
        yield f"{folder}/Ses0{recording.session % 5 + 1}F_impro01.txt"  # of another session
        yield f"{folder}/README.txt"
    yield f"dialog/avi/DivX/._{recording.name}.avi"


def name_dialogues(session: int) -> list[str]:
    """Names as many dialogues as the session has. Half of them are plays."""
    plays = [f"script{play:02d}_{part}" for play in (1, 2, 3) for part in (1, 2, 3) if (play, part) != (3, 3)]
    names = [f"Ses0{session}{actor}_{play}" for actor in "FM" for play in plays][:15]
    rest = (f"Ses0{session}{actor}_impro{n:02d}" for n in count(1) for actor in "FM")
    return sorted([*names, *(next(rest) for _ in range(DIALOGUES[session] - len(names)))])


def session5(undecided: int) -> list[Recording]:
    """Makes Session 5 with its 31 dialogues. The last turn of `undecided` dialogues has no majority."""
    recordings = []
    for number, name in enumerate(name_dialogues(5)):
        last = "xxx" if number < undecided else "sad"
        utterances = [
            Utterance("F", 1, 3, "One.", "neu"),
            Utterance("M", 2, 5, "Two.", "ang"),
            Utterance("F", 4, 7, "Three.", last),
        ]
        recordings.append(Recording(name, utterances))
    return recordings
