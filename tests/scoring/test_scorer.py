"""The scores of a run, and the file that stores them."""

from dataclasses import replace
from pathlib import Path

import pytest
from rich.text import Text

from mmerg.runs.memory_usage import MEMORY, MemoryUsage
from mmerg.runs.result import Timing
from mmerg.scoring.emotions import BASELINES
from mmerg.scoring.run_results import read_run
from mmerg.scoring.score import SCORES, Score, Scores
from mmerg.scoring.score_tables import ScoreRow, render
from mmerg.scoring.scorer import score_run, write_scores
from mmerg.scoring.standard import Options
from mmerg.scoring.tokenizers import Tokenizer
from mmerg.storage.record import write_record
from tests.scoring.run_builder import build_run, result

QUICK = Options(tokenizer="whitespace", resamples=20)
JUDGING = [
    *("acc", "acc_ok", "macro_f1", "weighted_f1", "self_ppl", "dist1", "dist2", "ead1", "ead2"),
    *("bleu", "rouge_l", "meteor", "chrf"),
]
DESCRIBING = [
    *("length", "passes", "selected", "rerun", "idle", "mended", "spoiled", "handed_on"),
    *("copied", "copied_history", "copied_exemplars", "copied_instructions", "cleaned", "calls"),
    *("prompt_tokens", "response_tokens", "seconds", "seconds_p95", "completion_tok_s", "prompt_tok_s", "excluded"),
]
COSTS = {
    *("passes", "selected", "calls", "prompt_tokens", "response_tokens"),
    *("seconds", "seconds_p95", "completion_tok_s", "prompt_tok_s"),
}
FAST = Timing(calls=2, prompt_tokens=300, prompt_seconds=2.0, completion_rates=(5.0, 10.0))
SLOW = Timing(calls=1, prompt_tokens=100, prompt_seconds=2.0, completion_rates=(2.0,))
RESULTS = [
    result(
        "a/1",
        "oh no",
        "joy",
        gold="joy",
        passes=3,
        repeated_passes=1,
        handed_on={"psp": (3, 4), "sgrg": (1, 6)},
        forecasts=("fear", "joy", "joy"),
        selected_pass=1,
        seconds=3.0,
        prompt_tokens=10,
        timing=FAST,
    ),
    result(
        "a/2", "oh so it is", "joy", gold="fear", seconds=1.0, cached_calls=2, exemplars=2, excluded={"x": 1, "y": 1}
    ),
    result("b/1", None, gold="fear", seconds=9.0, calls=7, prompt_tokens=20, cleaned={"name": 2}),
    result("c/1", "no", "anger", seconds=2.0, timing=SLOW),
]
LOGPROBS = {"a/1": [-1.0, -2.0], "a/2": [-3.0], "c/1": [-2.0]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return build_run(tmp_path / "run", RESULTS, logprobs=LOGPROBS, samples=6, corpus="meld")


@pytest.mark.parametrize(
    ("reply", "tokenizer", "uncut"),
    [
        ("ฉันเสียใจด้วยจริงๆ นะ", "nltk", True),  # with a space between its sentences
        ("我很抱歉. 你还好吗?", "nltk", True),
        ("我很抱歉. 你还好吗?", "char", False),
        ("Yes.", "whitespace", False),
    ],
)
def test_a_tokenizer_that_does_not_split_words_is_reported(
    tmp_path: Path, reply: str, tokenizer: Tokenizer, uncut: bool
) -> None:
    run = build_run(tmp_path, [result("a/1", reply)])
    scores = score_run(read_run(run), Options(tokenizer=tokenizer, resamples=20))
    assert scores.uncut is uncut
    shown = [part.plain for part in render([ScoreRow("mine", [scores])], ["dist1"], ["mine"]) if isinstance(part, Text)]
    assert any("--tokenizer char" in line for line in shown) is uncut


def test_every_score_has_n_signature_and_interval_or_reason(folder: Path) -> None:
    scores = score_run(read_run(folder), QUICK)
    assert [name for name in scores.overall if name not in BASELINES] == [*JUDGING, *DESCRIBING]
    assert list(scores.by_label) == ["joy", "fear"]
    assert all([*scores] == ["precision", "recall", "f1"] for scores in scores.by_label.values())
    assert (scores.run, scores.corpus, scores.engine) == ("run", "meld test", "tiny on scripted 1")
    assert (scores.n, scores.failed, scores.unfinished) == (4, 1, 2)
    assert scores.protocol == "targets=last emotions=all, n=6"
    assert scores.confusion is not None
    assert sum(map(sum, scores.confusion.counts)) == 2
    for name, score in scores.scores.items():
        assert score.name == name
        assert score.signature
        if score.value is None:
            assert score.why == {
                "meteor": "no sample has synonyms, as WordNet is not installed: python -m nltk.downloader wordnet",
                "precision:fear": "no sample has the forecast fear",
            }.get(name)
            continue
        if score.interval:
            assert score.interval[0] <= score.value <= score.interval[1]
            assert score.method
        else:
            assert score.why.startswith("no interval: ") or (not score.why and name in COSTS)
    judged = {name for name, score in scores.overall.items() if score.higher_is_better is not None}
    assert judged == set(JUDGING)
    assert scores.scores["self_ppl"].higher_is_better is False


def test_descriptive_metrics_have_the_values_computed_by_hand(folder: Path) -> None:
    scores = score_run(read_run(folder), QUICK).scores
    found = {name: (scores[name].value, scores[name].n) for name in DESCRIBING}
    assert found == {
        "length": (pytest.approx(7 / 3), 3),
        "passes": (pytest.approx(5 / 3), 3),
        "selected": (pytest.approx(1 / 3), 3),
        "rerun": (pytest.approx(100 / 3), 3),
        "idle": (50.0, 1),
        "mended": (50.0, 1),
        "spoiled": (0.0, 1),
        "handed_on": (40.0, 1),
        **dict.fromkeys(("copied", "copied_history", "copied_exemplars", "copied_instructions"), (0.0, 1)),
        "cleaned": (25.0, 4),
        "calls": (pytest.approx(22 / 4), 4),
        "prompt_tokens": (7.5, 4),
        "response_tokens": (0.0, 4),
        "seconds": (2.5, 2),  # median of uncached samples that did not fail
        "seconds_p95": (pytest.approx(2.95), 2),
        "completion_tok_s": (4.75, 2),  # median of the samples' medians, 7.5 and 2
        "prompt_tok_s": (100.0, 2),
        "excluded": (50.0, 1),
    }


def test_measured_memory_is_a_score(folder: Path) -> None:
    assert not {"memory_gib", "on_cpu"} & score_run(read_run(folder), QUICK).scores.keys()
    write_record(folder / MEMORY, MemoryUsage(gib=6.5))
    scores = score_run(read_run(folder), QUICK).scores
    assert (scores["memory_gib"].value, "on_cpu" in scores) == (6.5, False)


def test_the_order_of_samples_does_not_change_the_file(folder: Path) -> None:
    run = read_run(folder)
    files = []
    for results in (run.results, run.results, run.results[::-1]):
        write_scores(folder, score_run(replace(run, results=results), QUICK))
        files.append((folder / SCORES).read_bytes())
    assert len(set(files)) == 1
    assert Scores.model_validate_json(files[0]) == score_run(run, QUICK)


def test_scores_of_an_earlier_command_are_kept_if_the_results_are_the_same(folder: Path, tmp_path: Path) -> None:
    costly = Score(name="bert_f1", value=85.0, n=3, signature="model:x", higher_is_better=True)
    scores = score_run(read_run(folder), QUICK)
    write_scores(folder, scores.model_copy(update={"scores": scores.scores | {"bert_f1": costly}}))
    kept = write_scores(folder, score_run(read_run(folder), Options(tokenizer="char", resamples=20)))
    assert kept.scores["bert_f1"] == costly
    assert "char" in kept.scores["dist1"].signature
    assert Scores.model_validate_json((folder / SCORES).read_bytes()) == kept
    changed = build_run(tmp_path / "changed", [RESULTS[0], *RESULTS[2:]], logprobs=LOGPROBS, samples=6, corpus="meld")
    other = build_run(tmp_path / "other", RESULTS, logprobs=LOGPROBS, identity="another")
    for run in (changed, other):
        (run / SCORES).write_bytes((folder / SCORES).read_bytes())
        assert "bert_f1" not in write_scores(run, score_run(read_run(run), QUICK)).scores
    (folder / SCORES).write_bytes(b"[")
    assert "bert_f1" not in write_scores(folder, score_run(read_run(folder), QUICK)).scores
