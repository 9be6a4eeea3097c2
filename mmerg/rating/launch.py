"""The actions of `mmerg rate`, from settings to an exit code; `mmerg/rate.py` is the command."""

from __future__ import annotations

import json
import secrets
import shutil
import signal
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from mmerg.console.terminal import console, escape, plural
from mmerg.errors import ConfigError
from mmerg.rating import exchange, power
from mmerg.rating.draw import Draw
from mmerg.rating.form import read_form
from mmerg.rating.media import Media, put_clips, put_frames
from mmerg.rating.results import results_of, tables, write_beside
from mmerg.rating.score import Table
from mmerg.rating.store import Store, read_log
from mmerg.rating.study import KEY, LINKS, MEDIA, SCORES, STUDY, read_key, read_links, read_study
from mmerg.runs.manifest import read_abouts
from mmerg.scoring.answers import read_run
from mmerg.settings.commands import RateSettings
from mmerg.storage.files import name_of, write_whole
from mmerg.storage.record import write_record


def new(settings: RateSettings, folder: Path, runs: Sequence[Path]) -> int:
    """Draws a study of the runs into a new folder, and prints the raters' links."""
    if folder.exists() and any(folder.iterdir()):
        what, hint = "the folder of the study is not empty", "give another name, or remove it"
        raise ConfigError(what, where=str(folder), hint=hint)
    if not runs:
        raise ConfigError("no run is given", where="command line", hint="mmerg rate new STUDY RUN…")
    opened = [read_run(about.path) for about in read_abouts(runs)]
    draw = Draw(settings, read_form(settings.design), opened)
    samples = list(dict.fromkeys([*draw.samples, *(one.id for one in draw.checked)]))
    random = Random(f"{settings.seed} media")
    media: Media = {sample: {} for sample in samples}
    try:
        if settings.visual == "clips":
            media = put_clips(opened[0], samples, folder / MEDIA, random)
        elif settings.visual == "frames":
            media = put_frames(opened, samples, folder / MEDIA, random)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    study, key = draw.finish(media)
    links = {rater: secrets.token_urlsafe(24) for rater in study.orders}
    write_record(folder / KEY, key)
    write_whole(folder / LINKS, json.dumps(links, indent=1))
    write_record(folder / STUDY, study)  # last: with it the study is whole
    longest = max(map(len, study.orders.values()))
    out = console()
    out.print(escape(f"{study.sampled}; {plural(len(links), 'rater')}, at most {longest} pages each"), soft_wrap=True)
    for reason, count in draw.left_out.items():
        out.print(escape(f"left out: {count} {reason}"), soft_wrap=True)
    print(f"study: {folder}")  # noqa: T201 - for programs to read: no wrapping
    return 0


def serve(settings: RateSettings, folder: Path) -> int:
    """Serves the page of a study until a signal comes."""
    try:
        from mmerg.rating.page import server_of
        from mmerg.serving.launch import listener, own_address
    except ImportError as error:
        hint = 'pip install "mmerg[serve]"'
        raise ConfigError("the server needs packages that are not installed", where=str(error), hint=hint) from error
    study, links = read_study(folder), read_links(folder)
    with closing(listener(settings.host, settings.port)) as heard, Store(folder, study) as store:
        out, port = console(), heard.getsockname()[1]
        host = own_address() if settings.host in ("0.0.0.0", "::") else settings.host
        for rater, token in links.items():
            done = sum(store.log.submitted(rater, place) for place in range(len(store.log.orders[rater])))
            link = f"{rater} ({done} of {len(store.log.orders[rater])} done): http://{host}:{port}/#{token}"
            out.print(escape(link), soft_wrap=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # either signal ends the server in good order
        server_of(store, links, settings).run([heard])
    return 0


def score(settings: RateSettings, folder: Path) -> int:
    """Scores a study: prints, and writes scores.json and methods.md into it and what people said beside each run."""
    study, out = read_study(folder), console()
    log, _ = read_log(folder, study)
    known = Table(log, read_key(folder))
    if not known.raters:
        raise ConfigError("there are no ratings yet", where=str(folder), hint=f"mmerg rate serve {folder}")
    results = results_of(name_of(folder), known, settings)
    for part in tables(results, study.form.replies):
        out.print(part, soft_wrap=True)
    write_record(folder / SCORES, results)
    write_whole(folder / "methods.md", results.methods)
    for file in (folder / SCORES, folder / "methods.md", *write_beside(results, known)):
        print(f"written: {file}")  # noqa: T201 - for programs to read: no wrapping
    return 0


def plan(settings: RateSettings, folder: Path | None) -> int:
    """Says how many items and raters find a difference, with the spread of a study where one is given."""
    spread = (settings.sd_items, settings.sd_raters, settings.sd_noise)
    if folder:
        known = power.spread_of(Table(read_log(folder, read_study(folder))[0], read_key(folder)))
        if known is None:
            hint = "give a Likert study of two runs whose two raters or more tell items apart, or none"
            raise ConfigError("this study does not tell how ratings spread", where=str(folder), hint=hint)
        spread = known
    console().print(power.plan(settings, spread))
    return 0


def export(settings: RateSettings, folder: Path) -> int:
    """Writes a study for another tool."""
    ending = {"csv": ".csv", "pearmut": ".json", "potato": ""}[settings.format]
    out = Path(settings.out or f"{folder}-{settings.format}{ending}")
    exchange.export(read_study(folder), settings.format, out)
    console().print(escape("text alone: clips and keyframes are not exported"))
    print(f"export: {out}")  # noqa: T201 - for programs to read: no wrapping
    return 0


def bring_in(settings: RateSettings, folder: Path, file: Path) -> int:
    """Adds what raters answered in another tool."""
    count = exchange.bring_in(read_study(folder), folder, settings.format, file)
    console().print(
        escape(f"{plural(count, 'answer')} in {file}; mmerg rate score {folder} reads them"), soft_wrap=True
    )
    return 0
