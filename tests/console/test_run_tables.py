"""The tables of a run show every word, however narrow the terminal is."""

import io

import pytest
from rich.console import Console

from mmerg.console.run_tables import Summary, tabulate_failures
from mmerg.errors import Failure
from mmerg.runs.result import Result

PLAN = {"goal": "de-escalate", "stance": "confrontational", "tactic": "reflection of feelings", "tone": "enthusiastic"}
WORDS = "That must have been very hard for you and I am glad you told me extraordinarily"
GOOD = Result(
    id="test_dia12/8",
    status="ok",
    response=WORDS,
    emotion="surprise",
    plan=PLAN,
    audit={"mpa": 1, "caef": 0, "psp": 1, "sgrg": 0},
    selected_pass=1,
    passes=2,
)
BAD = Result(id="d/2", status="failed", failure=Failure.TRUNCATED, failure_text="the answer was cut off")


@pytest.mark.parametrize("width", [60, 120])
def test_every_word_of_a_reply_is_shown(width: int) -> None:
    out = io.StringIO()
    Console(file=out, width=width).print(Summary([GOOD, BAD]).replies(), tabulate_failures([GOOD, BAD]))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    cells = [line.split("│")[-2].strip() for line in lines if line.count("│") == 8]
    shown = "".join(cells)
    for word in WORDS.split():
        assert word in shown
    assert "✓✗✓✗" in out.getvalue()
    assert "failed:truncated" in shown.replace(" ", "")


def test_a_long_run_shows_its_first_samples_and_counts_all() -> None:
    out = io.StringIO()
    Console(file=out, width=120).print(Summary([GOOD] * 3 + [BAD]).replies(rows=2))
    assert "4 samples: 3 ok, 1 failed" in out.getvalue()
    assert "the first 2" in out.getvalue()
    assert out.getvalue().count("test_dia12/8") == 2


def test_samples_with_an_unreadable_audit_are_counted() -> None:
    summary = Summary([GOOD, GOOD.model_copy(update={"ended": "unaudited"}), BAD])
    assert summary.counts_line.startswith("3 samples: 2 ok (1 unaudited), 1 failed")
    note = "unaudited: in 1 sample an audit could not be read; mmerg show RUN SAMPLE says why"
    assert list(summary.notes()) == [note]


def test_a_plan_is_shown_by_the_fields_that_it_has() -> None:
    """The plans of other systems have other fields than MERG's."""
    out = io.StringIO()
    fields = GOOD.model_copy(update={"plan": {"strategy": "reflect", "steps": ["listen", "ask"], "unused": None}})
    text = GOOD.model_copy(update={"plan": "be kind"})
    Console(file=out, width=160).print(Summary([fields, text]).replies())
    for word in ("reflect", "listen", "be kind"):
        assert word in out.getvalue()
    assert "None" not in out.getvalue()
