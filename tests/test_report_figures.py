"""Figures in a report: those that `mmerg.score` kept, the papers' beside them, and the differences between runs."""

import json
from pathlib import Path

import pytest
from markupsafe import escape

from mmerg.compare import main as compare
from mmerg.report import folder_of, main
from mmerg.score import main as score
from tests.reporting.parts import USUAL, build
from tests.scoring.run_builder import build_run, manifest_of, result


def test_without_scores_the_page_says_which_command_makes_them(tmp_path: Path) -> None:
    run = build(tmp_path / "run", USUAL)
    assert main([str(run)]) == 0
    page = (run / "report" / "index.html").read_text(encoding="utf-8")
    assert "mmerg score" in page
    assert score([str(run)]) == 0
    assert main([str(run)]) == 0
    page = (run / "report" / "index.html").read_text(encoding="utf-8")
    assert "mmerg score" not in page
    figures = json.loads((run / "scores.json").read_bytes())["scores"]
    for figure in figures.values():
        assert f'<th scope="row">{figure["name"]} ' in page
        assert escape(figure["signature"]) in page
    assert (run / "report" / "plots" / "scores.svg").is_file()
    assert "Gold label against forecast" in page
    assert not (run / "report" / "plots" / "confusion.svg").exists()  # a table says the same


def test_samples_without_a_perplexity_for_bad_log_probabilities_are_named(tmp_path: Path) -> None:
    results = [result("a/1"), result("<b>/1")]
    run = build_run(tmp_path / "run", results, logprobs={"a/1": [-1.0], "<b>/1": [0.7]})
    assert score([str(run)]) == 0
    assert main([str(run)]) == 0
    page = (run / "report" / "index.html").read_text(encoding="utf-8")
    assert "self_ppl is without &lt;b&gt;/1: the server gave a token a probability above 1" in page
    fine = build(tmp_path / "fine", USUAL[:1])
    assert score([str(fine)]) == 0
    assert main([str(fine)]) == 0
    assert "self_ppl is without" not in (fine / "report" / "index.html").read_text(encoding="utf-8")


def test_scores_of_another_state_are_not_shown_as_this_one(tmp_path: Path) -> None:
    run = build(tmp_path / "run", USUAL)
    assert score([str(run)]) == 0
    scores = json.loads((run / "scores.json").read_bytes())
    (run / "scores.json").write_text(json.dumps(scores | {"results": ""}), encoding="utf-8")
    assert main([str(run)]) == 0
    assert "the scores of this run are stale" in (run / "report" / "index.html").read_text(encoding="utf-8")
    (run / "scores.json").write_text("{", encoding="utf-8")
    assert main([str(run)]) == 0
    assert "not of this version" in (run / "report" / "index.html").read_text(encoding="utf-8")


def test_several_runs_say_first_in_which_settings_they_differ(tmp_path: Path) -> None:
    system = manifest_of([]).settings["system"]
    one = build(tmp_path / "one", USUAL[:1])
    two = build(tmp_path / "two", USUAL[:1], config={"seed": 7, "system": system | {"max_iterations": 0}})
    assert main([str(one), str(two)]) == 0
    page = (folder_of([one, two]) / "index.html").read_text(encoding="utf-8")
    first = page[page.index("How the runs differ") : page.index("What became of the samples")]
    assert '<code>system.<wbr>max_iterations</code></th><td dir="auto">2</td><td dir="auto">0</td>' in first
    assert '<code>seed</code></th><td dir="auto">0</td><td dir="auto">7</td>' in first
    assert first.count("<tr>") == 3
    same = build(tmp_path / "same", USUAL[:1])
    assert main([str(one), str(same)]) == 0
    page = (folder_of([one, same]) / "index.html").read_text(encoding="utf-8")
    assert "In no setting that decides results" in page


def test_differences_are_had_as_compare_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Few dialogues have all their exchanges taken, so draws alone would be no true word."""
    one, two = build(tmp_path / "one", USUAL), build(tmp_path / "two", USUAL)
    assert main([str(one), str(two)]) == 0
    page = (folder_of([one, two]) / "index.html").read_text(encoding="utf-8").replace("’", "'")
    capsys.readouterr()
    assert compare([str(one), str(two), "--verbose"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("p: ")]
    assert "exchanged in all ways, or in 2000 draws, seed 0, if there are more." in line
    assert line in page


def test_runs_that_cannot_be_compared_are_shown_all_the_same(tmp_path: Path) -> None:
    one, two = build(tmp_path / "one", USUAL), build(tmp_path / "two", USUAL, identity="other", corpus="meld")
    assert main([str(one), str(two)]) == 0
    page = (folder_of([one, two]) / "index.html").read_text(encoding="utf-8")
    assert "These runs are not compared" in page
