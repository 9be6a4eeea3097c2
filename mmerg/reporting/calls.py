"""A sample's calls for its page. Agents share most of their prompts, so a text that an earlier call showed is not shown
again but named: that keeps a page of fifteen calls readable.

    calls(called, refused, cleaned)[1].parts[0].same_as    # 1: the system message, as in the first call
"""

from __future__ import annotations

from collections.abc import Sequence

from mmerg.reporting.sample_model import Call, Part
from mmerg.runs import events

_SHORT = 120  # characters; what is shorter is shown again


def calls(
    called: Sequence[events.Called], refused: Sequence[events.Refused], cleaned: Sequence[events.Cleaned]
) -> list[Call]:
    """In order, numbered from 1, each with the complaint about its reply, or what was taken off it, where there is
    one."""
    complaints = {(event.t, event.stage, event.attempt): event for event in refused}
    taken = {(event.t, event.stage, event.attempt): event for event in cleaned}
    first: dict[str, int] = {}
    found = []
    for number, event in enumerate(called, start=1):
        parts = tuple(_part(m.role, m.text, m.images, number, first) for m in event.messages)
        schema = _part("schema", event.answer_schema, (), number, first) if event.answer_schema else None
        which = event.t, event.stage, event.attempt
        found.append(Call(number, event, parts, schema, complaints.get(which), taken.get(which)))
    return found


def _part(role: str, text: str, images: tuple[str, ...], number: int, first: dict[str, int]) -> Part:
    same_as = first.setdefault(text, number) if len(text) > _SHORT else number
    return Part(role, text, images, 0 if same_as == number else same_as)
