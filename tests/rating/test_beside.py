"""People's ratings compared with those of a model judge, and in the tables of papers and a run's report."""

from pathlib import Path

import pytest

from mmerg.rating.launch import create
from mmerg.rating.people import read_people_ratings
from mmerg.reporting.write import write_report
from mmerg.runs.events import Verdict
from mmerg.runs.folder import read_results
from mmerg.runs.result import Verdicts
from mmerg.score import main as score_run
from mmerg.settings.commands import RateSettings
from tests.compared_runs import edit_run
from tests.papertables.maker import Maker, match, rate, run_lines, write_judging, write_verdicts
from tests.rating.parts import BARE, NAMES, create_study, write_runs
from tests.rating.test_score import compute_scores, write_ratings


def write_verdicts_on_all(folder: Path, *verdicts: Verdict) -> None:
    lines = [Verdicts(id=f"dia{n}/3", status="ok", dialogue=f"dia{n}", verdicts=verdicts) for n in range(12)]
    write_verdicts(folder, lines)


def test_a_judge_is_compared_as_another_rater_of_the_same_items(tmp_path: Path) -> None:
    folder = create_study(tmp_path, 12, human=True)
    write_ratings(folder, better=1.5)
    for name, value in zip(NAMES, (2, 5), strict=True):
        rate(tmp_path / name, name, value)  # a judge of each run with the name of the run
        verdict = Verdict(aspect="empathy", round=0, order=(0,), repeat=0, seed=0, score=value)
        write_verdicts_on_all(tmp_path / f"judge-likert-{name}-12345678", verdict)
    first, second = (judge for judge in compute_scores(folder).judges if judge.question == "empathy")
    assert (first.judge, first.n, second.n) == ("zebra@likert", 12, 12)
    assert sum(row[1] for row in first.counts) == 12  # all verdicts are 2
    assert sum(row[4] for row in second.counts) == 12
    assert first.people.value is not None
    assert first.joined.value is not None
    assert first.joined.value != first.people.value
    assert first.kappa == pytest.approx(0, abs=1e-9)  # it gives all replies the same score
    assert first.both_orders is None


def test_a_pair_is_a_tie_for_a_judge_whose_orders_disagree(tmp_path: Path) -> None:
    folder = create_study(tmp_path, 12, design="pairwise")
    write_ratings(folder, better=1.5)  # the second run wins
    judging = write_judging(tmp_path / "zebra", tmp_path / "giraffe", corpus="demo")
    verdict = Verdict(aspect="empathy", round=0, order=(0, 1), repeat=0, seed=0, choice="second")
    swapped = verdict.model_copy(update={"round": 1, "order": (1, 0)})
    write_verdicts_on_all(judging, verdict, swapped.model_copy(update={"choice": "first"}))
    [judge] = (judge for judge in compute_scores(folder).judges if judge.question == "empathy")
    assert (judge.n, judge.both_orders) == (12, 100)
    assert sum(row[0] for row in judge.counts) == 12  # -1: the second run
    write_verdicts_on_all(judging, verdict, swapped)
    [judge] = (judge for judge in compute_scores(folder).judges if judge.question == "empathy")
    assert judge.both_orders == 0
    assert sum(row[1] for row in judge.counts) == 12  # a tie


def test_people_come_before_a_judge_in_tables_of_papers_and_are_in_the_report(tmp_path: Path) -> None:
    run = Maker(tmp_path)("run")
    rate(run, "larger", 3.9)
    create(RateSettings(**BARE | {"items": 31}), tmp_path / "study", [run])
    write_ratings(tmp_path / "study")
    compute_scores(tmp_path / "study")
    assert score_run([str(run), "--resamples", "50"]) == 0
    people = read_people_ratings(run)["people@study"]
    table = match("main", run)
    [line] = run_lines(table)
    assert line.scores["empathy"].value == people.scores["empathy"].value != 3.9
    assert any("by people@study: 3 raters, 31 items, ordinal alpha empathy" in note for note in table.notes)
    page = write_report([run], tmp_path / "report").read_text()
    assert f"people@study</bdi>: {people.description}" in page


def test_a_judge_of_a_run_with_new_replies_is_ignored(tmp_path: Path) -> None:
    folder = create_study(tmp_path, 12)
    write_ratings(folder)
    for name in NAMES:
        rate(tmp_path / name, "gemma", 3.0)
    verdict = Verdict(aspect="empathy", round=0, order=(0,), repeat=0, seed=0, score=3)
    write_verdicts_on_all(tmp_path / "judge-likert-gemma-12345678", verdict)
    assert {judge.n for judge in compute_scores(folder).judges} == {24, 0}
    write_runs(tmp_path / "again", 12, "zebra", replies=5)
    edit_run(tmp_path / "zebra", lines=[*read_results(tmp_path / "again/zebra").values()])
    assert {judge.n for judge in compute_scores(folder).judges} == {12, 0}
