"""A sample's trace as a YAML document, which `mmerg show RUN SAMPLE` prints."""

import math
from collections.abc import Mapping

import yaml
from pydantic import BaseModel

from mmerg.runs.trace import Call, Pass, SampleTrace, Step

Document = dict[str, object]


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def to_yaml(trace: SampleTrace, prompts: bool, more: Mapping[str, object]) -> str:
    """Format a trace. prompts: include the prompt and raw reply of each call. more: further facts on the sample."""
    document: Document = {}
    if started := trace.started:
        document |= {"dialogue": started.dialogue, "responder": started.responder}
        document["history"] = [{speaker: text} for speaker, text in started.history]
    document["keyframes"] = _fields(trace.frames)
    document["passes"] = [_pass(trace, this, prompts) for this in trace.passes.values()]
    document |= {"selected": trace.why, "failed": _fields(trace.failed), **more}
    return yaml.dump(_filled(document), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=math.inf)


def _pass(trace: SampleTrace, this: Pass, prompts: bool) -> Document:
    again = trace.repeated.get(this.t)
    document: Document = {"pass": this.t, "rerun": this.rerun and {"from": this.rerun.stage} | _fields(this.rerun)}
    document["repeats"] = f"pass {this.t - 1}: {again} answered as before" if again else ""
    document["views"] = [f"{one.view}: {one.became}" for one in this.views]
    document |= {stage: _step(step, prompts) for stage, step in this.steps.items()}
    if this.audited:
        findings = {name: _fields(finding) for name, finding in this.audited.audit.findings.items()}
        document["audit"] = _filled({"first fault": this.audited.fault}) | findings
    return _filled(document | {"unaudited": _fields(this.unaudited), "lost": _fields(this.lost)})


def _step(step: Step, prompts: bool) -> Document:
    document: Document = {"sources": list(map(_fields, step.supplied))}
    document["calls"] = [_call(call, prompts) for call in step.calls]
    document["labels"] = _fields(step.read)
    if step.output:
        document[step.output.symbol] = step.output.output
    return _filled(document | {"verdict": _fields(step.verdict)})


def _call(call: Call, prompts: bool) -> Document:
    reply = call.event.reply
    cost = f"{reply.prompt_tokens} + {reply.response_tokens} tokens, {reply.seconds:.2f} s"
    document: Document = {"cost": f"{cost}, {'from the cache' if reply.cached else f'on {reply.host}'}"}
    if prompts:
        document |= {
            "messages": list(map(_fields, call.event.messages)),
            "reply": reply.text,
            "finish": str(reply.finish),
        }
    return _filled(document | {"refused": _fields(call.refused), "cleaned": call.cleaned and call.cleaned.taken})


def _fields(record: BaseModel | None) -> Document:
    """The fields of a record that are not elsewhere in the document, not defaults and not empty."""
    ignored = {"sample", "at", "t", "stage", "attempt"}
    return _filled(record.model_dump(mode="json", exclude=ignored, exclude_defaults=True)) if record else {}


def _filled(document: Document) -> Document:
    return {name: value for name, value in document.items() if value not in ("", None, [], {})}
