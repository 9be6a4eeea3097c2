"""Runs to compare. A pattern describes a run, with a character per sample.

first, second = write_two_runs(tmp_path)
other = write_run(tmp_path / "other", make_results("xx.f"))
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mmerg.runs.folder import RESULTS, read_results
from mmerg.runs.manifest import MANIFEST, Manifest
from mmerg.runs.result import Result
from mmerg.storage.record import write_record
from tests.scoring.run_builder import build_run, result

WORDS = ["oh no", "that is hard", "tell me more", "well", "I am so glad", "what happened then"]
FEW = ("--resamples", "60")


def make_results(pattern: str, *, shift: int = 0, start: int = 0) -> list[Result]:
    """Makes a result per character: x has the right label, . a wrong one, f failed. Another `shift` gives other
    replies; `start` is the number of the first sample."""
    made = []
    for number, character in enumerate(pattern, start=start):
        reply = None if character == "f" else f"{WORDS[(number + shift) % len(WORDS)]} {number % (2 + shift)}."
        made.append(result(f"d{number}/3", reply, "joy" if character == "x" else "anger", gold="joy"))
    return made


def write_run(folder: Path, lines: Sequence[Result], **more: Any) -> str:
    """Writes a run whose identity differs from others' only in its settings. Each character of a reply has a
    log-probability. Returns its path."""
    logprobs = {line.id: [-0.5 - len(folder.name) / 10] * len(line.response or "") for line in lines}
    build_run(folder, lines, logprobs=logprobs, **more)
    edit_run(folder, lambda manifest: manifest["identity"].update(config=folder.name))
    return str(folder)


def edit_run(folder: Path | str, change: Callable[..., object] = bool, lines: Sequence[Result] | None = None) -> None:
    """Changes the manifest, or replaces all results, and updates all digests, so that the run appears unchanged."""
    file = Path(folder) / MANIFEST
    lines = list(read_results(file.parent).values()) if lines is None else lines
    manifest = json.loads(file.read_text(encoding="utf-8"))
    change(manifest)
    edited = Manifest.model_validate(manifest).with_digest(len(lines))
    write_record(file, edited)
    text = "".join(line.with_digest(edited.identity).line() for line in lines)
    (file.parent / RESULTS).write_text(text, encoding="utf-8")


def write_two_runs(folder: Path) -> tuple[str, str]:
    """Writes two runs of ten samples with one failure each. The second has two more right labels."""
    first = write_run(folder / "first", make_results("xxxx....fx"))
    second = write_run(folder / "second", make_results("xxxxxx..xf", shift=1))
    return first, second
