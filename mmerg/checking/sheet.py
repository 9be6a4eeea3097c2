"""A contact sheet, one HTML page: the keyframes that samples would show a model with the turns they belong to.

Frames are taken by the run's own looker, so they are the run's, and are part of the page. A turn without frames says
why. The reply is never on it. Asks no model.

    page = contact_sheet("meld test", spread(samples, 12), looker, max_images=8)
"""

from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from mmerg.console.terminal import printable
from mmerg.corpora.dialogue import Sample
from mmerg.engine.look import COULD_SHOW_TARGET, Looker
from mmerg.frames.store import Frame
from mmerg.runs.events import OVER_BUDGET, Event, FramesTaken

WHY = {
    "": "this turn has no clip, or its file is missing",
    "missing": "the clip's file is missing",
    "unreadable": "the clip cannot be read",
    "empty": "no frame lies in the clip's span",
    "outside": "the clip's span lies after its file's end",
    "bad_span": "the clip's span ends before it starts",
    "too_long": "the clip is longer than frames.max_seconds",
    "too_small": "too few pixels are left of the picture",
    COULD_SHOW_TARGET: "left out: the clip could show the reply",
    OVER_BUDGET: "later turns take all frames (frames.max_frames)",
}


def spread(samples: Sequence[Sample], count: int) -> list[Sample]:
    """`count` samples at even distances, or all where there are no more: always the same ones."""
    take = min(count, len(samples))
    return [samples[(2 * index + 1) * len(samples) // (2 * take)] for index in range(take)]


def contact_sheet(title: str, samples: Sequence[Sample], looker: Looker, max_images: int) -> str:
    """The page with these samples, as a model sees them that takes `max_images` in a call.

    Raises RunError where the looker's store cannot be written.
    """

    def taken(sample: Sample) -> FramesTaken:
        events: list[Event] = []
        looker.look(sample.scene, sample.dropped, vision=True, max_images=max_images, emit=events.append)
        return next(event for event in events if isinstance(event, FramesTaken))

    def jpeg(frame: Frame) -> str:
        return b64encode(looker.store.read(frame.sha256)).decode()

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.finalize = lambda value: printable(value) if isinstance(value, str) else value
    template = environment.from_string((files("mmerg.checking") / "sheet.j2").read_text(encoding="utf-8"))
    pairs = ((sample, taken(sample)) for sample in samples)
    return template.render(title=title, samples=pairs, last_turns=looker.settings.last_turns, why=WHY, jpeg=jpeg)
