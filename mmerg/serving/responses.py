"""Responses to chat programs over either API: the agents' updates, then the reply.

updates = run_request(state, served, messages, stops=["\\n"], seed=None)
return await respond(request, updates, response_format, streams=True)
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from fastapi import Request as Http
from fastapi.responses import JSONResponse, Response
from starlette.requests import ClientDisconnect

from mmerg.backends.protocol import Completion, Finish, Message, Request
from mmerg.errors import Failure, MmergError
from mmerg.runs.events import OVER_BUDGET
from mmerg.serving.http_error import CALL_STATUS, HttpError
from mmerg.serving.messages import build_reply_request, find_task_prompt
from mmerg.serving.systems import ServedSystem
from mmerg.serving.talk import Utterance
from mmerg.serving.turns import AppState, run_turn, stream_response
from mmerg.serving.updates import SILENT, Reply, Update

TASK_TOKENS = 512  # limit for a title, tags or follow-up questions
Stops = str | Sequence[str] | None  # texts that end a reply, which does not contain them


class ResponseFormat(Protocol):
    """The format in which an API writes a response."""

    media_type: str  # of a stream
    end: bytes  # the last bytes of a stream

    def write(self, update: Update) -> Iterator[bytes]:
        """Yields the chunks of one update of a stream."""

    def fail(self, error: MmergError) -> bytes:
        """Returns the chunk that reports an error in a stream."""

    def whole(self, reply: Reply, thoughts: str) -> Mapping[str, object]:
        """Returns the fields of a response that is not streamed."""


def run_request(
    state: AppState, served: ServedSystem, messages: Sequence[Utterance], stops: Stops, seed: int | None
) -> AsyncGenerator[Update, None]:
    """Runs the agents. Returns a generator of their updates, of which the last has the reply. A front end's own prompt
    is one plain call instead. Raises MmergError: at once if no reply can follow the messages, while iterating if the
    turn fails. seed: of all calls; None for that of the settings."""
    if prompt := find_task_prompt(messages):
        sampling = served.experiment.sampling.override({"num_predict": TASK_TOKENS})
        request = Request((Message("user", prompt),), sampling)
        updates = _convert_completion(state.turn_runner.run(lambda backend, _: backend.complete(request)))
    else:
        updates = run_turn(state, build_reply_request(served, messages, state.settings, seed))
    return _select_updates(updates, stops, fast=state.settings.fast)


async def respond(
    http: Http, updates: AsyncGenerator[Update, None], response_format: ResponseFormat, *, streams: bool
) -> Response:
    """Returns a stream of all updates, or one response with the reply."""
    if streams:
        write, fail = response_format.write, response_format.fail
        return stream_response(updates, write, fail, response_format.media_type, response_format.end)
    thoughts: list[str] = []
    async with aclosing(updates):
        async for update in updates:
            if update.reply:
                return JSONResponse(response_format.whole(update.reply, "\n".join(thoughts)))
            if await http.is_disconnected():
                break
            if update.thought:
                thoughts.append(update.thought)
    raise ClientDisconnect


async def _convert_completion(reports: AsyncGenerator[object, None]) -> AsyncGenerator[Update, None]:
    async with aclosing(reports):
        async for report in reports:
            reply = None
            if isinstance(report, Completion):
                finish = "length" if report.finish is Finish.LENGTH else "stop"
                text = report.text.strip()
                reply = Reply(text, report.prompt_tokens, report.response_tokens, report.seconds, finish)
            yield Update(SILENT, {}, reply=reply)


async def _select_updates(
    updates: AsyncGenerator[Update, None], stops: Stops, *, fast: bool
) -> AsyncGenerator[Update, None]:
    """Yields the updates that chat programs get. Replies end before stop texts. Those before an audit need `fast`."""
    async with aclosing(updates):
        async for update in updates:
            fields, reply = update.fields, update.reply
            if update.name == "failed":
                status = CALL_STATUS.get(Failure(str(fields["failure"])), 502)
                raise HttpError(
                    str(fields["what"]), where=str(fields["where"]), hint=str(fields["hint"]), status=status
                )
            if update.name == "frames":
                _refuse_unusable_pictures(str(fields["problem"]))
            if reply:
                reply = replace(reply, text=_cut(reply.text, stops)) if reply.last or fast else None
            if reply or update.thought or update.status or update.name == SILENT:
                yield replace(update, reply=reply)


def _cut(text: str, stops: Stops) -> str:
    for stop in filter(None, [stops] if isinstance(stops, str) else stops or ()):
        text = text.partition(stop)[0]
    return text


def _refuse_unusable_pictures(problem: str) -> None:
    """Raises HttpError for pictures without a usable frame, unless the frames of later pictures filled the limit."""
    problems = [part for part in problem.split("; ") if part and OVER_BUDGET not in part]
    if problems:
        raise HttpError(f"a picture cannot be shown to the model: {'; '.join(problems)}", where="messages")
