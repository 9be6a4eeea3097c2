"""A small EmpatheticDialogues in the published layout, with faults that are switched on by name."""

from dataclasses import dataclass, field
from pathlib import Path

from mmerg.corpora.empathetic import Split

COLUMNS = "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags"


@dataclass
class Line:
    """A row. Commas in its cells are written as in the release."""

    conversation: str
    number: int | str
    text: str
    context: str = "guilty"
    prompt: str = "I forgot her birthday, again."
    speaker: int = 0
    selfeval: str = "5|5|5_5|5|5"
    tail: str = ","  # an empty last field; the release has longer ones, too

    def row(self) -> str:
        cells = [self.conversation, str(self.number), self.context, self.prompt, str(self.speaker), self.text]
        return ",".join(cell.replace(",", "_comma_") for cell in [*cells, self.selfeval]) + self.tail


def two_conversations() -> list[Line]:
    first, second = "hit:0_conv:1", "hit:1_conv:3"
    fear = {"context": "afraid", "prompt": "Something moved in the cellar."}
    return [
        Line(first, 1, "I forgot her birthday, and she knows."),
        Line(first, 2, "Did you call her, at least?", speaker=1),
        Line(first, 3, 'She said "whatever" and hung up.'),
        Line(first, 4, "Give her a day.", speaker=1),
        Line(second, 1, "It’s dark down there.", speaker=7, **fear),
        Line(second, 2, "Take a lamp, and a friend.", speaker=4, **fear),
        Line(second, 3, "I will.", speaker=7, **fear),
    ]


@dataclass
class Builder:
    """A corpus that `write(root)` writes; the other fields switch faults on."""

    split: Split = "test"
    lines: list[Line] = field(default_factory=two_conversations)
    header: str = COLUMNS
    newline: str = "\n"
    prefix: bytes = b""  # a byte order mark
    encoding: str = "utf-8"
    extra: str = ""  # raw text after the rows
    folder: str = ""

    def csv_bytes(self) -> bytes:
        text = self.newline.join([self.header, *(line.row() for line in self.lines), ""]) + self.extra
        return self.prefix + text.encode(self.encoding)

    def write(self, root: Path) -> Path:
        (root / self.folder).mkdir(parents=True, exist_ok=True)
        path = root / self.folder / f"{self.split}.csv"
        path.write_bytes(self.csv_bytes())
        return path
