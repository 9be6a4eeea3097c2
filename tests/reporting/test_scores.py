"""Scores in a report: those of `mmerg score`, and the differences between runs."""

import json
from pathlib import Path

import pytest
from markupsafe import escape

from mmerg.compare import main as compare
from mmerg.report import choose_folder, main
from mmerg.reporting.run_pages import RunPages
from tests.reporting.parts import USUAL, build
from tests.reporting.test_command import read
from tests.scoring.run_builder import build_run, result


def test_scores_are_shown_or_the_page_names_the_command_that_computes_them(
    report: Path, two_runs: Path, tmp_path: Path
) -> None:
    assert "mmerg score" in read(report / "index.html")
    page = read(two_runs / "run-1" / "index.html")
    assert "mmerg score" not in page
    run = two_runs.parent / "demo-merg-tiny-1"
    scores = json.loads((run / "scores.json").read_bytes())
    for score in scores["scores"].values():
        name, _, label = score["name"].partition(":")
        if label:
            assert f'<th scope="row"><bdi>{label}</bdi></th>' in page
            continue
        assert f'<th scope="row">{name} ' in page
        assert escape(score["signature"]) in page
    assert "Gold label against forecast" in page
    run = build(tmp_path / "run", [])
    (run / "scores.json").write_text(json.dumps(scores | {"results": ""}), encoding="utf-8")
    assert "the scores of this run are stale" in RunPages(run).unscored
    (run / "scores.json").write_text("{", encoding="utf-8")
    assert "of another version" in RunPages(run).unscored


def test_a_run_is_compared_with_the_simple_choice(tmp_path: Path) -> None:
    own = build_run(tmp_path / "own", [result(f"d/{n}", emotion="joy", gold="joy", calls=5) for n in range(3)])
    simple = [result(f"d/{n}", emotion="anger" if n else "joy", gold="joy", calls=3) for n in range(2)]
    build_run(tmp_path / "other", simple, system="one_pass_calibrated", corpus="other", identity="other")
    assert RunPages(own).simple == {}
    without = build_run(tmp_path / "simple", simple, system="one_pass_calibrated")
    assert main([str(own)]) == 0
    words = (
        "on the same 2 samples: label right in 100.00 % against 50.00 % of 2 (p 1.0000), 5.00 against 3.00 calls and"
    )
    page = " ".join(read(own / "report" / "index.html").split())
    assert f"Against <bdi>simple</bdi>, one reply with a label read from uncalibrated probabilities, {words}" in page
    build_run(tmp_path / "fitted", simple, system="one_pass_calibrated", parts=["labels label"])
    assert RunPages(without).simple == {}
    assert main([str(own), str(without)]) == 0
    page = " ".join(read(choose_folder([own, without]) / "index.html").split())
    assert "<bdi>own</bdi> against <bdi>fitted</bdi>, one reply with a label read from calibrated" in page


def test_runs_are_compared_as_in_mmerg_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = build(tmp_path / "one", USUAL[:3]), build(tmp_path / "two", USUAL[:3])
    assert main([str(one), str(two)]) == 0
    page = (choose_folder([one, two]) / "index.html").read_text(encoding="utf-8").replace("’", "'")
    assert "They do not differ: settings, files, model" in page
    capsys.readouterr()
    assert compare([str(one), str(two), "--verbose"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("p: ")]
    assert line in page
    other = build(tmp_path / "other", USUAL[-1:], identity="other", corpus="meld")
    assert main([str(one), str(other)]) == 0
    assert "These runs are not compared" in (choose_folder([one, other]) / "index.html").read_text(encoding="utf-8")


def test_the_path_of_a_report_starts_with_the_run_as_typed() -> None:
    first, second = Path("runs/a"), Path("runs/b")
    assert choose_folder([first]) == first / "report"
    assert choose_folder([first, second]).parent == first
