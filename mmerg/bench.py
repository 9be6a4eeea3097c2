"""Backbones side by side: `mmerg bench [--backbones NAME…] [--dataset meld] [--n 50] [key=value…]`.

Each backbone runs the same fixed subset (`protocol.sample=N protocol.seed=0`) as `mmerg run` would, and is
scored as `mmerg score` would with the same options. The table is of the backbones that are named: a second
call takes up what the first has run, so naming one more adds a row. A name is a page of conf/backbone or a model's name
at Ollama; left out, it is the paper's six as far as they are pulled, else the small model that needs no server. What
has a "=" is a setting for every run. Writes the table as Markdown and CSV, and a plot, into runs/.bench/<dataset>-<n>,
with a hash behind where there are settings or options of figures.
Exit code 0 all fine, 1 a backbone, a sample or a scoring failed, 2 nothing could be run, 130 interrupted.
"""

import argparse
import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from mmerg.benching.backbones import EMBEDDED, PAPER, Backbone, Skipped, Subset, available, find_backbone
from mmerg.benching.measure import Row, check_scorer, keep_memory, measure
from mmerg.benching.table import Bench, sheet, write
from mmerg.console.terminal import INTERRUPTED, Parser, console, escape, run_command, start
from mmerg.errors import ConfigError
from mmerg.experiment import sweep
from mmerg.experiment.sweep import Outcome, cost, notes
from mmerg.experiment.wiring import corpus_of
from mmerg.runs.result import Ended
from mmerg.scoring.standard import DEFAULTS, Options, add_arguments, options_of
from mmerg.settings.model import RunSettings
from mmerg.storage.files import private_folder, writing


def bench(out: Console, given: argparse.Namespace, settings: Sequence[str], options: Options) -> int:
    """Run, score, write and print; the exit code. Raises MmergError where nothing can be run, before the first run for
    a wrong option."""
    subset = Subset(given.dataset, given.n, settings, given.config_dir)
    wanted = dict.fromkeys(find_backbone(name, given.config_dir) for name in given.backbones or PAPER)
    ready, skipped = available(subset, list(wanted))
    for one in skipped:
        out.print(escape(str(one)), soft_wrap=True)
    if not ready and not given.backbones:
        ready, _ = available(subset, [find_backbone(EMBEDDED)])
        note = f"none of the paper's backbones is there: {EMBEDDED} runs in this process in their place"
        out.print(f"{note}; it shows the machinery, not the quality", soft_wrap=True)
    if not ready:
        raise ConfigError("none of the backbones can be run", where="--backbones", hint=skipped[0].hint)
    check_scorer(options)
    first = ready[0][1]
    corpus_of(first.dataset)  # an error here is every backbone's
    settings = sorted(one for one in settings if one.lstrip("+").partition("=")[0] != "runs")
    folder = given.out or Path(first.runs) / ".bench" / _folder_name(first.dataset.name, given.n, settings, options)
    with writing(folder):
        private_folder(folder)

    members = list(_run(out, ready))
    rows: list[Row] = []
    failed = [Skipped(ended.name, ended.outcome.error) for ended in members if ended.outcome.error]
    interrupted = members[-1].outcome.code == INTERRUPTED
    for ended in members:
        for run in ended.outcome.runs:
            out.print(escape(f"scoring {run.run} …"))
            rows.append(measure(ready[ended.number][0], Path(run.run), options))
    if not rows:
        if interrupted:
            return INTERRUPTED
        raise ConfigError(f"no backbone could be run: {failed[-1].why}", where=failed[-1].name)
    made = Bench(first.dataset.name, given.n, rows, [*skipped, *failed], settings)
    files = write(folder, made)
    out.print(Rule("bench"))
    out.print(sheet(made))
    ran = [ended for ended in members if not ended.outcome.error]
    for line in (*notes(ran), cost(ran), *map(str, files)):
        out.print(escape(line), soft_wrap=True)
    if interrupted:
        return INTERRUPTED
    return int(bool(failed or (given.backbones and skipped) or any(row.fault or row.scores.failed for row in rows)))


def _run(out: Console, ready: Sequence[tuple[Backbone, RunSettings]]) -> Iterator[sweep.Row]:
    """How the runs of each backbone ended; none follows one that was interrupted."""
    from mmerg.experiment.launch import launch  # only once there is something to run: --help stays quick

    def runs(settings: RunSettings) -> Iterator[Ended]:
        for ended in launch(settings):
            keep_memory(settings, ended)
            yield ended

    for number, (backbone, settings) in enumerate(ready):
        out.print(Rule(escape(backbone.name)))
        row = partial(sweep.Row, number=number, name=backbone.name, overrides=tuple(backbone.overrides))
        try:
            yield row(outcome=Outcome.of(partial(runs, settings)))
        except KeyboardInterrupt:
            yield row(outcome=Outcome(code=INTERRUPTED))
            return


def _folder_name(dataset: str, n: int, settings: Sequence[str], options: Options) -> str:
    if not settings and options == DEFAULTS:
        return f"{dataset}-{n}"
    text = repr((settings, options))
    return f"{dataset}-{n}-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:8]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(
        prog="python -m mmerg.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backbones", nargs="+", metavar="NAME", help="pages of conf/backbone, or Ollama's names")
    parser.add_argument("--dataset", default="demo", help="a page of conf/dataset; default: demo")
    parser.add_argument("--n", type=int, default=50, metavar="N", help="samples; default: 50")
    parser.add_argument("--out", type=Path, metavar="DIR", help="in place of the folder under runs/.bench")
    parser.add_argument("--config-dir", metavar="DIR", help="pages of your own, by group: DIR/backbone/mine.yaml")
    parser.add_argument("words", nargs="*", metavar="key=value", help="a setting for every run: dataset.root=~/MELD")
    add_arguments(parser)
    given = parser.parse_intermixed_args(arguments)
    words = [*(given.backbones or ()), *given.words]  # a name of a model has no "="
    settings = [word for word in words if "=" in word]
    given.backbones = [word for word in words if "=" not in word]

    def command() -> int:
        if given.config_dir is not None:
            given.config_dir = Path(given.config_dir).expanduser().absolute()
            if not given.config_dir.is_dir():
                raise ConfigError(f"there is no folder {given.config_dir}", where="--config-dir")
        return bench(console(), given, settings, options_of(given))

    return run_command(command)


if __name__ == "__main__":
    start(main)
