"""The demo corpus that comes with the package: five drawn dialogues with clips, in the layout of `Folder`.

Drawn by `tools/draw_demo.py`; needs no download.

    corpus = Folder(demo_root()).load()
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def demo_root() -> Path:
    """The folder of the demo corpus."""
    return Path(str(files("mmerg.corpora"))) / "demo"
