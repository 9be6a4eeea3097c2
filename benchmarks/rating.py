"""Checks the promises of rating studies: intervals contain the true value, and no saved rating is lost when the server
is killed.

    python benchmarks/rating.py        # takes minutes

Simulated studies have known standard deviations of dialogues, raters and noise. The true mean is 3, as scores or as
differences.
"""

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median, quantiles

import httpx
import numpy as np
from pandas import DataFrame, Index

from mmerg.rating.page import FOLDER
from mmerg.rating.score import estimate_mean
from mmerg.rating.study import read_links, read_study
from tests.rating.parts import create_study

STUDIES = {  # dialogues, raters, and the standard deviations of dialogues, raters and noise
    "ratings, 3 raters": (100, 3, 0.8, 0.3, 0.8),
    "ratings, 5 raters": (50, 5, 0.8, 0.3, 0.8),
    "differences, 3 raters": (100, 3, 0.8, 0.1, 1.0),
    "differences, raters alike": (100, 3, 0.8, 0.0, 1.0),
}
STUDIES_PER_CASE, KILLS = 400, 20


def measure_coverage(dialogues: int, raters: int, *spread: float) -> float:
    """Returns the share of simulated studies whose interval contains the true mean."""
    covered = 0
    for seed in range(STUDIES_PER_CASE):
        random = np.random.default_rng(seed)
        shapes = ((dialogues, 1), (1, raters), (dialogues, raters))
        parts = [random.normal(0, sd, shape) for sd, shape in zip(spread, shapes, strict=True)]
        ratings = DataFrame(3 + parts[0] + parts[1] + parts[2], index=Index(range(dialogues), name="dialogue"))
        score, _ = estimate_mean("mean", ratings, (-99, 99), draws=200, seed=0)
        covered += score.interval is not None and score.interval[0] <= 3 <= score.interval[1]
    return covered / STUDIES_PER_CASE


def start_server(folder: Path, port: int = 0) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "mmerg.rate", "serve", str(folder), f"port={port}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    match = re.search(r"http://[\d.:]+/", process.stdout.readline())
    assert match
    return process, match[0]


def kill_and_count(folder: Path) -> tuple[int, int, list[float]]:
    """Kills the server `KILLS` times while a rater clicks. Returns the number of ratings that it confirmed as saved,
    how many of them are missing afterwards, and the milliseconds that each took to save."""
    token, questions = read_links(folder)["r1"], list(read_study(folder).form.questions)
    saved: list[str] = []
    times: list[float] = []
    for kill in range(KILLS):
        process, url = start_server(folder)
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
            end = time.monotonic() + 0.3 + 0.02 * kill
            with suppress(httpx.TransportError):
                while True:
                    id, start = f"{kill}-{len(saved)}", time.perf_counter()
                    fields = {"id": id, "place": len(saved) % 20, "question": questions[len(saved) % 3], "value": 4}
                    if time.monotonic() > end:
                        process.send_signal(signal.SIGKILL)
                    client.post("/answers", json=fields).raise_for_status()
                    saved.append(id)
                    times.append(1000 * (time.perf_counter() - start))
        process.kill()
        process.wait()
    lines = (folder / "ratings.jsonl").read_bytes().splitlines()
    kept = {json.loads(line)["id"] for line in lines if line.endswith(b"}")}
    return len(saved), len(set(saved) - kept), times


def main() -> None:
    print_results({f"coverage of {name}": measure_coverage(*numbers) for name, numbers in STUDIES.items()})
    with tempfile.TemporaryDirectory() as folder:
        saved, lost, times = kill_and_count(create_study(Path(folder), 12))
    print_results({f"ratings lost of {saved} in {KILLS} kills": lost})
    print_results({"ms to save a click, median": median(times), "95th percentile": quantiles(times, n=20)[-1]})
    print_results({"bytes of the page": sum(file.stat().st_size for file in FOLDER.iterdir())})


def print_results(results: dict[str, float]) -> None:
    print(json.dumps({"benchmark": "rating"} | {name: round(value, 3) for name, value in results.items()}))  # noqa: T201


if __name__ == "__main__":
    main()
