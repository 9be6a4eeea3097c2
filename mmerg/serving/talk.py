"""A talk as any client brings it, checked, and the sample that it is to the engine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from mmerg.corpora.dialogue import Clip, Sample, Turn
from mmerg.corpora.talk import sample_of
from mmerg.engine.sample import Experiment
from mmerg.frames.store import HeldFrames
from mmerg.serving.offered import Offered
from mmerg.serving.refused import RefusedError
from mmerg.serving.uploads import Upload, Uploads
from mmerg.settings.model import LimitSettings

WORDLESS = "(shows something and says nothing)"
Speaker = Literal["you", "mmerg"]


@dataclass(frozen=True)
class Said:
    """One turn: who says it, the words, and what is shown with them."""

    who: Speaker
    text: str
    shown: tuple[Upload, ...] = ()


@dataclass(frozen=True)
class Asked:
    """A reply that is wanted: of a system, in a chat, after these turns, with a seed (None: the settings'). owner: who
    is in the line for it, by any name."""

    offered: Offered
    chat: str
    said: tuple[Said, ...]
    seed: int | None
    owner: str

    @property
    def sample(self) -> Sample:
        settings = self.offered.settings
        names = {"you": settings.you, "mmerg": settings.answers_as}
        turns = [
            Turn(names[one.who], one.text.strip() or WORDLESS, clip=Clip(_place(number)) if one.shown else None)
            for number, one in enumerate(self.said, start=1)
        ]
        return sample_of(self.chat, turns, settings.answers_as, self.offered.corpus.labels)

    @cached_property
    def uploads(self) -> Uploads:
        return Uploads({_place(number): one.shown for number, one in enumerate(self.said, start=1) if one.shown})

    @property
    def experiment(self) -> Experiment:
        """The system's own, with what is shown in this talk for its clips, and frames in memory alone."""
        shared = self.offered.experiment
        sampling = shared.sampling if self.seed is None else replace(shared.sampling, seed=self.seed)
        return replace(shared, looker=replace(shared.looker, store=HeldFrames(), ahead=self.uploads), sampling=sampling)


def _place(number: int) -> Path:
    return Path(f"turn {number}")


def checked(said: Sequence[Said], limits: LimitSettings) -> tuple[Said, ...]:
    """The last limits.turns turns that say something, all but the last cut to limits.text. Raises RefusedError where
    they are no talk that a reply can follow."""
    kept = [one for one in said if one.text.strip() or one.shown][-limits.turns :]
    for what, hint in _wrong(kept, limits):
        raise RefusedError(what, where="the talk", hint=hint)
    return (*(replace(one, text=one.text[: limits.text]) for one in kept[:-1]), kept[-1])


def _wrong(said: Sequence[Said], limits: LimitSettings) -> Iterator[tuple[str, str]]:
    if not said:
        yield "there is no turn to reply to", "say something"
    elif said[-1].who != "you":
        yield "the last turn is not the user's: there is nothing to reply to", "let the user's turn be the last"
    elif len(said[-1].text) > limits.text:
        what = f"the turn has {len(said[-1].text)} characters, over {limits.text}"
        yield what, "say it shorter, or raise limits.text"
    yield from _wrong_files([upload for one in said for upload in one.shown], limits)


def _wrong_files(shown: Sequence[Upload], limits: LimitSettings) -> Iterator[tuple[str, str]]:
    if len(shown) > limits.pictures:
        yield f"{len(shown)} pictures are shown, over {limits.pictures}", "show fewer, or raise limits.pictures"
    for upload in shown:
        most = limits.clip_mb if upload.kind == "clip" else limits.picture_mb
        if len(upload.data) > most * 2**20:
            what = f"a {upload.kind} has {len(upload.data) / 2**20:.1f} MB, over {most}"
            yield what, f"show a smaller one, or raise limits.{upload.kind}_mb"
