"""A run's keyframes in a report, which share their bytes with the run's folder."""

import re
from pathlib import Path

from mmerg.reporting.folder import ReportFolder
from mmerg.reporting.sample import SamplePage


class Frames:
    """Puts the frames of the run's folder `source` into a report, each once, below `prefix`."""

    def __init__(self, source: Path, folder: ReportFolder, prefix: str = "") -> None:
        self.source, self.folder, self.prefix = source, folder, prefix
        self._done: set[str] = set()

    def has(self, sha256: str) -> bool:
        """Whether the run has a file of this frame. A link is none: it could name any file of this machine."""
        file = self.source / f"{sha256}.jpg"
        return bool(re.fullmatch("[0-9a-f]{64}", sha256)) and file.is_file() and not file.is_symlink()

    def put(self, page: SamplePage) -> dict[str, str]:
        """Put the images of a sample into the report, as far as the run has them; the name of each by its hash."""
        taken = [keyframe.frame.sha256 for keyframe in page.keyframes]
        sent = [image for call in page.story.calls for message in call.event.messages for image in message.images]
        named = {image: f"frame {number}" for number, image in enumerate(taken, start=1) if self.has(image)}
        named |= {image: "the grid of frames" for image in sent if image not in named and self.has(image)}
        for image in named.keys() - self._done:
            self.folder.link(f"{self.prefix}frames/{image}.jpg", self.source / f"{image}.jpg")
        self._done |= named.keys()
        return named
