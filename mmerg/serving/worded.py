"""What happens in a turn as lines for chat programs: for their thinking block, and their status line."""

from collections.abc import Iterator
from typing import Any

from mmerg.serving.offered import titled
from mmerg.serving.told import Message

LONGEST = 400  # characters of an output


def thought(message: Message) -> str:
    """A line for the thinking block; "" where there is nothing to say."""
    return next(_thoughts(*message), "")


def status(message: Message) -> str:
    """What is being done now; "" where it is what it was."""
    return next(_statuses(*message), "")


def _thoughts(name: str, told: dict[str, Any]) -> Iterator[str]:
    match name:
        case "frames" if told["frames"] or told["problem"]:
            problem = f" ({told['problem']})" if told["problem"] else ""
            yield f"Frames: {len(told['frames'])}{problem}"
        case "supplied" if told["items"] or told["problem"]:
            yield f"{told['kind']} for {_title(told)}: {len(told['items']) or told['problem']}"
        case "refused":
            yield f"{_title(told)} is asked again: {told['complaint']}"
        case "said":
            yield f"{_title(told)}: {_short(told['output'])}"
        case "audit":
            yield f"Audit: {_audit(told)}"
        case "lost":
            yield f"Pass {told['pass']} could not be finished: {told['what']}"
        case "rerun":
            yield f"Again from {titled(told['from'])}"
        case "chosen" if told["passes"] > 1:
            yield f"Pass {told['pass']} is the reply: {told['why']}"


def _statuses(name: str, told: dict[str, Any]) -> Iterator[str]:
    match name:
        case "accepted":
            place = told["place"]
            waiting = f"Waiting: {place} {'turn is' if place == 1 else 'turns are'} before this one"
            yield waiting if place else "At work"
        case "asked":
            again = f", pass {told['pass']}" if told["pass"] else ""
            yield f"{_title(told)}{again}"
        case "audit":
            yield f"audit: {_audit(told)}"
        case "refused" | "rerun":
            yield from _thoughts(name, told)


def _title(told: dict[str, Any]) -> str:
    return titled(told["agent"])


def _audit(told: dict[str, Any]) -> str:
    if not told["blamed"]:
        return str(told.get("problem") or "all checks passed")
    reason = next(one["reason"] for one in told["findings"] if one["check"] == told["blamed"])
    return f"{titled(told['blamed'])} does not hold: {reason}"


def _short(output: object) -> str:
    """An output on one line, a field behind the other."""
    text = " ".join(_fields(output).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _fields(output: object) -> str:
    if isinstance(output, dict):
        return "; ".join(f"{key} {_fields(value)}" for key, value in output.items() if value not in (None, "", []))
    return ", ".join(map(_fields, output)) if isinstance(output, list) else str(output)
