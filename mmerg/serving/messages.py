"""The messages of chat programs, from either API, as a conversation.

Tools are ignored. So are system messages unless persona=true, as the agents have their own prompts.
"""

import base64
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, BeforeValidator, ValidationError

from mmerg.backends.thinking import separate_thoughts
from mmerg.engine.uploads import Upload
from mmerg.experiment.talk import WORDLESS
from mmerg.serving.http_error import HttpError
from mmerg.serving.systems import ServedSystem
from mmerg.serving.talk import ReplyRequest, Utterance, check_talk
from mmerg.settings.backbone import SEEDS, Seed
from mmerg.settings.commands import ServeSettings
from mmerg.storage.files import describe_error

# The start of a user message with which a front end asks for a title or tags for its own use: Open WebUI, LibreChat,
# NextChat, Chatbox, opencode, VS Code and Page Assist (at the end). The patterns are narrow, as people write about
# titles too.
TASK = re.compile(
    r"\s*(### Task:|使用四到五个字直接返回|summarize in an? [\w-]+ title\b|analyze this conversation and provide:"
    r"|your task is to reflect the speaker's likely facial expression|please write a brief title for the following "
    r"|here is the query:(?=.*\btitle for the previous query\b)"
    r"|(please )?(based on|create|detect|generate|give|provide|summarize)\b[^\n]{0,120}?"
    r"\b((titles?|tags) (for|of|summarizing) (\w+ ){0,2}(conversation|chat|query)|(conversation|chat) a (title|name)"
    r"|conversation into an? ([\w-]+ )?title)\b)",
    re.IGNORECASE | re.DOTALL,
)
# The start of a system message that asks for a title: LobeChat, Cherry Studio and Jan.
TITLE = re.compile(
    r"(?=.*(conversation|chat|thread|message|会话|对话))"
    r".*?(\b((generate|create|provide|write|output|return)s?( (?!(and|for|in|of|or|to|with|without) )[\w,-]+){0,5}"
    r"|into( an?)?) (title\b(?! (and|for each|or) )|titles (for|from|within) )|总结[^。]*标题)",
    re.IGNORECASE | re.DOTALL,
)
TITLE_WITHIN = 300  # characters of a system message in which TITLE must match
ATTACHED = re.compile(r"\A\s*<attached_files>.*?</attached_files>\s*", re.DOTALL)  # before the user's text
REASONING = re.compile(r'<details type="reasoning".*?</details>\s*', re.DOTALL)  # Open WebUI's form of thoughts
SYSTEM = ("system", "developer")
Body = TypeVar("Body", bound=BaseModel)
# Chat programs send -1 for a random seed.
AnySeed = Annotated[Seed | None, BeforeValidator(lambda seed: secrets.randbelow(SEEDS) if seed == -1 else seed)]


def describe_body(kind: type[BaseModel]) -> dict[str, Any]:
    """Returns the OpenAPI description of a route that uses `read_body`."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": kind.model_json_schema()}}}}


async def read_body(request: Request, kind: type[Body]) -> Body:
    """Reads the request's body as JSON, whatever its content type. Raises HttpError if it does not fit `kind`."""
    try:
        return kind.model_validate_json(await request.body() or b"{}")
    except ValidationError as error:
        raise HttpError(f"the request cannot be read: {describe_error(error)}", where="the body") from None


def build_reply_request(
    served: ServedSystem, messages: Sequence[Utterance], settings: ServeSettings, seed: int | None
) -> ReplyRequest:
    """Builds the request for a reply to these messages. Raises HttpError if they are not a conversation.

    Programs send the whole conversation with every turn. Earlier pictures are skipped if the agents would not see them
    or if there are too many. With persona=true the system messages come first.
    """
    talk: list[Utterance] = []
    pictures_left = settings.limits.pictures
    for age, turn in enumerate(reversed(list(_list_turns(messages)))):
        fits = age == 0 or len(turn.uploads) <= pictures_left  # `check_talk` checks the last turn
        uploads = turn.uploads if age < served.settings.frames.last_turns and fits else ()
        pictures_left -= len(uploads)
        talk.append(replace(turn, text=turn.text.strip() or WORDLESS, uploads=uploads))
    turns = check_talk(talk[::-1], settings.limits)
    persona = [message.text for message in messages if message.role in SYSTEM and message.text.strip()]
    if settings.persona and persona:
        turns = (Utterance("persona", "\n".join(persona)), *turns)
    return ReplyRequest(served, "talk", turns, seed)


def _list_turns(messages: Sequence[Utterance]) -> Iterator[Utterance]:
    """Yields the turns that are not empty. Raises HttpError for other roles."""
    for number, message in enumerate(messages, start=1):
        if message.role in SYSTEM:
            continue
        if message.role not in ("user", "assistant"):
            what = f"a message of the role {message.role!r:.40} is not allowed here"
            hint = "send messages of user and assistant; no tool is ever called"
            raise HttpError(what, where=f"message {number}", hint=hint)
        text = ATTACHED.sub("", message.text)
        if message.role == "assistant":
            text = separate_thoughts(REASONING.sub("", text))[1]
        if text.strip() or message.uploads:
            yield replace(message, text=text)


def decode_pictures(pictures: Iterable[str], number: int) -> tuple[Upload, ...]:
    """Decodes the pictures of message `number` from base64. Raises HttpError if one is not base64."""
    try:
        return tuple(Upload("picture", base64.b64decode(data, validate=True)) for data in pictures)
    except ValueError as error:
        raise HttpError(f"a picture is not valid base64: {error}", where=f"message {number}") from error


def read_base64(url: str, where: str) -> str:
    """Returns the base64 in a data URL. Raises HttpError for any other URL, as the server fetches and opens none."""
    head, comma, data = url.partition(",")
    kind = r"image/[\w.+-]+|application/octet-stream"  # the latter, or no type, for files that a browser does not know
    if not re.fullmatch(rf"data:({kind})?;base64", head, re.IGNORECASE) or not comma:
        what = f"a picture is given as {url[:40]!r}…, but URLs are not fetched"
        raise HttpError(what, where=where, hint="send the picture itself: data:image/jpeg;base64,…")
    return data


def find_task_prompt(messages: Sequence[Utterance]) -> str:
    """Returns the prompt that a front end sends for its own use; "" if a person wrote the messages. Such a prompt is in
    a system message or in the last message of the user."""
    system = [message.text for message in messages if message.role in SYSTEM]
    if any(TASK.match(text) or TITLE.match(text[:TITLE_WITHIN]) for text in system):
        return "\n\n".join(message.text for message in messages)
    last = next((message for message in reversed(messages) if message.role not in SYSTEM), None)
    return last.text if last and last.role == "user" and TASK.match(last.text) else ""
