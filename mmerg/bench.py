"""Backbones side by side: `python -m mmerg.bench [--backbones NAME…] [--dataset meld] [--n 50] [key=value…]`.

Each backbone runs the same fixed subset (`protocol.sample=N protocol.seed=0`) as `python -m mmerg.run` would, and is
scored as `python -m mmerg.score` would with the same options; a second call goes on where the first ended. A name is a
page of conf/backbone or a model's name at Ollama; left out, it is the paper's six as far as they are pulled, else the
small model that needs no server. What has a "=" is a setting for every run. Writes a table as Markdown and JSON, after
each run, and a plot into runs/.bench/<dataset>-<n>, with a hash behind where there are settings or options of figures.
Exit code 0 all fine, 1 a backbone, a sample or a scoring failed, 2 nothing could be run, 130 interrupted.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from mmerg.benching import backbones
from mmerg.benching.backbones import Backbone, Skipped, Subset
from mmerg.benching.drawn import Bench, sheet
from mmerg.benching.measure import scored, timed
from mmerg.benching.options import check_scorer, spelled, without_models
from mmerg.benching.table import Table, folder_name, opened, settings_of
from mmerg.console.terminal import INTERRUPTED, WRONG, Parser, console, escape, run_command, start
from mmerg.errors import ConfigError, CorpusError
from mmerg.experiment.sweep import Member, cost, member, notes
from mmerg.runs.result import Ended
from mmerg.scoring.standard import Options, add_arguments, options_of
from mmerg.settings.command import folder_of_pages
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import checked


def bench(out: Console, given: argparse.Namespace, settings: Sequence[str], options: Options) -> int:
    """Run, score, write and print; the exit code. Raises MmergError where nothing can be run, before the first run for
    a wrong option."""
    checked([f"dataset={given.dataset}", *settings], "config", given.config_dir)
    subset = Subset(given.dataset, given.n, settings, given.config_dir)
    names = given.backbones or backbones.PAPER
    wanted = list(dict.fromkeys(backbones.asked(name, given.config_dir) for name in names))
    ready, skipped = backbones.available(subset, wanted)
    for one in skipped:
        out.print(escape(one.told), soft_wrap=True)
    if not ready and not given.backbones:
        ready, _ = backbones.available(subset.without_hosts(), [backbones.asked(backbones.EMBEDDED)])
        note = f"none of the paper's backbones is there: {backbones.EMBEDDED} runs in this process in their place"
        out.print(f"{note}; it shows the machinery, not the quality", soft_wrap=True)
    if not ready:
        raise ConfigError("none of the backbones can be run", where="--backbones", hint=skipped[0].next)
    check_scorer(options)
    first = ready[0][1]
    blank = Bench(
        dataset=first.dataset.name,
        asked=given.n,
        settings=settings_of(settings),
        figures=spelled(options),
        skipped=tuple(skipped),
    )
    table = opened(given.out or Path(first.runs) / ".bench" / folder_name(blank), blank)
    members = _swept(out, ready, without_models(options), table)
    if not members or members[-1].code == INTERRUPTED:
        return INTERRUPTED if members else WRONG
    if not table.rows:
        table.close()
        last = table.bench.skipped[-1]
        raise ConfigError(f"no backbone could be run: {last.why}", where=last.name, hint=last.next)
    if options != without_models(options):
        for row in table.rows:
            out.print(escape(f"scoring {row.name} …"))
            table.put(scored(row, options))
    files = table.close()
    out.print(Rule("bench"))
    out.print(sheet(table.bench))
    ran = [one for one in members if not one.error]
    for line in (*notes(ran), cost(ran), *map(str, files)):
        out.print(escape(line), soft_wrap=True)
    failed = any(row.failed or row.scores_why for row in table.rows) or len(ran) < len(members)
    return 1 if failed or (given.backbones and skipped) else 0


def _swept(out: Console, ready: Sequence[tuple[Backbone, RunSettings]], options: Options, table: Table) -> list[Member]:
    """A member a backbone, each row in the table as soon as it has run, and again once it is scored. Ends with one that
    is interrupted; there are none where the corpus cannot be read, which is the same for all."""
    from mmerg.experiment.launch import launch  # only once there is something to run: --help stays quick

    members: list[Member] = []
    unreadable: list[CorpusError] = []

    def measured(backbone: Backbone, settings: RunSettings) -> Iterator[Ended]:
        try:
            for ended in launch(settings):
                row = timed(backbone, settings, ended)
                table.put(row)
                table.put(scored(row, options))
                yield ended
        except CorpusError as error:
            unreadable.append(error)
            raise

    for number, (backbone, settings) in enumerate(ready):
        out.print(Rule(escape(backbone.name)))
        ended = member(partial(measured, backbone, settings), number, backbone.overrides)
        members.append(ended)
        if unreadable:
            return []
        if ended.code == INTERRUPTED:
            break
        if ended.error:
            table.leave_out(Skipped(name=backbone.name, why=ended.error))
    return members


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
