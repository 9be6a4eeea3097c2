"""Backbones side by side: `python -m mmerg.bench [--backbones NAME…] [--dataset meld] [--n 50] [key=value…]`.

Each backbone runs the same fixed subset (`protocol.sample=N protocol.seed=0`) as `python -m mmerg.run` would, and is
scored; a second call goes on where the first ended. A name is a page of conf/backbone or a model's name at Ollama; left
out, it is the paper's six as far as they are pulled, else the small model that needs no server. What comes after the
options are settings for every run. Writes a table as Markdown, JSON and a plot into runs/.bench/<dataset>-<n>/.
Exit code 0 all fine, 1 a backbone or a sample failed, 2 nothing could be run, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from mmerg.benching import backbones, picture, written
from mmerg.benching.measure import marked, measured, paper_table
from mmerg.benching.rows import Bench, Row, Skipped
from mmerg.benching.served import look
from mmerg.config import resolve
from mmerg.errors import ConfigError, MmergError
from mmerg.scoring.standard import Options
from mmerg.terminal import console, forgiving, guarded, harmless
from mmerg.wiring import hosts_of


def bench(out: Console, given: argparse.Namespace, settings: Sequence[str]) -> int:
    """Run, score, print and write; the exit code. Raises ConfigError and RunError where nothing can be run."""
    options = Options(bert=given.bert, bert_layers=given.bert_layers)
    wanted = [backbones.asked(name) for name in given.backbones or backbones.PAPER]
    wanted = list(dict.fromkeys(wanted))
    configs, skipped = _ready(wanted, given, settings)
    fell_back = not configs and not given.backbones
    if fell_back:
        small = backbones.asked(backbones.EMBEDDED)
        configs[small] = ()
    _announce(out, skipped, fell_back)
    if not configs:
        raise ConfigError("none of the backbones can be run", where="--backbones", hint=skipped[0].next)
    rows: list[Row] = []
    failed = bool(given.backbones and skipped)
    folder: Path | None = given.out
    for backbone, more in configs.items():
        config = backbones.composed(given.dataset, given.n, backbone, settings, more)
        out.print(Rule(harmless(backbone.name)))
        from mmerg.launch import launch  # only once there is something to run: --help stays quick

        try:
            plain = resolve(config)
            folder = folder or Path(plain["runs"]) / ".bench" / f"{plain['dataset']['name']}-{given.n}"
            for number, ended in enumerate(launch(config)):
                name = f"{backbone.name} {number + 1}" if plain["repeats"] > 1 else backbone.name
                rows.append(measured(name, plain, ended, options))
                failed = failed or ended.code > 0
        except MmergError as error:
            failed = True
            skipped.append(Skipped(name=backbone.name, why=error.what, next=error.hint))
            out.print(harmless(f"left out: {backbone.name}: {error}"))
    if not rows or folder is None:
        raise ConfigError("no backbone could be run", where=skipped[-1].name, hint=skipped[-1].next)
    table = paper_table()
    title = f"{table.source}: {table.title}"
    made = Bench(dataset=given.dataset, asked=given.n, rows=marked(rows), skipped=tuple(skipped), paper=title)
    out.print(Rule("bench"))
    for part in written.shown(made):
        out.print(part)
    for file in _write(made, folder):
        out.print(harmless(str(file)), soft_wrap=True)
    return 1 if failed else 0


def _ready(
    wanted: Sequence[backbones.Asked], given: argparse.Namespace, settings: Sequence[str]
) -> tuple[dict[backbones.Asked, tuple[str, ...]], list[Skipped]]:
    """The backbones that can be run now, each with what it needs beside its page, and the others."""
    configs: dict[backbones.Asked, tuple[str, ...]] = {}
    skipped: list[Skipped] = []
    for backbone in wanted:
        plain = resolve(backbones.composed(given.dataset, given.n, backbone, settings))
        if plain["backend"]["name"] != "ollama":
            configs[backbone] = ()
            continue
        engine = look(backbone.name, str(plain["backbone"]["model"]), hosts_of(plain))
        if isinstance(engine, Skipped):
            skipped.append(engine)
            continue
        context = engine.context_length
        cut = backbone.generic and 0 < context < int(plain["backbone"]["load"].get("num_ctx", 0))
        configs[backbone] = (f"backbone.load.num_ctx={context}",) if cut else ()
    return configs, skipped


def _announce(out: Console, skipped: Sequence[Skipped], fell_back: bool) -> None:
    for one in skipped:
        out.print(harmless(f"left out: {one.name}: {one.why}; {one.next}"), soft_wrap=True)
    if fell_back:
        told = f"none of the paper's backbones is there: {backbones.EMBEDDED} runs in this process in their place"
        out.print(f"{told}; it shows the machinery, not the quality", soft_wrap=True)


def _write(made: Bench, folder: Path) -> Iterator[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"this folder cannot be made: {error.strerror}", where=str(folder), hint="--out DIR"
        ) from error
    yield from written.write(made, folder)
    from mmerg.plots import style

    with style.styled():
        figure = picture.draw(made)
        if figure:
            for ending in (".png", ".svg"):
                style.write(figure, folder / f"bench{ending}")
                yield folder / f"bench{ending}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m mmerg.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backbones", nargs="+", metavar="NAME", help="pages of conf/backbone, or Ollama's names")
    parser.add_argument("--dataset", default="demo", help="a page of conf/dataset; default: demo")
    parser.add_argument("--n", type=int, default=50, metavar="N", help="samples; default: 50")
    parser.add_argument("--bert", metavar="MODEL", help="BERTScore, too, by this model: a folder or hub name")
    parser.add_argument("--bert-layers", type=int, metavar="N", help="which layer of it; needed for a folder")
    parser.add_argument("--out", type=Path, metavar="DIR", help="in place of runs/.bench/<dataset>-<n>")
    parser.add_argument("settings", nargs="*", metavar="key=value", help="for every run: dataset.root=~/MELD")
    given = parser.parse_intermixed_args(arguments)
    # `--backbones a b key=value`: what has a "=" is no name of a model
    settings = [word for word in (*(given.backbones or ()), *given.settings) if "=" in word]
    if given.backbones is not None:
        given.backbones = [word for word in given.backbones if "=" not in word]
        if not given.backbones:
            parser.error("--backbones names none")
    if stray := [word for word in given.settings if "=" not in word]:
        parser.error(f"{stray[0]} is no setting: key=value")
    return guarded(lambda: bench(console(), given, settings))


if __name__ == "__main__":
    forgiving()
    sys.exit(main())
