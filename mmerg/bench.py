"""Backbones side by side: `python -m mmerg.bench [--backbones NAME…] [--dataset meld] [--n 50] [key=value…]`.

Each backbone runs the same fixed subset (`protocol.sample=N protocol.seed=0`) as `python -m mmerg.run` would, and is
scored as `python -m mmerg.score` would with the same options; a second call goes on where the first ended. A name is a
page of conf/backbone or a model's name at Ollama; left out, it is the paper's six as far as they are pulled, else the
small model that needs no server. What has a "=" is a setting for every run. Writes a table as Markdown and JSON, after
each run, and a plot into runs/.bench/<dataset>-<n>, with a hash behind where there are settings or options of figures.
Exit code 0 all fine, 1 a backbone, a sample or a scoring failed, 2 nothing could be run, 130 interrupted.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from mmerg.benching import backbones
from mmerg.benching.backbones import Asked
from mmerg.benching.drawn import sheet
from mmerg.benching.measure import paper_table, scored, timed
from mmerg.benching.options import check_scorer, spelled, without_models
from mmerg.benching.rows import Bench, Skipped
from mmerg.benching.served import look
from mmerg.benching.table import Table, folder_name, opened, settings_of
from mmerg.console.terminal import Parser, console, escape, run_command, start
from mmerg.errors import ConfigError, CorpusError, MmergError
from mmerg.experiment.wiring import hosts_of
from mmerg.scoring.arguments import add_arguments, options_of
from mmerg.scoring.standard import Options
from mmerg.settings.command import folder_of_pages
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import checked, parse


@dataclass(frozen=True)
class _Ready:
    """A backbone that can be run now."""

    backbone: Asked
    settings: RunSettings


def bench(out: Console, given: argparse.Namespace, settings: Sequence[str], options: Options) -> int:
    """Run, score, write and print; the exit code. Raises MmergError where nothing can be run, before the first run for
    a wrong option."""
    checked([f"dataset={given.dataset}", *settings], "config", given.config_dir)
    names = given.backbones or backbones.PAPER
    wanted = list(dict.fromkeys(backbones.asked(name, given.config_dir) for name in names))
    ready, skipped = _ready(wanted, given, settings)
    fell_back = not ready and not given.backbones
    if fell_back:
        ready, _ = _ready([backbones.asked(backbones.EMBEDDED)], given, backbones.without_hosts(settings))
    _announce(out, skipped, fell_back)
    if not ready:
        raise ConfigError("none of the backbones can be run", where="--backbones", hint=skipped[0].next)
    check_scorer(options)
    table = _table(given, settings, options, ready[0].settings, skipped)
    failed = bool(given.backbones and skipped)
    quick = without_models(options)
    for one in ready:
        out.print(Rule(escape(one.backbone.name)))
        try:
            _run(one, quick, table)
        except CorpusError:
            raise  # it is the same corpus for all
        except MmergError as error:
            failed = True
            table.leave_out(Skipped(name=one.backbone.name, why=error.what, next=error.hint))
            out.print(escape(f"left out: {one.backbone.name}: {error}"))
    if not table.new():
        table.close()
        last = table.skipped[-1]
        raise ConfigError(f"no backbone could be run: {last.why}", where=last.name, hint=last.next)
    if options != quick:
        for row in table.new():
            out.print(escape(f"scoring {row.name} …"))
            table.put(scored(row, options))
    failed = failed or any(row.failed or row.scores_why for row in table.new())
    files = table.close()
    out.print(Rule("bench"))
    out.print(sheet(table.bench))
    for file in files:
        out.print(escape(str(file)), soft_wrap=True)
    return 1 if failed else 0


def _ready(
    wanted: Sequence[Asked], given: argparse.Namespace, settings: Sequence[str]
) -> tuple[list[_Ready], list[Skipped]]:
    """The backbones that can be run now, and the others. Raises ConfigError for settings that no run takes."""

    def composed(backbone: Asked, own: Sequence[str], more: Sequence[str] = ()) -> _Ready:
        config = backbones.composed(given.dataset, given.n, backbone, own, more, given.config_dir)
        return _Ready(backbone, parse(config, RunSettings))

    ready: list[_Ready] = []
    skipped: list[Skipped] = []
    all_of_them = [composed(backbone, settings) for backbone in wanted]
    asking = any(one.settings.backend.name == "ollama" for one in all_of_them)
    for one in all_of_them:
        if one.settings.backend.name != "ollama":
            one = composed(one.backbone, backbones.without_hosts(settings) if asking else settings)  # noqa: PLW2901
        hosts = hosts_of(one.settings)
        if one.settings.backend.name != "ollama":
            ready.append(one)
            continue
        engine = look(one.backbone.name, one.settings.backbone.model, hosts)
        if isinstance(engine, Skipped):
            near = backbones.near(one.backbone, given.config_dir)
            skipped.append(engine.model_copy(update={"next": engine.next + near}))
            continue
        context = engine.context_length
        cut = one.backbone.generic and 0 < context < (one.settings.backbone.load.num_ctx or 0)
        ready.append(composed(one.backbone, settings, [f"backbone.load.num_ctx={context}"]) if cut else one)
    return ready, skipped


def _announce(out: Console, skipped: Sequence[Skipped], fell_back: bool) -> None:
    for one in skipped:
        out.print(escape(f"left out: {one.name}: {one.why}; {one.next}"), soft_wrap=True)
    if fell_back:
        note = f"none of the paper's backbones is there: {backbones.EMBEDDED} runs in this process in their place"
        out.print(f"{note}; it shows the machinery, not the quality", soft_wrap=True)


def _table(
    given: argparse.Namespace, settings: Sequence[str], options: Options, run: RunSettings, skipped: list[Skipped]
) -> Table:
    paper = paper_table()
    blank = Bench(
        dataset=run.dataset.name,
        asked=given.n,
        settings=settings_of(settings),
        figures=spelled(options),
        skipped=tuple(skipped),
        paper=f"{paper.source}: {paper.title}",
    )
    return opened(given.out or Path(run.runs) / ".bench" / folder_name(blank), blank)


def _run(one: _Ready, options: Options, table: Table) -> None:
    """A row a run, in the table as soon as it has run, and again once it is scored."""
    from mmerg.experiment.launch import launch  # only once there is something to run: --help stays quick

    for ended in launch(one.settings):
        row = timed(one.backbone, one.settings, ended)
        table.put(row)
        table.put(scored(row, options))


def main(given_arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(
        prog="python -m mmerg.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backbones", nargs="+", metavar="NAME", help="pages of conf/backbone, or Ollama's names")
    parser.add_argument("--dataset", default="demo", help="a page of conf/dataset; default: demo")
    parser.add_argument("--n", type=int, default=50, metavar="N", help="samples; default: 50")
    parser.add_argument("--out", type=Path, metavar="DIR", help="in place of the folder under runs/.bench")
    parser.add_argument("--config-dir", metavar="DIR", help="pages of your own, by group: DIR/backbone/mine.yaml")
    parser.add_argument("settings", nargs="*", metavar="key=value", help="for every run: dataset.root=~/MELD")
    add_arguments(parser)
    given = parser.parse_intermixed_args(given_arguments)
    # `--backbones a b key=value`: what has a "=" is no name of a model
    settings = [word for word in (*(given.backbones or ()), *given.settings) if "=" in word]
    if given.backbones is not None:
        given.backbones = [word for word in given.backbones if "=" not in word]
        if not given.backbones:
            parser.error("--backbones names none")
    if stray := [word for word in given.settings if "=" not in word]:
        parser.error(f"{stray[0]} is no setting: key=value")

    def command() -> int:
        given.config_dir = folder_of_pages(given.config_dir) if given.config_dir is not None else None
        return bench(console(), given, settings, options_of(given))

    return run_command(command)


if __name__ == "__main__":
    start(main)
