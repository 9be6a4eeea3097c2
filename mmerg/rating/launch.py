"""The actions of `mmerg rate`, from settings to an exit code; `mmerg/rate.py` is the command."""

from __future__ import annotations

import secrets
import shutil
import signal
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from mmerg.console.terminal import console, escape, plural
from mmerg.errors import ConfigError
from mmerg.rating import exchange
from mmerg.rating.answers import StudyAnswers
from mmerg.rating.builder import StudyBuilder
from mmerg.rating.form import read_form
from mmerg.rating.media import write_media
from mmerg.rating.results import compute_results, tabulate_results, write_people_ratings
from mmerg.rating.store import RatingStore, read_log
from mmerg.rating.study import KEY, MEDIA, PRIVATE, SCORES, STUDY, Secrets, find_runs, read_key, read_links, read_study
from mmerg.runs.manifest import read_run_refs
from mmerg.scoring.run_results import read_run
from mmerg.serving.launch import check_packages, choose_page_host, open_listener
from mmerg.settings.commands import RateSettings
from mmerg.storage.files import get_name, write_atomically
from mmerg.storage.record import write_record


def create(settings: RateSettings, folder: Path, runs: Sequence[Path]) -> int:
    if folder.exists() and any(folder.iterdir()):
        what, hint = "the folder of the study is not empty", "choose another name, or remove the folder"
        raise ConfigError(what, where=str(folder), hint=hint)
    scored_runs = [read_run(run.path) for run in read_run_refs(runs)]
    builder = StudyBuilder(settings, read_form(settings.design), scored_runs)
    samples = list(dict.fromkeys([*builder.samples, *(item.id for item in builder.checked)]))
    try:
        media = write_media(settings.visual, scored_runs, samples, folder / MEDIA, Random(f"{settings.seed} media"))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    study, key = builder.build(media)
    links = {rater: secrets.token_urlsafe(24) for rater in study.orders}
    write_record(folder / KEY, key)
    paths = {run.run: str(run.path.resolve()) for run in scored_runs}
    write_record(folder / PRIVATE, Secrets(links=links, runs=paths))
    write_record(folder / STUDY, study)  # last: it marks the study as complete
    longest = max(map(len, study.orders.values()))
    out = console()
    out.print(escape(f"{study.sampled}; {plural(len(links), 'rater')}, at most {longest} pages each"), soft_wrap=True)
    for reason, count in builder.skipped.items():
        if count:
            out.print(escape(f"skipped: {count} {reason}"), soft_wrap=True)
    print(f"study: {folder}")  # noqa: T201 - for programs to read: no wrapping
    return 0


def serve(settings: RateSettings, folder: Path) -> int:
    """Prints the raters' links, and serves the page of a study until it is interrupted."""
    check_packages()
    from mmerg.rating.page import build_server

    study, links = read_study(folder), read_links(folder)
    with closing(open_listener(settings.host, settings.port)) as listening, RatingStore(folder, study) as store:
        address = f"http://{choose_page_host(settings.host)}:{listening.getsockname()[1]}"
        for rater, token in links.items():
            done = f"{len(store.log.list_submitted(rater))} of {len(store.log.orders[rater])} done"
            console().print(escape(f"{rater} ({done}): {address}/#{token}"), soft_wrap=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # either signal ends the server cleanly
        build_server(store, links, settings).run([listening])
    return 0


def score(settings: RateSettings, folder: Path) -> int:
    """Scores a study. Prints the scores, and writes scores.json and methods.md, and the ratings beside each run."""
    study, key = read_study(folder), read_key(folder)
    answers = StudyAnswers(read_log(folder, study)[0], key)
    if not answers.raters:
        raise ConfigError("the study has no ratings yet", where=str(folder), hint=f"mmerg rate serve {folder}")
    runs, problems = find_runs(folder, key)
    results = compute_results(get_name(folder), answers, runs, problems, settings)
    for part in tabulate_results(results, study.form.replies):
        console().print(part, soft_wrap=True)
    write_record(folder / SCORES, results)
    write_atomically(folder / "methods.md", results.methods)
    for file in (folder / SCORES, folder / "methods.md", *write_people_ratings(results, answers, runs)):
        print(f"written: {file}")  # noqa: T201 - for programs to read: no wrapping
    return 0


def export(settings: RateSettings, folder: Path) -> int:
    ending = {"csv": ".csv", "pearmut": ".json", "potato": ""}[settings.format]
    out = Path(settings.out or f"{folder}-{settings.format}{ending}")
    exchange.export(read_study(folder), settings.format, out)
    console().print("only the text is exported, without clips and keyframes")
    print(f"export: {out}")  # noqa: T201 - for programs to read: no wrapping
    return 0


def import_ratings(settings: RateSettings, folder: Path, file: Path) -> int:
    count = exchange.import_ratings(read_study(folder), folder, settings.format, file)
    text = f"{plural(count, 'answer')} from {file} are in the study; score it with mmerg rate score {folder}"
    console().print(escape(text), soft_wrap=True)
    return 0
