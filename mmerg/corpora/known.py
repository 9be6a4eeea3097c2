"""Which clips are bad in a published release itself, so that they are not held against a copy of it.

The names are data, in `known.yaml`. Opens no clip.

    known_bad("meld", "test")    # {"dia220_utt0": "too_long", "dia38_utt4": "too_long"}
"""

from __future__ import annotations

from collections.abc import Mapping

from mmerg.corpora.packaged import packaged


def known_bad(name: str, split: str) -> Mapping[str, str]:
    """How each bad clip of a release is bad (`ClipError.reason`), by its file's name without the ending.

    name, split: as in `Corpus`. Empty where nothing is known.
    """
    splits: dict[str, dict[str, str]] = packaged("known.yaml").get(name, {})
    return splits.get(split, {})
