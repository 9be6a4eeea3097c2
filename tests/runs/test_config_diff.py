"""What two runs' manifests say of their difference: settings that decide results, digests, engine, commit."""

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmerg.runs.config_diff import NONE, Setting, config_diff, settings_diff
from mmerg.runs.identity import RUNTIME_KEYS
from mmerg.runs.manifest import Manifest
from tests.composed import BASE, plain_of
from tests.scoring.run_builder import manifest_of


@cache
def run(*overrides: str) -> Manifest:
    """A manifest of a run so set."""
    return manifest_of([]).model_copy(update={"settings": plain_of(*BASE, *overrides)})


def differences(*manifests: Manifest) -> dict[str, tuple[str, ...]]:
    return {one.name: one.values for one in config_diff(manifests)}


@pytest.mark.parametrize(
    ("setting", "name", "values"),
    [
        ("system.max_iterations=0", "system.max_iterations", ("2", "0")),
        ("system.without=[psp,mpa]", "system.without", (NONE, "mpa, psp")),
        ("seed=7", "seed", ("0", "7")),
        ("backbone.load.num_ctx=4096", "backbone.load.num_ctx", ("16384", "4096")),
        ("dataset.labels=[joy,anger]", "dataset.labels", ("neutral, joy, sadness, anger", "joy, anger")),
        ("+backbone.sampling.top_k=5", "backbone.sampling.top_k", (NONE, "5")),
        ("system.stages.sgrg.logprobs=false", "system.stages.sgrg.logprobs", ("true", "false")),
        ("protocol.sample=9", "protocol.sample", (NONE, "9")),
    ],
)
def test_a_setting_is_named_by_its_path_and_once(setting: str, name: str, values: tuple[str, str]) -> None:
    first = run("dataset.labels=[neutral,joy,sadness,anger]", "backbone.load.num_ctx=16384")
    other = run("dataset.labels=[neutral,joy,sadness,anger]", "backbone.load.num_ctx=16384", setting)
    settings = differences(first, other)
    assert settings.pop(name) == values
    assert set(settings) <= {"protocol.seed"}  # which decides nothing until samples are drawn


def test_of_several_systems_what_one_of_them_lacks_is_not_told() -> None:
    one, other = run("system=few_shot", "sources.X.top_k=2"), run("system=merg", "frames.per_clip=1")
    settings = differences(one, other)
    assert settings["system.name"] == ("few_shot", "merg")
    assert settings["frames.per_clip"][1] == "1"
    assert not {"system.stages.sgrg.sees", "sources.X.key.text", "memory.key.text"} & set(settings)


def test_a_line_feed_in_a_setting_is_no_line_of_its_own() -> None:
    settings = differences(run(), run("system.stages.sgrg.sampling.stop=[END]"))
    assert settings == {"system.stages.sgrg.sampling.stop": ('"\\n"', "END")}


def test_how_results_were_had_and_where_files_lie_is_left_out() -> None:
    ways = ("limit=3", "backend.hosts=[http://a:1]", "cache_dir=/x", "runs=/x", "dataset.root=/elsewhere")
    assert differences(run(), run(*ways)) == {}
    assert not {
        setting for setting in differences(run("seed=1"), run("seed=2", *ways)) if setting.startswith(RUNTIME_KEYS)
    }


@pytest.mark.parametrize(
    ("base", "settings", "names"),
    [
        (
            "backend=embedded",
            ("backbone.gguf=/models/other.gguf", "backbone.mmproj=/models/eyes.gguf"),
            ["backbone.gguf", "backbone.mmproj"],
        ),
        ("dataset=iemocap", ("dataset.label_set=four",), ["dataset.label_set"]),
        ("memory=minilm", ("memory.embedder.folder=/models/minilm",), []),
    ],
)
def test_what_one_setting_decides_is_told_once(base: str, settings: tuple[str, ...], names: list[str]) -> None:
    assert list(differences(run(base), run(base, *settings))) == names


def test_what_merely_has_the_values_of_another_setting_is_told() -> None:
    one, other = run("system.max_iterations=1"), run("system.max_iterations=2")
    other = other.model_copy(update={"engine": other.engine.model_copy(update={"version": "2"})})
    assert differences(one, other) == {"system.max_iterations": ("1", "2"), "engine.version": ("1", "2")}


def test_what_no_setting_tells_has_a_name_of_its_own() -> None:
    one = run()
    engine = one.engine.model_copy(update={"version": "2", "digest": "e" * 64, "load": {"num_ctx": 512}})
    session = one.sessions[0].model_copy(update={"git_commit": "f" * 40 + "-dirty"})
    change = {"identity": one.identity | {"prompt mpa.j2": "ab" * 32}, "engine": engine, "sessions": (session,)}
    other = one.model_copy(update=change)
    assert config_diff([one, other]) == [
        Setting("prompt mpa.j2 digest", ("same-prompt mpa.j2", "abababababab")),
        Setting("model digest", ("dddddddddddd", "eeeeeeeeeeee")),
        Setting("engine.version", ("1", "2")),
        Setting("engine.load.num_ctx", (NONE, "512")),
        Setting("commit", ("000000000000", "ffffffffffff-dirty")),
    ]


def test_what_a_stage_that_is_left_out_had_is_not_told() -> None:
    trace = ("dataset=empathetic", "dataset.root=/ed", "system=trace")
    assert differences(run(*trace), run(*trace, "system.without=[srp]")) == {"system.without": (NONE, "srp")}


@pytest.mark.parametrize("system", ["hef", "one_pass"])
def test_what_is_read_of_what_is_evaluated_is_told_beside_any_system(system: str) -> None:
    base = ("dataset=empathetic", "dataset.root=/ed")
    other = {"hef": "false", "one_pass": NONE}[system]
    settings = differences(run(*base, "system=hef", "sources.W.transductive=true"), run(*base, f"system={system}"))
    assert settings["sources.W.transductive"] == ("true", other)


@pytest.mark.parametrize(
    ("setting", "part"),
    [
        ("dataset.split=dev", "corpus"),
        ("dataset.split=dev", "clips"),
        ("memory.top_k=5", "memory M"),
        ("backbone.model=other:1b", "model"),
    ],
)
def test_what_follows_from_a_setting_is_told_by_the_setting_alone(setting: str, part: str) -> None:
    one, other = run("dataset=meld"), run("dataset=meld", setting)
    assert f"{part} digest" not in differences(one, elsewhere(other, part))
    assert setting.partition("=")[0] in differences(one, elsewhere(other, part))
    assert list(differences(one, elsewhere(one, part))) == [f"{part} digest"]


def elsewhere(manifest: Manifest, part: str) -> Manifest:
    """The same of another corpus, clips, memory or model."""
    if part == "model":
        return manifest.model_copy(update={"engine": manifest.engine.model_copy(update={"digest": "e" * 64})})
    return manifest.model_copy(update={"identity": manifest.identity | {part: "ab" * 32}})


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=8,
)
configs = st.dictionaries(st.sampled_from("abcd"), plain, max_size=3)


@given(st.lists(configs, min_size=1, max_size=3))
def test_every_setting_has_a_text_a_run_and_they_are_not_all_one(given: list[dict[str, Any]]) -> None:
    settings = settings_diff(given)
    assert len({one.name for one in settings}) == len(settings)
    for one in settings:
        assert len(one.values) == len(given)
        assert len(set(one.values)) > 1
        assert all(one.values)
