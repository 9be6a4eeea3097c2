"""Where MELD's clips lie: `dia{D}_utt{U}.mp4`, in the folders of the release or flattened.

Each folder is listed once. AppleDouble files (`._dia…`), `final_videos_test…`, numbers with leading zeros and anything
else are not clips. No file is opened: a clip that cannot be decoded is found when its frames are taken.

    list_clips(Path("MELD.Raw"), "dev")[(3, 0)]    # .../dev/dev_splits_complete/dia3_utt0.mp4
"""

from __future__ import annotations

import re
from pathlib import Path

from mmerg.corpora.files import FileId, first_file, is_folder, known_as, listing
from mmerg.errors import CorpusError

Key = tuple[int, int]  # Dialogue_ID, Utterance_ID

CLIP = re.compile(r"dia(0|[1-9][0-9]{0,8})_utt(0|[1-9][0-9]{0,8})\.mp4")
RELEASE_FOLDER = {"train": "train_splits", "dev": "dev_splits_complete", "test": "output_repeated_splits_test"}


def clip_name(key: Key) -> str:
    """What the clip of an utterance is called."""
    return f"dia{key[0]}_utt{key[1]}.mp4"


def list_clips(root: Path, split: str) -> dict[Key, Path]:
    """The split's clips by (Dialogue_ID, Utterance_ID).

    Looked for in the release's own folder, then in flattened ones, each under MELD.Raw and then under `root`; a clip in
    an earlier folder hides one of the same name. Two clips that are one file have one path. A link that leads nowhere
    is no clip. Raises CorpusError where a folder cannot be listed, and where there is no clip but the archive that
    holds them.
    """
    name = RELEASE_FOLDER[split]
    folders = [base / inner for inner in (f"{split}/{name}", name, split) for base in (root / "MELD.Raw", root)]
    clips: dict[Key, Path] = {}
    files: dict[FileId, Path] = {}
    for folder in filter(is_folder, folders):
        for match in filter(None, map(CLIP.fullmatch, listing(folder, f"the clips of MELD's {split} split"))):
            if path := known_as(folder / match[0], files):
                clips.setdefault((int(match[1]), int(match[2])), path)
    if not clips and (packed := first_file(archives(root, split))):
        raise CorpusError(
            f"no clip of MELD's {split} split is unpacked",
            where=f"looked in {', '.join(map(str, folders))}",
            hint=f"unpack {packed}, or read words only: +dataset.reader.clips=false",
        )
    return clips


def archives(root: Path, split: str) -> list[Path]:
    """Where the release's archive of the split may lie."""
    names = (f"{split}.tar.gz", "MELD.Raw.tar.gz")
    return [folder / name for name in names for folder in (root, root / "MELD.Raw")]
