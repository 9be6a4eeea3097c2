"""Runs to compare, each written as a text with a character a sample.

first, second = two_runs(tmp_path)
other = run(tmp_path / "other", results("xx.f"))
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


def results(pattern: str, *, shift: int = 0, start: int = 0) -> list[Result]:
    """A sample a character: x is right, . wrong, f failed; `shift` turns the replies."""
    made = []
    for number, one in enumerate(pattern, start=start):
        reply = None if one == "f" else f"{WORDS[(number + shift) % len(WORDS)]} {number % (2 + shift)}."
        made.append(result(f"d{number}/3", reply, "joy" if one == "x" else "anger", gold="joy"))
    return made


def run(folder: Path, lines: Sequence[Result], **more: Any) -> str:
    """A run whose identity differs from others' in its settings alone; one log-probability a character."""
    logprobs = {line.id: [-0.5 - len(folder.name) / 10] * len(line.response or "") for line in lines}
    build_run(folder, lines, logprobs=logprobs, **more)
    edit(folder, lambda manifest: manifest["identity"].update(config=folder.name))
    return str(folder)


def edit(folder: Path | str, change: Callable[..., object] = bool, lines: Sequence[Result] | None = None) -> None:
    """Changes a manifest or all results, as a run has them that was made so: all digests fit."""
    file = Path(folder) / MANIFEST
    lines = list(read_results(file.parent).values()) if lines is None else lines
    manifest = json.loads(file.read_text(encoding="utf-8"))
    change(manifest)
    made = Manifest.model_validate(manifest).with_digest(len(lines))
    write_record(file, made)
    written = "".join(one.with_digest(made.identity).line() for one in lines)
    (file.parent / RESULTS).write_text(written, encoding="utf-8")


def two_runs(folder: Path) -> tuple[str, str]:
    """Ten samples of either run; nine are right in both or neither, and each has one failure."""
    return run(folder / "first", results("xxxx....fx")), run(folder / "second", results("xxxxxx..xf", shift=1))
