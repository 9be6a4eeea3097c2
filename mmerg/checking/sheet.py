"""A contact sheet, one HTML page: the keyframes that samples would show a model with the turns they belong to.

Frames are taken by the run's own looker, so they are the run's, and are part of the page. A turn without frames says
why. The reply is never on it. Asks no model.

    page = contact_sheet("meld test", spread(samples, 12), looker, max_images=8)
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape

from mmerg.console.terminal import shown
from mmerg.corpora.dialogue import Sample
from mmerg.engine.look import COULD_SHOW_TARGET, Looker
from mmerg.frames.frame import Frame
from mmerg.runs.events import OVER_BUDGET, Event, FramesTaken, TurnFrames

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
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>
body {{ font: 14px sans-serif; color: #16181d; margin: 18px }}
h1 {{ font-size: 18px }}
h2 {{ font-size: 15px; background: #e8ecf2; padding: 6px 10px }}
figure {{ display: inline-block; margin: 0 8px 0 0 }}
img {{ max-width: 208px; max-height: 208px; display: block }}
figcaption, .note {{ font-size: 12px; color: #5c6370 }}
.why {{ background: #d9dce1; padding: 10px; display: inline-block; margin: 0 }}
.words {{ overflow-wrap: anywhere; margin: 2px 0 14px }}
</style></head><body>
<h1>{title}</h1>
{samples}
</body></html>
"""


def spread(samples: Sequence[Sample], count: int) -> list[Sample]:
    """`count` samples at even distances, or all where there are no more: always the same ones."""
    take = min(count, len(samples))
    return [samples[(2 * index + 1) * len(samples) // (2 * take)] for index in range(take)]


def contact_sheet(title: str, samples: Sequence[Sample], looker: Looker, max_images: int) -> str:
    """The page, `samples` from top to bottom, as a model with eyes is shown them that takes `max_images` in a call.

    Raises RunError where the looker's store cannot be written.
    """
    shown_samples = "\n".join(_sample(sample, looker, max_images) for sample in samples)
    return PAGE.format(title=_text(title), samples=shown_samples)


def _sample(sample: Sample, looker: Looker, max_images: int) -> str:
    events: list[Event] = []
    looker.look(sample.scene, sample.dropped, vision=True, max_images=max_images, emit=events.append)
    [taken] = [event for event in events if isinstance(event, FramesTaken)]
    turns = {turn.turn: turn for turn in taken.turns}
    history = sample.scene.history
    first = max(0, len(history) - looker.last_turns)
    notes = (
        f"turns 1 to {first} as text only" if first > 1 else "turn 1 as text only" if first else "",
        "all frames go in one numbered grid" if taken.form == "montage" else "",
        "" if looker.last_turns else "frames.seen_by=none: no agent sees frames",
    )
    parts = [f"<h2>{_text(sample.id)} · reply by {_text(sample.scene.responder)} (hidden)</h2>"]
    parts += [f'<p class="note">{"; ".join(filter(None, notes))}</p>'] if any(notes) else []
    for number, turn in enumerate(history[first:], start=first + 1):
        got = turns.get(number, TurnFrames(turn=number))
        why = f'<p class="why">no frames: {_text(WHY.get(got.problem, got.problem))}</p>'
        parts.append("".join(_figure(number, frame, looker) for frame in got.frames) or why)
        parts.append(f'<p class="words">{number}. {_text(turn.speaker)}: {_text(turn.text)}</p>')
    return "\n".join(parts)


def _figure(number: int, frame: Frame, looker: Looker) -> str:
    data = b64encode(looker.store.read(frame.sha256)).decode()
    caption = f"turn {number}, {frame.time:.2f} s"
    return (
        f'<figure><img alt="{caption}" src="data:image/jpeg;base64,{data}"><figcaption>{caption}</figcaption></figure>'
    )


def _text(foreign: str) -> str:
    return escape(shown(foreign))
