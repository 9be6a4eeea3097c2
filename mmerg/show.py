"""Prints a run, or the trace of one sample: `mmerg show RUN [SAMPLE] [--prompts]`.

The trace is a YAML document: frames, evidence, emotion, plan, reply and audit of every pass, what was rerun and why,
and which pass was selected. `--prompts` adds the prompt and completion of every call. `mmerg report RUN RUN` shows
several runs side by side.
"""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from mmerg.console.run_tables import Summary, describe_memory, tabulate_failures
from mmerg.console.terminal import STARTS_OVER, Parser, console, escape, run_command, start
from mmerg.errors import RunError, did_you_mean
from mmerg.reporting.text import to_yaml
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import JudgingManifest, read_any_manifest
from mmerg.runs.result import Result, Results
from mmerg.runs.samples import read_events
from mmerg.runs.trace import SampleTrace


def show_run(out: Console, path: Path) -> int:
    """Prints the samples of a run and how it was made. Raises RunError if the folder is no run."""
    manifest = read_any_manifest(path)
    if isinstance(manifest, JudgingManifest):
        what = "this is the folder of a judging, which has no table of replies"
        hint = f"its scores are in judgement.json; mmerg show {path} SAMPLE prints how a sample was judged"
        raise RunError(what, where=str(path), hint=hint)
    summary, engine = Summary(read_results(path).values(), imported=manifest.imported), manifest.engine
    out.print(escape(f"{path}: {engine.description}"))
    out.print(escape(f"protocol: {manifest.protocol.description}"))
    out.print(summary.replies())
    for memory in manifest.memories.values():
        out.print(escape(f"{describe_memory(memory)}; {summary.exclusions or 'no exemplar was excluded'}"))
    for line in summary.notes():
        out.print(escape(line))
    if failed := tabulate_failures(summary.failed):
        out.print(failed)
    return 0


def show_sample(out: Console, path: Path, sample: str, prompts: bool) -> int:
    """Prints the trace of a sample. Raises RunError if the run has no such sample."""
    judging = isinstance(read_any_manifest(path), JudgingManifest)
    events, results = read_events(path, sample), Results(Result) if judging else read_results(path)
    if not events:
        known = ", ".join(list(results)[:8]) or "none yet"
        hint = f"{did_you_mean(sample, results)} samples: {known}".strip()
        if Path(sample).is_dir():
            hint = f"to see runs side by side: mmerg report {path} {sample}"
        what = f"the run has no {'events of ' if sample in results else ''}sample {sample!r}"
        raise RunError(what, where=str(path), hint=hint)
    more: dict[str, object] = {}
    if result := results.get(sample):
        more["the reply repeats"] = result.repeats
        more["copied, in 4-grams"] = result.copied
        if result.ok and not result.passes:
            more["imported"] = {"response": result.response, "emotion": result.emotion}
        more["gold, never shown to the model"] = {"response": result.gold_response, "emotion": result.gold_emotion}
    out.print(escape(to_yaml(SampleTrace(events), prompts, more)), soft_wrap=True, end="")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(prog="python -m mmerg.show", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="a run folder")
    parser.add_argument("sample", nargs="?", metavar="SAMPLE", help="the id of a sample")
    parser.add_argument("--prompts", action="store_true", help="also print the prompt and completion of every call")
    given = parser.parse_args(arguments)
    if given.sample is None:
        return run_command(lambda: show_run(console(), given.run), STARTS_OVER)
    return run_command(lambda: show_sample(console(), given.run, given.sample, given.prompts), STARTS_OVER)


if __name__ == "__main__":
    start(main)
