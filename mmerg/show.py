"""Prints runs, or the trace of one sample: `mmerg show RUN… [SAMPLE] [--prompts]`.

The trace is a YAML document: frames, evidence, emotion, plan, reply and audit of every pass, what was rerun and why,
and which pass was selected. `--prompts` adds the prompt and completion of every call. Several runs are listed side by
side, one row per sample: + if a run has the label right and the first run does not, - for the reverse.
"""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mmerg.console.run_tables import ROWS, Summary, describe_memory, failures
from mmerg.console.terminal import STARTS_OVER, Parser, console, escape, plural, run_command, start
from mmerg.errors import RunError, did_you_mean, preview
from mmerg.reporting.text import to_yaml
from mmerg.runs.config_diff import labels
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import MANIFEST, JudgingManifest, read_any_manifest, read_run_refs, runs_in
from mmerg.runs.matrix import JUDGED, matrix
from mmerg.runs.result import Result, Results
from mmerg.runs.samples import read_events
from mmerg.runs.story import Story


def show_run(out: Console, path: Path) -> int:
    """The table of a run and how it was made. Raises RunError for a folder that is no run's."""
    manifest = read_any_manifest(path)
    if isinstance(manifest, JudgingManifest):
        what = "this is the folder of a judging, which has no table of replies"
        hint = f"its scores are in judgement.json; mmerg show {path} SAMPLE tells how a sample was judged"
        raise RunError(what, where=str(path), hint=hint)
    summary, engine = Summary(read_results(path).values(), imported=manifest.imported), manifest.engine
    out.print(escape(f"{path}: {engine.in_words}"))
    out.print(escape(f"protocol: {manifest.protocol.description}"))
    out.print(summary.replies())
    for memory in manifest.memories.values():
        out.print(escape(f"{describe_memory(memory)}; {summary.kept_back or 'no exemplar was excluded'}"))
    for line in summary.notes():
        out.print(escape(line))
    if failed := failures(summary.failed):
        out.print(failed)
    return 0


def show_sample(out: Console, path: Path, sample: str, prompts: bool) -> int:
    """The story of one sample. Raises RunError where the run has no such sample."""
    judging = isinstance(read_any_manifest(path), JudgingManifest)
    trace, results = read_events(path, sample), Results(Result) if judging else read_results(path)
    if not trace:
        known = ", ".join(list(results)[:8]) or "none yet"
        hint = f"{did_you_mean(sample, results)} samples: {known}".strip()
        what = f"the run has no {'events of ' if sample in results else ''}sample {sample!r}"
        raise RunError(what, where=str(path), hint=hint)
    more: dict[str, object] = {}
    if result := results.get(sample):
        more["the whole reply repeats"] = result.repeats
        more["copied, in 4-grams"] = result.copied
        if result.ok and not result.passes:
            more["imported"] = {"response": result.response, "emotion": result.emotion}
        more["gold, never shown to the model"] = {"response": result.gold_response, "emotion": result.gold_emotion}
    out.print(escape(to_yaml(Story(trace), prompts, more)), soft_wrap=True, end="")
    return 0


def show_runs(out: Console, paths: Sequence[Path], sample: str | None) -> int:
    """Runs side by side, a row a sample, or one sample alone. Raises RunError where a run cannot be read, or none has
    the sample."""
    abouts = read_run_refs(paths)
    lines = matrix([read_results(about.path) for about in abouts])
    if sample is not None:
        lines = [line for line in lines if line.sample == sample]
        if not lines:
            raise RunError(f"none of these runs has a sample {sample!r}", hint="without it, all samples are shown")
    counts = ", ".join(f"{name} {sum(getattr(line, name) for line in lines)}" for name in JUDGED)
    more = f"; the first {ROWS}" if len(lines) > ROWS else ""
    table = Table(title=f"{plural(len(lines), 'sample')}: {counts}{more}", title_justify="left", show_lines=True)
    for name in ("sample", "gold", *labels(abouts)):
        table.add_column(escape(name), ratio=None if name in ("sample", "gold") else 1, overflow="fold")
    for line in lines[:ROWS]:
        cells = [_describe(result, line.gold) for result in line.results]
        table.add_row(*map(escape, (line.sample, f"{line.gold or '–'} {'+' * line.better}{'-' * line.worse}", *cells)))
    out.print(table)
    return 0


def _refuse_nothing() -> int:
    known = preview([str(run) for run in runs_in(Path("runs"))], 5, " ")
    hint = f"mmerg show RUN, the latest first: {known}" if known else "make one: mmerg run dataset=demo"
    raise RunError("no run is given", where="command line", hint=hint)


def _describe(result: Result | None, gold: str) -> str:
    """A result as a cell: the label, right or not, and the reply."""
    if result is None or not result.ok:
        return f"failed: {result.failure}" if result else "–"
    right = " ✓" if gold == result.emotion else " ✗"
    return f"{result.emotion or 'no label'}{right * bool(gold)}\n{result.response or ''}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m mmerg.show", description=__doc__)
    parser.add_argument("runs", nargs="*", metavar="RUN… [SAMPLE]", help="run folders, then the id of a sample")
    parser.add_argument("--prompts", action="store_true", help="also print the prompt and completion of every call")
    given = parser.parse_args(arguments)
    if not given.runs:
        return run_command(_refuse_nothing)
    last = len(given.runs) > 1 and not (Path(given.runs[-1]) / MANIFEST).exists()
    sample = given.runs.pop() if last else None
    run, *more = map(Path, given.runs)
    if more:
        return run_command(lambda: show_runs(console(), [run, *more], sample), STARTS_OVER)
    if sample is None:
        return run_command(lambda: show_run(console(), run), STARTS_OVER)
    return run_command(lambda: show_sample(console(), run, sample, given.prompts), STARTS_OVER)


if __name__ == "__main__":
    start(main)
