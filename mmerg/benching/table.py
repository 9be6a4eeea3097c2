"""The bench's own folder: its name, what an earlier call left in it, and a table that is written with every row.

    table = opened(Path("runs/.bench") / folder_name(blank), blank)
    table.put(row)         # bench.json and bench.md now hold it
    table.close()          # the plot, too

A table is of one dataset, number of samples, settings and options of figures; its backbones may come in several calls.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mmerg.benching.backbones import Skipped
from mmerg.benching.drawn import Bench, picture, sheet
from mmerg.benching.measure import Row
from mmerg.console.tables import as_markdown
from mmerg.errors import ConfigError, RunError
from mmerg.plots import style
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from mmerg.scoring.files import read, written
from mmerg.storage.files import write_whole

JSON, MARKDOWN = "bench.json", "bench.md"
PLOTS = ("bench.png", "bench.svg")


class Table:
    """A bench as it grows: `bench` is what its files say, `new` names the rows of this call."""

    def __init__(self, folder: Path, bench: Bench) -> None:
        self.folder = folder
        self.bench = bench
        self.new: set[str] = set()

    @property
    def rows(self) -> list[Row]:
        """The rows of this call, in the table's order."""
        return [row for row in self.bench.rows if row.name in self.new]

    def put(self, row: Row) -> None:
        """Add a row, or put it in the place of the one before, and write. Raises RunError. Where the run made no call
        this time, what its model took when it was loaded stays."""
        rows = {one.name: one for one in self.bench.rows}
        before = rows.get(row.name)
        if before and before.memory.size and not row.memory.size and before.run == row.run:
            row = row.model_copy(update={"memory": before.memory})
        self.new.add(row.name)
        self._write((rows | {row.name: row}).values())

    def leave_out(self, skipped: Skipped) -> None:
        """Note that a backbone failed. Seeds that ran in this call stay, and of what an earlier call left, rows whose
        runs can be read."""
        rows = self.bench.rows
        kept = (row for row in rows if row.backbone != skipped.name or row.name in self.new or _whole(row))
        self._write(kept, skipped)

    def close(self) -> list[Path]:
        """Draw the plot; all files. One without anything to draw is removed."""
        files = self._write(self.bench.rows)
        with style.styled():
            figure = picture(self.bench)
            for file in (self.folder / name for name in PLOTS):
                if figure:
                    style.write(figure, file)
                    files.append(file)
                else:
                    file.unlink(missing_ok=True)
        return files

    def _write(self, rows: Iterable[Row], *skipped: Skipped) -> list[Path]:
        bench = self.bench.model_copy(update={"rows": tuple(rows), "skipped": (*self.bench.skipped, *skipped)})
        earlier = tuple(row.name for row in bench.rows if row.name not in self.new)
        self.bench = bench.model_copy(update={"earlier": earlier})
        # a table without rows is not worth a file, but takes the place of one that says what is no longer so
        if not self.bench.rows and not (self.folder / JSON).exists():
            return []
        written(self.folder / JSON, self.bench)
        write_whole(self.folder / MARKDOWN, as_markdown(sheet(self.bench)))
        return [self.folder / JSON, self.folder / MARKDOWN]


def _whole(row: Row) -> bool:
    with suppress(RunError):
        read_manifest(Path(row.run))
        read_results(Path(row.run))
        return True
    return False


def settings_of(given: Iterable[str]) -> tuple[str, ...]:
    """The settings that tell tables apart, in one order: the last of each key, without the place of the runs."""
    by_key = {setting.lstrip("+").partition("=")[0]: setting for setting in given}
    return tuple(setting for key, setting in sorted(by_key.items()) if key != "runs")


def folder_name(bench: Bench) -> str:
    """Dataset and number of samples, and a hash where there are settings or options of figures."""
    name = f"{bench.dataset}-{bench.asked}"
    if not (bench.settings or bench.figures):
        return name
    text = json.dumps([bench.dataset, bench.asked, bench.settings, bench.figures])
    return f"{name}-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:8]}"


def opened(folder: Path, blank: Bench) -> Table:
    """The table in `folder`, with the rows of earlier calls whose runs are still there. Raises ConfigError where
    nothing can be written there, or the folder holds another table."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        what = f"the table cannot be written there: {error.strerror}"
        raise ConfigError(what, where=str(folder), hint="--out DIR, a folder that can be written") from error
    before = blank
    with suppress(OSError, ValueError):  # none, or of another version: its runs are still there
        before = read(folder / JSON, Bench)
    if _told(before) != _told(blank):
        hint = "another --out DIR, or remove that table"
        raise ConfigError(f"another table is there: {' '.join(_told(before))}", where=str(folder), hint=hint)
    rows = tuple(row for row in before.rows if Path(row.run).is_dir())
    return Table(folder, blank.model_copy(update={"rows": rows, "earlier": tuple(row.name for row in rows)}))


def _told(bench: Bench) -> tuple[str, ...]:
    return (f"{bench.dataset}, {bench.asked} samples", *bench.settings, *bench.figures)
