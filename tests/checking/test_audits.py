"""Which auditor a backbone can do, by models that know each scene's line, pass everything, or give no audit."""

import json
from collections.abc import Callable

import pytest

from mmerg.backends.protocol import Request
from mmerg.backends.scripted import Scripted
from mmerg.checking.audits import RUNS, audits, scenes

LINES = {line: scene for scene, line in scenes()}


def test_scenes_have_lines_and_responders_of_their_own() -> None:
    assert len(LINES) == len(scenes()) == 20
    assert all(scene.responder in {turn.speaker for turn in scene.history} for scene in LINES.values())


def knows(request: Request) -> str:
    """One who knows each scene's line: it stands first, or in the only place."""
    text = request.messages[1].text
    shown = sorted((text.index(line), line) for line in LINES if line in text)
    belongs = [all(turn.text in text for turn in LINES[line].history) for _, line in shown]
    return answer(request, better="A" if belongs[0] else "B", passed=belongs[0])


def answer(request: Request, *, better: str, passed: bool) -> str:
    if '"better"' in request.messages[1].text:
        return json.dumps({"better": better})
    return json.dumps({"sgrg": {"reason": "It was read.", "passed": passed, "correction": "Answer the last turn."}})


def passes_all(request: Request) -> str:
    return answer(request, better="A", passed=True)


def rambles(request: Request) -> str:
    return "It is fine." if '"better"' not in request.messages[1].text else '{"better": "A"}'


@pytest.mark.parametrize(
    ("model", "findings", "comparison"),
    [(knows, "40 of 40", "20 of 20"), (passes_all, "20 of 40", "0 of 20"), (rambles, "0 of 40", "0 of 20")],
)
def test_each_auditor_is_counted_by_itself(model: Callable[[Request], str], findings: str, comparison: str) -> None:
    found = dict(audits(Scripted(model), {}, RUNS))
    assert list(found) == ["audit by findings", "audit by comparison"]
    (first, by_findings), (second, by_comparison) = found.values()
    assert f"right in {findings} cases" in by_findings
    assert f"right in {comparison} cases" in by_comparison
    better = model is knows
    assert first == second == ("ok" if better else "open")
    assert ("+audit=comparison" in by_comparison) is better
