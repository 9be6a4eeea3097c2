"""Run folders for tests, written through the real `Run`.

folder = build_run(tmp_path / "run", [result("a/1", "Oh no.", "sadness", gold="joy")])
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from mmerg.backends.protocol import Completion, Engine, Finish, TokenLogprob
from mmerg.errors import Failure
from mmerg.runs import events
from mmerg.runs.facts import collect_facts
from mmerg.runs.folder import Run
from mmerg.runs.manifest import Corpus, Manifest, ProtocolSection, Session
from mmerg.runs.result import Result, Timing
from mmerg.runs.trace import SampleTrace

ROOT = Path(__file__).parents[2]
AT = datetime(2026, 1, 1, tzinfo=UTC)
HISTORY = (("Ana", "I lost my keys."), ("Ben", "Again?"), ("Ana", "Again."))
LABELS = ("neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust")


def result(
    id: str,
    response: str | None = "Oh no.",
    emotion: str | None = None,
    *,
    gold: str | None = None,
    gold_response: str | None = "That is hard.",
    **more: Any,
) -> Result:
    """Makes a result; without `response`, the sample failed. The dialogue is the id's part before its last slash."""
    dialogue = id.rpartition("/")[0] or id
    fields: dict[str, Any] = {"dialogue": dialogue, "gold_response": gold_response, "gold_emotion": gold, "calls": 5}
    if response is None:
        fields |= {"status": "failed", "failure": Failure.TRUNCATED, "failure_text": "cut off"}
    else:
        fields |= {"status": "ok", "response": response, "emotion": emotion, "selected_pass": 0, "passes": 1}
    return Result.model_validate({"id": id, **fields, **more})


@cache
def _merg() -> str:
    """Returns the settings of MERG as JSON, cached because reading YAML takes longer than writing a run."""
    return json.dumps(yaml.safe_load((ROOT / "conf/system/merg.yaml").read_text(encoding="utf-8")))


def make_manifest(
    results: Sequence[Result],
    *,
    corpus: str = "demo",
    split: str = "test",
    protocol: str | None = None,
    samples: int | None = None,
    system: str = "merg",
    model: str = "tiny",
    identity: str = "same",
    parts: Sequence[str] = (),
    labels: Sequence[str] = LABELS,
    config: Mapping[str, Any] | None = None,
) -> Manifest:
    """Makes the manifest of a run with these results. samples: the protocol's n. parts: more parts of the
    identity. config: overrides settings."""
    n = len(results) if samples is None else samples
    node = json.loads(_merg()) | {"name": system}
    parts = ("config", "corpus", "clips", "engine", "prompt mpa.j2", *parts)
    settings = {"dataset": {"name": corpus}, "system": node, "backbone": {"name": model}, "seed": 0}
    described = protocol or f"targets=last emotions=all, n={n}"
    return Manifest(
        identity={part: f"{identity}-{part}" for part in parts},
        engine=Engine(backend="scripted", version="1", model=model, digest="d" * 64),
        corpus=Corpus(name=corpus, split=split, labels=tuple(labels)),
        protocol=ProtocolSection(description=described, samples=n, dialogues=n),
        settings=settings | {"protocol": {"targets": "last"}} | dict(config or {}),
        sessions=(Session(versions={"python": "3.11.0"}, git_commit="0" * 40),),
    )


def record_sample(run: Run, sample: Result, trace: Iterable[events.Event]) -> None:
    """Records a sample in an open run: its events, and its result with the history and tokens from these events."""
    trace = list(trace)
    if trace and not isinstance(trace[-1], events.SampleDone | events.SampleFailed):
        trace.append(events.SampleDone(sample=sample.id, at=AT))
    names = {"history", "responder", "copied", "logprob", "logprob_tokens"}
    if sample.timing == Timing():
        names.add("timing")
    facts = collect_facts(SampleTrace(trace), sample.response, {"response": "R"})

    def work(emit: events.Emit) -> Result:
        for event in trace:
            emit(event)
        return sample.model_copy(update={name: value for name, value in facts.items() if name in names})

    run.record(sample.id, work)


def build_run(
    folder: Path,
    results: Sequence[Result],
    *,
    logprobs: Mapping[str, Sequence[float]] | None = None,
    history: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    **manifest: Any,
) -> Path:
    """Writes a run folder with the events of each sample's start, response calls and end. Returns `folder`. logprobs:
    by sample, one per token; the response is split into as many tokens. history: by sample; HISTORY for others."""
    logprobs, history = logprobs or {}, history or {}
    with Run(folder, make_manifest(results, **manifest)) as run:
        for sample in results:
            trace = make_events(sample, logprobs.get(sample.id, ()), history.get(sample.id, HISTORY))
            record_sample(run, sample, trace)
        run.seal([sample.id for sample in results])
    return folder


def make_events(sample: Result, logprobs: Sequence[float], history: Sequence[tuple[str, str]]) -> list[events.Event]:
    """Makes the fewest events of a sample: its start, a call for the response in each pass until selected, its end."""
    trace: list[events.Event] = [
        events.SampleStarted(
            sample=sample.id, at=AT, dialogue=sample.dialogue, history=tuple(history), responder="Ben", labels=LABELS
        )
    ]
    if sample.status == "failed":
        assert sample.failure
        return [*trace, events.SampleFailed(sample=sample.id, at=AT, failure=sample.failure, what="cut off")]
    last = sample.selected_pass or 0
    for t in range(last + 1):
        text = (sample.response or "") if t == last else f"Draft {t}."
        tokens = split_tokens(text, logprobs) if t == last else ()
        trace.append(make_call(sample.id, text, tokens, t=t))
        trace.append(events.Produced(sample=sample.id, at=AT, t=t, stage="sgrg", symbol="R", output=text))
    trace.append(events.Selected(sample=sample.id, at=AT, t=last, ranks={}, ended="passed"))
    return [*trace, events.SampleDone(sample=sample.id, at=AT)]


def split_tokens(text: str, logprobs: Sequence[float]) -> tuple[TokenLogprob, ...]:
    """Splits a text into as many tokens as there are log-probabilities. Each token has at least one character."""
    assert len(logprobs) <= len(text)
    bounds = [round(number * len(text) / len(logprobs)) for number in range(len(logprobs) + 1)] if logprobs else []
    pieces = [text[start:end] for start, end in pairwise(bounds)]
    return tuple(TokenLogprob(token=piece, logprob=value) for piece, value in zip(pieces, logprobs, strict=True))


def make_call(
    sample: str,
    text: str,
    logprobs: Sequence[TokenLogprob] = (),
    *,
    t: int = 0,
    stage: str = "sgrg",
    attempt: int = 0,
    prompt: str = "Write the next turn.",
    thinking: str = "",
) -> events.Called:
    return events.Called(
        sample=sample,
        at=AT,
        t=t,
        stage=stage,
        attempt=attempt,
        digest="0",
        messages=(events.TracedMessage(role="user", text=prompt),),
        answer_schema="",
        sampling={"seed": 0},
        logprobs=True,
        completion=Completion(text=text, finish=Finish.STOP, thinking=thinking, logprobs=tuple(logprobs)),
    )
