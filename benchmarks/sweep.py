"""How many calls a sweep makes, against separate runs: the iterations' seven rows and the exemplars' six.

All rows run on turns of the demo corpus with its memory and without frames, against a scripted Ollama server whose
answers depend on the request alone: once with one reply cache for all (a sweep), once each with a cache of its own. The
row `t2` of the iterations is `k1` of the exemplars, so the 13 rows are 12 runs; that run by itself is the unit of the
ratios. How often refinement is needed is up to the model: each of the auditor's four checks passes with the probability
that `--pass-rate` names.

The iterations cost the calls of their longest row. A row of the exemplars shows SGRG other words, so SGRG is its own
and, where its reply differs, so are GRA and whatever an audit then runs again: 2 calls of 5 or more. Where every audit
passes at once, all rows so take 3 times the calls of one full run (5 + 5 · 2 of 5), which then is the longest row, too.
2.5 times would need every second reply to stay the same word for word, whatever exemplars are shown: only then GRA's
call is there already. Sums depend on the pass rate, not on the machine.

Prints calls made and ratios for each pass rate, then one line of JSON.

    python benchmarks/sweep.py --samples 6 --pass-rate 0.75 1
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.parts import publish
from mmerg.experiment.launch import launch
from tests.composed import composed
from tests.engine.parts import as_text, audit
from tests.scripted_ollama import ScriptedOllama, merg_answer, scripted_ollama

ROWS = {
    "iterations": ("t1", "t2", "t3", "t4", "t5", "t6", "last_pass"),
    "topk": ("k0", "k1", "k2", "k3", "k4", "k5"),
}
UNIT = ("topk", "k1")  # the full system as it is by default


def answering(rate: float) -> Callable[[dict[str, Any]], str]:
    """Answers by stage; each check of an audit passes with probability `rate`, decided by the request's hash."""

    def answer(body: dict[str, Any]) -> str:
        checks = body.get("format", {}).get("properties", {})
        if "sgrg" not in checks:
            return merg_answer(body)
        mark = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest()
        return as_text(audit({name: mark[place] < 256 * rate for place, name in enumerate(checks)}))

    return answer


def run(server: ScriptedOllama, folder: Path, experiment: str, row: str, samples: int) -> int:
    """One row, its reply cache in `folder`; the calls that reached the server."""
    before = server.calls
    config = composed(
        *(f"+experiment={experiment}", f"row={row}", "dataset=demo", "system.max_iterations=2"),
        *("protocol.targets=all", f"limit={samples}", "frames=none"),
        *("backend=ollama", "backbone=qwen2.5vl-7b", f"backend.hosts=[{server.url}]", f"runs={folder}"),
    )
    with contextlib.redirect_stdout(io.StringIO()) as said:
        failed = sum(ended.failed for ended in launch(config))
    if failed:
        raise SystemExit(said.getvalue())
    return server.calls - before


def measured(rate: float, samples: int, folder: Path) -> dict[str, Any]:
    """Calls of each way, for one pass rate."""
    with scripted_ollama(answer=answering(rate)) as server:
        shared = {
            experiment: {row: run(server, folder / "shared", experiment, row, samples) for row in rows}
            for experiment, rows in ROWS.items()
        }
        alone = {
            experiment: {row: run(server, folder / f"{experiment}-{row}", experiment, row, samples) for row in rows}
            for experiment, rows in ROWS.items()
        }
    unit = alone[UNIT[0]][UNIT[1]]
    sums = {
        "shared": {experiment: sum(calls.values()) for experiment, calls in shared.items()},
        "separate": {experiment: sum(calls.values()) for experiment, calls in alone.items()},
    }
    return {
        "pass_rate": rate,
        "one_full_run": unit,
        "shared": sums["shared"],
        "separate": sums["separate"],
        "to_one_full_run": round(sum(sums["shared"].values()) / unit, 3),
        "separate_to_shared": round(sum(sums["separate"].values()) / sum(sums["shared"].values()), 3),
        "by_row": shared,
    }


def told(found: Mapping[str, Any]) -> list[str]:
    """A pass rate's lines."""
    lines = [f"checks pass at {found['pass_rate']:g}: one full run takes {found['one_full_run']} calls"]
    for experiment in ROWS:
        rows = ", ".join(f"{row} {calls}" for row, calls in found["by_row"][experiment].items())
        made, apart = found["shared"][experiment], found["separate"][experiment]
        lines.append(f"  {experiment:<11}{made:5} shared, {apart:5} separate; in order: {rows}")
    both = (
        f"{found['to_one_full_run']:.2f} times one full run; separate runs {found['separate_to_shared']:.2f} times it"
    )
    return [*lines, f"  both       {sum(found['shared'].values()):5} shared: {both}"]


def main() -> None:
    """Run both experiments both ways, print."""
    parser = argparse.ArgumentParser(description="Calls of a sweep against those of separate runs.")
    parser.add_argument("--samples", type=int, default=6)
    parser.add_argument("--pass-rate", type=float, nargs="+", default=[0.75, 1.0])
    options = parser.parse_args()
    found = []
    for rate in options.pass_rate:
        with tempfile.TemporaryDirectory() as folder:
            found.append(measured(rate, options.samples, Path(folder)))
    publish(
        [line for one in found for line in told(one)],
        {"benchmark": "sweep", "samples": options.samples, "by_pass_rate": found},
    )


if __name__ == "__main__":
    main()
