"""Prints a run, or the whole story of one of its samples: `python -m mmerg.show RUN [SAMPLE] [--prompts]`.

Reads the run folder alone: frames, evidence, emotion, plan, reply and audit of every pass, what was run again and why,
and which pass won. `--prompts` adds every call's prompt and raw reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from mmerg.console.run_tables import Summary, describe_memory, failures
from mmerg.console.story import heading, lines
from mmerg.console.terminal import STARTS_OVER, Parser, console, escape, run_command, start
from mmerg.errors import RunError
from mmerg.runs.events import Rerun
from mmerg.runs.facts import repeats
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import JudgingManifest, read_any_manifest
from mmerg.runs.samples import read_events


def show_run(out: Console, path: Path) -> int:
    """The table of a run and how it was made. Raises RunError for a folder that is no run's."""
    manifest = read_any_manifest(path)
    if isinstance(manifest, JudgingManifest):
        what = "this is the folder of a judging, which has no table of replies"
        hint = f"its figures are in judgement.json; python -m mmerg.show {path} SAMPLE tells how a sample was judged"
        raise RunError(what, where=str(path), hint=hint)
    summary, engine = Summary(read_results(path).values(), imported=manifest.imported), manifest.engine
    out.print(escape(f"{path}: {engine.model} on {engine.backend} {engine.version}"))
    out.print(escape(f"protocol: {manifest.protocol.description}"))
    out.print(summary.replies())
    for memory in manifest.memories.values():
        out.print(escape(f"{describe_memory(memory)}; {summary.kept_back or 'no exemplar was kept back'}"))
    for line in summary.notes():
        out.print(escape(line))
    if failed := failures(summary.failed):
        out.print(failed)
    return 0


def show_sample(out: Console, path: Path, sample: str, prompts: bool) -> int:
    """The story of one sample. Raises RunError where the run has no such sample."""
    read_any_manifest(path)
    found, results = read_events(path, sample), read_results(path)
    if not found and sample in results:
        hint = "run the same again: a sample without events is done again, from the reply cache"
        raise RunError(f"the events of {sample} are gone", where=str(path), hint=hint)
    if not found:
        known = ", ".join(list(results)[:8]) or "none yet"
        raise RunError(f"the run has no sample {sample!r}", where=str(path), hint=f"samples: {known}")
    as_before, begun = repeats(found), 0
    for event in found:
        if title := heading(event, begun):
            out.print(Rule(escape(title)))
        if isinstance(event, Rerun) and event.t in as_before:
            same = f"pass {event.t} is pass {event.t - 1} again: {as_before[event.t]} answered as before"
            out.print(escape(same), soft_wrap=True)
        for line in lines(event, prompts):
            out.print(escape(line), soft_wrap=True)
        begun = getattr(event, "t", begun)
    result = results.get(sample)
    if result and result.response and not result.passes:
        out.print(Rule(escape("the reply, which another system wrote")))
        out.print(escape(f"{result.response} ({result.emotion or 'no label'})"))
    if result and (result.gold_response or result.gold_emotion):
        out.print(Rule(escape("the data's own reply, never shown to the model")))
        out.print(escape(f"{result.gold_response} ({result.gold_emotion or 'no label'})"))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m mmerg.show", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="a run folder, such as runs/demo-merg-smollm2-135m-…")
    parser.add_argument("sample", nargs="?", metavar="SAMPLE", help="a sample's id; without it the table of the run")
    parser.add_argument("--prompts", action="store_true", help="print every call's prompt and raw reply, too")
    given = parser.parse_args(arguments)
    if given.sample is None:
        return run_command(lambda: show_run(console(), given.run), STARTS_OVER)
    return run_command(lambda: show_sample(console(), given.run, given.sample, given.prompts), STARTS_OVER)


if __name__ == "__main__":
    start(main)
