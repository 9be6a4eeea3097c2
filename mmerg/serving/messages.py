"""Messages as chat programs send them, over either API, made into a talk.

System messages and tools are ignored: agents have prompts of their own, and call no tools.
"""

import base64
import binascii
import hashlib
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeVar
from uuid import uuid4

from fastapi import Request
from pydantic import BaseModel, BeforeValidator, ValidationError
from starlette.concurrency import run_in_threadpool

from mmerg.serving.offered import Offered
from mmerg.serving.refused import RefusedError
from mmerg.serving.talk import WORDLESS, ReplyRequest, Speaker, Utterance, check_talk
from mmerg.serving.uploads import Upload
from mmerg.settings.backbone import SEEDS, Seed
from mmerg.settings.model import LimitSettings
from mmerg.storage.files import why

TASK = "### Task:"  # how front ends begin prompts for their own use: titles, tags, follow-ups
ATTACHED = re.compile(r"\A\s*<attached_files>.*?</attached_files>\s*", re.DOTALL)  # put before what the user wrote
PICTURES = re.compile(rb"\xff\xd8\xff|\x89PNG\r\n\x1a\n|GIF8[79]a|RIFF....WEBP", re.DOTALL)
VALUES = 200_000  # of a request, counted by its commas and brackets
Body = TypeVar("Body", bound=BaseModel)
AnySeed = Annotated[
    Seed | None, BeforeValidator(lambda seed: secrets.randbelow(SEEDS) if seed == -1 else seed)
]  # -1: a random one


@dataclass(frozen=True)
class Sent:
    """A message of either API. pictures: each in base64."""

    role: str
    text: str
    pictures: tuple[str, ...] = ()


async def read_body(request: Request, kind: type[Body]) -> Body:
    """The request's JSON. Raises RefusedError where it is no JSON, or does not fit `kind`."""
    return await run_in_threadpool(parse_json, await request.body() or b"{}", kind)


def parse_json(data: bytes, kind: type[Body]) -> Body:
    """JSON as a model. Raises RefusedError where it is no JSON, does not fit `kind`, or has too many values: a parser
    takes a kilobyte for each, however short it is written."""
    values = 0
    for start in range(0, len(data), 2**20):  # piece by piece: others go on in between
        values += sum(data.count(mark, start, start + 2**20) for mark in (b",", b"[", b"{"))
        if values > VALUES:
            raise RefusedError(f"the request holds more than {VALUES} values", where="the body", status=413)
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        raise RefusedError(f"the request cannot be read: {why(error)}", where="the body") from None


def client_key(request: Request) -> str:
    """Who asks, as far as the server can know: the address and the key."""
    host = request.client.host if request.client else ""
    return f"{host}\0{request.headers.get('authorization', '')}"


def queue_owner(user: str, text: str) -> str:
    """The owner of a turn in the line: one for `user` and a talk that begins with `text`."""
    return hashlib.sha256(f"{user}\0{text}".encode(errors="replace")).hexdigest()


def reply_request(
    offered: Offered, sent: Sequence[Sent], limits: LimitSettings, seed: int | None, user: str
) -> ReplyRequest:
    """The reply that these messages ask for. user: who asks, see `client_key`. Programs send the whole talk with every
    turn: earlier pictures are left out where the agents would not see them, or where there is no room. Raises
    RefusedError where the messages are no talk."""
    turns = list(_turns(sent))
    talk: list[Utterance] = []
    room = limits.pictures
    for after, (number, speaker, message) in enumerate(reversed(turns)):
        looked_at = after < offered.settings.frames.last_turns and (not after or len(message.pictures) <= room)
        pictures = message.pictures if looked_at else ()
        room -= len(pictures)
        uploads = tuple(_picture(data, f"message {number}", limits) for data in pictures)
        talk.append(Utterance(speaker, message.text.strip() or WORDLESS, uploads))
    checked = check_talk(talk[::-1], limits)
    return ReplyRequest(offered, f"talk-{uuid4().hex}", checked, seed, queue_owner(user, turns[0][2].text))


def _turns(sent: Sequence[Sent]) -> Iterator[tuple[int, Speaker, Sent]]:
    """The messages that are not empty, with their numbers. Raises RefusedError for roles out of place."""
    begun = False
    for number, message in enumerate(sent, start=1):
        match message.role:
            case "system" | "developer" if not begun:
                continue
            case "user" | "assistant":
                begun, text = True, ATTACHED.sub("", message.text)
                if text.strip() or message.pictures:
                    yield number, "you" if message.role == "user" else "mmerg", replace(message, text=text)
            case role:
                what = f"a message of the role {role!r:.40} has no place there"
                hint = "system messages first, then user and assistant; no tool is ever called"
                raise RefusedError(what, where=f"message {number}", hint=hint)


def _picture(data: str, where: str, limits: LimitSettings) -> Upload:
    """A picture from base64. Raises RefusedError where it is none."""
    if len(data) * 3 // 4 > limits.picture_mb * 2**20:
        what = f"a picture has {len(data) * 3 / 4 / 2**20:.1f} MB, over {limits.picture_mb}"
        raise RefusedError(what, where=where, hint="show a smaller one, or raise limits.picture_mb", status=413)
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RefusedError(f"a picture is no base64: {error}", where=where) from error
    if not PICTURES.match(content):
        raise RefusedError("a picture is none: it is no JPEG, PNG, WebP or GIF", where=where)
    return Upload("picture", content)


def base64_of(url: str, where: str) -> str:
    """The base64 in a data URL. Raises RefusedError for any other URL: nothing is fetched, and no file is read."""
    head, comma, data = url.partition(",")
    if not re.fullmatch(r"data:image/[\w.+-]+;base64", head, re.IGNORECASE) or not comma:
        what = f"a picture is given as {url[:40]!r}…, and nothing is fetched"
        raise RefusedError(what, where=where, hint="send the picture itself: data:image/jpeg;base64,…")
    return data


def task_prompt(sent: Sequence[Sent]) -> str:
    """The prompt that a front end sends for its own use; "" where a person writes."""
    last = sent[-1] if sent else None
    return last.text if last and last.role == "user" and last.text.lstrip().startswith(TASK) else ""
