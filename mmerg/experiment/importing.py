"""The import of another system's replies as a run folder; `import_.py` is the command.

Passes, calls, tokens and seconds are unknown: results have 0, and tables show –.
"""

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from mmerg.backends.protocol import Engine
from mmerg.console.run_tables import Summary
from mmerg.console.terminal import console, escape, plural, printable
from mmerg.corpora.dialogue import Sample
from mmerg.corpora.files import build_corpus_error, read_utf8
from mmerg.corpora.protocols import Selection
from mmerg.engine.sample import Fields, build_result
from mmerg.errors import Failure, SampleError, preview
from mmerg.experiment.plan import SamplePlan
from mmerg.experiment.session import new_session
from mmerg.experiment.work import select_pending
from mmerg.runs.events import Emit
from mmerg.runs.folder import Run
from mmerg.runs.identity import CONFIG, CORPUS, combine_digests, digest_settings
from mmerg.runs.manifest import IMPORTED, Manifest
from mmerg.runs.result import Result
from mmerg.settings.commands import ImportSettings
from mmerg.storage.files import describe_error
from mmerg.storage.record import Record

LONGEST = 10_000  # characters of a reply; a longer text is no turn of a dialogue
FORM = '{"id": "test_dia0/3", "response": "Oh no.", "emotion": "sadness"}, emotion is optional'


class ImportedReply(Record):
    """A line of the file."""

    id: str
    response: Annotated[str, Field(pattern=r"\S", max_length=LONGEST)]
    emotion: str | None = None


def import_replies(settings: ImportSettings) -> int:
    """Writes the run and prints its samples. Returns the exit code: 0, or 1 if samples have no reply. Raises MmergError
    before anything is written if the file or the corpus cannot be used."""
    out = console()
    samples = SamplePlan.load(settings.dataset, settings.protocol)
    corpus, selection = samples.corpus, samples.selection
    file = Path(settings.replies)
    content = read_utf8(file)
    replies = _parse_replies(file, content, selection, corpus.labels)
    digest = hashlib.sha256(content).hexdigest()
    kept = {name: node for name, node in settings.plain().items() if name in ("dataset", "protocol")}
    plain = {**kept, "system": {"name": settings.name}}
    corpus_section, protocol_section = samples.sections()
    manifest = Manifest(
        corpus=corpus_section,
        protocol=protocol_section,
        identity={CONFIG: digest_settings(plain), CORPUS: corpus.fingerprint, "replies": digest},
        engine=Engine(backend=IMPORTED, version=digest[:12], model=settings.name, digest=digest),
        settings=plain,
        name=settings.name,
        sessions=(new_session(plain).model_copy(update={"how": {"replies": settings.replies}}),),
    )
    path = Path(settings.runs) / f"{settings.dataset.name}-{settings.name}-{combine_digests(manifest.identity)[:8]}"
    results = _write(path, manifest, selection, replies)
    out.print(escape(f"{corpus.name} {corpus.split}, protocol {manifest.protocol.description}"))
    out.print(Summary(results, imported=True).replies())
    absent = [result.id for result in results if result.status == "failed"]
    if absent:
        without = f"{plural(len(absent), 'sample')} without a reply, counted as failed: {preview(absent)}"
        out.print(escape(without), soft_wrap=True)
    unlabelled = sum(reply.emotion is None for reply in replies.values())
    if 0 < unlabelled < len(replies):
        out.print(f"{unlabelled} of {len(replies)} replies have no emotion, which counts as wrong")
    print(f"run: {printable(str(path))}")  # noqa: T201 - programs read the last line: no wrapping
    return 1 if absent else 0


def _parse_replies(
    file: Path, content: bytes, selection: Selection, labels: tuple[str, ...]
) -> dict[str, ImportedReply]:
    """Parses the replies by sample id. Raises CorpusError, which names up to ten invalid lines."""
    known = {sample.id for sample in selection.samples}
    replies: dict[str, ImportedReply] = {}
    problems: list[str] = []
    for number, raw in enumerate(content.splitlines(), start=1):
        if not raw.strip():
            continue
        try:
            reply = ImportedReply.model_validate_json(raw)
        except ValueError as error:
            problems.append(f"line {number}: {describe_error(error)}")
            continue
        if reply.id not in known:
            problems.append(f"line {number}: {reply.id!r:.100} is not the id of a sample")
        elif reply.id in replies:
            problems.append(f"line {number}: an earlier line has the id {reply.id!r:.100} too")
        elif reply.emotion not in (None, *labels):
            problems.append(f"line {number}: the emotion {reply.emotion!r:.100} is not one of {', '.join(labels)}")
        else:
            replies[reply.id] = reply
    if problems or not replies:
        ids = ", ".join(sample.id for sample in selection.samples[:3])
        hint = f"correct the file; a line is {FORM}; ids of this dataset and protocol: {ids}, …"
        raise build_corpus_error("the replies cannot be used", problems or ["the file is empty"], str(file), hint)
    return replies


def _write(path: Path, manifest: Manifest, selection: Selection, replies: Mapping[str, ImportedReply]) -> list[Result]:
    """Writes the run folder, or the rest of it after an interrupted import. Raises RunError if that fails."""

    def imported(sample: Sample, emit: Emit) -> Result:
        def decide(*_: object) -> Fields:
            if sample.id not in replies:
                raise SampleError(Failure.ABSENT, "the file has no reply for it")
            return replies[sample.id].model_dump(exclude={"id"})

        return build_result(sample, decide, emit).model_copy(update={"seconds": 0.0})

    with Run(path, manifest) as run:
        for sample in select_pending(selection.samples, run.results):
            run.record(sample.id, partial(imported, sample))
        run.seal(sample.id for sample in selection.samples)
        return list(run.results.values())
