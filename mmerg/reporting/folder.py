"""The folder of a report.

A new report is written to a folder beside it, and replaces the earlier report once it is complete. After an error the
earlier report remains. A marker lists all files of a report; a folder with any other file is refused.

    with report_folder(Path("runs/demo/report")) as folder:
        write_atomically(folder / "index.html", text)
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from mmerg.errors import RunError
from mmerg.storage.files import PART, make_private_folder, wrap_os_errors, write_atomically

MARKER = ".mmerg-report"


@contextmanager
def report_folder(path: Path) -> Iterator[Path]:
    """Yields a new folder, which replaces `path` if the block succeeds. Raises RunError if a file cannot be written, or
    if `path` holds files of no report."""
    place = path.resolve()
    with wrap_os_errors(path):
        make_private_folder(place.parent)
        _refuse_other_files(place)
        part = Path(mkdtemp(prefix=f".{place.name}.", suffix=PART, dir=place.parent))
    try:
        yield part
        names = sorted(file.relative_to(part).as_posix() for file in part.rglob("*") if file.is_file())
        write_atomically(part / MARKER, "\n".join([*names, MARKER, ""]))
        with wrap_os_errors(path):
            _refuse_other_files(place)
            if place.exists():
                shutil.rmtree(place)
            part.rename(place)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _refuse_other_files(place: Path) -> None:
    files = {file.relative_to(place).as_posix() for file in place.rglob("*") if file.is_symlink() or not file.is_dir()}
    marker = place / MARKER
    listed = marker.read_text(encoding="utf-8").split("\n") if marker.is_file() else ()
    if others := sorted(files.difference(listed)):
        where = str(place / others[0])
        raise RunError("the folder holds files that are not a report's", where=where, hint="choose another --out")
