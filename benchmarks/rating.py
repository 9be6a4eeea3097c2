"""What a study of people's ratings holds to: intervals that cover the truth, clicks saved, none lost when killed.

    python benchmarks/rating.py        # minutes

Simulated studies have dialogues, raters and noise with known spread; their truth is a mean of 3 and a difference of 0.
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

from mmerg.rating.page import FOLDER
from mmerg.rating.score import two_way
from mmerg.rating.study import read_links, read_study
from tests.rating.parts import study

STUDIES = {  # dialogues, raters, and the standard deviations of dialogues, raters and noise
    "ratings, 3 raters": (100, 3, 0.8, 0.3, 0.8),
    "ratings, 5 raters": (50, 5, 0.8, 0.3, 0.8),
    "differences, 3 raters": (100, 3, 0.8, 0.1, 1.0),
    "differences, raters alike": (100, 3, 0.8, 0.0, 1.0),
}
DRAWS, KILLS = 400, 20


def covered(dialogues: int, raters: int, *spread: float) -> float:
    """The share of studies whose interval holds the truth."""
    held = 0
    for seed in range(DRAWS):
        random = np.random.default_rng(seed)
        shapes = ((dialogues, 1), (1, raters), (dialogues, raters))
        parts = [random.normal(0, sd, shape) for sd, shape in zip(spread, shapes, strict=True)]
        values = 3 + parts[0] + parts[1] + parts[2]
        found, _ = two_way("mean", values, list(map(str, range(dialogues))), 200, 0, (-99, 99))
        held += found.interval is not None and found.interval[0] <= 3 <= found.interval[1]
    return held / DRAWS


def begin(folder: Path, port: int = 0) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "mmerg.rate", "serve", str(folder), f"port={port}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    match = re.search(r"http://[\d.:]+/", process.stdout.readline())
    assert match
    return process, match[0]


def killed(folder: Path) -> tuple[int, int, list[float]]:
    """Answers that the server said were saved, those of them that are gone after `KILLS` kills at any moment, and how
    long each took to save (ms)."""
    token, known = read_links(folder)["r1"], list(read_study(folder).form.questions)
    saved: list[str] = []
    times: list[float] = []
    for kill in range(KILLS):
        process, url = begin(folder)
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
            end = time.monotonic() + 0.3 + 0.02 * kill
            with suppress(httpx.TransportError):
                while True:
                    id, begun = f"{kill}-{len(saved)}", time.perf_counter()
                    fields = {"id": id, "place": len(saved) % 20, "question": known[len(saved) % 3], "value": 4}
                    if time.monotonic() > end:
                        process.send_signal(signal.SIGKILL)
                    client.post("/answers", json=fields).raise_for_status()
                    saved.append(id)
                    times.append(1000 * (time.perf_counter() - begun))
        process.kill()
        process.wait()
    kept = {
        json.loads(line)["id"] for line in (folder / "ratings.jsonl").read_bytes().splitlines() if line[-1:] == b"}"
    }
    return len(saved), len(set(saved) - kept), times


def main() -> None:
    tell({f"coverage of {name}": covered(*given) for name, given in STUDIES.items()})
    with tempfile.TemporaryDirectory() as folder:
        saved, lost, times = killed(study(Path(folder), 12))
    tell({f"ratings lost of {saved} in {KILLS} kills": lost})
    tell({"ms to save a click, median": median(times), "95th percentile": quantiles(times, n=20)[-1]})
    tell({"bytes of the page": sum(file.stat().st_size for file in FOLDER.iterdir())})


def tell(figures: dict[str, float]) -> None:
    print(json.dumps({"benchmark": "rating"} | {name: round(value, 3) for name, value in figures.items()}))  # noqa: T201


if __name__ == "__main__":
    main()
