"""The README and docs/ are short, their links work, and the commands in them accept the arguments shown."""

import re
import shlex
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from mmerg.console.terminal import commands
from mmerg.settings.commands import COMMANDS
from mmerg.settings.explain import find_problems
from mmerg.settings.overrides import prepare_override
from tests.engine.parts import ROOT
from tests.processes import in_process

PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]
FILES = [file for folder in ("mmerg", "conf", "tools") for file in (ROOT / folder).rglob("*") if file.is_file()]
CODE = [file for file in FILES if file.suffix != ".pyc"]
# Commands that need a model, another dataset, packages or a cluster have tests of their own.
ELSEWHERE = re.compile(
    r"hydra/launcher|shard=|auditor|sem=|--bert|--metric|experiment=|=folder|rate (serve|score|export|import)|…|--help"
)
RUN = ("score", "compare", "report", "plot", "tables", "show", "judge", "rate", "data", "run")
OF_OTHERS = {"docs/gguf.md"}  # a page of ggml


def shown() -> Iterator[tuple[str, list[str]]]:
    """Commands and their arguments. `tests/test_new.py` runs those with --config-dir."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        blocks = re.findall(r"```(?:sh|bash)\n(.*?)```", text, re.DOTALL)
        for line in [*"\n".join(blocks).splitlines(), *re.findall(r"`([^`\n]+)`", text)]:
            command = re.match(r"mmerg ([a-z]+)\b(.*)", line)
            if command and "--config-dir" not in line:
                yield command[1], shlex.split(command[2], comments=True)


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_pages_stay_short() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) < 80
    pages = [page.read_text(encoding="utf-8") for page in ROOT.glob("docs/*.md")]
    assert len(" ".join([readme, *pages]).split()) < 8000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\((?!http)([^)]+)\)", page.read_text(encoding="utf-8")):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_pages_that_code_names_are_there() -> None:
    named = {name for file in CODE for name in re.findall(rb"docs/\w+\.\w+", file.read_bytes())}
    assert {b"docs/extend.md", b"docs/datasets.md"} < named
    assert not [name for name in named if not (ROOT / name.decode()).exists() and name.decode() not in OF_OTHERS]


def test_commands_that_are_shown_take_what_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    lines = list(shown())
    assert {name for name, _ in lines} >= {"run", "score", "compare", "report", "judge", "serve", "train"}
    for name, words in lines:
        assert name in commands()
        page = {"run": "config", "doctor": "doctor_run"}.get(name, name)
        if page in COMMANDS:
            given, kind, sweep = (
                [prepare_override(word) for word in words if "=" in word],
                COMMANDS[page],
                "-m" in words,
            )
            problems = [problem for word in given for problem in find_problems(word, kind, sweep=sweep)]
            assert not problems, (name, words)  # that each page composes is for tests/settings/test_compose.py
        elif options := [word for word in words if word.startswith("--")]:
            with pytest.raises(SystemExit):
                import_module(f"mmerg.{name}").main(["--help"])
            text = capsys.readouterr().out
            assert not [option for option in options if option not in text], name


def test_commands_that_are_shown_run_on_the_demo(tmp_path: Path) -> None:
    """Each set of options once, with the demo's dialogues, no model, and in this process."""

    def mmerg(command: str, *words: str) -> None:
        done = in_process([sys.executable, "-m", f"mmerg.{command}", *words], cwd=tmp_path)
        assert done.returncode == 0, (command, words, done.stderr)

    dry = ("dataset=demo", "backend=dry", "memory=none", "frames=none")
    for name, system in zip("ABC", ("merg", "one_pass", "self_refine"), strict=True):
        mmerg("run", *dry, f"name={name}", f"system={system}", "limit=3")
    a, b, c = (str(next(tmp_path.glob(f"runs/{name}-*"))) for name in "ABC")
    values = {"RUN": a, "$RUN": a, "RUN_A": a, "RUN_B": b, "RUN_C": c, "runs/meld-merg-*": a}
    more = {
        "run": (*dry, "limit=1"),
        "data": (dry[0], *dry[2:]),
        "judge": (dry[1],),
        "rate new": ("items=2",),
        "score": ("--resamples=20",),
    }
    ran = set()
    for name, words in shown():
        if name not in RUN or not words or ELSEWHERE.search(" ".join((name, *words))):
            continue
        given = [values.get(word, word) for word in words if word != "[SAMPLE]"]
        settings = [word for word in given if not re.match(r"(dataset|backend|backbone|protocol|memory|items)\b", word)]
        line = (name, *settings, *more.get(f"{name} {words[0]}", more.get(name, ())))
        options = (name, words[0] if name == "rate" else "", *(word for word in line if re.search("=|^-", word)))
        if options not in ran:
            ran.add(options)
            values["STUDY"] = f"study{len(ran)}"
            mmerg(*line)
    assert len(ran) > 10
