"""What the order of a prompt's parts costs: two layouts of mmerg against a plain loop, on one real Ollama server.

    paper  mmerg, frames=paper: what agents share comes first; MPA, CAEF and GRA see the keyframes
    all    mmerg, frames=all: the same with the keyframes for every agent
    naive  five calls of the `ollama` package's chat(): a system prompt for each agent, then keyframes and all there is

All ask the same server (one slot, `tools/tiny_vision.py` with its end token made unlikely) about the same samples of
the demo corpus, five calls each, the same words (naive's are those of `all`, in the other order), the same number of
generated tokens, free text; in place of the model's letters every agent is given the same valid answer, so contexts
grow alike. Cache off, keyframes already taken. Before each sample an unrelated call empties the server's prefix cache.

Wall is what a user waits for a sample: the run command asks for one sample at a time of each host (`concurrency: 1` of
every backbone with eyes), as the plain loop does. Other is wall less prompt evaluation: before it looks at its prefix
cache the server decodes every image of every call, which no order of a prompt's parts can save; and generation. So wall
ratios lie above those of prompt evaluation, the more so as this model is tiny; on a large one evaluating images weighs
more, and so does generation, which is the same for all three.

The model reads a byte a token: text weighs more here, against images, than on a real model. The server's count of
prompt tokens includes what its prefix cache serves; its evaluation time does not. Prints medians over rounds with their
range, then one line of JSON.

    python benchmarks/layouts.py --samples 5 --rounds 3
"""

from __future__ import annotations

import argparse
import runpy
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

import ollama

from benchmarks.parts import (
    Spread,
    alternating,
    answer,
    experiment,
    ignore,
    keep_nothing,
    publish,
    ratio,
    samples,
    server,
    spread,
)
from mmerg.backends.cache import Cache
from mmerg.backends.ollama import Ollama
from mmerg.backends.ollama_models import create_from_gguf
from mmerg.backends.pool import Host, Pool
from mmerg.backends.protocol import Backend, Engine, Finish, Message, Reply, Request, Sampling
from mmerg.backends.retry import Retry
from mmerg.backends.scripted import Scripted
from mmerg.corpora.dialogue import Sample
from mmerg.engine.sample import Experiment
from tests.engine.parts import STAGES
from tests.ollama_server import ROOT

MODEL = "tiny-vision"
LOAD = {"num_ctx": 16384, "num_thread": 1}
AGENTS = (*STAGES, "gra")
OWN_PART = "\n\nYour step:"  # where an agent's own part of the user message begins


@dataclass
class Tally:
    """Sums over calls: by agent, seconds that the server evaluated the prompt; tokens; and wall seconds."""

    evaluation: list[float] = field(default_factory=lambda: [0.0] * len(AGENTS))
    prompt_tokens: int = 0
    reply_tokens: int = 0
    calls: int = 0
    wall: float = 0.0

    def add(self, prompt_tokens: int, prompt_seconds: float, reply_tokens: int) -> None:
        """One more call; agents come in their order."""
        self.evaluation[self.calls % len(AGENTS)] += prompt_seconds
        self.prompt_tokens += prompt_tokens
        self.reply_tokens += reply_tokens
        self.calls += 1


class Measured:
    """`inner` asked for `tokens` tokens of free text, whatever the request says; the agent gets a valid answer."""

    def __init__(self, inner: Backend, tokens: int, tally: Tally) -> None:
        self._inner, self._tokens, self._tally = inner, tokens, tally

    def describe(self) -> Engine:
        return self._inner.describe()

    def complete(self, request: Request) -> Reply:
        sampling = replace(request.sampling, num_predict=self._tokens, stop=())
        reply = self._inner.complete(replace(request, sampling=sampling, schema="", logprobs=False))
        self._tally.add(reply.prompt_tokens, reply.prompt_seconds, reply.response_tokens)
        return reply.model_copy(update={"text": answer(request), "finish": Finish.STOP})

    def close(self) -> None:
        self._inner.close()


class Endless:
    """Writes the tiny vision model with an end token that never comes, so that each reply has the tokens asked for."""

    def __init__(self) -> None:
        self._tool = runpy.run_path(str(ROOT / "tools" / "tiny_vision.py"))

    def write(self, path: Path) -> None:
        named = self._tool["tensors"](0)
        named["output.bias"][self._tool["TURN_END"]] = -30.0
        path.write_bytes(self._tool["gguf"](self._tool["metadata"](), named))


@dataclass(frozen=True)
class Bench:
    """The server's address, the samples, and the tokens of each reply; `tallies` gathers what each variant cost."""

    host: str
    todo: Sequence[Sample]
    tokens: int
    tallies: dict[str, list[Tally]]

    def mmerg(self, name: str, run: Experiment) -> Callable[[], float]:
        """A round of mmerg, as the run command goes about it, without a run folder."""

        def work() -> float:
            tally = Tally()
            backend = Ollama(model=MODEL, load=LOAD, host=self.host)
            wrapped = Cache(Measured(Retry(backend), self.tokens, tally), Path("unused"), "off")
            with closing(Pool([Host(wrapped, 1, "host")])) as pool:
                pool.describe()
                for sample in self.todo:
                    self.forget()
                    begin = perf_counter()
                    with pool.lease() as leased:
                        result = run.sample(sample, leased, ignore, keep_nothing)
                    tally.wall += perf_counter() - begin
                    if result.status != "ok" or result.calls != len(AGENTS):
                        raise SystemExit(f"sample {sample.id} went wrong: {result.failure_text or result.calls}")
            return self._done(name, tally)

        return work

    def naive(self, requests: Sequence[Sequence[Request]]) -> Callable[[], float]:
        """A round of a plain loop over what mmerg asks for each sample."""

        def work() -> float:
            tally = Tally()
            client = ollama.Client(host=self.host)
            options = {**LOAD, "num_predict": self.tokens, "seed": 0}
            for calls in requests:
                self.forget()
                begin = perf_counter()
                for request in calls:
                    said = client.chat(MODEL, messages=plain(request), options=options)
                    tally.add(said.prompt_eval_count or 0, (said.prompt_eval_duration or 0) / 1e9, said.eval_count or 0)
                tally.wall += perf_counter() - begin
            return self._done("naive", tally)

        return work

    def forget(self) -> None:
        """Leave the server's only slot with a prompt that no agent's starts like."""
        with closing(Ollama(model=MODEL, load=LOAD, host=self.host)) as backend:
            backend.complete(Request((Message("user", "Forget."),), Sampling(num_predict=1)))

    def _done(self, name: str, tally: Tally) -> float:
        self.tallies.setdefault(name, []).append(tally)
        return sum(tally.evaluation)


def plain(request: Request) -> list[dict[str, object]]:
    """The messages of `request` as a newcomer puts them: who you are and what to do first, the material after it."""
    system, user = request.messages
    material, found, task = user.text.partition(OWN_PART)
    if not found:
        raise SystemExit(f"no {OWN_PART.strip()!r} in a prompt: its templates have changed, and so must this program")
    images = [image.data for image in user.images]
    return [
        {"role": "system", "content": system.text + OWN_PART + task},
        {"role": "user", "content": material, "images": images},
    ]


def requests_of(run: Experiment, todo: Sequence[Sample]) -> list[list[Request]]:
    """What mmerg asks for each sample."""
    asked = []
    for sample in todo:
        scripted = Scripted(answer)
        run.sample(sample, scripted, ignore, keep_nothing)
        asked.append(scripted.requests)
    return asked


def main() -> None:
    """Start a server, time the layouts, print."""
    parser = argparse.ArgumentParser(description="Prompt evaluation of two layouts of mmerg and of a plain loop.")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=24, help="generated in each call")
    options = parser.parse_args()
    todo = samples(options.samples)
    with tempfile.TemporaryDirectory() as name, server() as started:
        folder = Path(name)
        Endless().write(folder / "model.gguf")
        create_from_gguf(started.host, MODEL, folder / "model.gguf")
        runs = {seen_by: experiment(folder, seen_by, 0) for seen_by in ("paper", "all")}
        asked = requests_of(runs["all"], todo)
        tallies: dict[str, list[Tally]] = {}
        bench = Bench(started.host, todo, options.tokens, tallies)
        variants = {seen_by: bench.mmerg(seen_by, run) for seen_by, run in runs.items()} | {"naive": bench.naive(asked)}
        alternating(variants, 1)  # loads the model
        tallies.clear()
        alternating(variants, options.rounds)
    report(tallies, options)


def report(tallies: dict[str, list[Tally]], options: argparse.Namespace) -> None:
    """Print what the variants cost."""
    rounds = range(options.rounds)
    evaluation = [{name: sum(found[i].evaluation) for name, found in tallies.items()} for i in rounds]
    wall = [{name: found[i].wall for name, found in tallies.items()} for i in rounds]
    pairs = {"all/paper": ("all", "paper"), "paper/naive": ("paper", "naive"), "all/naive": ("all", "naive")}
    ratios: dict[str, dict[str, Spread]] = {
        pair: {"prompt evaluation": ratio(evaluation, *names), "wall": ratio(wall, *names)}
        for pair, names in pairs.items()
    }
    each = {name: figures(found, options.samples) for name, found in tallies.items()}
    lines = [
        f"{options.samples} samples of 5 calls, each of {options.tokens} tokens, medians of {options.rounds} rounds",
        "a sample: calls, prompt tokens, reply tokens, ms of wall, other, prompt evaluation, and that of each agent",
    ]
    for name, of in each.items():
        agents = "".join(f"{of[f'{agent}_ms']:7.0f}" for agent in AGENTS)
        lines.append(
            f"  {name:<7}{of['calls']:3.0f}{of['prompt_tokens']:8.0f}{of['reply_tokens']:6.0f}{of['wall_ms']:8.0f}"
            f"{of['other_ms']:8.0f}{of['prompt_ms']:8.0f}  ={agents}"
        )
    lines += [f"  {pair:<13}{what} {found}" for pair, kinds in ratios.items() for what, found in kinds.items()]
    publish(
        lines,
        {
            "benchmark": "layouts",
            "samples": options.samples,
            "rounds": options.rounds,
            "tokens": options.tokens,
            "a_sample": {name: {key: round(value, 3) for key, value in of.items()} for name, of in each.items()},
            "ratio": {pair: {what: r.rounded() for what, r in kinds.items()} for pair, kinds in ratios.items()},
        },
    )


def figures(found: Sequence[Tally], count: int) -> dict[str, float]:
    """What a sample costs in one variant, medians over rounds."""
    return {
        "calls": spread([tally.calls / count for tally in found]).median,
        "prompt_tokens": spread([tally.prompt_tokens / count for tally in found]).median,
        "reply_tokens": spread([tally.reply_tokens / count for tally in found]).median,
        "wall_ms": spread([1000 * tally.wall / count for tally in found]).median,
        "other_ms": spread([1000 * (tally.wall - sum(tally.evaluation)) / count for tally in found]).median,
        "prompt_ms": spread([1000 * sum(tally.evaluation) / count for tally in found]).median,
        **{
            f"{agent}_ms": spread([1000 * tally.evaluation[place] / count for tally in found]).median
            for place, agent in enumerate(AGENTS)
        },
    }


if __name__ == "__main__":
    main()
