"""Scores of simulated studies, and the reasons for missing scores."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas import DataFrame, Index

import mmerg
from mmerg.errors import ConfigError
from mmerg.rating.launch import score
from mmerg.rating.results import StudyResults
from mmerg.rating.score import estimate_mean
from mmerg.rating.store import RatingEntry, to_item_order
from mmerg.rating.study import read_key, read_study
from mmerg.runs.folder import read_results
from mmerg.settings.commands import RateSettings
from mmerg.storage.record import read_record
from tests.compared_runs import edit_run
from tests.rating.parts import NAMES, create_study, write_runs

FEW: dict[str, Any] = {"draws": 200}


def write_ratings(folder: Path, better: float = 0.0, bad: Sequence[str] = (), only: Sequence[str] = ()) -> None:
    """Writes simulated ratings. better: by how many points the second run exceeds the first. bad: raters who answer
    even checks at random. only: the raters who rate; all by default."""
    study, key, random = read_study(folder), read_key(folder), np.random.default_rng(0)
    entries: list[RatingEntry] = []
    for rater, order in study.orders.items():
        bias = random.normal(0, 0.2)
        for place, shown in enumerate(order if not only or rater in only else ()):
            item = key.items.get(shown.item)
            fields: dict[str, Any] = {"rater": rater, "place": place, "ms": 9000, "browser": rater}
            for question in study.form.questions:
                noise = bias + random.normal(0, 0.7)
                higher = better * (item is not None and item.candidates == (1,))
                value: Any = int(np.clip(round(3 + noise + higher), 1, 5))
                if study.form.replies == 2:
                    value = "first" if noise > better + 0.5 else "second" if noise < better - 0.5 else "tie"
                expected = item.expect.get(question) if item else None
                if expected and rater not in bad:
                    value = expected[0]
                id = f"{rater}-{place}-{question}"
                entries.append(RatingEntry(id=id, question=question, value=to_item_order(value, shown), **fields))
            entries.append(RatingEntry(id=f"{rater}-{place}", question="submit", value="ok", **fields))
    (folder / "ratings.jsonl").write_text("".join(f"{entry.model_dump_json()}\n" for entry in entries))


def compute_scores(folder: Path) -> StudyResults:
    assert score(RateSettings(**FEW), folder) == 0
    return read_record(folder / "scores.json", StudyResults)


def test_a_better_run_is_detected(tmp_path: Path) -> None:
    folder = create_study(tmp_path, 40, human=True)
    write_ratings(folder, better=1.2)
    found = compute_scores(folder).all
    pair = next(pair for pair in found.pairs if (pair.a, pair.b, pair.question) == (*NAMES, "empathy"))
    low, high = pair.scores["difference"].interval or (0, 0)
    assert low < -1.2 < high < 0
    assert pair.says == "giraffe is better"
    assert found.agreement["empathy"]["alpha_ordinal"].interval[0] > 0  # type: ignore[index]
    assert found.means["giraffe"]["empathy"].n == 40
    assert "human" in found.means
    methods = (folder / "methods.md").read_text()
    assert f"{pair.scores['difference'].value:.2f}" in methods
    assert "Krippendorff's ordinal alpha is 0." in methods
    assert "0 of 3 raters gave consent on the rating page" in methods  # no rater used the page


def test_better_needs_agreement_above_chance(tmp_path: Path) -> None:
    folder = create_study(tmp_path, 40, design="pairwise")
    write_ratings(folder, better=0.6)
    pairs = compute_scores(folder).all.pairs
    assert all(pair.p_holm is not None and pair.p_holm < 0.05 for pair in pairs)
    assert {pair.says for pair in pairs} == {"not decided: the raters may agree only by chance (alpha)"}
    assert {name: score.value for name, score in pairs[0].scores.items()}.keys() == {"win", "tie", "lose", "margin"}
    assert sum(pairs[0].scores[name].value or 0 for name in ("win", "tie", "lose")) == pytest.approx(100)


def test_raters_who_fail_checks_are_shown_with_and_without(tmp_path: Path) -> None:
    folder = create_study(tmp_path, 40, items=30, gold=0.2, repeats=0.1)
    write_ratings(folder, bad=["r2"])
    results = compute_scores(folder)
    assert results.all.raters == ("r1", "r2", "r3")
    assert results.passed
    assert results.passed.raters == ("r1", "r3")
    assert results.raters["r1"].silent == (0, 6)
    assert results.raters["r2"].silent[0] > 2
    assert results.raters["r1"].repeats == 3 * 6
    assert results.raters["r1"].seconds == 9
    assert any("r2" in warning and "failed checks" in warning for warning in results.warnings)


def test_ratings_are_loaded_with_the_run_and_changed_runs_are_reported(tmp_path: Path) -> None:
    folder = create_study(tmp_path, 12)
    write_ratings(folder)
    compute_scores(folder)
    tidy = mmerg.load(*(tmp_path / name for name in NAMES))
    assert len(tidy.ratings) == 2 * 12 * 3 * 3
    assert set(tidy.ratings.rater) == {"r1", "r2", "r3"}
    assert tidy.ratings.groupby("run").score.mean().between(2, 4).all()
    write_runs(tmp_path / "again", 12, "zebra", replies=5)
    edit_run(tmp_path / "zebra", lines=[*read_results(tmp_path / "again/zebra").values()])
    assert any("zebra has changed: its replies" in warning for warning in compute_scores(folder).warnings)
    file = tmp_path / "zebra" / "results.jsonl"
    file.write_bytes(file.read_bytes().replace(b"I hear you", b"I see you", 1))
    assert any("zebra is missing or has changed: 1 of" in warning for warning in compute_scores(folder).warnings)


def test_a_single_rater_and_missing_ratings_are_reported(tmp_path: Path) -> None:
    folder = create_study(tmp_path, 12)
    with pytest.raises(ConfigError, match="no ratings yet"):
        score(RateSettings(**FEW), folder)
    write_ratings(folder, only=["r1"])
    results = compute_scores(folder)
    assert results.all.agreement["empathy"]["alpha_ordinal"].value is None
    assert results.all.agreement["empathy"]["alpha_ordinal"].why == "no item has two ratings"
    text = " ".join(results.warnings)
    assert "only one rater" in text
    assert "24 of 72" in text
    assert "r2, r3" in text


def test_ratings_that_are_all_the_same_have_no_alpha_and_no_interval(tmp_path: Path) -> None:
    folder = create_study(tmp_path, 12)
    write_ratings(folder)
    file = folder / "ratings.jsonl"
    file.write_text(re.sub(r'"value":[1-5]', '"value":4', file.read_text()))
    found = compute_scores(folder).all
    assert "all ratings are the same" in found.agreement["fluency"]["alpha_ordinal"].why
    assert found.agreement["fluency"]["ac2"].value == 1
    assert (found.means["zebra"]["fluency"].value, found.means["zebra"]["fluency"].interval) == (4, None)
    assert {pair.says for pair in found.pairs} == {"not tested: all ratings are the same"}
    assert compute_scores(folder).raters["r1"].straight == 100


def test_intervals_cover_the_truth() -> None:
    covered = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        parts = [random.normal(0, sd, shape) for sd, shape in ((0.8, (40, 1)), (0.3, (1, 5)), (0.8, (40, 5)))]
        ratings = DataFrame(3 + parts[0] + parts[1] + parts[2], index=Index(range(40), name="dialogue"))
        found, _ = estimate_mean("x", ratings, (-9, 9), draws=200, seed=0)
        assert found.interval
        covered += found.interval[0] <= 3 <= found.interval[1]
    assert 53 <= covered <= 60  # 95 % of 60, within four standard errors
