"""What the server costs beside the systems it serves, on the backend that needs no model.

first status  milliseconds from a turn's sending to the first that is told of it, over a kept connection
overhead      milliseconds a call of MERG through the server, over the same turn straight through `Experiment`
memory        of the server's own process after --turns turns, to that after 20; each turn is another chat
lost, mixed   replies that 50 clients at once did not get, or got of another, of 4 turns each

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

from benchmarks.parts import CALLS, ROOT, alternating, options, publish
from mmerg.backends.dry import Dry
from mmerg.backends.scripted import Scripted
from mmerg.experiment.talk import with_uploads
from mmerg.serving.talk import ReplyRequest, Utterance
from tests.serving.running import running
from tests.serving.scripts import echo

CLIENTS, EACH, EARLY = 50, 4, 20


def talk(number: int, system: str = "mmerg-merg") -> dict[str, tuple[None, str]]:
    """A form of the page's, its words and its chat its own."""
    turns = [{"who": "you", "text": f"This is number {number}, and I lost my job."}]
    return {"talk": (None, json.dumps({"chat": f"chat-{number}", "system": system, "turns": turns}))}


def speed(rounds: int) -> dict[str, list[float]]:
    """Milliseconds to the first status, and of overhead a call, once a round."""
    with running(Dry()) as server, httpx.Client(base_url=server.url) as client:
        offered = server.state.offered["mmerg-merg"]
        first: list[float] = []

        def served() -> float:
            begun = perf_counter()
            with client.stream("POST", "/page/turns", files=talk(len(first))) as answer:
                chunks = answer.iter_bytes()
                next(chunks)
                first.append(1000 * (perf_counter() - begun))
                assert b"event: done" in b"".join(chunks)
            return 1000 * (perf_counter() - begun)

        def straight() -> float:
            said = Utterance("you", f"This is number {len(first)}, and I lost my job.")
            asked = ReplyRequest(offered, "chat", (said,), None)
            begun = perf_counter()
            sample, uploads = asked.build_sample()
            experiment = with_uploads(offered.experiment, uploads)
            result = experiment.run_sample(sample, Dry(), lambda _: None, lambda *_: None)
            assert result.calls == CALLS
            return 1000 * (perf_counter() - begun)

        variants = {"served": served, "straight": straight}
        alternating(variants, 3)
        first.clear()
        told = alternating(variants, rounds)
    overhead = [(one - other) / CALLS for one, other in zip(told["served"], told["straight"], strict=True)]
    return {"first status, ms": first, "overhead, ms a call": overhead}


@contextmanager
def process() -> Iterator[tuple[str, Path]]:
    """A server of its own: its address, and where the system tells its memory."""
    command = [sys.executable, "-m", "mmerg.serve", "backend=dry", "port=0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout
            address = next(found[1] for line in server.stdout if (found := re.match(r"page: (\S+)/", line)))
            yield address, Path(f"/proc/{server.pid}/status")
        finally:
            server.terminate()


def memory(turns: int) -> dict[str, float]:
    """Megabytes after all the turns, and as a ratio to what was there early."""
    kilobytes: list[int] = []
    with process() as (address, status), httpx.Client(base_url=address) as client:
        for number in range(turns):
            assert "event: done" in client.post("/page/turns", files=talk(number), timeout=60).text
            if number + 1 in (EARLY, turns):
                kilobytes += map(int, re.findall(r"VmRSS:\s+(\d+) kB", status.read_text(encoding="utf-8")))
    return {"memory, MB": kilobytes[-1] / 1024, "memory to early": kilobytes[-1] / kilobytes[0]}


def load() -> dict[str, int]:
    """How many replies were lost, and mixed up."""
    with running(Scripted(echo), slots=4) as server, ThreadPoolExecutor(CLIENTS) as clients:

        def said(number: int) -> str:
            try:
                form = talk(number, "mmerg-one_pass")
                told = httpx.post(f"{server.url}/page/turns", files=form, timeout=600).text
            except httpx.HTTPError:
                return ""
            found = re.search(r"event: reply\ndata: (.*)", told)
            return str(json.loads(found[1])["text"]) if found else ""

        replies = list(clients.map(said, range(CLIENTS * EACH)))
    mixed = sum(bool(reply) and f"number {number}," not in reply for number, reply in enumerate(replies))
    return {"replies": len(replies), "lost": replies.count(""), "mixed": mixed}


def main() -> None:
    """Measure, print."""
    given = options(__doc__, turns=2000, rounds=50)
    publish(given, {**speed(given.rounds), **memory(given.turns), **load()})


if __name__ == "__main__":
    main()
