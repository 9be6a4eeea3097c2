"""What is counted while the pages of a run's samples are made: a row of the table each, and sums for its overview.

tally = Tally()
tally.add(result, page)
tally.rows[0].blamed, tally.problems
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from mmerg.records.result import Result
from mmerg.reporting.navigation import OUTCOMES, Outcome, outcome, wrong_emotion
from mmerg.reporting.sample_model import SamplePage
from mmerg.reporting.text import clipped, file_name

_TEXT = 220  # characters of a turn in the table; its page has all of it


@dataclass(frozen=True, slots=True)
class TableRow:
    """A sample in the table. blamed: agents that audits found at fault. last: what it answers. told: its outcome."""

    number: int
    id: str
    href: str
    outcome: Outcome
    emotion: str
    gold: str
    wrong: bool
    blamed: tuple[str, ...]
    checks: tuple[tuple[str, int], ...]
    passes: int
    last: str
    text: str
    told: str


@dataclass
class Tally:
    """faults: by pass, which agent was blamed first ("" none). problems: history turns without frames, by reason.
    repairs: refused replies by stage and reason."""

    rows: list[TableRow] = field(default_factory=list)
    faults: dict[int, Counter[str]] = field(default_factory=dict)
    problems: Counter[str] = field(default_factory=Counter)
    repairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    missing_frames: int = 0

    def add(self, result: Result, page: SamplePage) -> None:
        """A sample that has its page."""
        text = result.failure_text or "" if result.status == "failed" else result.response or ""
        self.rows.append(
            TableRow(
                number=len(self.rows) + 1,
                id=result.id,
                href=f"samples/{file_name(result.id)}",
                outcome=outcome(result),
                emotion=result.emotion or "",
                gold=result.gold_emotion or "",
                wrong=wrong_emotion(result),
                blamed=page.blamed,
                checks=tuple((result.audit or {}).items()),
                passes=result.passes,
                last=clipped(page.turns[-1].text, _TEXT) if page.turns else "",
                text=clipped(text, _TEXT),
                told=OUTCOMES[outcome(result)] + (f": {result.failure}" if result.failure else ""),
            )
        )
        for audit in page.audits:
            if audit.findings:
                self.faults.setdefault(audit.t, Counter())[audit.fault or ""] += 1
        self.problems.update(turn.problem for turn in page.turns if turn.problem)
        self.forms[page.form] += 1
        self.missing_frames += sum(not shot.held for shot in page.shots)
        for call in page.calls:
            if call.refused:
                self.repairs[call.refused.stage, str(call.refused.failure)] += 1
