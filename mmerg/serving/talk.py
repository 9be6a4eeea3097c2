"""A conversation as any client sends it, checked, and as a sample for the engine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mmerg.corpora.dialogue import Sample
from mmerg.corpora.talk import build_sample
from mmerg.engine.uploads import Upload, Uploads
from mmerg.experiment.talk import turns_and_uploads
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
    """Asks a system for the next turn of a chat. talk: the turns so far. seed: None for the settings' seed."""

    served: ServedSystem
    chat: str
    talk: tuple[Utterance, ...]
    seed: int | None

    def build_sample(self) -> tuple[Sample, Uploads]:
        """The sample, and the files of its turns."""
        name = self.served.settings.answers_as
        names = {"you": self.served.settings.you, "mmerg": name, "persona": f"About {name}"}
        turns, uploads = turns_and_uploads([(names[turn.who], turn.text, turn.uploads) for turn in self.talk])
        return build_sample(self.chat, turns, name, self.served.corpus.labels), uploads


def check_talk(talk: Sequence[Utterance], limits: LimitSettings) -> tuple[Utterance, ...]:
    """The last limits.turns turns that are not empty, all but the last cut to limits.text characters. Raises HttpError
    if no reply can follow them, or the last one or a file is too large."""
    kept = [turn for turn in talk if turn.text.strip() or turn.uploads][-limits.turns :]
    if not kept or kept[-1].who != "you":
        what = "there is no user turn to reply to"
        raise HttpError(what, where="the talk", hint="end the conversation with a user turn")
    uploads = [upload for turn in kept for upload in turn.uploads]
    _limit("text", f"the turn has {len(kept[-1].text)} characters", len(kept[-1].text), limits.text)
    _limit("pictures", f"{len(uploads)} pictures are shown", len(uploads), limits.pictures)
    for upload in uploads:
        size, most = len(upload.data) / 2**20, limits.clip_mb if upload.kind == "clip" else limits.picture_mb
        _limit(f"{upload.kind}_mb", f"a {upload.kind} has {size:.1f} MB", size, most)
    return (*(replace(turn, text=turn.text[: limits.text]) for turn in kept[:-1]), kept[-1])


def _limit(setting: str, what: str, count: float, most: int) -> None:
    if count > most:
        hint = f"say or show less, or raise limits.{setting}"
        raise HttpError(f"{what}, over {most}", where="the talk", hint=hint)
