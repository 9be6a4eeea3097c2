"""A small MELD in the exact layout of the release, with faults that are switched on by name."""

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path

from mmerg.corpora.meld import Split

COLUMNS = (
    "Sr No.",
    "Utterance",
    "Speaker",
    "Emotion",
    "Sentiment",
    "Dialogue_ID",
    "Utterance_ID",
    "Season",
    "Episode",
    "StartTime",
    "EndTime",
)

RELEASE_FOLDERS = {
    "train": "train/train_splits",
    "dev": "dev/dev_splits_complete",
    "test": "test/output_repeated_splits_test",
}


@dataclass
class Line:
    """A row of the csv. The defaults are as in most rows."""

    text: str
    speaker: str
    emotion: str
    dialogue: int | str
    utterance: int | str
    start: str = "00:01:00,000"
    end: str = "00:01:02,500"
    season: str = "3"
    episode: str = "19"

    def cells(self, number: int) -> list[str]:
        ids = [str(self.dialogue), str(self.utterance)]
        texts = [str(number), self.text, self.speaker, self.emotion, "neutral"]
        return [*texts, *ids, self.season, self.episode, self.start, self.end]

    @property
    def clip(self) -> str:
        return f"dia{self.dialogue}_utt{self.utterance}.mp4"


def three_dialogues() -> list[Line]:
    """Makes three turns of dialogue 0, one of 2, and two of 3. Dialogue 1 is missing, as 60 is in train."""
    return [
        Line("Where’s number 27?!", "Mark", "surprise", 0, 0, "00:14:38,127", "00:14:40,378"),
        Line("Oh. That way, she can keep track.", "Rachel", "anger", 0, 1, "00:14:40,629", "00:14:47,385"),
        Line("Y'know what?", "Rachel", "neutral", 0, 2, "0:14:56,000", "0:14:57,500"),
        Line("Hey!", "Joey", "joy", 2, 0),
        Line("I am so sorry…", "Ross", "sadness", 3, 0, "0:02:10,100", "0:02:12,000"),
        Line("It’s okay.", "Carol", "neutral", 3, 1, "0:02:12,100", "0:02:13,000"),
    ]


@dataclass
class Builder:
    """A corpus whose csv and clips `write(root)` writes; the other fields switch faults on."""

    split: Split = "test"
    lines: list[Line] = field(default_factory=three_dialogues)
    columns: tuple[str, ...] = COLUMNS
    newline: str = "\r\n"
    prefix: bytes = b""  # a byte order mark
    encoding: str = "utf-8"
    c1_controls: bool = False  # cp1252 bytes read as Latin-1 and saved as UTF-8
    extra: str = ""  # raw text after the rows
    csv_folder: str = ""
    clip_folder: str | None = None  # None: as in the release
    without_clips: frozenset[tuple[int | str, int | str]] = frozenset()
    stray_files: bool = False  # AppleDouble files, final_videos_test*, clips without a row

    def csv_bytes(self) -> bytes:
        out = io.StringIO()
        writer = csv.DictWriter(out, self.columns, lineterminator=self.newline, extrasaction="ignore")
        writer.writeheader()
        for number, line in enumerate(self.lines, start=1):
            writer.writerow(dict(zip(COLUMNS, line.cells(number), strict=True)))
        text = out.getvalue() + self.extra
        if self.c1_controls:
            return self.prefix + text.encode("cp1252").decode("latin-1").encode("utf-8")
        return self.prefix + text.encode(self.encoding)

    def write(self, root: Path) -> Path:
        folder = root / self.csv_folder
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.split}_sent_emo.csv"
        path.write_bytes(self.csv_bytes())
        clips = root / (f"MELD.Raw/{RELEASE_FOLDERS[self.split]}" if self.clip_folder is None else self.clip_folder)
        clips.mkdir(parents=True, exist_ok=True)
        for line in self.lines:
            if (line.dialogue, line.utterance) not in self.without_clips:
                (clips / line.clip).write_bytes(b"clip")
        if self.stray_files:
            names = ("._dia0_utt0.mp4", "final_videos_testdia0_utt1.mp4", "dia99_utt0.mp4", "dia0_utt0.mp4.part")
            for name in names:
                (clips / name).write_bytes(b"no clip of a row")
            (clips / "dia2_utt0.mp4").unlink(missing_ok=True)
            (clips / "dia2_utt0.mp4").mkdir()
        return path
