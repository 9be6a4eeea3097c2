"""Scores in a report: those that `mmerg.score` kept, and the differences between runs."""

import json
from pathlib import Path

import pytest
from markupsafe import escape

from mmerg.compare import main as compare
from mmerg.report import choose_folder, main
from tests.reporting.parts import USUAL, build
from tests.reporting.test_command import first_page, read
from tests.scoring.run_builder import build_run, result


def test_scores_are_shown_or_the_page_says_which_command_makes_them(
    report: Path, two_runs: Path, tmp_path: Path
) -> None:
    assert "mmerg score" in read(report / "index.html")
    page = read(two_runs / "run-1" / "index.html")
    assert "mmerg score" not in page
    run = two_runs.parent / "demo-merg-tiny-1"
    scores = json.loads((run / "scores.json").read_bytes())
    for figure in scores["scores"].values():
        name, _, label = figure["name"].partition(":")
        if label:  # in a table by label
            assert f'<th scope="row"><bdi>{label}</bdi></th>' in page
            continue
        assert f'<th scope="row">{name} ' in page
        assert escape(figure["signature"]) in page
    assert (two_runs / "run-1" / "plots" / "scores.svg").is_file()
    assert "Gold label against forecast" in page
    assert not (two_runs / "run-1" / "plots" / "confusion.svg").exists()  # a table says the same
    run = build(tmp_path / "run", [])
    (run / "scores.json").write_text(json.dumps(scores | {"results": ""}), encoding="utf-8")
    assert "the scores of this run are stale" in first_page(run)
    (run / "scores.json").write_text("{", encoding="utf-8")
    assert "not of this version" in first_page(run)


def test_a_run_is_held_against_the_simple_choice_on_its_first_screen(tmp_path: Path) -> None:
    own = build_run(tmp_path / "own", [result(f"d/{n}", emotion="joy", gold="joy", calls=5) for n in range(3)])
    simple = [result(f"d/{n}", emotion="anger" if n else "joy", gold="joy", calls=3) for n in range(2)]
    assert "Against <bdi>" not in first_page(own)
    build_run(tmp_path / "other", simple, system="one_pass_calibrated", corpus="other", identity="other")
    assert "Against <bdi>" not in first_page(own)
    without = build_run(tmp_path / "simple", simple, system="one_pass_calibrated")
    told = "on the same 2 samples: label right in 100.00 % against 50.00 % of 2 (p 1.00), 5.00 against 3.00 calls and"
    assert f"Against <bdi>simple</bdi>, one reply with a label read from probabilities, {told}" in first_page(own)
    build_run(tmp_path / "fitted", simple, system="one_pass_calibrated", config={"auditor": "auditor.json"})
    assert "Against <bdi>fitted</bdi>" in first_page(own)
    assert "Against <bdi>" not in first_page(without)


def test_runs_are_compared_as_compare_does_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Few dialogues have all their exchanges taken, so draws alone would be no true word."""
    one, two = build(tmp_path / "one", USUAL), build(tmp_path / "two", USUAL)
    assert main([str(one), str(two)]) == 0
    page = (choose_folder([one, two]) / "index.html").read_text(encoding="utf-8").replace("’", "'")
    assert "They do not differ: settings, files, model" in page
    capsys.readouterr()
    assert compare([str(one), str(two), "--verbose"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("p: ")]
    assert "exchanged in all ways, or in 2000 draws, seed 0, if there are more." in line
    assert line in page
    bare = build(tmp_path / "bare", USUAL[-1:])
    other = build(tmp_path / "other", USUAL[-1:], identity="other", corpus="meld")
    assert main([str(bare), str(other)]) == 0
    assert "These runs are not compared" in (choose_folder([bare, other]) / "index.html").read_text(encoding="utf-8")
