"""Where MELD's csv files lie, by split and variant: multi-party as published first, or cut into dyads.

find_csv(Path("MELD"), "test", "dyadic")    # MELD/data/MELD_Dyadic/test_sent_emo_dya.csv
"""

from __future__ import annotations

from pathlib import Path

from mmerg.corpora.files import holdings, is_file, is_folder, refuse_folder
from mmerg.errors import CorpusError

SPLITS = ("train", "dev", "test")
NAMES = {"multi": "{split}_sent_emo.csv", "dyadic": "{split}_sent_emo_dya.csv"}
FOLDERS = {
    "multi": ("", "MELD.Raw", "data/MELD", "{split}", "MELD.Raw/{split}"),
    "dyadic": ("", "MELD.Raw", "data/MELD_Dyadic", "MELD_Dyadic", "{split}", "MELD.Raw/{split}"),
}
ROOT_HINT = "set dataset.root to the folder that holds the csv files or MELD.Raw (layouts: docs/datasets.md)"


def csv_places(root: Path, split: str, variant: str) -> list[Path]:
    """Where the file may lie, best first."""
    name = NAMES[variant].format(split=split)
    return [root / folder.format(split=split) / name for folder in FOLDERS[variant]]


def find_csv(root: Path, split: str, variant: str) -> Path:
    """The first that is there. Raises CorpusError, which tells of archives that are not unpacked yet."""
    places = csv_places(root, split, variant)
    for place in places:
        if is_file(place):
            return place
    refuse_folder(places)
    raw = root / "MELD.Raw"
    held = "; ".join(holdings(folder) for folder in ((root, raw) if is_folder(raw) else (root,)))
    where = f"looked in {', '.join(str(place.parent) for place in places)}; {held}"
    if packed := packed_split(root, split):
        hint = f"unpack {packed}; {ROOT_HINT}"
    elif variant == "dyadic" and any(map(is_file, csv_places(root, split, "multi"))):
        hint = "its folder MELD_Dyadic belongs beside MELD's own; or dataset.variant=multi"
    else:
        hint = ROOT_HINT
    raise CorpusError(f"no {places[0].name} for MELD's {split} split", where=where, hint=hint)


def other_files(root: Path, split: str, variant: str) -> dict[str, Path]:
    """The files of the other splits that are there, by split."""
    found = {other: next(filter(is_file, csv_places(root, other, variant)), None) for other in SPLITS}
    return {other: path for other, path in found.items() if path and other != split}


def packed_split(root: Path, split: str) -> Path | None:
    """The release's archive that holds the split, where it lies under `root`."""
    names = (f"{split}.tar.gz", "MELD.Raw.tar.gz")
    return next(
        (folder / name for name in names for folder in (root, root / "MELD.Raw") if is_file(folder / name)), None
    )
