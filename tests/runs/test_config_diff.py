"""The differences between runs by their manifests: settings that affect results, digests, engine and commit."""

from functools import cache

import pytest

from mmerg.runs.config_diff import NONE, Setting, diff_configs
from mmerg.runs.manifest import Manifest
from tests.configs import BASE, dump_settings
from tests.scoring.run_builder import make_manifest


@cache
def run(*overrides: str) -> Manifest:
    """The manifest of a run with these settings."""
    return make_manifest([]).model_copy(update={"settings": dump_settings(*BASE, *overrides)})


def differences(*manifests: Manifest) -> dict[str, tuple[str, ...]]:
    return {one.name: one.values for one in diff_configs(manifests)}


def test_settings_are_named_by_path() -> None:
    first = run("dataset.labels=[neutral,joy,sadness,anger]", "backbone.load.num_ctx=16384")
    other = run(
        *("dataset.labels=[joy,anger]", "backbone.load.num_ctx=4096", "system.max_iterations=0", "seed=7"),
        *("system.without=[psp,mpa]", "+backbone.sampling.top_k=5", "system.stages.sgrg.logprobs=false"),
        "system.stages.sgrg.sampling.stop=[END]",
    )
    assert differences(first, other) == {
        "seed": ("0", "7"),
        "dataset.labels": ("neutral, joy, sadness, anger", "joy, anger"),
        "system.max_iterations": ("2", "0"),
        "system.without": (NONE, "mpa, psp"),
        "system.stages.sgrg.logprobs": ("true", "false"),
        "system.stages.sgrg.sampling.stop": ('"\\n"', "END"),  # a line feed is quoted
        "backbone.load.num_ctx": ("16384", "4096"),
        "backbone.sampling.top_k": (NONE, "5"),
    }


def test_settings_of_one_system_alone_are_omitted() -> None:
    one, other = run("system=few_shot", "sources.X.top_k=2"), run("system=merg", "frames.per_clip=1")
    settings = differences(one, other)
    assert settings["system.name"] == ("few_shot", "merg")
    assert settings["frames.per_clip"][1] == "1"
    assert not {"system.stages.sgrg.sees", "sources.X.key.text", "memory.key.text"} & set(settings)


def test_runtime_settings_and_places_of_files_are_omitted() -> None:
    ways = ("limit=3", "backend.hosts=[http://a:1]", "cache_dir=/x", "runs=/x", "dataset.root=/elsewhere")
    assert differences(run(), run(*ways)) == {}


@pytest.mark.parametrize(
    ("base", "settings", "names"),
    [
        (
            "backend=embedded",
            ("backbone.gguf=/models/other.gguf", "backbone.mmproj=/models/eyes.gguf"),
            ["backbone.gguf", "backbone.mmproj", "backend.adapter.model"],
        ),
        ("memory=minilm", ("memory.embedder.folder=/models/minilm",), []),
    ],
)
def test_copies_of_a_setting_are_omitted(base: str, settings: tuple[str, ...], names: list[str]) -> None:
    assert list(differences(run(base), run(base, *settings))) == names


def test_differences_that_no_setting_explains_are_listed() -> None:
    one = run()
    engine = one.engine.model_copy(update={"version": "2", "digest": "e" * 64, "load": {"num_ctx": 512}})
    session = one.sessions[0].model_copy(update={"git_commit": "f" * 40 + "-dirty"})
    change = {"identity": one.identity | {"prompt mpa.j2": "ab" * 32}, "engine": engine, "sessions": (session,)}
    other = one.model_copy(update=change)
    assert diff_configs([one, other]) == [
        Setting("prompt mpa.j2 digest", ("same-prompt mpa.j2", "abababababab")),
        Setting("model digest", ("dddddddddddd", "eeeeeeeeeeee")),
        Setting("engine.version", ("1", "2")),
        Setting("engine.load.num_ctx", (NONE, "512")),
        Setting("commit", ("000000000000", "ffffffffffff-dirty")),
    ]


def test_settings_of_a_removed_stage_are_omitted() -> None:
    trace = ("dataset=empathetic", "dataset.root=/ed", "system=trace")
    assert differences(run(*trace), run(*trace, "system.without=[srp]")) == {"system.without": (NONE, "srp")}


@pytest.mark.parametrize(("system", "value"), [("hef", "false"), ("one_pass", NONE)])
def test_a_transductive_run_is_named_beside_any_system(system: str, value: str) -> None:
    base = ("dataset=empathetic", "dataset.root=/ed")
    settings = differences(run(*base, "system=hef", "sources.W.transductive=true"), run(*base, f"system={system}"))
    assert settings["sources.W.transductive"] == ("true", value)
