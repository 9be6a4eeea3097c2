"""A run folder of replies that another system wrote, from settings to the folder; `import_.py` is its command.

What such a run cannot know (passes, calls, tokens, seconds) its results hold as 0, and views show as –.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from mmerg.backends.protocol import Engine
from mmerg.console.run_tables import Summary
from mmerg.console.terminal import console, escape, plural, printable
from mmerg.corpora.dialogue import Corpus, Sample
from mmerg.corpora.files import unusable
from mmerg.corpora.protocols import Selection, describe, select
from mmerg.errors import CorpusError, Failure, RunError
from mmerg.experiment.wiring import corpus_of, git_commit, versions
from mmerg.runs.events import Emit, SampleDone, SampleFailed, SampleStarted
from mmerg.runs.folder import Run
from mmerg.runs.manifest import IMPORTED, Manifest, ProtocolSection, Session
from mmerg.runs.manifest import Corpus as CorpusSection
from mmerg.runs.result import Result
from mmerg.settings.identity import identity_hash
from mmerg.settings.model import ImportSettings
from mmerg.storage.files import PART, open_regular, private_folder, why, writing
from mmerg.storage.record import Record

LONGEST = 10_000  # characters of a reply; what is longer is no turn of a talk
NAMED = 5
FORM = '{"id": "test_dia0/3", "response": "Oh no.", "emotion": "sadness"}, the emotion where there is one'
NO_REPLY = "the file has no reply for it"


class Line(Record):
    """A line of the file."""

    id: str
    response: Annotated[str, Field(pattern=r"\S", max_length=LONGEST)]
    emotion: str | None = None


def import_replies(settings: ImportSettings) -> int:
    """Writes the run: 0, or 1 where samples have no reply. Raises MmergError, with nothing written, where the file or
    the corpus cannot be used, or the run is there already."""
    out = console()
    corpus = corpus_of(settings.dataset)
    selection = select(corpus, settings.protocol)
    file = Path(settings.replies)
    content = _content(file)
    lines = _lines(file, content, selection, corpus.labels)
    manifest = _manifest(settings, corpus, selection, hashlib.sha256(content).hexdigest())
    mark = hashlib.sha256(json.dumps(manifest.identity, sort_keys=True).encode()).hexdigest()[:8]
    path = Path(settings.runs) / f"{settings.dataset.name}-{settings.name}-{mark}"
    results = _write(path, manifest, selection, lines)
    out.print(escape(f"{corpus.name} {corpus.split}, protocol {manifest.protocol.description}"))
    out.print(Summary(results, imported=True).replies())
    absent = [result.id for result in results if result.status == "failed"]
    if absent:
        some = ", ".join(absent[:NAMED]) + f" and {len(absent) - NAMED} more" * (len(absent) > NAMED)
        out.print(escape(f"{plural(len(absent), 'sample')} without a reply, counted as failed: {some}"), soft_wrap=True)
    plain = sum(line.emotion is None for line in lines.values())
    if 0 < plain < len(lines):
        out.print(f"{plain} of the replies have no emotion, which counts as a wrong one, as others have it")
    print(f"run: {printable(str(path))}")  # noqa: T201 - the last line is for programs to read: no wrapping
    return 1 if absent else 0


def _content(file: Path) -> bytes:
    try:
        with open_regular(file) as opened:
            return opened.read()
    except OSError as error:
        hint = "replies=FILE.jsonl, a sample a line"
        raise CorpusError(f"the replies cannot be read: {why(error)}", where=str(file), hint=hint) from error


def _lines(file: Path, content: bytes, selection: Selection, labels: tuple[str, ...]) -> dict[str, Line]:
    """The replies by sample. Raises CorpusError that names up to ten lines which cannot be used."""
    known = {sample.id for sample in selection.samples}
    found: dict[str, Line] = {}
    places: dict[str, int] = {}

    def wrong(number: int, raw: bytes) -> Iterator[str]:
        try:
            line = Line.model_validate(json.loads(raw.decode()))
        except (ValueError, RecursionError) as error:
            yield f"line {number}: {why(error)}"
            return
        if line.id not in known:
            yield f"line {number}: {line.id!r:.100} is the id of no sample"
        if before := places.get(line.id):
            yield f"line {number}: line {before} has the id {line.id!r:.100}, too"
        if line.emotion is not None and line.emotion not in labels:
            yield f"line {number}: the emotion {line.emotion!r:.100} is none of {', '.join(labels)}"
        found[line.id], places[line.id] = line, number

    rows = ((number, raw) for number, raw in enumerate(content.splitlines(), start=1) if raw.strip())
    problems = [problem for number, raw in rows for problem in wrong(number, raw)]
    if problems or not found:
        some = ", ".join(sample.id for sample in selection.samples[:3])
        hint = f"correct the file; a line is {FORM}; ids of this dataset and protocol: {some}, …"
        raise unusable("the replies cannot be used", problems or ["there is no line"], str(file), hint)
    return found


def _manifest(settings: ImportSettings, corpus: Corpus, selection: Selection, digest: str) -> Manifest:
    kept = {name: node for name, node in settings.plain().items() if name in ("dataset", "protocol")}
    plain = {**kept, "system": {"name": settings.name}}
    return Manifest(
        identity={"config": identity_hash(plain), "corpus": corpus.fingerprint, "replies": digest},
        engine=Engine(backend=IMPORTED, version=digest[:12], model=settings.name, digest=digest),
        corpus=CorpusSection(name=corpus.name, split=corpus.split, labels=corpus.labels, notes=dict(corpus.notes)),
        protocol=ProtocolSection(
            description=describe(settings.protocol, selection),
            samples=len(selection.samples),
            dialogues=len(corpus.dialogues),
            left_out=dict(selection.left_out),
        ),
        settings=plain,
        name=settings.name,
        sessions=(Session(versions=versions(), git_commit=git_commit(), how={"replies": settings.replies}),),
    )


def _recorded(sample: Sample, line: Line | None) -> Callable[[Emit], Result]:
    """What tells a sample's events and gives its result."""
    scene, target = sample.scene, sample.target
    history = tuple((turn.speaker, turn.text) for turn in scene.history)
    gold = {"gold_response": target.text, "gold_emotion": target.emotion} if target else {}
    if line:
        decided = {"status": "ok", "response": line.response, "emotion": line.emotion}
    else:
        decided = {"status": "failed", "failure": Failure.ABSENT, "failure_text": NO_REPLY}

    def work(emit: Emit) -> Result:
        emit(
            SampleStarted(
                sample=sample.id,
                dialogue=sample.dialogue_id,
                history=history,
                responder=scene.responder,
                labels=scene.labels,
            )
        )
        failed = SampleFailed(sample=sample.id, failure=Failure.ABSENT, what=NO_REPLY)
        emit(SampleDone(sample=sample.id) if line else failed)
        told = {"dialogue": sample.dialogue_id, "history": history, "responder": scene.responder}
        return Result.model_validate({"id": sample.id, **told, **gold, **decided})

    return work


def _write(path: Path, manifest: Manifest, selection: Selection, lines: Mapping[str, Line]) -> list[Result]:
    """The folder, there once it is whole. Raises RunError where something is there or it cannot be written."""
    if path.exists():
        hint = "use that run, or remove the folder; nothing was changed"
        raise RunError("these replies were imported before", where=str(path), hint=hint)
    with writing(path):
        private_folder(path.parent)
        part = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART))
    try:
        with Run(part, manifest) as run:
            found = [run.record(one.id, _recorded(one, lines.get(one.id))) for one in selection.samples]
            run.seal(one.id for one in selection.samples)
        with writing(path):
            part.rename(path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return found
