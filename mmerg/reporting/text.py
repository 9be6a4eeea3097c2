"""A sample's trace as a YAML document, which `mmerg show RUN SAMPLE` prints."""

import math
from collections.abc import Mapping

import yaml
from pydantic import BaseModel

from mmerg.runs.trace import Call, Pass, SampleTrace, Step

Document = dict[str, object]


class _Dumper(yaml.SafeDumper):
    """A dumper that writes texts of several lines as blocks."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


def to_yaml(trace: SampleTrace, prompts: bool, more: Mapping[str, object]) -> str:
    """Formats a trace. prompts: include the prompt and the completion of each call. more: further entries."""
    document: Document = {}
    if started := trace.started:
        document |= {"dialogue": started.dialogue, "responder": started.responder}
        document["history"] = [{speaker: text} for speaker, text in started.history]
    document["keyframes"] = _dump(trace.frames)
    document["passes"] = [_format_pass(trace, sample_pass, prompts) for sample_pass in trace.passes.values()]
    document |= {"selected": trace.why, "failed": _dump(trace.failed), **more}
    return yaml.dump(_drop_empty(document), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=math.inf)


def _format_pass(trace: SampleTrace, sample_pass: Pass, prompts: bool) -> Document:
    again = trace.repeated.get(sample_pass.t)
    document: Document = {
        "pass": sample_pass.t,
        "rerun": sample_pass.rerun and {"from": sample_pass.rerun.stage} | _dump(sample_pass.rerun),
    }
    document["repeats"] = f"pass {sample_pass.t - 1}: {again} answered as before" if again else ""
    document["views"] = [f"{view.view}: {view.became}" for view in sample_pass.views]
    document |= {stage: _format_step(step, prompts) for stage, step in sample_pass.steps.items()}
    if sample_pass.audited:
        findings = {name: _dump(finding) for name, finding in sample_pass.audited.audit.findings.items()}
        document["audit"] = _drop_empty({"first fault": sample_pass.audited.fault}) | findings
    return _drop_empty(document | {"unaudited": _dump(sample_pass.unaudited), "lost": _dump(sample_pass.lost)})


def _format_step(step: Step, prompts: bool) -> Document:
    document: Document = {"sources": list(map(_dump, step.supplied))}
    document["calls"] = [_format_call(call, prompts) for call in step.calls]
    document["labels"] = _dump(step.read)
    if step.output:
        document[step.output.symbol] = step.output.output
    return _drop_empty(document | {"verdict": _dump(step.verdict)})


def _format_call(call: Call, prompts: bool) -> Document:
    completion = call.event.completion
    cost = f"{completion.prompt_tokens} + {completion.response_tokens} tokens, {completion.seconds:.2f} s"
    document: Document = {"cost": f"{cost}, {'from the cache' if completion.cached else f'on {completion.host}'}"}
    if prompts:
        document |= {
            "messages": list(map(_dump, call.event.messages)),
            "completion": completion.text,
            "finish": str(completion.finish),
        }
    return _drop_empty(document | {"refused": _dump(call.refused), "cleaned": call.cleaned and call.cleaned.removed})


def _dump(record: BaseModel | None) -> Document:
    """Returns the fields of a record, without defaults, empty values, and what other entries of the document say."""
    ignored = {"sample", "at", "t", "stage", "attempt"}
    return _drop_empty(record.model_dump(mode="json", exclude=ignored, exclude_defaults=True)) if record else {}


def _drop_empty(document: Document) -> Document:
    return {name: value for name, value in document.items() if value not in ("", None, [], {})}
