"""The one place that imports OpenCV, quietly.

OpenCV and the FFmpeg inside it print a line to stderr for every damaged packet; both read the environment variables
that silence them once, at import. A value set by the user is left alone.

    cv2 = load_cv2()
"""

from __future__ import annotations

import importlib
import os
import threading
from types import ModuleType

# While it is imported, cv2 takes itself out of sys.modules for a moment: another thread would get half of it.
_LOADING = threading.Lock()


def load_cv2() -> ModuleType:
    """The module `cv2`, imported with its own log and that of FFmpeg off: what goes wrong is ours to say."""
    os.environ.setdefault("OPENCV_LOG_LEVEL", "FATAL")
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    with _LOADING:
        return importlib.import_module("cv2")
