"""Converts the messages of chat programs, over either API, to a conversation.

Ignores tools, and system messages unless persona=true, as agents have their own prompts.
"""

import base64
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, BeforeValidator, ValidationError

from mmerg.backends.thinking import separate
from mmerg.engine.uploads import Upload
from mmerg.experiment.talk import WORDLESS
from mmerg.serving.offered import ServedSystem
from mmerg.serving.refused import HttpError
from mmerg.serving.talk import ReplyRequest, Speaker, Utterance, check_talk
from mmerg.settings.backbone import SEEDS, Seed
from mmerg.settings.commands import ServeSettings
from mmerg.storage.files import describe_error

# The start of a user message with which a front end asks for a title or tags for itself: Open WebUI, LibreChat,
# NextChat, Chatbox, opencode, VS Code, and Page Assist (at the end). People write about titles, too, in other words.
TASK = re.compile(
    r"\s*(### Task:|使用四到五个字直接返回|summarize in an? [\w-]+ title\b|analyze this conversation and provide:"
    r"|your task is to reflect the speaker's likely facial expression|please write a brief title for the following "
    r"|here is the query:(?=.*\btitle for the previous query\b)"
    r"|(please )?(based on|create|detect|generate|give|provide|summarize)\b[^\n]{0,120}?"
    r"\b((titles?|tags) (for|of|summarizing) (\w+ ){0,2}(conversation|chat|query)|(conversation|chat) a (title|name)"
    r"|conversation into an? ([\w-]+ )?title)\b)",
    re.IGNORECASE | re.DOTALL,
)
# The start of a system message that asks for a title (LobeChat, Cherry Studio, Jan).
TITLE = re.compile(
    r"(?=.*(conversation|chat|thread|message|会话|对话))"
    r".*?(\b((generate|create|provide|write|output|return)s?( (?!(and|for|in|of|or|to|with|without) )[\w,-]+){0,5}"
    r"|into( an?)?) (title\b(?! (and|for each|or) )|titles (for|from|within) )|总结[^。]*标题)",
    re.IGNORECASE | re.DOTALL,
)
TITLE_WITHIN = 300  # characters
ATTACHED = re.compile(r"\A\s*<attached_files>.*?</attached_files>\s*", re.DOTALL)  # stands before the user's text
REASONING = re.compile(r'<details type="reasoning".*?</details>\s*', re.DOTALL)  # as Open WebUI shows thoughts
SYSTEM = ("system", "developer")
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


def takes(kind: type[BaseModel]) -> dict[str, Any]:
    """The OpenAPI description of a route that uses `read_body`."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": kind.model_json_schema()}}}}


async def read_body(request: Request, kind: type[Body]) -> Body:
    """The request's JSON, whatever its content type. Raises HttpError if it does not fit `kind`."""
    try:
        return kind.model_validate_json(await request.body() or b"{}")
    except ValidationError as error:
        raise HttpError(f"the request cannot be read: {describe_error(error)}", where="the body") from None


def reply_request(
    served: ServedSystem, sent: Sequence[Sent], settings: ServeSettings, seed: int | None
) -> ReplyRequest:
    """The reply that these messages ask for. Programs send the whole conversation with every turn: this skips earlier
    pictures that agents would not see or that exceed the limit. With persona=true system messages come first. Raises
    HttpError if the messages are no conversation."""
    talk: list[Utterance] = []
    limits, room = settings.limits, settings.limits.pictures
    for after, (number, speaker, message) in enumerate(reversed(list(_turns(sent)))):
        looked_at = after < served.settings.frames.last_turns and (not after or len(message.pictures) <= room)
        pictures = message.pictures if looked_at else ()
        room -= len(pictures)
        uploads = tuple(_picture(data, f"message {number}") for data in pictures)
        talk.append(Utterance(speaker, message.text.strip() or WORDLESS, uploads))
    notes = [one.text for one in sent if one.role in SYSTEM and one.text.strip()] if settings.persona else []
    persona = [Utterance("persona", "\n".join(notes))] if notes else []
    return ReplyRequest(served, "talk", (*persona, *check_talk(talk[::-1], limits)), seed)


def _turns(sent: Sequence[Sent]) -> Iterator[tuple[int, Speaker, Sent]]:
    """The messages that are not empty, with their numbers. Raises HttpError for other roles."""
    for number, message in enumerate(sent, start=1):
        match message.role:
            case role if role in SYSTEM:
                continue
            case "user" | "assistant":
                text = ATTACHED.sub("", message.text)
                if message.role == "assistant":
                    text = separate(REASONING.sub("", text))[1]
                if text.strip() or message.pictures:
                    yield number, "you" if message.role == "user" else "mmerg", replace(message, text=text)
            case role:
                what = f"a message of the role {role!r:.40} is not allowed here"
                hint = "send messages of user and assistant; no tool is ever called"
                raise HttpError(what, where=f"message {number}", hint=hint)


def _picture(data: str, where: str) -> Upload:
    try:
        return Upload("picture", base64.b64decode(data, validate=True))
    except ValueError as error:
        raise HttpError(f"a picture is not valid base64: {error}", where=where) from error


def read_base64(url: str, where: str) -> str:
    """The base64 in a data URL. Raises HttpError for any other URL: the server fetches nothing and reads no file."""
    head, comma, data = url.partition(",")
    kind = r"image/[\w.+-]+|application/octet-stream"  # browsers write the latter, or none, of a type they do not know
    if not re.fullmatch(rf"data:({kind})?;base64", head, re.IGNORECASE) or not comma:
        what = f"a picture is given as {url[:40]!r}…, but URLs are not fetched"
        raise HttpError(what, where=where, hint="send the picture itself: data:image/jpeg;base64,…")
    return data


def task_prompt(sent: Sequence[Sent]) -> str:
    """The prompt that a front end sends for its own use, as a system message or the user's last message; "" for the
    words of a person."""
    system = [one.text for one in sent if one.role in SYSTEM]
    if any(TASK.match(text) or TITLE.match(text[:TITLE_WITHIN]) for text in system):
        return "\n\n".join(one.text for one in sent)
    last = next((one for one in reversed(sent) if one.role not in SYSTEM), None)
    return last.text if last and last.role == "user" and TASK.match(last.text) else ""
