"""Commands that compose settings: help, options, pages of the user's own, and what Tab completes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mmerg.completion import words
from mmerg.errors import ConfigError
from mmerg.settings.command import read_line, run_composed
from mmerg.settings.compose import compose, notes, rows
from mmerg.settings.listing import help_text, keys_of_page
from mmerg.settings.model import COMMANDS, RunSettings
from mmerg.settings.pages import ollama_host
from mmerg.settings.parse import checked
from mmerg.settings.tree import every_key
from tests.engine.parts import ROOT
from tests.processes import in_process

LONG = "x" * 5000
NO_MODEL = ("import", "train")  # commands that ask none
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def mmerg(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return in_process([sys.executable, "-m", "mmerg", *arguments], cwd=folder)


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The same in a process and an interpreter of its own."""
    line = [sys.executable, *arguments]
    return subprocess.run(line, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)


def test_every_command_has_a_line() -> None:
    lines = mmerg("--help").stdout.splitlines()
    names = "bench compare data doctor export judge plot report run score show tables"
    assert set(names.split()) <= {line.split()[0] for line in lines if line.startswith("  ")}
    assert "  score       Scores finished runs" in lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rum",), "there is no command rum\n  where: command line\n  next:  did you mean mmerg run?"),
        (
            ("run", "--hydra-help", "dataset=demo"),
            "there is no option --hydra-help\n  where: command line\n",
        ),
        (("run", "dataset=demo", "--config-dir=nowhere"), "--config-dir: there is no folder 'nowhere'"),
        (("run", "max_iterations=3"), "did you mean system.max_iterations?"),
        (("run", "dataset=demo", "-m", "seed=0,1", "-j", "0"), "-j is 0"),
        (("run", "dataset=demo", "-j", "2"), "-j is for sweeps"),
        (("run", "dataset=demo", "-m", "seed=range(3,3)"), "the sweep has no row"),
        (("run", "dataset=demo", "-m", "hydra/launcher=joblib"), "hydra/launcher is Hydra's own"),
        (("run", "dataset=demo", "ids=[\x1b[31m"), r"'ids=[\x1b[31m' cannot be read as a setting"),
        (("score", "runs/x", "--n\x1b[31m"), r"--n\u001b[31m"),
        (("score", "runs/x", "--resamples", "\x1b[31m"), r"'\x1b[31m'"),
        (("\x1b[31m",), r"there is no command \u001b[31m"),
        (("run", "dataset=demo", "--\x1b[31m"), r"there is no option --\u001b[31m"),
        (("run", "dataset=demo", "frames=\x1b[31m"), r"'frames=\x1b[31m' cannot be read as a setting"),
        (("run", "dataset=demo", "-m", "\x1b[31m=1,2"), r"'\x1b[31m=1,2' cannot be read as a setting"),
        (("run", "dataset=demo", "name='\x1b[31m'"), r"name is '\x1b[31m'"),
        (("tables", LONG), "a path cannot be used: File name too long"),
        (("tables", "--runs", LONG), "a path cannot be used: File name too long"),
        (("new", "system", LONG), "a path cannot be used: File name too long"),
        (("run", "dataset=demo", "backend=dry", f"runs={LONG}"), "a path cannot be used: File name too long"),
        (("run", "dataset=demo", f"backbone.gguf={LONG}"), "a path cannot be used: File name too long"),
        (("run", "dataset=demo", f"limit={'9' * 5000}"), "cannot be read as a setting"),
        (("run", "dataset=demo", "frames=null"), "there is no frames=null"),
        (
            ("run", "dataset=meld", "dataset.root=/x", "dataset.sessions=[2]", "dataset.memory.sessions=[1]"),
            "dataset.sessions is [2], and dataset=meld passes it to no reader; leave it out; its page takes "
            "dataset.labels, dataset.root, dataset.split, dataset.variant\n  dataset.memory.sessions is [1], and ",
        ),
        (("run", "dataset=demo", "dataset.root=/x"), "leave it out; its page takes none"),
        (("run", "dataset=[meld,demo]"), "dataset=[meld,demo] mixes pages\n  where: command line\n  next:  one page: "),
        (("run", "dataset=demo", "protocol=null"), "there is no protocol=null"),
        (("run", "dataset=demo", "+dataset.reader.file=5"), "Folder cannot be made: file is 5"),
        (("run", "dataset=demo", "system.without=[mpaa]"), "did you mean mpa?"),
        (("run", "backbone=qwen2.5vl:7b"), "qwen2.5vl:7b is the model of backbone=qwen2.5vl-7b"),
        (
            ("run", "dataset=demo", "backend=dry", "backend.adapter.deadlines.total=null"),
            "backend.adapter.deadlines names no class that would take settings",
        ),
        (("bench", "--config-dir=nowhere"), "--config-dir: there is no folder 'nowhere'"),
    ],
)
def test_what_is_wrong_is_told_in_our_words(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = mmerg(*arguments, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "\x1b" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_exit_code_and_the_usage_of_a_process() -> None:
    done = python("-m", "mmerg", "rum")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: there is no command rum\n")
    done = python("-m", "mmerg.score", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: python -m mmerg.score ")


@pytest.mark.parametrize("name", ["score", "show", "bench"])
def test_usage_names_the_command_as_it_was_typed(name: str) -> None:
    assert mmerg(name, "--help").stdout.startswith(f"usage: mmerg {name} ")
    module = in_process([sys.executable, "-m", f"mmerg.{name}", "--help"])
    assert module.stdout.startswith(f"usage: python -m mmerg.{name} ")


def test_the_version_is_ours() -> None:
    for name in ("run", "data", "doctor", "judge"):
        assert mmerg(name, "--version").stdout.startswith("mmerg ")


@pytest.mark.parametrize("page", list(COMMANDS))
def test_help_lists_settings_that_there_are(page: str) -> None:
    known = {key for key, _ in every_key(COMMANDS[page])}
    listed = keys_of_page(page)
    extras = (
        "backend.adapter.",
        "memory.embedder.",
        "backbone.load",
        "system.auditor",
        "sources",
        "row",
        "experiment",
    )
    assert [key for key in listed if key not in known and not key.startswith(extras)] == []
    assert ({"backbone", "backend", "backbone.model", "backend.attempts"} <= set(listed)) == (
        page not in ("train", "import")
    )
    assert (
        ("dataset" in listed) == ("dataset.root" in listed) == (page in ("config", "data", "import", "serve", "train"))
    )
    assert "--config-dir" in help_text(page, "")


def test_options_may_stand_anywhere() -> None:
    line = read_line(["a=1", "--cfg", "job", "-p", "frames", "b=2", "-m"])
    assert (line.settings, line.cfg, line.package, line.multirun) == (["a=1", "b=2"], "job", "frames", True)


def test_a_page_of_ones_own_wins_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "mine" / "frames" / "paper.yaml"
    page.parent.mkdir(parents=True)
    page.write_text("seen_by: all\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    own = read_line(["--config-dir", "~/mine"]).own
    assert own == tmp_path / "mine"
    made = compose("config", checked(["dataset=meld"], "config", own), own)
    assert made.config.frames.seen_by == "all"
    assert list(notes(made, own, RunSettings.model_fields)) == [f"frames=paper is {page}, in place of mmerg's own"]
    assert compose("config", checked(["dataset=meld"], "config")).config.frames.seen_by == "paper"


@pytest.mark.parametrize("page", ["name: [", "name: a\nname: b\n", "a\tb: c", "*x", "!!python/object:os.x []"])
def test_a_page_that_is_no_yaml_is_told_with_its_line(page: str, tmp_path: Path) -> None:
    file = tmp_path / "frames" / "mine.yaml"
    file.parent.mkdir()
    file.write_text(page, encoding="utf-8")
    line = ["--config-dir", str(tmp_path), "dataset=demo", "frames=mine"]
    with pytest.raises(ConfigError, match="a page is no YAML") as caught:
        run_composed("config", lambda settings: 0, "", line)
    assert f'in "{file}", line ' in caught.value.what


@pytest.mark.parametrize(
    ("included", "message"),
    [
        ("[papr]", "frames/mine includes frames/papr, which is not there"),
        ("[{/memory: minlm}]", "frames/mine includes memory/minlm, which is not there"),
    ],
)
def test_a_page_that_includes_one_that_is_not_there_is_named(included: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "frames" / "mine.yaml"
    file.parent.mkdir()
    file.write_text(f"defaults: {included}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        compose("config", checked(["dataset=demo", "frames=mine"], "config", tmp_path), tmp_path)
    assert (caught.value.what, caught.value.where) == (message, str(file))
    assert caught.value.hint.startswith("did you mean ")


def test_a_part_that_is_not_there_cannot_be_printed() -> None:
    with pytest.raises(ConfigError, match="no group is called nothing"):
        run_composed("config", lambda settings: 0, "", ["--cfg", "job", "-p", "nothing"])


@pytest.mark.parametrize("setting", ["seed=1,2", "frames.seen_by=all,none"])
def test_several_values_of_one_run_are_told_how_to_sweep(setting: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"one value; -m {setting} runs each")):
        checked(["dataset=demo", setting], "config")
    assert checked(["dataset=demo", setting], "config", sweep=True)


def test_a_sweep_goes_over_all_combinations_and_over_what_the_page_says() -> None:
    assert rows("config", ["seed=1,2", "dataset=demo", "frames=all,none"], None) == [
        [f"seed={seed}", "dataset=demo", f"frames={frames}"] for seed in (1, 2) for frames in ("all", "none")
    ]
    assert rows("config", ["+experiment=topk", "limit=1"], None)[1] == ["row=k1", "+experiment=topk", "limit=1"]
    assert rows("config", ["+experiment=topk", "row=k3"], None) == [["row=k3", "+experiment=topk"]]


@pytest.mark.parametrize("page", [page for page in COMMANDS if page != "config"])
def test_only_runs_are_swept(page: str) -> None:
    with pytest.raises(ConfigError, match="sweeps are for mmerg run"):
        run_composed(page, lambda settings: 1, "", ["-m"])


def test_a_second_memory_is_composed_as_the_page_on_building_ones_own_says(tmp_path: Path) -> None:
    page = tmp_path / "system" / "mine.yaml"
    page.parent.mkdir()
    lines = ["# @package _global_", "defaults:", "  - /memory@sources.N: minilm", "sources:"]
    page.write_text("\n".join([*lines, "  N: {top_k: 2, key: {text: situation}}", ""]), encoding="utf-8")
    made = compose("config", checked(["dataset=demo", "system=mine"], "config", tmp_path), tmp_path)
    assert made.config.sources.N._target_ == "mmerg.sources.exemplars.FromMemory"
    assert (made.config.sources.N.top_k, made.config.sources.N.exclude_similarity) == (2, 0.98)


def test_what_the_demo_sets_beside_its_dataset_is_told() -> None:
    def sets(*more: str) -> list[str]:
        made = compose("config", checked(["dataset=demo", *more], "config"))
        return list(notes(made, None, RunSettings.model_fields))

    assert sets() == ["dataset=demo sets limit=3, system.max_iterations=1, frames.per_clip=2, frames.max_frames=4"]
    assert sets("system.max_iterations=2", "limit=null") == ["dataset=demo sets frames.per_clip=2, frames.max_frames=4"]


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("gpu1:8080", "http://gpu1:8080"),
        ("http://gpu1", "http://gpu1:80"),
        ("https://gpu1/ollama/", "https://gpu1:443/ollama"),
        ("[::]:8080", "http://[::1]:8080"),
    ],
)
def test_the_server_is_where_ollama_looks_for_it(given: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", given)
    assert ollama_host() == address
    config = compose("config", checked(["dataset=meld", "memory=ollama"], "config")).config
    assert (config.backend.hosts, config.memory.embedder.hosts) == ([address], [address])


def test_hosts_with_a_password_are_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in ("backend.hosts=[http://me:secret@gpu1:1]", "memory.embedder.hosts=[http://me:secret@gpu1:1]"):
        for sweep in (False, True):
            with pytest.raises(ConfigError, match="holds a password") as caught:
                checked(["dataset=demo", setting], "config", sweep=sweep)
            assert "secret" not in str(caught.value)
    monkeypatch.setenv("OLLAMA_HOST", "http://me:secret@gpu1:1")
    done = mmerg("run", "dataset=demo", "backend=ollama")
    assert (done.returncode, "secret" in done.stdout + done.stderr) == (2, False)
    assert "backend.hosts is ['http://***@gpu1:1']" in done.stderr


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("mmerg sc", ["score "]),
        ("mmerg run dataset=m", ["dataset=meld "]),
        ("mmerg run frames=", [f"frames={name} " for name in ("all", "apex", "blank", "none", "paper", "shuffled")]),
        ("mmerg run dataset=demo frames.max_", ["frames.max_frames=", "frames.max_seconds="]),
        ("mmerg doctor dataset=", []),
        ("mmerg judge judge=", ["judge=likert ", "judge=pairwise "]),
        ("mmerg run dataset.m", ["dataset.memory.split="]),
        ("mmerg run dataset=demo --c", ["--config-dir ", "--cfg "]),
    ],
)
def test_tab_completes(line: str, completed: list[str]) -> None:
    assert words(line) == completed


def test_tab_completes_in_bash() -> None:
    """bash makes words of their own of what stands behind =."""
    script = f"""
mmerg() {{ {sys.executable} -m mmerg "$@"; }}
eval "$(mmerg completion bash)"
COMP_LINE="mmerg run dataset=me" COMP_POINT=20 COMP_WORDS=(mmerg run dataset = me) COMP_CWORD=4
_mmerg 2>/dev/null; echo "<${{COMPREPLY[0]}}>"
"""
    done = subprocess.run(["bash", "-c", script], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.stdout == "<meld >\n", done.stderr


def test_where_nothing_fits_bash_is_left_to_complete_names_of_files() -> None:
    done = mmerg("completion", "words", "mmerg show ru")
    assert (done.returncode, done.stdout) == (0, "")


def test_tab_offers_pages_of_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "mine.yaml").write_text("name: mine", encoding="utf-8")
    for option in (f"--config-dir {tmp_path}", f"--config-dir={tmp_path}"):
        assert words(f"mmerg run {option} system=m") == ["system=merg ", "system=mine ", "system=multi_agent_esc "]
