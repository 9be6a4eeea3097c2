"""Write a small IEMOCAP in the release's exact layout, each of its traps switched on by name; or one of full size."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

DIALOGUES = {1: 28, 2: 30, 3: 32, 4: 30, 5: 31}
VOTES = {"neu": "Neutral", "ang": "Anger", "sad": "Sadness", "hap": "Happiness", "exc": "Excited", "fru": "Frustration"}
APPLE_DOUBLE = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        \x00\x02\x00\x00"


@dataclass
class Said:
    """A turn: who ("F" or "M"), when (seconds), words, and the label (None: nobody evaluated it)."""

    actor: str
    start: float
    end: float
    text: str = "Excuse me."
    label: str | None = "neu"
    id: str = ""  # the whole name of the utterance, where it is not the next number of its actor


@dataclass
class Talk:
    """A dialogue. Its files list all turns of the one who wears the markers, then all of the other."""

    name: str
    said: Sequence[Said]
    more: str = ""  # raw lines after those of the transcription
    remarks: str = ""  # raw lines after those of the evaluation

    @property
    def session(self) -> int:
        return int(self.name[4])

    def named(self) -> list[tuple[str, Said]]:
        """The turns in the files' order with their ids, which count each actor's from 0 in order of time."""
        rows: list[tuple[str, Said]] = []
        for actor in (self.name[5], "FM".replace(self.name[5], "")):
            own = sorted((said for said in self.said if said.actor == actor), key=lambda said: said.start)
            rows += [(said.id or f"{self.name}_{actor}{n:03d}", said) for n, said in enumerate(own)]
        return rows

    def transcription(self) -> str:
        lines = [f"{name} [{said.start:08.4f}-{said.end:08.4f}]: {said.text}\n" for name, said in self.named()]
        return "".join(lines) + self.more

    def evaluation(self) -> str:
        blocks = ["% [START_TIME - END_TIME] TURN_NAME EMOTION [V, A, D]\n"]
        for number, (name, said) in enumerate(self.named()):
            if said.label is None:
                continue
            vote = VOTES.get(said.label, "Other")
            lines = [f"[{said.start:.4f} - {said.end:.4f}]\t{name}\t{said.label}\t[2.5000, 2.5000, 2.5000]"]
            lines += [f"C-E{evaluator}:\t{vote};\t()" for evaluator in range(2, 4 + number % 2)]
            lines += [f"C-{said.actor}1:\t{vote}; Other;\t(between [these] two)"]
            lines += ["A-E3:\tval 3; act 2; dom  2;\t()", f"A-{said.actor}1:\tval 3; act 2; dom  3;\t()"]
            blocks.append("\n".join(lines) + "\n")
        return "\n".join(blocks) + "\n" + self.remarks


def improvised(name: str = "Ses05F_impro01") -> Talk:
    """Five turns in which each overlaps the next; the last but one is the last that has a label of the six."""
    return Talk(
        name,
        [
            Said("F", 6.2901, 8.2357, "Excuse me.", "neu"),
            Said("M", 7.5712, 10.4750, "Do you have your forms?", "fru"),
            Said("F", 10.0100, 11.3925, "Yeah: here. [LAUGHTER]", "hap"),
            Said("M", 11.1600, 14.2000, "Let me see them.", "exc"),
            Said("F", 13.9000, 15.5000, "Is there a problem?", "xxx"),
        ],
    )


def played(name: str = "Ses05M_script01_1b") -> Talk:
    """Two turns of a play, where the man wears the markers."""
    return Talk(name, [Said("M", 1.0, 3.5, "She's coming.", "sad"), Said("F", 3.2, 5.0, "Is she?", "ang")])


@dataclass
class Builder:
    """`write(root)` writes the sessions of `talks`; the switches are the traps."""

    talks: Sequence[Talk] = field(default_factory=lambda: [improvised(), played()])
    encoding: str = "utf-8"
    newline: str = "\n"
    prefix: bytes = b""  # a byte order mark
    strangers: bool = False  # AppleDouble files, folders and files with names that are like those of dialogues
    release: str = ""  # the folder of the release in root
    without: frozenset[str] = frozenset()  # folders of a session ("dialog/avi") or files, by their paths in it

    def write(self, root: Path) -> Path:
        base = root / self.release if self.release else root
        for talk in self.talks:
            session = base / f"Session{talk.session}"
            files = {
                f"dialog/transcriptions/{talk.name}.txt": self._bytes(talk.transcription()),
                f"dialog/EmoEvaluation/{talk.name}.txt": self._bytes(talk.evaluation()),
                **dict.fromkeys(_beside(talk), b"1 2 3\n"),
            }
            if self.strangers:
                files |= dict.fromkeys(_strangers(talk), APPLE_DOUBLE)
            for path, data in files.items():
                if not any(path == without or path.startswith(f"{without}/") for without in self.without):
                    file = session / path
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(data)
            if self.strangers:
                (session / f"dialog/transcriptions/Ses0{talk.session}F_impro99.txt").mkdir(exist_ok=True)
        return base

    def _bytes(self, text: str) -> bytes:
        return self.prefix + text.replace("\n", self.newline).encode(self.encoding)


def _beside(talk: Talk) -> Iterable[str]:
    """The files of a dialogue that are not read, and its video, which is not opened."""
    yield f"dialog/avi/DivX/{talk.name}.avi"
    yield f"dialog/wav/{talk.name}.wav"
    yield f"dialog/lab/Ses0{talk.session}_F/{talk.name}.lab"
    yield f"dialog/MOCAP_hand/{talk.name}.txt"
    yield f"dialog/EmoEvaluation/Attribute/{talk.name}_e3.txt"
    yield f"dialog/EmoEvaluation/Categorical/{talk.name}_e2_cat.txt"
    yield f"dialog/EmoEvaluation/Self-evaluation/{talk.name}_f1.txt"
    yield from (f"sentences/wav/{talk.name}/{name}.wav" for name, _ in talk.named())


def _strangers(talk: Talk) -> Iterable[str]:
    for folder in ("dialog/transcriptions", "dialog/EmoEvaluation"):
        yield f"{folder}/._{talk.name}.txt"
        yield f"{folder}/{talk.name} (1).txt"
        yield f"{folder}/{talk.name}.txt.orig"
        yield f"{folder}/Ses0{talk.session % 5 + 1}F_impro01.txt"  # of another session
        yield f"{folder}/README.txt"
    yield f"dialog/avi/DivX/._{talk.name}.avi"


def names_of(session: int) -> list[str]:
    """As many names of dialogues as the session has, half of them plays."""
    plays = [f"script{play:02d}_{part}" for play in (1, 2, 3) for part in (1, 2, 3) if (play, part) != (3, 3)]
    names = [f"Ses0{session}{actor}_{play}" for actor in "FM" for play in plays][:15]
    rest = (f"Ses0{session}{actor}_impro{n:02d}" for n in count(1) for actor in "FM")
    return sorted([*names, *(next(rest) for _ in range(DIALOGUES[session] - len(names)))])


def session5(undecided: int = 5) -> list[Talk]:
    """Session 5 with its 31 dialogues, of which so many end in a turn that has no majority."""
    talks = []
    for number, name in enumerate(names_of(5)):
        last = "xxx" if number < undecided else "sad"
        said = [Said("F", 1, 3, "One.", "neu"), Said("M", 2, 5, "Two.", "ang"), Said("F", 4, 7, "Three.", last)]
        talks.append(Talk(name, said))
    return talks
