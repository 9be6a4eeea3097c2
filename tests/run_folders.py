"""The contents of run folders, for tests that compare them file by file."""

import json
import re
from pathlib import Path
from typing import Any

from mmerg.runs.events import EVENT, Event
from mmerg.runs.folder import FRAMES, LOCK, RESULTS
from mmerg.runs.manifest import MANIFEST
from mmerg.runs.result import Result
from mmerg.runs.samples import SAMPLES

# Fields that do not affect results, in results, completions, manifests and settings. Quotes within a text are escaped.
OF_RESULT = re.compile(rb'"(cached_calls|seconds)": [0-9.]+|"digest": "\w+"|"timing": {[^}]*}')
OF_COMPLETION = ("cached", "host", "seconds", "prompt_seconds", "reused_tokens")
OF_MANIFEST = ("sessions", "digest")
OF_SETTINGS = ("runs", "cache_dir")


def read_contents(run: Path) -> dict[str, Any]:
    """Reads all files of a run folder, by path, without the fields above: results as bytes, events parsed."""
    contents: dict[str, Any] = {}
    for file in sorted(path for path in run.rglob("*") if path.is_file() and path.name != LOCK):
        name = str(file.relative_to(run))
        match name:
            case "results.jsonl":
                contents[name] = OF_RESULT.sub(b"", file.read_bytes())
            case "manifest.json":
                contents[name] = _strip_manifest(json.loads(file.read_bytes()))
            case _:
                contents[name] = _read_events(file) if name.startswith(f"{SAMPLES}/") else file.read_bytes()
    others = [name for name in contents if not name.startswith((f"{FRAMES}/", f"{SAMPLES}/"))]
    assert sorted(others) == sorted((RESULTS, MANIFEST))
    return contents


def comparable(result: Result) -> dict[str, Any]:
    """Returns the fields that runs with equal replies share."""
    return result.model_dump(mode="json", exclude={"cached_calls", "seconds", "timing", "digest"})


def read_all_events(run: Path) -> list[Event]:
    files = sorted((run / SAMPLES).glob("*.jsonl"))
    return [EVENT.validate_python(json.loads(line)) for file in files for line in file.read_bytes().splitlines()]


def _read_events(file: Path) -> list[Any]:
    events = []
    for line in file.read_bytes().splitlines():
        event = json.loads(line)
        del event["at"]
        event.pop("before", None)  # a digest of events with their times
        if event["kind"] == "called":
            for name in OF_COMPLETION:
                del event["completion"][name]
        events.append(list(event.items()))  # so that the order of fields counts
    return events


def _strip_manifest(manifest: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in manifest.items() if key not in OF_MANIFEST}
    kept["settings"] = {key: value for key, value in kept["settings"].items() if key not in OF_SETTINGS}
    return kept
