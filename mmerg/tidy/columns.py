"""The columns of the five tables and their types, read off the classes that hold the facts: a field that a result, a
call or a score gains is a column. The same for every run, also where a column is empty."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from mmerg.backends.protocol import Reply
from mmerg.runs.events import Called, Excluded, Verdict
from mmerg.runs.result import Result
from mmerg.scoring.score import Score
from mmerg.systems.audit import Finding

Columns: TypeAlias = dict[str, Any]  # annotations by name


class Said(TypedDict):
    speaker: str
    text: str


class Given(TypedDict):
    """An item that a source gave to a prompt, as JSON text."""

    stage: str
    symbol: str
    content: str


class KeptBack(Excluded):
    """What a source's guard kept back."""

    stage: str
    symbol: str


@dataclass
class Pass:
    """A pass as its events fill it in. outputs: by symbol, those kept from the pass before among them."""

    sample: str
    t: int
    outputs: dict[str, object] = field(default_factory=dict)
    status: str = "failed"  # what it stays where the sample was given up before anything else was decided
    selected: bool = False
    rerun_from: str | None = None
    rerun_reason: str | None = None
    rerun_correction: str | None = None
    ran: list[str] = field(default_factory=list)
    checks: dict[str, bool] | None = None
    fault: str | None = None
    findings: dict[str, Finding] | None = None
    failure: str | None = None
    failure_text: str | None = None
    supplied: list[Given] = field(default_factory=list)
    excluded: list[KeptBack] = field(default_factory=list)


def of(model: type[BaseModel], *without: str) -> Columns:
    """The fields of a class by name."""
    return {name: info.annotation for name, info in model.model_fields.items() if name not in without}


RUN: Columns = dict.fromkeys(("run", "corpus", "split", "system", "backbone", "model"), str)
JUDGE: Columns = {"judge": str, "against": str}
PROMPTS = {name: of(Called)[name] for name in ("messages", "answer_schema")}
NOT_OF_SAMPLES = ("id", "audit", "timing")  # of a result; calls have their own times
NOT_OF_CALLS = ("kind", "logprobs", "reply", *PROMPTS)
COLUMNS: Mapping[str, Columns] = {
    "samples": RUN
    | {"protocol": str, "sample": str}
    | of(Result, *NOT_OF_SAMPLES)
    | {"plan": str, "checks": dict[str, bool], "history": list[Said], "labels": list[str]},
    "passes": RUN | get_type_hints(Pass) | {"outputs": str},
    "calls": RUN
    | of(Called, *NOT_OF_CALLS)
    | {"sampling": str}
    | of(Reply, "logprobs")
    | {"images": int, "refused": str, "complaint": str, "logprob": float, "logprob_tokens": int},
    "scores": RUN | JUDGE | {"metric": str} | of(Score, "name", "interval") | {"low": float, "high": float},
    "verdicts": RUN | JUDGE | {"sample": str, "dialogue": str} | of(Verdict),
}


def schema(columns: Columns) -> Any:
    """A `pyarrow.Schema`."""
    import pyarrow as pa

    plain = {
        int: pa.int64(),
        float: pa.float64(),
        bool: pa.bool_(),
        datetime: pa.timestamp("us", tz="UTC"),
    }

    def made(kind: Any) -> Any:
        origin, inside = get_origin(kind), [one for one in get_args(kind) if one is not NoneType]
        if origin in (Annotated, Union, UnionType):  # X | None
            return made(inside[0])
        if origin in (list, tuple):
            return pa.list_(made(inside[0]))
        if origin is dict:
            return pa.map_(pa.string(), made(inside[1]))
        if origin is Literal or issubclass(kind, str):
            return pa.string()
        if kind in plain:
            return plain[kind]
        fields = of(kind) if issubclass(kind, BaseModel) else get_type_hints(kind)
        return pa.struct([(name, made(inner)) for name, inner in fields.items()])

    return pa.schema([(name, made(kind)) for name, kind in columns.items()])
