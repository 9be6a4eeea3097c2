"""The README and docs/ are short, their links work, and the commands in them accept the arguments shown."""

import re
import shlex
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from mmerg.console.terminal import list_commands
from mmerg.settings.commands import COMMANDS
from mmerg.settings.explain import find_problems
from mmerg.settings.overrides import prepare_override
from tests.engine.parts import ROOT
from tests.processes import in_process

PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]
FILES = [file for folder in ("mmerg", "conf", "tools") for file in (ROOT / folder).rglob("*") if file.is_file()]
CODE = [file for file in FILES if file.suffix != ".pyc"]
# Commands that need a model, another dataset, packages or a cluster are tested elsewhere.
TESTED_ELSEWHERE = re.compile(
    r"hydra/launcher|shard=|auditor|sem=|--bert|--metric|experiment=|=folder|rate (serve|score|export|import)|…|--help"
)
RUN = ("score", "compare", "report", "plot", "tables", "show", "judge", "rate", "data", "run")
NOT_OURS = {"docs/gguf.md"}  # a page of ggml


def find_commands() -> Iterator[tuple[str, list[str]]]:
    """Yields the commands in the pages, each with its arguments. tests/test_new.py runs those with --config-dir."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        blocks = re.findall(r"```(?:sh|bash)\n(.*?)```", text, re.DOTALL)
        for line in [*"\n".join(blocks).splitlines(), *re.findall(r"`([^`\n]+)`", text)]:
            command = re.match(r"mmerg ([a-z]+)\b(.*)", line)
            if command and "--config-dir" not in line:
                yield command[1], shlex.split(command[2], comments=True)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_pages_stay_short() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) < 80
    pages = [page.read_text(encoding="utf-8") for page in ROOT.glob("docs/*.md")]
    assert len(" ".join([readme, *pages]).split()) < 8000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_have_targets(page: Path) -> None:
    for link in re.findall(r"\]\((?!http)([^)]+)\)", page.read_text(encoding="utf-8")):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_pages_named_in_code_exist() -> None:
    names = {name for file in CODE for name in re.findall(rb"docs/\w+\.\w+", file.read_bytes())}
    assert {b"docs/extend.md", b"docs/datasets.md"} < names
    assert not [name for name in names if not (ROOT / name.decode()).exists() and name.decode() not in NOT_OURS]


def test_shown_commands_accept_their_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    lines = list(find_commands())
    assert {name for name, _ in lines} >= {"run", "score", "compare", "report", "judge", "serve", "train"}
    for name, words in lines:
        assert name in list_commands()
        page = {"run": "config", "doctor": "doctor_run"}.get(name, name)
        if page in COMMANDS:
            for override in (prepare_override(word) for word in words if "=" in word):
                assert not list(find_problems(override, COMMANDS[page], sweep="-m" in words)), (name, words)
        elif options := [word for word in words if word.startswith("--")]:
            with pytest.raises(SystemExit):
                import_module(f"mmerg.{name}").main(["--help"])
            help_text = capsys.readouterr().out
            assert not [option for option in options if option not in help_text], name


@pytest.mark.slow
def test_shown_commands_run_on_the_demo(tmp_path: Path) -> None:
    """Runs each set of options once, on the demo's dialogues, without a model, in this process."""

    def mmerg(command: str, *words: str) -> None:
        done = in_process([sys.executable, "-m", f"mmerg.{command}", *words], cwd=tmp_path)
        assert done.returncode == 0, (command, words, done.stderr)

    demo, quick = "dataset=demo", ("memory=none", "frames=none")
    for name, system in zip("ABC", ("merg", "one_pass", "self_refine"), strict=True):
        mmerg("run", demo, "backend=dry", *quick, f"name={name}", f"system={system}", "limit=3")
    a, b, c = (str(next(tmp_path.glob(f"runs/{name}-*"))) for name in "ABC")
    values = {"RUN": a, "$RUN": a, "RUN_A": a, "RUN_B": b, "RUN_C": c, "runs/meld-merg-*": a}
    added = {
        "run": (demo, "backend=dry", *quick, "limit=1"),
        "data": (demo, *quick),
        "judge": ("backend=dry",),
        "rate new": ("items=2",),
        "score": ("--resamples=20",),
    }
    replaced = re.compile(r"(dataset|backend|backbone|protocol|memory|items)\b")
    tested = set()
    for name, words in find_commands():
        if name not in RUN or not words or TESTED_ELSEWHERE.search(" ".join((name, *words))):
            continue
        arguments = [values.get(word, word) for word in words if word != "[SAMPLE]" and not replaced.match(word)]
        command = (name, *arguments, *added.get(f"{name} {words[0]}", added.get(name, ())))
        options = (name, words[0] if name == "rate" else "", *(word for word in command if re.search("=|^-", word)))
        if options not in tested:
            tested.add(options)
            values["STUDY"] = f"study{len(tested)}"
            mmerg(*command)
    assert len(tested) > 10
