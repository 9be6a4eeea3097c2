"""What two run folders hold, for tests that hold them against each other file by file."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from mmerg.runs.folder import FRAMES, MANIFEST, RESULTS, TRACE

# How answers were had, not what they are (docs/runs.md): of a result, of a reply, of a start, of a config.
OF_RESULT = re.compile(rb'"(cached_calls|seconds)": [0-9.]+')  # quotes within a text are escaped
OF_REPLY = ("cached", "host", "seconds", "prompt_seconds", "reused_tokens")
OF_START = ("sessions", "versions", "git_commit")
OF_CONFIG = ("runs", "cache_dir")


def held(run: Path) -> dict[str, Any]:
    """All files of a run folder by path, but for its lock, less how answers were had: results as bytes, the trace's
    events by sample, as samples in flight write in turns."""
    found: dict[str, Any] = {}
    for file in sorted(path for path in run.rglob("*") if path.is_file() and path.name != ".lock"):
        name = str(file.relative_to(run))
        match name:
            case "results.jsonl":
                found[name] = OF_RESULT.sub(b"", file.read_bytes())
            case "trace.jsonl":
                found[name] = _events(file)
            case "manifest.json":
                found[name] = _manifest(json.loads(file.read_bytes()))
            case _:
                found[name] = file.read_bytes()
    assert {RESULTS, TRACE, MANIFEST} <= set(found)
    assert all(name in (RESULTS, TRACE, MANIFEST) or name.startswith(f"{FRAMES}/") for name in found), list(found)
    return found


def _events(file: Path) -> dict[str, list[Any]]:
    by_sample: defaultdict[str, list[Any]] = defaultdict(list)
    for line in file.read_bytes().splitlines():
        event = json.loads(line)
        del event["at"]
        if event["kind"] == "called":
            for name in OF_REPLY:
                del event["reply"][name]
        by_sample[event["sample"]].append(list(event.items()))  # in order: fields stand as they are written
    return dict(by_sample)


def _manifest(manifest: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in manifest.items() if key not in OF_START}
    kept["config"] = {key: value for key, value in kept["config"].items() if key not in OF_CONFIG}
    return kept
