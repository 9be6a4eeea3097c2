"""Measures the overhead of the server, on backends without a model.

first status  milliseconds from sending a turn to its first status, over an open connection
overhead      milliseconds per call of MERG through the server, minus those of the same turn through `Experiment`
memory        of the server's process after --turns turns, as a ratio to that after 20; each turn is a new chat
lost, mixed   replies that 50 simultaneous clients did not get, or that belong to another client; 4 turns each

python benchmarks/serving.py --turns 2000 --rounds 50
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import httpx

from benchmarks.parts import CALLS, ROOT, parse_options, print_results, run_in_turn
from mmerg.backends.dry import Dry
from mmerg.backends.scripted import Scripted
from mmerg.experiment.talk import with_uploads
from mmerg.serving.talk import ReplyRequest, Utterance
from tests.serving.running import running
from tests.serving.scripts import echo

CLIENTS, EACH, EARLY = 50, 4, 20


def build_form(number: int, system: str = "mmerg-merg") -> dict[str, tuple[None, str]]:
    """Builds the form that the page sends for the only turn of a new chat. The number is in its text."""
    turns = [{"role": "user", "text": f"This is number {number}, and I lost my job."}]
    return {"talk": (None, json.dumps({"chat": f"chat-{number}", "system": system, "turns": turns}))}


def measure_speed(rounds: int) -> dict[str, list[float]]:
    """Measures the milliseconds to the first status, and the overhead per call, once per round."""
    with running(Dry()) as server, httpx.Client(base_url=server.url) as client:
        system = server.state.systems["mmerg-merg"]
        first_status: list[float] = []

        def through_server() -> float:
            start = perf_counter()
            with client.stream("POST", "/page/turns", files=build_form(len(first_status))) as response:
                chunks = response.iter_bytes()
                next(chunks)
                first_status.append(1000 * (perf_counter() - start))
                assert b"event: done" in b"".join(chunks)
            return 1000 * (perf_counter() - start)

        def direct() -> float:
            utterance = Utterance("user", f"This is number {len(first_status)}, and I lost my job.")
            request = ReplyRequest(system, "chat", (utterance,), None)
            start = perf_counter()
            sample, uploads = request.build_sample()
            experiment = with_uploads(system.experiment, uploads)
            result = experiment.run_sample(sample, Dry(), lambda _: None, lambda *_: None)
            assert result.calls == CALLS
            return 1000 * (perf_counter() - start)

        variants = {"server": through_server, "direct": direct}
        run_in_turn(variants, 3)
        first_status.clear()
        times = run_in_turn(variants, rounds)
    overhead = [(served - alone) / CALLS for served, alone in zip(times["server"], times["direct"], strict=True)]
    return {"first status, ms": first_status, "overhead, ms per call": overhead}


@contextmanager
def run_server() -> Iterator[tuple[str, Path]]:
    """Runs a server in a separate process. Yields its address, and the file in which Linux reports its memory."""
    command = [sys.executable, "-m", "mmerg.serve", "backend=dry", "port=0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout
            matches = (re.match(r"page: (\S+)/", line) for line in server.stdout)
            address = next(match[1] for match in matches if match)
            yield address, Path(f"/proc/{server.pid}/status")
        finally:
            server.terminate()


def measure_memory(turns: int) -> dict[str, float]:
    """Measures the server's megabytes after all turns, and their ratio to those after the early turns."""
    kilobytes: list[int] = []
    with run_server() as (address, status), httpx.Client(base_url=address) as client:
        for number in range(turns):
            assert "event: done" in client.post("/page/turns", files=build_form(number), timeout=60).text
            if number + 1 in (EARLY, turns):
                kilobytes += map(int, re.findall(r"VmRSS:\s+(\d+) kB", status.read_text(encoding="utf-8")))
    return {"memory, MB": kilobytes[-1] / 1024, "memory to early": kilobytes[-1] / kilobytes[0]}


def count_wrong_replies() -> dict[str, int]:
    """Counts the replies to simultaneous clients that were lost or mixed up."""
    with running(Scripted(echo), slots=4) as server, ThreadPoolExecutor(CLIENTS) as clients:

        def get_reply(number: int) -> str:
            try:
                form = build_form(number, "mmerg-one_pass")
                stream = httpx.post(f"{server.url}/page/turns", files=form, timeout=600).text
            except httpx.HTTPError:
                return ""
            match = re.search(r"event: reply\ndata: (.*)", stream)
            return str(json.loads(match[1])["text"]) if match else ""

        replies = list(clients.map(get_reply, range(CLIENTS * EACH)))
    mixed = sum(bool(reply) and f"number {number}," not in reply for number, reply in enumerate(replies))
    return {"replies": len(replies), "lost": replies.count(""), "mixed": mixed}


def main() -> None:
    options = parse_options(__doc__, turns=2000, rounds=50)
    speed, memory = measure_speed(options.rounds), measure_memory(options.turns)
    print_results(options, {**speed, **memory, **count_wrong_replies()})


if __name__ == "__main__":
    main()
