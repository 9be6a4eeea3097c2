"""The columns of the tables and their types: the same for every run, also where a column is empty.

Types are named here in DuckDB's manner and made into Arrow's by `arrow`, so that this file needs no package.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Columns: TypeAlias = dict[str, str | dict[str, str]]  # types by name; a dictionary is a list of structs with these

_RUN: Columns = {
    "run": "text",
    "corpus": "text",
    "split": "text",
    "system": "text",
    "backbone": "text",
    "model": "text",
}
_CHECKS = {"checks": "map of bool"}

SAMPLES = _RUN | {
    "protocol": "text",
    "sample": "text",
    "dialogue": "text",
    "status": "text",
    "responder": "text",
    "history": {"speaker": "text", "text": "text"},
    "labels": "texts",
    "frames": "integer",
    "frames_form": "text",
    "response": "text",
    "emotion": "text",
    "plan": "text",
    **_CHECKS,
    "selected_pass": "integer",
    "passes": "integer",
    "repeated_passes": "integer",
    "ended": "text",
    "gold_response": "text",
    "gold_emotion": "text",
    "turns_looked_at": "integer",
    "clip_problems": "integer",
    "exemplars": "integer",
    "excluded": "map of integer",
    "exemplars_problem": "text",
    "calls": "integer",
    "cached_calls": "integer",
    "prompt_tokens": "integer",
    "response_tokens": "integer",
    "logprob": "real",
    "logprob_tokens": "integer",
    "seconds": "real",
    "failure": "text",
    "failure_text": "text",
}
PASSES = _RUN | {
    "sample": "text",
    "t": "integer",
    "status": "text",
    "selected": "bool",
    "rerun_from": "text",
    "rerun_reason": "text",
    "rerun_correction": "text",
    "ran": "texts",
    "outputs": "text",
    **_CHECKS,
    "fault": "text",
    "findings": {"stage": "text", "passed": "bool", "reason": "text", "correction": "text"},
    "failure": "text",
    "failure_text": "text",
    "supplied": {"stage": "text", "symbol": "text", "content": "text"},
    "excluded": {
        "stage": "text",
        "symbol": "text",
        "id": "text",
        "guard": "text",
        "similarity": "real",
        "reply": "text",
    },
}
CALLS = _RUN | {
    "sample": "text",
    "t": "integer",
    "stage": "text",
    "attempt": "integer",
    "at": "time",
    "digest": "text",
    "finish": "text",
    "refused": "text",
    "complaint": "text",
    "text": "text",
    "thinking": "text",
    "images": "integer",
    "prompt_tokens": "integer",
    "reused_tokens": "integer",
    "response_tokens": "integer",
    "logprob": "real",
    "logprob_tokens": "integer",
    "prompt_seconds": "real",
    "seconds": "real",
    "cached": "bool",
    "host": "text",
    "sampling": "text",
}
PROMPTS: Columns = {"messages": {"role": "text", "text": "text", "images": "texts"}, "answer_schema": "text"}


def arrow(columns: Columns) -> Any:
    """A `pyarrow.Schema`; a column that is a dictionary is a list of structs with these fields."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "integer": pa.int64(),
        "real": pa.float64(),
        "bool": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
        "map of bool": pa.map_(pa.string(), pa.bool_()),
        "map of integer": pa.map_(pa.string(), pa.int64()),
    }

    def made(kind: Any) -> Any:
        if isinstance(kind, dict):
            return pa.list_(pa.struct([(name, made(inner)) for name, inner in kind.items()]))
        return types[kind]

    return pa.schema([(name, made(kind)) for name, kind in columns.items()])
