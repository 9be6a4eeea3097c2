"""How many calls a sweep makes, against one full run: the iterations' seven rows and the exemplars' six.

All rows run on turns of the demo corpus with its memory and without frames, with one reply cache, against a scripted
Ollama server whose answers depend on the request alone. The row `t2` of the iterations is `k1` of the exemplars, so the
13 rows are 12 runs; that run by itself is the unit. How often refinement is needed is up to the model: each of the
auditor's four checks passes with the probability that `--pass-percent` names. The counts do not depend on the machine.

The iterations cost the calls of their longest row. A row of the exemplars shows SGRG other words, so SGRG is its own
and, where its reply differs, so are GRA and whatever an audit then runs again.

    python benchmarks/sweep.py --samples 6 --pass-percent 100
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.parts import options, publish
from mmerg.experiment.launch import launch
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse
from tests.composed import composed
from tests.engine.parts import as_text, audit
from tests.scripted_ollama import ScriptedOllama, merg_answer, scripted_ollama

ROWS = {"iterations": ("t1", "t2", "t3", "t4", "t5", "t6", "last_pass"), "topk": ("k0", "k1", "k2", "k3", "k4", "k5")}


def answer(percent: int, body: dict[str, Any]) -> str:
    """An answer by stage; each check of an audit passes with a probability of `percent`, by the request's hash."""
    checks = body.get("format", {}).get("properties", {})
    if "sgrg" not in checks:
        return merg_answer(body)
    mark = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest()
    return as_text(audit({name: mark[place] < 2.56 * percent for place, name in enumerate(checks)}))


def run(server: ScriptedOllama, folder: Path, experiment: str, row: str, samples: int) -> int:
    """One row, its reply cache in `folder`; the calls that reached the server."""
    before = server.calls
    config = composed(
        *(f"+experiment={experiment}", f"row={row}", "dataset=demo", "system.max_iterations=2"),
        *("protocol.targets=all", f"limit={samples}", "frames=none"),
        *("backend=ollama", "backbone=qwen2.5vl-7b", f"backend.hosts=[{server.url}]", f"runs={folder}"),
    )
    with contextlib.redirect_stdout(io.StringIO()) as said:
        failed = sum(ended.failed for ended in launch(parse(config, RunSettings)))
    if failed:
        raise SystemExit(said.getvalue())
    return server.calls - before


def main() -> None:
    """Run both experiments and the unit, print."""
    given = options(__doc__, samples=6, pass_percent=75)
    with tempfile.TemporaryDirectory() as name, scripted_ollama(answer=partial(answer, given.pass_percent)) as server:
        unit = run(server, Path(name) / "unit", "topk", "k1", given.samples)
        calls = {
            experiment: {row: run(server, Path(name) / "shared", experiment, row, given.samples) for row in rows}
            for experiment, rows in ROWS.items()
        }
    times = sum(sum(rows.values()) for rows in calls.values()) / unit
    lines = [f"checks pass at {given.pass_percent} %: one full run takes {unit} calls, all rows {times:.2f} times that"]
    lines += [
        f"  {experiment:<11}{', '.join(f'{row} {n}' for row, n in rows.items())}" for experiment, rows in calls.items()
    ]
    publish(lines, {"benchmark": "sweep", "one_full_run": unit, "to_one_full_run": times, "calls": calls} | vars(given))


if __name__ == "__main__":
    main()
