"""A conversation from any client: its checks, and its conversion to a sample for the engine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mmerg.corpora.dialogue import Sample
from mmerg.corpora.talk import build_sample
from mmerg.engine.uploads import Upload, Uploads
from mmerg.experiment.talk import turns_and_uploads
from mmerg.serving.http_error import HttpError
from mmerg.serving.systems import ServedSystem
from mmerg.settings.commands import LimitSettings


@dataclass(frozen=True)
class Utterance:
    """One turn: the role of its speaker (user, assistant or persona), the text, and the files sent with it."""

    role: str
    text: str
    uploads: tuple[Upload, ...] = ()


@dataclass(frozen=True)
class ReplyRequest:
    """A request for the next turn of a chat."""

    served: ServedSystem
    chat: str  # its id
    talk: tuple[Utterance, ...]  # its turns so far
    seed: int | None  # of all calls; None for that of the settings

    def build_sample(self) -> tuple[Sample, Uploads]:
        """Builds the sample. Returns it with the files of its turns."""
        name = self.served.settings.answers_as
        names = {"user": self.served.settings.you, "assistant": name, "persona": f"About {name}"}
        turns, uploads = turns_and_uploads([(names[turn.role], turn.text, turn.uploads) for turn in self.talk])
        return build_sample(self.chat, turns, name, self.served.corpus.labels), uploads


def check_talk(talk: Sequence[Utterance], limits: LimitSettings) -> tuple[Utterance, ...]:
    """Checks a conversation, and shortens it to the limits. Returns the last `limits.turns` turns that are not empty.
    Those before the last one are cut to `limits.text` characters. Raises HttpError if no reply can follow, or if the
    last turn or a file is too large."""
    turns = [turn for turn in talk if turn.text.strip() or turn.uploads][-limits.turns :]
    if not turns or turns[-1].role != "user":
        what = "there is no user turn to reply to"
        raise HttpError(what, where="the talk", hint="end the conversation with a user turn")
    *earlier, last = turns
    uploads = [upload for turn in turns for upload in turn.uploads]
    _check_limit("text", f"the turn has {len(last.text)} characters", len(last.text), limits.text)
    _check_limit("pictures", f"{len(uploads)} pictures are shown", len(uploads), limits.pictures)
    for upload in uploads:
        megabytes = len(upload.data) / 2**20
        limit = limits.clip_mb if upload.kind == "clip" else limits.picture_mb
        _check_limit(f"{upload.kind}_mb", f"a {upload.kind} has {megabytes:.1f} MB", megabytes, limit)
    return (*(replace(turn, text=turn.text[: limits.text]) for turn in earlier), last)


def _check_limit(setting: str, what: str, value: float, limit: int) -> None:
    if value > limit:
        hint = f"send less, or raise limits.{setting}"
        raise HttpError(f"{what}, over {limit}", where="the talk", hint=hint)
