"""Messages as chat programs send them, over whichever API, and the talk that they are.

System messages and tools are passed over: agents have prompts of their own, and call nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar
from uuid import uuid4

from fastapi import Request
from pydantic import BaseModel, ValidationError

from mmerg.serving.offered import Offered
from mmerg.serving.refused import RefusedError
from mmerg.serving.talk import Asked, Said, checked
from mmerg.serving.uploads import Upload
from mmerg.settings.model import LimitSettings
from mmerg.storage.files import why

TASK = "### Task:"  # how front ends begin what they ask for themselves: titles, tags, follow-ups
ATTACHED = re.compile(r"\A\s*<attached_files>.*?</attached_files>\s*", re.DOTALL)  # put before what the user wrote
PICTURES = re.compile(rb"\xff\xd8\xff|\x89PNG\r\n\x1a\n|GIF8[79]a|RIFF....WEBP", re.DOTALL)
Body = TypeVar("Body", bound=BaseModel)


@dataclass(frozen=True)
class Sent:
    """A message, whichever API it came over. pictures: each in base64."""

    role: str
    text: str
    pictures: tuple[str, ...] = ()


async def read(request: Request, kind: type[Body]) -> Body:
    """The request's JSON. Raises RefusedError where it is none, or not what is asked for."""
    try:
        return kind.model_validate_json(await request.body() or b"{}")
    except ValidationError as error:
        raise RefusedError(f"the request cannot be read: {why(error)}", where="the body") from error


def asked_of(offered: Offered, sent: Sequence[Sent], limits: LimitSettings, seed: int | None, user: str) -> Asked:
    """The reply that is wanted. user: whoever asks, as far as the API says. Raises RefusedError for what is no talk."""
    talk: list[Said] = []
    count = sum(len(message.pictures) for message in sent)
    if count > limits.pictures:
        what, hint = f"{count} pictures are shown, over {limits.pictures}", "show fewer, or raise limits.pictures"
        raise RefusedError(what, where="messages", hint=hint)
    for number, message in enumerate(sent, start=1):
        where = f"message {number}"
        match message.role:
            case "system" | "developer" if not talk:
                continue
            case "user" | "assistant":
                who: Literal["you", "mmerg"] = "you" if message.role == "user" else "mmerg"
                shown = tuple(_picture(data, where, limits) for data in message.pictures)
                talk.append(Said(who, ATTACHED.sub("", message.text), shown))
            case role:
                hint = "system messages first, then user and assistant; no tool is ever called"
                raise RefusedError(f"a message of the role {role!r:.40} has no place there", where=where, hint=hint)
    said = checked(talk, limits)
    owner = hashlib.sha256(
        f"{user}\0{said[0].text}".encode(errors="replace")
    ).hexdigest()  # a talk keeps its first turn
    return Asked(offered, f"talk-{uuid4().hex}", said, seed, owner)


def _picture(data: str, where: str, limits: LimitSettings) -> Upload:
    """What a picture in base64 holds. Raises RefusedError where that is none."""
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


def of_data_url(url: str, where: str) -> str:
    """The base64 in a data URL. Raises RefusedError for any other: nothing is fetched, and no file is read."""
    head, comma, data = url.partition(",")
    if not re.fullmatch(r"data:image/[\w.+-]+;base64", head, re.IGNORECASE) or not comma:
        what = f"a picture is given as {url[:40]!r}…, and nothing is fetched"
        raise RefusedError(what, where=where, hint="send the picture itself: data:image/jpeg;base64,…")
    return data


def task_of(sent: Sequence[Sent]) -> str:
    """The prompt that a front end sends for itself; "" where a person asks."""
    last = sent[-1] if sent else None
    return last.text if last and last.role == "user" and last.text.lstrip().startswith(TASK) else ""
