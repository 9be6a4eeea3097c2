"""Where MELD's clips lie: `dia{D}_utt{U}.mp4`, in the folders of the release or flattened.

Each folder is listed once. AppleDouble files (`._dia…`), `final_videos_test…` and anything else are not clips.
No file is opened: a clip that cannot be decoded is found when its frames are taken.

    list_clips(Path("MELD.Raw"), "dev")[(3, 0)]    # .../dev/dev_splits_complete/dia3_utt0.mp4
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from mmerg.corpora.files import FileId, is_folder, known_as
from mmerg.corpora.meld_csv import packed_split
from mmerg.errors import CorpusError

Key = tuple[int, int]  # Dialogue_ID, Utterance_ID

CLIP = re.compile(r"dia([0-9]{1,9})_utt([0-9]{1,9})\.mp4")
RELEASE_FOLDER = {"train": "train_splits", "dev": "dev_splits_complete", "test": "output_repeated_splits_test"}


def clip_name(key: Key) -> str:
    """What the clip of an utterance is called."""
    return f"dia{key[0]}_utt{key[1]}.mp4"


def clip_folders(root: Path, split: str) -> list[Path]:
    """The folders looked in, best first: the release's own place, then flattened ones; under MELD.Raw, then root."""
    name = RELEASE_FOLDER[split]
    bases = (root / "MELD.Raw", root)
    return [base / folder for folder in (f"{split}/{name}", name, split) for base in bases]


def list_clips(root: Path, split: str) -> dict[Key, Path]:
    """The split's clips by (Dialogue_ID, Utterance_ID); a clip in an earlier folder hides one of the same name.

    Two clips that are one file have one path. A link that leads nowhere is no clip.
    Raises CorpusError where a folder cannot be listed, and where there is no clip but the archive that holds them.
    """
    clips: dict[Key, Path] = {}
    files: dict[FileId, Path] = {}
    for folder in clip_folders(root, split):
        if not is_folder(folder):
            continue
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries if CLIP.fullmatch(entry.name))
        except OSError as error:
            what = f"cannot list the clips of MELD's {split} split: {error.strerror}"
            raise CorpusError(what, where=str(folder), hint="check that you may read the folder") from error
        for name in names:
            dialogue, utterance = map(int, re.findall(r"[0-9]+", name)[:2])
            if path := known_as(folder / name, files):
                clips.setdefault((dialogue, utterance), path)
    if not clips and (packed := packed_split(root, split)):
        raise CorpusError(
            f"no clip of MELD's {split} split is unpacked",
            where=f"looked in {', '.join(map(str, clip_folders(root, split)))}",
            hint=f"unpack {packed}, or read words only: +dataset.reader.clips=false",
        )
    return clips
