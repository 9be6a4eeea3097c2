"""A run as a log of inspect_ai, which `inspect view` shows: samples, what each agent was asked and answered, scores,
tokens by model and agent. Needs `pip install 'mmerg[inspect]'`.

write_log(about, Path("runs/A/export/A.eval"))
"""

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory

from mmerg.backends.protocol import Finish
from mmerg.errors import ConfigError
from mmerg.runs.events import Called
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import About
from mmerg.runs.result import Result
from mmerg.runs.samples import read_events
from mmerg.scoring.score import UnscoredError, read_scores
from mmerg.storage.files import private_folder, writing
from mmerg.tidy.tables import Row

_STOPS = {Finish.STOP: "stop", Finish.LENGTH: "max_tokens", Finish.ABORT: "unknown"}
_METADATA = {"dialogue", "responder", "plan", "audit", "selected_pass", "passes", "ended", "frames", "exemplars"}


def write_log(about: About, file: Path) -> None:
    """Write the log, whole or not at all. Raises ConfigError where inspect_ai is not installed, RunError where the run
    cannot be read or the file not be written."""
    if importlib.util.find_spec("inspect_ai") is None:
        raise ConfigError("inspect_ai is not installed", where="--inspect", hint="pip install 'mmerg[inspect]'")
    from inspect_ai.log import EvalLog, write_eval_log

    log = EvalLog.model_validate(_log(about))
    with writing(file):
        private_folder(file.parent)
        with TemporaryDirectory(dir=file.parent) as folder:
            part = Path(folder) / file.name
            write_eval_log(log, str(part), format="eval")
            part.replace(file)


def _log(about: About) -> Row:
    manifest, results = about.manifest, list(read_results(about.path).values())
    model = f"{manifest.engine.backend}/{manifest.engine.model}"
    samples, every = [], list[Called]()
    for result in results:
        calls = [event for event in read_events(about.path, result.id) if isinstance(event, Called)]
        samples.append(_sample(about, model, result, calls))
        every += [call.model_copy(update={"reply": call.reply.model_copy(update={"logprobs": ()})}) for call in calls]
    spec = {
        **dict.fromkeys(("eval_id", "run_id", "task_id"), about.run),
        "created": manifest.sessions[0].at,
        "task": manifest.system,
        "dataset": {
            "name": f"{manifest.corpus.name} {manifest.corpus.split}",
            "samples": len(results),
            "sample_ids": [result.id for result in results],  # without these a reader sorts them
        },
        "model": model,
        "config": {},
        "tags": list(manifest.tags),
        "metadata": {"protocol": manifest.protocol.description, "identity": manifest.identity},
    }
    return {
        "status": "success",
        "eval": spec,
        "results": _results(about, results),
        "stats": _usage(model, every),
        "samples": samples,
    }


def _sample(about: About, model: str, result: Result, calls: Sequence[Called]) -> Row:
    label, given = result.gold_emotion, result.emotion or result.status == "failed"
    value = "C" if result.emotion == label else "I"
    acc = {"value": value, "answer": result.emotion, "explanation": f"label {label}"}
    error = {"message": f"{result.failure}: {result.failure_text}", "traceback": "", "traceback_ansi": ""}
    turns = [(f"turn-{number}", *turn) for number, turn in enumerate(result.history)]
    return {
        "id": result.id,
        "epoch": 1,
        "uuid": f"{about.run}/{result.id}",
        "input": [_message("user", f"{speaker}: {text}", name) for name, speaker, text in turns],
        "target": result.gold_response or "",
        "messages": [message for call in calls for message in (*_sent(call), _reply(call))],
        "output": _output(model, _message("assistant", result.response or "", f"{result.id}-response")),
        "scores": {"acc": acc} if label and given else None,
        "metadata": result.model_dump(mode="json", include=_METADATA),
        "events": [event for call in calls for event in _events(model, call)],
        "total_time": result.seconds,
        "error": error if result.status == "failed" else None,
        **_usage(model, calls),
    }


def _events(model: str, call: Called) -> Iterator[Row]:
    """A span of an agent and pass, with a call in it."""
    span = {"span_id": f"{_id(call)}-span", "timestamp": call.at, "working_start": 0.0}
    name = f"{call.stage}, pass {call.t}"
    yield {"event": "span_begin", "id": span["span_id"], "name": name, "type": "agent", **span}
    yield {
        "event": "model",
        "uuid": _id(call),
        "model": model,
        "role": call.stage,
        "input": list(_sent(call)),
        "tools": [],
        "tool_choice": "none",
        "config": {},
        "output": {
            **_output(model, _reply(call), _STOPS[call.reply.finish]),
            "usage": _tokens([call]),
            "time": call.reply.seconds,
        },
        "cache": "read" if call.reply.cached else None,
        "completed": call.at,
        "working_time": call.reply.seconds,
        **span,
    }
    yield {"event": "span_end", "id": span["span_id"], **span}


def _sent(call: Called) -> Iterator[Row]:
    """What an agent was sent; an image is named by the file under the run's frames/ that holds it."""
    for place, message in enumerate(call.messages):
        images = (f"[image {image}]" for image in message.images)
        yield _message(message.role, "\n".join((*images, message.text)), f"{_id(call)}-{place}")


def _reply(call: Called) -> Row:
    return _message("assistant", call.reply.text, f"{_id(call)}-reply")


def _message(role: str, text: str, name: str) -> Row:
    return {"role": role, "content": text, "id": name}


def _output(model: str, message: Row, stop: str = "stop") -> Row:
    return {"model": model, "choices": [{"message": message, "stop_reason": stop}], "completion": message["content"]}


def _results(about: About, results: Sequence[Result]) -> Row:
    """The figures of `mmerg score`; none where there are none of the run as it is."""
    counts: Row = {"total_samples": len(results), "completed_samples": sum(result.ok for result in results)}
    with suppress(UnscoredError):
        figures = read_scores(about.path, about.manifest.identity).scores.values()
        counts["scores"] = [
            {
                "name": score.name,
                "scorer": "mmerg score",
                "metrics": {score.name: {"name": score.name, "value": score.value}},
                "metadata": score.model_dump(mode="json", include={"n", "interval", "method", "signature"}),
            }
            for score in figures
            if score.value is not None
        ]
    return counts


def _usage(model: str, calls: Sequence[Called]) -> Row:
    """Tokens by model, and by agent."""
    by_stage = groupby(sorted(calls, key=attrgetter("stage")), attrgetter("stage"))
    roles = {stage: _tokens(list(of_stage)) for stage, of_stage in by_stage}
    return {"model_usage": {model: _tokens(calls)}, "role_usage": roles}


def _tokens(calls: Sequence[Called]) -> Row:
    given, written = (sum(getattr(call.reply, name) for call in calls) for name in ("prompt_tokens", "response_tokens"))
    return {"input_tokens": given, "output_tokens": written, "total_tokens": given + written}


def _id(call: Called) -> str:
    return f"{call.sample}-{call.t}-{call.stage}-{call.attempt}"
