"""Every option of conf/ composes and makes its parts, and overrides take precedence."""

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mmerg.backends.scripted import ENGINE
from mmerg.corpora.empathetic import Empathetic
from mmerg.corpora.folder import Folder
from mmerg.corpora.iemocap import Iemocap
from mmerg.corpora.meld import Meld
from mmerg.corpora.talk import Talk
from mmerg.errors import ConfigError
from mmerg.experiment.backbone import BackbonePlan, check_hosts
from mmerg.experiment.build import make
from mmerg.experiment.plan import SystemPlan, plan_prompts
from mmerg.runs.identity import get_runtime_settings
from mmerg.settings.groups import conf_folder
from tests.configs import BASE, dump_settings, parse_settings
from tests.processes import in_process

CONF = conf_folder()
# of sweeps, beside a system, of other commands, of pages alone
OF_OTHERS = ("ablation", "experiment", "audit", "judge", "on", "hydra", "rating")
OPTIONS = sorted((f.parent.name, f.stem) for f in CONF.glob("*/*.yaml") if f.parent.name not in OF_OTHERS)


@pytest.fixture(scope="module")
def base() -> dict[str, Any]:
    return dump_settings(*BASE, "memory=minilm")


def hosts(*words: str) -> tuple[str, ...]:
    settings = parse_settings(*words)
    return check_hosts(settings.backend, settings.backbone)


@pytest.mark.parametrize(("group", "option"), OPTIONS, ids=[f"{group}={option}" for group, option in OPTIONS])
def test_every_option_composes_and_makes_its_parts(group: str, option: str, tmp_path: Path) -> None:
    dataset = () if group == "dataset" else ("dataset=folder",)
    root = () if option in ("demo", "talk") else (f"dataset.root={tmp_path}",)
    more = ("system.equal_tokens=null",) if option == "best_of_n_matched" else ()
    dialect = ("backend.adapter.dialect=vllm",) if option == "openai" else ()
    settings = parse_settings(*dataset, f"{group}={option}", *root, *more, *dialect, f"cache_dir={tmp_path}/cache")
    assert group == "frames" or getattr(settings, group).name == option
    assert isinstance(make(settings.dataset.reader), Empathetic | Folder | Iemocap | Meld | Talk)
    backbone = BackbonePlan.from_settings(settings)
    with closing(backbone.pool()) as pool:
        assert pool.slots == len(settings.backend.hosts) * settings.backbone.concurrency
    experiment = SystemPlan(
        plan_prompts(settings), settings.frames, sources={}, cache_dir=Path(settings.cache_dir)
    ).experiment(ENGINE, backbone.sampling(settings.seed), 8)
    assert [stage.name for stage in experiment.prompts.system.stages] == list(settings.system.stages)
    assert experiment.sampler.settings.long_side == settings.backbone.image_side
    assert not (tmp_path / "cache").exists()  # making parts does nothing yet


def test_the_defaults(base: dict[str, Any]) -> None:
    names = [base[group]["name"] for group in ("backbone", "backend", "system")]
    assert names == ["qwen3.5-27b", "ollama", "merg"]
    assert base["frames"]["seen_by"] == "paper"
    assert base["system"]["max_iterations"] == 2
    assert base["cache_dir"] == "runs/.cache"


@pytest.mark.parametrize(
    ("overrides", "backend", "backbone"),
    [
        (("dataset=demo",), "embedded", "smollm2-135m"),
        (("dataset=demo", "backend=ollama"), "ollama", "qwen3.5-27b"),
        ((*BASE, "backend=embedded", "backbone=gemma3-12b"), "embedded", "gemma3-12b"),
        (("dataset=demo", "backbone=qwen3-vl:8b"), "ollama", "qwen3-vl:8b"),
        (("dataset=demo", "backbone=gemma3-12b", "backend.hosts=[http://gpu1:11434]"), "ollama", "gemma3-12b"),
        (("dataset=demo", "backbone=smollm2-135m"), "embedded", "smollm2-135m"),
    ],
)
def test_overrides_take_precedence_over_the_demo(overrides: tuple[str, ...], backend: str, backbone: str) -> None:
    plain = dump_settings(*overrides)
    assert (plain["backend"]["name"], plain["backbone"]["name"]) == (backend, backbone)
    adapter = plain["backend"]["adapter"]
    if backend == "embedded":
        assert adapter["model"] == plain["backbone"]["gguf"]
        assert adapter["load"]["num_ctx"] == plain["backbone"]["load"]["num_ctx"]
    else:
        assert adapter["model"] == plain["backbone"]["model"]


@pytest.mark.parametrize(("given", "absolute"), [("clips", "here/clips"), ("'~/my clips (1)'", "home/my clips (1)")])
def test_the_root_is_made_absolute(given: str, absolute: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    plain = dump_settings("dataset=folder", f"dataset.root={given}")
    assert plain["dataset"]["root"] == plain["dataset"]["reader"]["root"] == str(tmp_path / absolute)


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        (("dataset=folder",), "dataset.root"),
        (("dataset=meld",), "dataset.root"),
        (("dataset=meld", "dataset.root="), "dataset.root"),
        (("dataset=meld", "dataset.root=null"), "dataset.root"),
        ((*BASE, "backbone.model=???"), "backbone.model"),
        ((*BASE, "backbone.load.num_ctx=${backbone.nowhere}"), "backbone.load.num_ctx"),
    ],
)
def test_a_missing_value_is_named(overrides: tuple[str, ...], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        dump_settings(*overrides)
    assert key in str(caught.value)
    assert caught.value.hint.startswith(f"set it on the command line: {key}=")


def test_runtime_settings_are_listed_by_path(base: dict[str, Any]) -> None:
    runtime = get_runtime_settings(base)
    assert runtime["backend.hosts"] == base["backend"]["hosts"]
    assert runtime["backend.adapter.deadlines"]["connect"] == 5.0
    assert not {"limit", "seed", "backend.adapter.total"} & set(runtime)  # none is set, or it decides results
    assert get_runtime_settings(dump_settings(*BASE, "limit=3"))["limit"] == 3


def test_the_embedded_backend_refuses_hosts() -> None:
    assert len(hosts("dataset=demo")) == 2  # two copies of the model
    with pytest.raises(ConfigError, match="has no effect on the embedded backend") as caught:
        BackbonePlan.from_settings(parse_settings("dataset=demo", "backend.hosts=[http://127.0.0.1:9]")).pool()
    assert "add backend=ollama" in caught.value.hint


def test_the_error_for_an_adapter_that_cannot_be_made_names_the_argument() -> None:
    with pytest.raises(ConfigError, match="unheard_of"):
        BackbonePlan.from_settings(parse_settings(*BASE, "+backend.adapter.unheard_of=1")).pool()


def test_the_command_expands_a_tilde(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mmerg.run", "dataset=meld", "dataset.root=~/MELD"]
    done = in_process(command, cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert done.returncode == 2
    assert f"{tmp_path}/MELD does not exist" in done.stderr
