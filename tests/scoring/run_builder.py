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

from mmerg.backends.protocol import Engine, Finish, Reply, TokenLogprob
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
    """A result line; `response` None is a failed sample. The dialogue is what stands before the id's last slash."""
    dialogue = id.rpartition("/")[0] or id
    given: dict[str, Any] = {"dialogue": dialogue, "gold_response": gold_response, "gold_emotion": gold, "calls": 5}
    if response is None:
        given |= {"status": "failed", "failure": Failure.TRUNCATED, "failure_text": "cut off"}
    else:
        given |= {"status": "ok", "response": response, "emotion": emotion, "selected_pass": 0, "passes": 1}
    return Result.model_validate({"id": id, **given, **more})


@cache
def _merg() -> str:
    """The settings of MERG as JSON: reading YAML takes longer than writing a run."""
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
    labels: Sequence[str] = LABELS,
    config: Mapping[str, Any] | None = None,
) -> Manifest:
    """The manifest of a run with these results; `samples` is the protocol's n, `config` is laid over the settings."""
    n = len(results) if samples is None else samples
    node = json.loads(_merg()) | {"name": system}
    parts = ("config", "corpus", "clips", "engine", "prompt mpa.j2")
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


def record_sample(run: Run, one: Result, told: Iterable[events.Event]) -> None:
    """Put a sample into an open run: its events, and its result with what these say of history and tokens."""
    told = list(told)
    if told and not isinstance(told[-1], events.SampleDone | events.SampleFailed):
        told.append(events.SampleDone(sample=one.id, at=AT))
    known = ("history", "responder", "copied", "logprob", "logprob_tokens", *("timing",) * (one.timing == Timing()))
    found = {
        name: value
        for name, value in collect_facts(SampleTrace(told), one.response, {"response": "R"}).items()
        if name in known
    }

    def work(emit: events.Emit) -> Result:
        for event in told:
            emit(event)
        return one.model_copy(update=found)

    run.record(one.id, work)


def build_run(
    folder: Path,
    results: Sequence[Result],
    *,
    logprobs: Mapping[str, Sequence[float]] | None = None,
    history: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    **manifest: Any,
) -> Path:
    """Write a run folder with the events of each sample's start, response calls and end; returns `folder`.

    logprobs: by sample, one a token, the response being cut into as many tokens. history: by sample, else HISTORY.
    manifest: see `make_manifest`.
    """
    with Run(folder, make_manifest(results, **manifest)) as run:
        for one in results:
            record_sample(
                run, one, make_events(one, (logprobs or {}).get(one.id, ()), (history or {}).get(one.id, HISTORY))
            )
        run.seal([one.id for one in results])
    return folder


def make_events(one: Result, logprobs: Sequence[float], history: Sequence[tuple[str, str]]) -> list[events.Event]:
    """What the events of a sample are at least: start, the response's call of each pass up to the selected, end."""
    found: list[events.Event] = [
        events.SampleStarted(
            sample=one.id, at=AT, dialogue=one.dialogue, history=tuple(history), responder="Ben", labels=LABELS
        )
    ]
    if one.status == "failed":
        assert one.failure
        return [*found, events.SampleFailed(sample=one.id, at=AT, failure=one.failure, what="cut off")]
    last = one.selected_pass or 0
    for t in range(last + 1):
        text = (one.response or "") if t == last else f"Draft {t}."
        tokens = split_tokens(text, logprobs) if t == last else ()
        found.append(make_call(one.id, text, tokens, t=t))
        found.append(events.Produced(sample=one.id, at=AT, t=t, stage="sgrg", symbol="R", output=text))
    found.append(events.Selected(sample=one.id, at=AT, t=last, ranks={}, ended="passed"))
    return [*found, events.SampleDone(sample=one.id, at=AT)]


def split_tokens(text: str, logprobs: Sequence[float]) -> tuple[TokenLogprob, ...]:
    """`text` cut into as many tokens as there are logprobs, each a character at least."""
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
    """One call."""
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
        reply=Reply(text=text, finish=Finish.STOP, thinking=thinking, logprobs=tuple(logprobs)),
    )
