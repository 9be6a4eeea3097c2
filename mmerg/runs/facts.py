"""What a sample's events come to, for its result line: so tables and metrics need no events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from mmerg.backends.protocol import Reply
from mmerg.runs import events
from mmerg.runs.result import Timing
from mmerg.runs.tokens import of_response

ROUNDING = 1e-4  # what a server's single precision may put on top of 0, the logarithm of certainty


def facts_of(told: Sequence[events.Event], response: str | None = None, place: str = "") -> dict[str, object]:
    """Those fields of a `Result` that the events of its try decide. response: the final one, if there is one; place:
    where the system's state holds it, as in its `result` ("R", or "o.reply" for a field of an output)."""
    supplied = [event for event in told if isinstance(event, events.Supplied)]
    shown = {str(item["id"]) for event in supplied for item in event.content if "id" in item}
    excluded = {(kept.guard, kept.id) for event in supplied for kept in event.excluded}
    fields: dict[str, object] = {
        "repeated_passes": len(repeats(told)),
        "timing": _timing([event.reply for event in told if isinstance(event, events.Called)]),
        "exemplars": len(shown),
        "excluded": dict(sorted(Counter(guard for guard, _ in excluded).items())),
        "exemplars_problem": "; ".join(sorted({event.problem for event in supplied} - {""})) or None,
    }
    for event in told:
        match event:
            case events.SampleStarted():
                fields |= {"history": event.history, "responder": event.responder}
            case events.FramesTaken(turns=turns):
                fields |= {
                    "turns_looked_at": len(turns),
                    "frames": sum(len(turn.frames) for turn in turns),
                    "frames_form": event.form,
                    "clip_problems": sum(turn.problem not in ("", events.OVER_BUDGET) for turn in turns),
                }
            case _:
                pass
    return fields | _logprobs(told, response or "", place)


def _logprobs(told: Sequence[events.Event], response: str, place: str) -> dict[str, object]:
    """Of the last call of the response's stage up to the selected pass: a pass that was run again from a later stage
    keeps the response, and of several attempts the last was accepted."""
    symbol, _, field = place.partition(".")
    stages = [event.stage for event in told if isinstance(event, events.Produced) and event.symbol == symbol]
    selected = [event.t for event in told if isinstance(event, events.Selected)]
    calls = [event for event in told if isinstance(event, events.Called) and [event.stage] == stages[-1:]]
    calls = [call for call in calls if selected and call.t <= selected[-1]]
    if not (calls and response):
        return {}
    reply = calls[-1].reply
    own = of_response(reply.logprobs, reply.text, response, field) or ()
    proper = bool(own) and all(logprob <= ROUNDING for logprob in own)  # NaN is not
    return {"logprob": sum(own) if proper else None, "logprob_tokens": len(own)}


def _timing(replies: Iterable[Reply]) -> Timing:
    """Of the calls that no cache had."""
    fresh = [reply for reply in replies if not reply.cached]
    return Timing(
        calls=len(fresh),
        prompt_tokens=sum(max(0, reply.prompt_tokens - (reply.reused_tokens or 0)) for reply in fresh),
        prompt_seconds=sum(reply.prompt_seconds for reply in fresh),
        reply_rates=tuple(
            round(reply.response_tokens / rest, 3)
            for reply in fresh
            if reply.response_tokens and (rest := reply.seconds - reply.prompt_seconds) > 0
        ),
    )


def repeats(told: Iterable[events.Event]) -> dict[int, str]:
    """The audited passes of one try in which every agent that ran again gave what it had given before, and the agent
    that each began from. {2: "mpa"}: pass 2 is pass 1 again, mpa answered as before.

    MERG's loop goes on then (arXiv 2604.18988, section 3, knows no other end than a passed audit or the last pass), and
    at temperature 0 all that follows comes from the reply cache.
    """
    said: dict[str, object] = {}  # by symbol, what the agents gave last
    repeated: dict[int, str] = {}
    again: events.Rerun | None = None
    for event in told:
        match event:
            case events.Rerun():
                again = event
            case events.Produced():
                if again and (event.symbol not in said or said[event.symbol] != event.output):
                    again = None
                said[event.symbol] = event.output
            case events.Audited():
                if again:
                    repeated[event.t] = again.stage
                again = None
    return repeated
