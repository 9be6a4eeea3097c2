"""A talk as any client sends it, checked, and made a sample for the engine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from mmerg.corpora.dialogue import Sample, Turn
from mmerg.corpora.talk import build_sample
from mmerg.engine.sample import Experiment
from mmerg.engine.uploads import Upload, Uploads
from mmerg.experiment.talk import turns_and_uploads, with_uploads
from mmerg.serving.offered import ServedSystem
from mmerg.serving.refused import HttpError
from mmerg.settings.commands import LimitSettings

Speaker = Literal["you", "mmerg", "persona"]


@dataclass(frozen=True)
class Utterance:
    """One turn: the speaker, the words, and the files sent with them."""

    who: Speaker
    text: str
    uploads: tuple[Upload, ...] = ()


@dataclass(frozen=True)
class ReplyRequest:
    """Asks for the reply of a system in a chat. talk: the turns before it. seed: None for the settings'."""

    offered: ServedSystem
    chat: str
    talk: tuple[Utterance, ...]
    seed: int | None

    @cached_property
    def _shown(self) -> tuple[list[Turn], Uploads]:
        name = self.offered.settings.answers_as
        names = {"you": self.offered.settings.you, "mmerg": name, "persona": f"About {name}"}
        return turns_and_uploads([(names[one.who], one.text, one.uploads) for one in self.talk])

    @property
    def sample(self) -> Sample:
        return build_sample(self.chat, self._shown[0], self.offered.settings.answers_as, self.offered.corpus.labels)

    @property
    def uploads(self) -> Uploads:
        return self._shown[1]

    @property
    def experiment(self) -> Experiment:
        """The system's own, with this talk's uploads for clips, and frames in memory alone."""
        return with_uploads(self.offered.experiment, self.uploads, self.seed)


def check_talk(talk: Sequence[Utterance], limits: LimitSettings) -> tuple[Utterance, ...]:
    """The last limits.turns turns that are not empty, all but the last cut to limits.text. Raises HttpError where no
    reply can follow them."""
    kept = [one for one in talk if one.text.strip() or one.uploads][-limits.turns :]
    if not kept or kept[-1].who != "you":
        what = "there is no user turn to reply to"
        raise HttpError(what, where="the talk", hint="end the conversation with a user turn")
    uploads = [upload for one in kept for upload in one.uploads]
    _limit("text", f"the turn has {len(kept[-1].text)} characters", len(kept[-1].text), limits.text)
    _limit("pictures", f"{len(uploads)} pictures are shown", len(uploads), limits.pictures)
    for upload in uploads:
        size, most = len(upload.data) / 2**20, limits.clip_mb if upload.kind == "clip" else limits.picture_mb
        _limit(f"{upload.kind}_mb", f"a {upload.kind} has {size:.1f} MB", size, most)
    return (*(replace(one, text=one.text[: limits.text]) for one in kept[:-1]), kept[-1])


def _limit(setting: str, what: str, count: float, most: int) -> None:
    if count > most:
        hint = f"say or show less, or raise limits.{setting}"
        raise HttpError(f"{what}, over {most}", where="the talk", hint=hint)
