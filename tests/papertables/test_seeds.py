"""Runs that differ in their seed alone: their mean, and under which row it stands."""

from typing import Any

import pytest

from mmerg.papertables.matched import Line, MatchedTable, facts, sheet
from mmerg.score import main as score
from mmerg.scoring.spread import Spread
from tests.compared_runs import edit
from tests.papertables.maker import Maker, match


def means(drawn: MatchedTable) -> list[Line]:
    return [line for line in drawn.lines if line.by == "seeds"]


def test_runs_that_differ_in_their_seed_alone_have_a_mean_and_a_spread(make: Maker) -> None:
    runs = [make(f"seed{seed}", right=right, seed=seed) for seed, right in ((0, 20), (1, 22), (2, 24))]
    other = make("other", right=3, seed=3, max_iterations=5)
    drawn = match("iterations", *runs, other)
    [mean] = means(drawn)
    assert (mean.name, mean.row, mean.fits, mean.note) == ("mean of runs 1, 2, 3", "2", True, "")
    acc = mean.scores["acc"]
    assert isinstance(acc, Spread)
    assert acc.value == pytest.approx(100 * 22 / 31)
    assert acc.sd == pytest.approx(100 * 2 / 31)
    assert (acc.n, acc.interval) == (3, None)
    [line] = [row for row in sheet(drawn).rows if row[0] == "· mean of runs 1, 2, 3"]
    assert line[1 + drawn.paper.columns.index("acc")] == "70.97\nsd 6.45\n3 seeds"
    [row] = [row for row in facts(drawn) if (row["by"], row["metric"]) == ("seeds", "acc")]
    assert row["sd"] == pytest.approx(6.4516, abs=1e-3)


@pytest.mark.parametrize("changes", [{"backbone": {"name": "tiny"}}, {"max_iterations": 5}])
def test_a_mean_differs_from_its_row_as_its_runs_do(changes: dict[str, Any], make: Maker) -> None:
    fitting = [make(f"a{seed}", seed=seed) for seed in (0, 1)]
    others = [make(f"b{seed}", seed=seed, **changes) for seed in (0, 1)]
    drawn = match("ablations", *fitting, *others)
    first, second = means(drawn)
    assert (first.name, first.row, first.fits, first.note) == ("mean of runs 1, 2", "cascaded (MERG)", True, "")
    assert (second.name, second.row, second.fits) == ("mean of runs 3, 4", "cascaded (MERG)", False)
    assert second.note
    assert f"run 3, run 4, mean of runs 3, 4: {second.note}" in drawn.describe()


def test_a_mean_over_seeds_takes_one_finished_run_a_seed_of_one_engine(make: Maker) -> None:
    runs = [make("s0", right=20), make("s1", right=22, seed=1), make("s1-again", right=4, seed=1)]
    runs.append(make("cut", n=20, right=9, samples=31, seed=2))
    other = make("engine", right=9, seed=9)
    edit(other, lambda manifest: manifest["identity"].update(engine="9"))
    score([str(other), "--resamples", "20"])
    drawn = match("main", *runs, other)
    [line] = means(drawn)
    assert (line.name, line.note) == ("mean of runs 1, 2", "")
    acc = line.scores["acc"]
    assert acc.n == 2
    assert acc.value == pytest.approx(100 * 21 / 31)


def test_figures_measured_in_several_ways_have_no_mean(make: Maker) -> None:
    runs = [make("s0"), make("s1", seed=1)]
    score([str(runs[1]), "--resamples", "20", "--keep-case"])
    drawn = match("topk", *runs)
    [line] = means(drawn)
    assert "dist1" not in line.scores
    assert line.scores["acc"].n == 2


def test_one_seed_has_no_mean(make: Maker) -> None:
    assert not means(match("topk", make("a"), make("b")))
