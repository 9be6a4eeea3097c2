"""What is counted while the pages of a run's samples are made: a row of the table each, and sums for its overview.

tally = Tally()
tally.add(result, page, events)
tally.rows[0].blamed, tally.problems
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from mmerg.plots.blame import Verdict, verdicts
from mmerg.reporting.navigation import Became, Outcome, became, outcome, wrong_emotion
from mmerg.reporting.sample_model import SamplePage
from mmerg.reporting.text import clipped, file_name
from mmerg.runs.events import Event
from mmerg.runs.result import Result

_ID, _TEXT = 80, 220  # characters of an id and of a turn in the table; the sample's page has all of them
_FOUND = 2000  # characters of each that the table's search looks through


@dataclass(frozen=True, slots=True)
class TableRow:
    """A sample in the table. failure: its class, "" where it did not fail. became: what choosing a
    later pass did to the label. repaired: whether a reply was refused and a
    later one taken. blamed: agents that audits found at fault. last: what it answers. name, last and text are clipped;
    whole: what was clipped in full, for the search."""

    number: int
    name: str
    href: str
    outcome: Outcome
    failure: str
    repaired: bool
    emotion: str
    gold: str
    wrong: bool
    became: Became
    blamed: tuple[str, ...]
    passes: int
    last: str
    text: str
    whole: str


@dataclass
class Tally:
    """verdicts: what audits said of passes. problems: history turns without frames, by reason.
    asked_again, given_up: refused replies by stage and reason, those that another call of the stage in the same pass
    followed and those that none did. repaired: samples with a refused reply and a later one that was taken."""

    rows: list[TableRow] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    problems: Counter[str] = field(default_factory=Counter)
    asked_again: Counter[tuple[str, str]] = field(default_factory=Counter)
    given_up: Counter[tuple[str, str]] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    missing_frames: int = 0

    @property
    def became(self) -> Counter[str]:
        """Labels that choosing a later pass made right, and wrong."""
        return Counter(row.became for row in self.rows)

    @property
    def repaired(self) -> int:
        return sum(row.repaired for row in self.rows)

    def add(self, result: Result, page: SamplePage, found: Sequence[Event]) -> None:
        """A sample that has its page, which was made from the events that were found."""
        self.verdicts += verdicts(found)
        text = result.failure_text or "" if result.status == "failed" else result.response or ""
        last = page.turns[-1].text if page.turns else ""
        shown = ((result.id, _ID), (last, _TEXT), (text, _TEXT))
        final = {(call.event.t, call.event.stage): call for call in page.calls}
        refused = [(call, final[call.event.t, call.event.stage]) for call in page.calls if call.refused]
        self.rows.append(
            TableRow(
                number=len(self.rows) + 1,
                name=clipped(result.id, _ID),
                href=f"samples/{file_name(result.id)}",
                outcome=outcome(result),
                failure=str(result.failure or ""),
                repaired=any(not final.refused for _, final in refused),
                emotion=result.emotion or "",
                gold=result.gold_emotion or "",
                wrong=wrong_emotion(result),
                became=became(result, page.first_label),
                blamed=page.blamed,
                passes=result.passes,
                last=clipped(last, _TEXT),
                text=clipped(text, _TEXT),
                whole=" ".join(one[:_FOUND] for one, room in shown if len(one) > room),
            )
        )
        self.problems.update(turn.problem for turn in page.turns if turn.problem)
        self.forms[page.form] += 1
        self.missing_frames += sum(not shot.held for shot in page.shots)
        for call, last_call in refused:
            assert call.refused
            kind = (call.refused.stage, str(call.refused.failure))
            (self.given_up if last_call is call else self.asked_again)[kind] += 1
