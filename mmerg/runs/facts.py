"""What a sample's events come to, for its result line: so tables and metrics need no events.

facts = Facts(response="R")
for event in …: facts.see(event)
facts.fields("Oh no.")["logprob_tokens"]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from mmerg.backends.protocol import Reply
from mmerg.runs import events
from mmerg.runs.result import Timing
from mmerg.runs.tokens import of_response

ROUNDING = 1e-4  # what a server's single precision may put on top of 0, the logarithm of certainty


class Facts:
    """Gathers from the events of one try. response: where the system's state holds the response, as in its `result`
    ("R", or "o.reply" for a field of an output)."""

    def __init__(self, response: str = "") -> None:
        self._symbol, _, self._field = response.partition(".")
        self._found: list[events.Event] = []
        self._replies: list[Reply] = []
        self._last: dict[tuple[str, int], Reply] = {}  # by stage and pass

    def see(self, event: events.Event) -> None:
        """Take note of the sample's next event."""
        if isinstance(event, events.Called):
            self._replies.append(event.reply)
            self._last[event.stage, event.t] = event.reply
        else:
            self._found.append(event)

    def fields(self, response: str | None) -> dict[str, Any]:
        """Those fields of a `Result` that events decide; `response` is the final one, None where there is none."""
        fields: dict[str, Any] = {"repeated_passes": len(repeats(self._found)), "timing": timing(self._replies)}
        shown: set[str] = set()
        excluded: set[tuple[str, str]] = set()
        problems: set[str] = set()
        stage, selected = "", -1
        for event in self._found:
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
                case events.Supplied():
                    shown.update(str(item["id"]) for item in event.content if "id" in item)
                    excluded.update((kept.guard, kept.id) for kept in event.excluded)
                    problems.update({event.problem} - {""})
                case events.Produced(symbol=self._symbol):
                    stage = event.stage
                case events.Selected():
                    selected = event.t
                case _:
                    pass
        fields["exemplars"] = len(shown)
        fields["excluded"] = dict(sorted(Counter(guard for guard, _ in excluded).items()))
        fields["exemplars_problem"] = "; ".join(sorted(problems)) or None
        return fields | self._logprobs(response or "", stage, selected)

    def _logprobs(self, response: str, stage: str, selected: int) -> dict[str, Any]:
        """Of the last call of the response's stage up to the selected pass: a pass that was run again from a later
        stage keeps the response, and of several attempts the last was accepted."""
        passes = [t for name, t in self._last if name == stage and t <= selected]
        if not (passes and response):
            return {}
        reply = self._last[stage, max(passes)]
        own = of_response(reply.logprobs, reply.text, response, self._field) or ()
        proper = bool(own) and all(logprob <= ROUNDING for logprob in own)  # NaN is not
        return {"logprob": sum(own) if proper else None, "logprob_tokens": len(own)}


def timing(replies: list[Reply]) -> Timing:
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


def repeats(found: Iterable[events.Event]) -> dict[int, str]:
    """The audited passes of one try in which every agent that ran again gave what it had given before, and the agent
    that each began from. {2: "mpa"}: pass 2 is pass 1 again, mpa answered as before.

    MERG's loop goes on then (arXiv 2604.18988, section 3, knows no other end than a passed audit or the last pass), and
    at temperature 0 all that follows comes from the reply cache.
    """
    said: dict[str, Any] = {}  # by symbol, what the agents gave last
    repeated: dict[int, str] = {}
    again: events.Rerun | None = None
    for event in found:
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
