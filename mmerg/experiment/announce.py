"""The output of a run before its first call, and after its last one."""

from collections.abc import Collection, Iterator

from rich.console import Console

from mmerg.backends.protocol import Engine
from mmerg.console.run_tables import Summary, tabulate_failures
from mmerg.console.terminal import escape, plural
from mmerg.corpora.protocols import describe
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.plan import Plan
from mmerg.experiment.work import DRY_RUN
from mmerg.runs.result import Result


def announce(out: Console, plan: Plan, engine: Engine) -> None:
    """Prints the corpus, the protocol, the engine, and the inputs that agents lack."""
    samples = plan.samples
    of_shard = f" of shard {plan.shard}" if plan.shard else ""
    corpus = samples.corpus
    out.print(escape(f"{corpus.name} {corpus.split}: {plural(len(corpus.dialogues), 'dialogue')}{corpus.notes_text}"))
    out.print(
        escape(f"protocol: {describe(samples.protocol, samples.selection)}; {len(samples.wanted)} selected{of_shard}")
    )
    out.print(escape(f"{engine.description}, seed {plan.seed}"))
    for line in (*filter(None, [plan.note]), *_list_remarks(plan, engine)):
        out.print(escape(line))


def _list_remarks(plan: Plan, engine: Engine) -> Iterator[str]:
    corpus, wanted, dataset = plan.samples.corpus, plan.samples.wanted, plan.samples.dataset
    system, sources = plan.system.prompts.system, plan.system.sources
    if plan.system.auditor and plan.system.auditor.checks:
        yield plan.system.auditor.describe()
    for stage in system.stages:
        if stage.prior:
            yield f"{stage.name}: labels calibrated on {stage.prior.n} scenes of {stage.prior.corpus}"
        elif stage.label:
            how = "mmerg audit RUN --labels FILE with a run on another split, then auditor=FILE"
            yield f"{stage.name}: label probabilities are not calibrated; to do so: {how}"
    if system.sees("V") and not engine.vision:
        yield "this model has no vision: it gets measured frame descriptions instead of images"
    turns = (turn for sample in wanted for turn in sample.scene.history[-plan.system.frames.last_turns :])
    if system.sees("V") and corpus.absent and not any(turn.clip for turn in turns):
        missing = next(iter(corpus.absent.values()))
        command = f"mmerg data dataset={dataset.name} dataset.root={dataset.root or '…'}"
        yield (
            f"no clip was found, not even {missing}: samples run as text only. Put the clips (for MELD, its folder "
            f"MELD.Raw) under dataset.root; {command} lists what is missing"
        )
    has_memory = dataset.memory and dataset.memory.reader.plain().get("root", True)  # a reader may need no root
    if system.sees("M") and "M" not in sources and not has_memory:
        needed = "memory=minilm " + ("dataset.memory.root=…" if dataset.memory else "and a reader as dataset.memory")
        yield f"exemplars are off: dataset={dataset.name} names no corpus for them. To switch them on, set {needed}"
    problems: dict[str, list[str]] = {}
    for symbol, source in sources.items():
        problem = getattr(source, "describe_missing", lambda _: "")(wanted)
        problems.setdefault(problem, []).append(symbol)
    for problem, symbols in problems.items():
        if problem:
            yield f"sources {', '.join(symbols)}: {problem}"


def print_results(out: Console, backbone: BackbonePlan, results: Collection[Result], brief: bool) -> None:
    """Prints the tables of a run. brief: without the replies, as in a sweep."""
    summary = Summary(results)
    out.print(summary.counts_line if brief else summary.replies())
    for line in (summary.exclusions, *summary.notes()):
        if line:
            out.print(escape(line))
    if failed := tabulate_failures(summary.failed):
        out.print(failed)
    if backbone.dry:
        out.print(DRY_RUN.format("replies"))
    elif backbone.model.note and not brief:
        out.print(escape(backbone.model.note))
