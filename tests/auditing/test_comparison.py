"""The auditor that compares, by the command itself: which of two outputs fits is scripted by the marks in them."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mmerg.audit import main
from mmerg.auditing.comparison import FLOOR, letter_logprobs
from mmerg.auditing.planted import ALL
from mmerg.backends.protocol import TokenLogprob
from mmerg.errors import ConfigError
from mmerg.runs.events import Audited, Called
from mmerg.runs.folder import read_results
from mmerg.runs.result import Result
from tests.auditing.parts import DIALOGUES, answers, corpus, passes_all, planted_of, run
from tests.composed import settings_of
from tests.engine.parts import STAGES, class_names
from tests.run_folders import all_events
from tests.scripted_ollama import scripted_ollama

TALK = re.compile(r"keys, mark-(\w+)")
TWO = re.compile(r"^A: (.*)\nB: (.*)$", re.MULTILINE)
Picks = Callable[[bool, bool], str]  # from which of the two are of this dialogue to a letter
CALM = ("system.max_iterations=1", "system.rerun_temperature=null")


def fitting(first: bool, second: bool) -> str:
    return "A" if first else "B"


def leaning(first: bool, second: bool) -> str:
    return "A"


def compares(picks: Picks) -> Callable[[dict[str, Any]], str]:
    made = answers(passes_all)

    def answer(body: dict[str, Any]) -> str:
        fields = class_names(body["format"]["properties"]) if body.get("format") else []
        prompt = next(message["content"] for message in body["messages"] if message["role"] == "user")
        if "better" in fields:
            own = f"mark-{TALK.findall(prompt)[0]}"
            first, second = TWO.findall(prompt)[0]
            return json.dumps({"better": picks(own in first, own in second)})
        if "correction" in fields:
            return json.dumps({"reason": "it fits another talk", "correction": "look at the keys"})
        return made(body)

    return answer


def results(path: Path) -> list[Result]:
    return list(read_results(path).values())


@pytest.fixture(scope="module")
def decoys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that decoys are from."""
    folder = tmp_path_factory.mktemp("decoys")
    corpus(folder / "data")
    with scripted_ollama(answer=answers(passes_all)) as server:
        return run(folder, server.url, "system.max_iterations=0")


def compared(folder: Path, url: str, decoys: Path) -> Path:
    """A run with comparisons."""
    corpus(folder / "data")
    return run(folder, url, "+audit=comparison", f"decoys={decoys}", *CALM)


def test_what_fits_passes_and_what_is_planted_is_found(tmp_path: Path, decoys: Path) -> None:
    first = Path(shutil.copytree(decoys, tmp_path / decoys.name))
    with scripted_ollama(answer=compares(fitting)) as server:
        path = compared(tmp_path, server.url, first)
        assert main([str(path), "--n", "2"]) == 0
        # What the decoys are belongs to the identity of a run, and where they lie does not.
        (tmp_path / "elsewhere").mkdir()
        moved = f"decoys={first.rename(tmp_path / 'elsewhere' / first.name)}"
        assert run(tmp_path, server.url, "+audit=comparison", moved, *CALM) == path
        assert run(tmp_path, server.url, "+audit=comparison", moved, *CALM, "system.loop.seed=1", "limit=1") != path
    for one in results(path):
        assert (one.ended, one.passes) == ("passed", 1)
        assert set((one.audit or {}).values()) == {1}
    called = [one for one in all_events(path) if isinstance(one, Called) and one.stage == "compare"]
    assert len(called) == DIALOGUES * len(STAGES) * 2 * 2  # decoys, orders
    assert all(one.reply.logprobs[-1].top_logprobs for one in called)
    scores = planted_of(path).figures[ALL]
    assert (scores["specificity"].value, scores["sensitivity"].value, scores["blame"].value) == (100, 100, 100)


def test_one_that_leans_to_a_letter_prefers_nothing_and_says_what_to_mend(tmp_path: Path, decoys: Path) -> None:
    with scripted_ollama(answer=compares(leaning)) as server:
        path = compared(tmp_path, server.url, decoys)
    for one in results(path):
        assert (one.ended, one.passes) == ("max_iterations", 2)
        assert set((one.audit or {}).values()) == {0}
    [told] = {
        (one.audit.findings["mpa"].reason, one.audit.findings["mpa"].correction)
        for one in all_events(path)
        if isinstance(one, Audited) and one.t == 0
    }
    assert told == (
        "preferred to 0 of 2 decoys, mean log-odds +0.00: it fits another talk",
        "look at the keys",
    )


def test_a_server_without_log_probabilities_leaves_the_first_pass_unaudited(tmp_path: Path, decoys: Path) -> None:
    with scripted_ollama(answer=compares(lambda *_: "neither")) as server:
        path = compared(tmp_path, server.url, decoys)
    assert {one.ended for one in results(path)} == {"unaudited"}


def test_a_run_of_decoys_must_be_named_and_be_finished(tmp_path: Path) -> None:
    corpus(tmp_path / "data")
    with scripted_ollama(answer=compares(fitting)) as server:
        with pytest.raises(ConfigError, match="no run is named that decoys are from"):
            run(tmp_path, server.url, "+audit=comparison")
        first = run(tmp_path, server.url, "limit=1")
        with pytest.raises(Exception, match="there is no dialogue to take faults from"):
            run(tmp_path, server.url, "+audit=comparison", f"decoys={first}")


def test_a_letter_counts_with_the_marks_around_it() -> None:
    token = TokenLogprob(token=' "A', logprob=-0.1, top_logprobs=(TokenLogprob(token=' "B', logprob=-2.4),))
    assert letter_logprobs((TokenLogprob(token='{"', logprob=0), token)) == {"A": -0.1, "B": -2.4}
    assert letter_logprobs((TokenLogprob(token="better", logprob=0),)) == {}
    assert FLOOR < -2.4
    assert settings_of("dataset=demo", "+audit=comparison").system.loop
