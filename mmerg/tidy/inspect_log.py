"""A run as a log of inspect_ai, which `inspect view` shows: samples, what each agent was asked and answered, scores,
tokens by model and agent. Needs `pip install 'mmerg[inspect]'`.

write_log(about, Path("runs/A/export/A.eval"))
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mmerg.backends.protocol import Reply
from mmerg.errors import ConfigError
from mmerg.runs.events import Called, Event
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import About
from mmerg.runs.result import Result
from mmerg.runs.samples import read_events
from mmerg.scoring.score import UnscoredError, read_scores
from mmerg.storage.files import private_folder, writing

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # of a sample without calls
_STOPS = {"stop": "stop", "length": "max_tokens", "abort": "unknown"}


def write_log(about: About, file: Path) -> None:
    """Write the log, whole or not at all. Raises ConfigError where inspect_ai is not installed, RunError where the run
    cannot be read or the file not be written."""
    if importlib.util.find_spec("inspect_ai") is None:
        raise ConfigError("inspect_ai is not installed", where="--inspect", hint="pip install 'mmerg[inspect]'")
    from inspect_ai.log import write_eval_log

    log = log_of(about)
    with writing(file):
        private_folder(file.parent)
        with TemporaryDirectory(dir=file.parent) as beside:
            write_eval_log(log, str(Path(beside) / file.name), format="eval")
            (Path(beside) / file.name).replace(file)


def log_of(about: About) -> EvalLog:
    """The log of a run. Raises RunError where the run cannot be read."""
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSpec, EvalStats

    manifest = about.manifest
    results = list(read_results(about.path).values())
    calls = {result.id: _calls(read_events(about.path, result.id)) for result in results}
    samples = [_sample(about, result, calls[result.id]) for result in results]
    times = [time for sample in samples for time in (sample.started_at, sample.completed_at) if time] or [_text(EPOCH)]
    corpus = f"{manifest.corpus.name} {manifest.corpus.split}"
    spec = EvalSpec(
        eval_id=about.run,
        run_id=about.run,
        created=min(times),
        task=manifest.system,
        task_id=about.run,
        dataset=EvalDataset(name=corpus, samples=len(samples), sample_ids=[result.id for result in results]),
        model=_model(about),
        config=EvalConfig(),
        tags=list(manifest.tags),
        metadata={"protocol": manifest.protocol.description, "identity": manifest.identity},
    )
    stats = EvalStats(started_at=min(times), completed_at=max(times), **_usage(about, list(chain(*calls.values()))))
    return EvalLog(status="success", eval=spec, results=_results(about, results), stats=stats, samples=samples)


def _sample(about: About, result: Result, calls: Sequence[Called]) -> EvalSample:
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
    from inspect_ai.scorer import CORRECT, INCORRECT, Score

    ends = [call.at for call in calls]
    started = ends[0].timestamp() - calls[0].reply.seconds if calls else None
    right = CORRECT if result.emotion == result.gold_emotion else INCORRECT
    error = EvalError(message=f"{result.failure}: {result.failure_text}", traceback="", traceback_ansi="")
    kept = {"dialogue", "responder", "plan", "audit", "selected_pass", "passes", "ended", "frames", "exemplars"}
    messages: list[Any] = []
    for call in calls:
        messages += [*_messages(call), ChatMessageAssistant(content=call.reply.text, id=f"{_id(call)}-reply")]
    return EvalSample(
        id=result.id,
        epoch=1,
        uuid=f"{about.run}/{result.id}",
        input=[
            ChatMessageUser(content=f"{speaker}: {text}", id=f"turn-{turn}")
            for turn, (speaker, text) in enumerate(result.history)
        ],
        target=result.gold_response or "",
        messages=messages,
        output=ModelOutput.from_content(_model(about), result.response or ""),
        scores={"acc": Score(value=right, answer=result.emotion, explanation=f"label {result.gold_emotion}")}
        if result.gold_emotion and (result.emotion or result.status == "failed")
        else None,
        metadata=result.model_dump(mode="json", include=kept),
        events=list(_events(about, calls)),
        started_at=_text(datetime.fromtimestamp(started, UTC)) if started is not None else None,
        completed_at=_text(ends[-1]) if ends else None,
        total_time=result.seconds,
        error=error if result.status == "failed" else None,
        **_usage(about, calls),
    )


def _events(about: About, calls: Sequence[Called]) -> Iterator[Any]:
    """A span an agent and pass, with its calls in it."""
    from inspect_ai.event import ModelEvent, SpanBeginEvent, SpanEndEvent
    from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, GenerateConfig, ModelOutput

    for call in calls:
        span = {"span_id": f"{_id(call)}-span", "timestamp": call.at, "working_start": 0.0}
        yield SpanBeginEvent(id=span["span_id"], name=f"{call.stage}, pass {call.t}", type="agent", **span)
        answer = ChatMessageAssistant(content=call.reply.text, id=f"{_id(call)}-reply")
        stop = _STOPS[call.reply.finish]
        yield ModelEvent(
            uuid=_id(call),
            model=_model(about),
            role=call.stage,
            input=_messages(call),
            tools=[],
            tool_choice="none",
            config=GenerateConfig(
                temperature=float(call.sampling.get("temperature", 0.0)),  # type: ignore[arg-type]
                max_tokens=int(call.sampling.get("num_predict", 0)) or None,  # type: ignore[arg-type]
            ),
            output=ModelOutput(
                model=_model(about),
                choices=[ChatCompletionChoice(message=answer, stop_reason=stop)],
                usage=_tokens([call.reply]),
                time=call.reply.seconds,
            ),
            cache="read" if call.reply.cached else None,
            completed=call.at,
            working_time=call.reply.seconds,
            **span,
        )
        yield SpanEndEvent(id=span["span_id"], **span)


def _messages(call: Called) -> list[Any]:
    """What an agent was sent; an image is named by the file under the run's frames/ that holds it."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    found = []
    for place, message in enumerate(call.messages):
        images = (f"[image {image}]" for image in message.images)
        found.append(kinds[message.role](content="\n".join((*images, message.text)), id=f"{_id(call)}-{place}"))
    return found


def _results(about: About, results: Sequence[Result]) -> Any:
    """The figures of `mmerg score`; none where there are none of the run as it is."""
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    try:
        figures = read_scores(about.path, about.manifest.identity).scores.values()
    except UnscoredError:
        figures = ()  # type: ignore[assignment]
    scores = [
        EvalScore(
            name=score.name,
            scorer="mmerg score",
            metrics={score.name: EvalMetric(name=score.name, value=score.value)},
            metadata=score.model_dump(mode="json", include={"n", "interval", "method", "signature"}),
        )
        for score in figures
        if score.value is not None
    ]
    done = sum(result.status == "ok" for result in results)
    return EvalResults(total_samples=len(results), completed_samples=done, scores=scores)


def _usage(about: About, calls: Sequence[Called]) -> dict[str, Any]:
    """Tokens by model, and by agent."""
    stages = dict.fromkeys(call.stage for call in calls)
    by_stage = {stage: _tokens([call.reply for call in calls if call.stage == stage]) for stage in stages}
    return {"model_usage": {_model(about): _tokens([call.reply for call in calls])}, "role_usage": by_stage}


def _tokens(replies: Iterable[Reply]) -> Any:
    from inspect_ai.model import ModelUsage

    told = [(reply.prompt_tokens, reply.response_tokens) for reply in replies]
    given, written = (sum(pair[side] for pair in told) for side in (0, 1))
    return ModelUsage(input_tokens=given, output_tokens=written, total_tokens=given + written)


def _calls(events: Iterable[Event]) -> list[Called]:
    return [event for event in events if isinstance(event, Called)]


def _id(call: Called) -> str:
    return f"{call.sample}-{call.t}-{call.stage}-{call.attempt}"


def _model(about: About) -> str:
    return f"{about.manifest.engine.backend}/{about.manifest.engine.model}"


def _text(time: datetime) -> str:
    return time.isoformat(timespec="seconds")
