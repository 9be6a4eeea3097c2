"""What the order of a prompt's parts costs: two layouts of mmerg against a plain loop, on one real Ollama server.

    paper  mmerg, frames=paper: what agents share comes first; MPA, CAEF and GRA see the keyframes
    all    mmerg, frames=all: the same with the keyframes for every agent
    naive  five calls of the `ollama` package's chat(): a system prompt for each agent, then keyframes and all there is

All ask the same server (one slot, `tools/tiny_vision.py` with its end token made unlikely) about the same samples of
the demo corpus, five calls each, the same words (naive's are those of `all`, in the other order), the same number of
generated tokens, free text. In place of the model's letters every agent is given the same valid answer, so contexts
grow alike. Cache off, keyframes already taken. Before each sample an unrelated call empties the server's prefix cache.

Wall is what a user waits for a sample, in ms: one at a time, as the run command asks each host of a model with eyes. It
has more than prompt evaluation: the server decodes every image of every call before it looks at its prefix cache, and
generates. This model is tiny and reads a byte a token, so on a large one prompt evaluation is more of the wall.

    python benchmarks/layouts.py --samples 5 --rounds 3
"""

import runpy
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter

import ollama

from benchmarks.parts import CALLS, ROOT, alternating, options, publish, ratio
from mmerg.backends.dry import Dry
from mmerg.backends.ollama import Ollama
from mmerg.backends.protocol import Finish, Message, Reply, Request, Sampling
from mmerg.corpora.dialogue import Sample
from mmerg.engine.sample import Experiment
from mmerg.experiment.plan import plan_run
from tests.composed import settings_of
from tests.ollama_server import create_from_gguf, start_server

MODEL, LOAD, TOKENS = "tiny-vision", {"num_ctx": 16384, "num_thread": 1}, 24
OWN_PART = "\n\nYour step:"  # where an agent's own part of the user message begins


class Measured(Ollama):
    """Asked for TOKENS tokens of free text, whatever the request says; the agent gets a valid answer. asked: what was
    to be asked."""

    def __init__(self, host: str) -> None:
        super().__init__(model=MODEL, load=LOAD, host=host)
        self.asked: list[Request] = []

    def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        sampling = replace(request.sampling, num_predict=TOKENS, stop=())
        reply = super().complete(replace(request, sampling=sampling, schema="", logprobs=False))
        return reply.model_copy(update={"text": Dry().complete(request).text, "finish": Finish.STOP})

    def forget(self) -> None:
        """Empty the server's prefix cache, by a call that no agent's prompt begins like."""
        super().complete(Request((Message("user", "Forget."),), Sampling(num_predict=1)))


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """The address of an Ollama server of our own with the model. Where there is no ollama binary the program ends here,
    saying so, with exit code 0."""
    command = [sys.executable, str(ROOT / "tools" / "get_ollama.py"), "--check"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        sys.stdout.write(f"not measured: {found.stderr.strip()}\n")
        sys.exit(0)
    tool = runpy.run_path(str(ROOT / "tools" / "tiny_vision.py"))
    named = tool["tensors"](0)
    named["output.bias"][tool["TURN_END"]] = -30.0  # an end token that never comes: replies have all their tokens
    (folder / "model.gguf").write_bytes(tool["gguf"](tool["metadata"](), named))
    started = start_server(Path(found.stdout.strip().splitlines()[-1]), folder)
    try:
        create_from_gguf(started.host, MODEL, folder / "model.gguf")
        yield started.host
    finally:
        started.kill()


def by_mmerg(backend: Measured, run: Experiment, sample: Sample) -> float:
    """One sample as the run command goes about it, without a run folder. Gives ms of prompt evaluation."""
    result = run.sample(sample, backend, lambda _: None, lambda *_: None)
    assert result.calls == CALLS, result
    return 1000 * result.timing.prompt_seconds


def by_loop(client: ollama.Client, asked: Mapping[str, Sequence[Request]], sample: Sample) -> float:
    """The same requests by a plain loop, put as a newcomer puts them: who you are and what to do first."""
    spent = 0
    for request in asked[sample.id]:
        system, user = request.messages
        material, found, task = user.text.partition(OWN_PART)
        assert found, "the templates have changed, and so must this program"
        messages: list[dict[str, object]] = [
            {"role": "system", "content": system.text + OWN_PART + task},
            {"role": "user", "content": material, "images": [image.data for image in user.images]},
        ]
        said = client.chat(MODEL, messages=messages, options={**LOAD, "num_predict": TOKENS, "seed": 0})
        spent += said.prompt_eval_duration or 0
    return spent / 1e6


def main() -> None:
    """Start a server, time the layouts, print."""
    given = options(__doc__, samples=5, rounds=3)
    with tempfile.TemporaryDirectory() as name, server(Path(name)) as host, closing(Measured(host)) as backend:
        runs = {}
        for frames in ("paper", "all"):
            asking = (
                "backend=ollama",
                "backbone=qwen2.5vl-7b",
                "backbone.image_side=448",
                "memory=none",
                f"frames={frames}",
                f"runs={name}",
            )
            shown = ("frames.last_turns=3", "frames.per_clip=4", "frames.max_frames=8", f"limit={given.samples}")
            plan = plan_run(settings_of("dataset=demo", *asking, *shown))
            runs[frames] = partial(by_mmerg, backend, plan.experiment(backend.describe(), plan.samples.wanted))
        asked: dict[str, Sequence[Request]] = {}
        for sample in plan.samples.wanted:
            backend.asked.clear()
            runs["all"](sample)  # takes the keyframes, loads the model
            asked[sample.id] = tuple(backend.asked)
        ways = {**runs, "naive": partial(by_loop, ollama.Client(host=host), asked)}

        def mean(work: Callable[[Sample], float]) -> tuple[float, float]:
            """Milliseconds a sample, of wall and of prompt evaluation."""
            walls, spent = list[float](), list[float]()
            for sample in plan.samples.wanted:
                backend.forget()
                begun = perf_counter()
                spent.append(work(sample))
                walls.append(1000 * (perf_counter() - begun))
            return statistics.mean(walls), statistics.mean(spent)

        found = alternating({way: partial(mean, work) for way, work in ways.items()}, given.rounds)
    figures: dict[str, Sequence[float]] = {}
    for place, kind in enumerate(("wall", "prompt evaluation")):
        ms = {way: [one[place] for one in rounds] for way, rounds in found.items()}
        figures |= {f"{way}, {kind}, ms a sample": each for way, each in ms.items()}
        figures |= {f"{way} to naive, {kind}": ratio(ms[way], ms["naive"]) for way in ("paper", "all")}
    publish(given, figures)


if __name__ == "__main__":
    main()
