"""Compares backbones on the same samples: `mmerg bench [--backbones NAME…] [--dataset meld] [--n 50] [key=value…]`.

Runs each backbone on the same N samples (`protocol.sample=N protocol.seed=0`) and prints one table of quality, speed
and memory. The same command resumes; if you add a backbone, only that one runs. A name is a config in conf/backbone or
an Ollama model with its tag. The default is the paper's six; if none of them can be used, the small embedded model
runs, which shows how mmerg works, not how well. Arguments with "=" are settings of every run; the other options are
those of `mmerg score`. Backbones that cannot run are named and skipped.
Exit code 0 all fine, 1 a sample failed, 2 nothing could be run, 130 interrupted.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from mmerg.console.terminal import Parser, console, escape, run_command, start
from mmerg.errors import ConfigError
from mmerg.experiment.build import load_corpus
from mmerg.experiment.sweep import JobOutcome, Row, describe_cost, list_notes
from mmerg.scoring.launch import add_table_arguments, score
from mmerg.scoring.standard import add_arguments, read_options
from mmerg.settings.compose import compose
from mmerg.settings.groups import check_folder
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse

PAPER = ("qwen3.5-27b", "qwen3.5-9b", "qwen3-vl-32b", "qwen2.5vl-7b", "gemma3-12b", "llava-13b")


def bench(out: Console, given: argparse.Namespace) -> int:
    """Runs the backbones, prints the table and returns the exit code. Raises MmergError if settings, options or data
    are wrong, before the first run, and if no backbone could run."""
    read_options(given)  # an invalid option would end the command after all runs
    if given.config_dir:
        given.config_dir = check_folder(given.config_dir)
    names = list(dict.fromkeys(given.backbones or PAPER))
    settings = [_settings(given, f"backbone={name}", *given.settings) for name in names]
    load_corpus(settings[0].dataset)  # an error of the corpus would end the run of every backbone
    rows = [_run(out, run_settings, given.settings) for run_settings in settings]
    default = not given.backbones and not any(word.startswith("backend") for word in given.settings)
    if default and not any(row.outcome.run for row in rows):
        out.print("none of the paper's backbones is available: using the small embedded model instead")
        rows.append(_run(out, _settings(given, *given.settings, "backend=embedded"), given.settings))
    runs = dict.fromkeys(row.outcome.run.run for row in rows if row.outcome.run)
    if not runs:
        raise ConfigError("no backbone is available", where="--backbones", hint=rows[0].outcome.error)
    out.print(Rule("bench"))
    given.run = [Path(run) for run in runs]
    score(given)
    for line in (*list_notes(rows), describe_cost(rows)):
        out.print(escape(line), soft_wrap=True)
    return max(min(row.outcome.code, 1) for row in rows if row.outcome.run)


def _settings(given: argparse.Namespace, *words: str) -> RunSettings:
    subset = (f"dataset={given.dataset}", f"protocol.sample={given.n}", "protocol.seed=0", "limit=null")
    own = given.config_dir
    return parse(compose("config", [*subset, *words], own), RunSettings, [own] if own else [])


def _run(out: Console, settings: RunSettings, words: Sequence[str]) -> Row:
    """Runs one backbone. Prints its errors, which do not stop the others."""
    from mmerg.experiment.launch import launch  # only once there is something to run: --help stays quick

    out.print(Rule(escape(settings.backbone.name)))
    return Row(
        name=settings.backbone.name,
        overrides=tuple(words),
        outcome=JobOutcome.execute(lambda: launch(settings, brief=True)),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    how = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="python -m mmerg.bench", description=__doc__, formatter_class=how)
    parser.add_argument(
        "--backbones", nargs="+", metavar="NAME", default=[], help="configs, or Ollama models with tags"
    )
    parser.add_argument("--dataset", default="demo", help="a config of conf/dataset; default: demo")
    parser.add_argument("--n", type=int, default=50, metavar="N", help="samples; default: 50")
    parser.add_argument("--config-dir", type=Path, metavar="DIR", help="your own configs: DIR/backbone/mine.yaml")
    parser.add_argument("words", nargs="*", metavar="key=value", help="settings of every run: dataset.root=~/MELD")
    add_table_arguments(parser)
    add_arguments(parser)
    given = parser.parse_intermixed_args(arguments)
    words = [*given.backbones, *given.words]  # a backbone's name has no "="
    given.settings = [word for word in words if "=" in word]
    given.backbones = [word for word in words if "=" not in word]
    return run_command(lambda: bench(console(), given))


if __name__ == "__main__":
    start(main)
