"""What happens in a turn as lines for chat programs: for their thinking block, and their status line."""

from typing import Any

from mmerg.serving.offered import titled
from mmerg.serving.told import Message

LONGEST = 400  # characters of an output


def worded(message: Message) -> tuple[str, str]:
    """A line for the thinking block, and what is being done now; "" where there is nothing to say."""
    name, told = message
    agent, thought, status = titled(told.get("agent", "")), "", ""
    match name:
        case "accepted":
            waiting = f"Waiting: {told['place']} {'turn is' if told['place'] == 1 else 'turns are'} before this one"
            status = waiting if told["place"] else "At work"
        case "asked":
            status = agent + (f", pass {told['pass']}" if told["pass"] else "")
        case "frames" if told["frames"] or told["problem"]:
            thought = f"Frames: {len(told['frames'])}" + (f" ({told['problem']})" if told["problem"] else "")
        case "supplied" if told["items"] or told["problem"]:
            thought = f"{told['kind']} for {agent}: {len(told['items']) or told['problem']}"
        case "said":
            thought = f"{agent}: {_short(told['output'])}"
        case "refused":
            thought = status = f"{agent} is asked again: {told['complaint']}"
        case "audit":
            thought, status = f"Audit: {_audit(told)}", f"audit: {_audit(told)}"
        case "lost":
            thought = f"Pass {told['pass']} could not be finished: {told['what']}"
        case "rerun":
            thought = status = f"Again from {titled(told['from'])}"
        case "chosen" if told["passes"] > 1:
            thought = f"Pass {told['pass']} is the reply: {told['why']}"
    return thought, status


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
