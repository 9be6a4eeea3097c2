"""The 32 emotions of EmpatheticDialogues, and the six of Ekman that they are merged into.

The 32 are the values of the csv files' `context` column (Rashkin et al., ACL 2019). The merge follows TRACE (arXiv
2509.21849); `prepared`, which its map leaves out, is put under happiness here.

    EKMAN["jealous"]                  # 'anger'
    LABEL_SETS["ekman"]               # ('happiness', 'sadness', 'anger', 'fear', 'disgust', 'surprise')
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_MERGED = {
    "happiness": (
        "joyful excited proud grateful content impressed caring trusting faithful hopeful confident sentimental "
        "prepared"
    ),
    "sadness": "sad lonely disappointed devastated nostalgic guilty ashamed embarrassed",
    "anger": "angry furious annoyed jealous",
    "fear": "afraid terrified anxious apprehensive",
    "disgust": "disgusted",
    "surprise": "surprised anticipating",
}
EKMAN: Mapping[str, str] = MappingProxyType({one: six for six, ones in _MERGED.items() for one in ones.split()})
LABEL_SETS: Mapping[str, tuple[str, ...]] = MappingProxyType({"32": tuple(sorted(EKMAN)), "ekman": tuple(_MERGED)})
