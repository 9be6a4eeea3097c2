"""What the order of a prompt's parts costs: two layouts of mmerg against a plain loop, on one real Ollama server.

    paper  mmerg, frames=paper: what agents share comes first; MPA, CAEF and GRA see the keyframes
    all    mmerg, frames=all: the same with the keyframes for every agent
    naive  five calls of the `ollama` package's chat(): a system prompt for each agent, then keyframes and all there is

All ask the same server (one slot, `tools/tiny_vision.py` with its end token made unlikely) about the same samples of
the demo corpus, five calls each, the same words (naive's are those of `all`, in the other order), the same number of
generated tokens, free text. In place of the model's letters every agent is given the same valid answer, so contexts
grow alike. Cache off, keyframes already taken. Before each sample an unrelated call empties the server's prefix cache.

Wall is what a user waits for a sample: one at a time, as the run command asks each host of a model with eyes. Other is
wall less prompt evaluation: the server decodes every image of every call before it looks at its prefix cache, and
generates. This model is tiny and reads a byte a token, so on a large one prompt evaluation is more of the wall. The
server's count of prompt tokens includes what its prefix cache serves; its evaluation time does not.

    python benchmarks/layouts.py --samples 5 --rounds 3
"""

from __future__ import annotations

import runpy
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import ollama

from benchmarks.parts import (
    CALLS,
    alternating,
    answer,
    experiment,
    ignore,
    keep_nothing,
    options,
    publish,
    ratio,
    requests_of,
    samples,
    seconds,
    server,
    spread,
    whole,
)
from mmerg.backends.ollama import Ollama
from mmerg.backends.protocol import Backend, Engine, Finish, Message, Reply, Request, Sampling
from mmerg.corpora.dialogue import Sample
from mmerg.engine.sample import Experiment
from tests.ollama_server import ROOT, create_from_gguf

MODEL, LOAD, TOKENS = "tiny-vision", {"num_ctx": 16384, "num_thread": 1}, 24
OWN_PART = "\n\nYour step:"  # where an agent's own part of the user message begins
Add = Callable[[str, float], None]  # adds to a figure of the round


class Measured:
    """`inner` asked for TOKENS tokens of free text, whatever the request says; the agent gets a valid answer."""

    def __init__(self, inner: Backend, add: Add) -> None:
        self._inner, self._add = inner, add

    def describe(self) -> Engine:
        return self._inner.describe()

    def complete(self, request: Request) -> Reply:
        sampling = replace(request.sampling, num_predict=TOKENS, stop=())
        reply = self._inner.complete(replace(request, sampling=sampling, schema="", logprobs=False))
        self._add("prompt_tokens", reply.prompt_tokens)
        self._add("prompt_ms", 1000 * reply.prompt_seconds)
        return reply.model_copy(update={"text": answer(request), "finish": Finish.STOP})

    def close(self) -> None:
        self._inner.close()


def by_mmerg(backend: Backend, run: Experiment, sample: Sample, add: Add) -> None:
    """One sample as the run command goes about it, without a run folder."""
    whole(run.sample(sample, Measured(backend, add), ignore, keep_nothing))


def by_loop(client: ollama.Client, asked: Mapping[str, Sequence[Request]], sample: Sample, add: Add) -> None:
    """The same requests by a plain loop, put as a newcomer puts them: who you are and what to do first."""
    for request in asked[sample.id]:
        system, user = request.messages
        material, found, task = user.text.partition(OWN_PART)
        if not found:
            raise SystemExit(
                f"no {OWN_PART.strip()!r} in a prompt: its templates have changed, and so must this program"
            )
        messages: list[dict[str, object]] = [
            {"role": "system", "content": system.text + OWN_PART + task},
            {"role": "user", "content": material, "images": [image.data for image in user.images]},
        ]
        said = client.chat(MODEL, messages=messages, options={**LOAD, "num_predict": TOKENS, "seed": 0})
        add("prompt_tokens", said.prompt_eval_count or 0)
        add("prompt_ms", (said.prompt_eval_duration or 0) / 1e6)


def one_round(backend: Backend, todo: Sequence[Sample], work: Callable[[Sample, Add], None]) -> dict[str, float]:
    """What a sample costs, in the mean over `todo`. `backend` empties the server's prefix cache."""
    sums: dict[str, float] = defaultdict(float)

    def add(figure: str, value: float) -> None:
        sums[figure] += value

    for sample in todo:
        backend.complete(Request((Message("user", "Forget."),), Sampling(num_predict=1)))  # as no agent's prompt starts
        add("wall_ms", 1000 * seconds(partial(work, sample, add)))
    return {figure: value / len(todo) for figure, value in sums.items()}


def main() -> None:
    """Start a server, time the layouts, print."""
    given = options(__doc__, samples=5, rounds=3)
    todo = samples(given.samples)
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name, server() as started, ExitStack() as stack:
        tool = runpy.run_path(str(ROOT / "tools" / "tiny_vision.py"))
        named = tool["tensors"](0)
        named["output.bias"][tool["TURN_END"]] = -30.0  # an end token that never comes: replies have all their tokens
        (Path(name) / "model.gguf").write_bytes(tool["gguf"](tool["metadata"](), named))
        create_from_gguf(started.host, MODEL, Path(name) / "model.gguf")
        paper, everyone = experiment(Path(name), "paper", 0), experiment(Path(name), "all", 0)
        asked = {sample.id: requests_of(everyone, [sample], answer) for sample in todo}
        backend = stack.enter_context(closing(Ollama(model=MODEL, load=LOAD, host=started.host)))
        ways = {"paper": partial(by_mmerg, backend, paper), "all": partial(by_mmerg, backend, everyone)}
        ways["naive"] = partial(by_loop, ollama.Client(host=started.host), asked)

        def measured(way: str) -> float:
            found[way].append(one_round(backend, todo, ways[way]))
            return found[way][-1]["wall_ms"]

        variants = {way: partial(measured, way) for way in ways}
        alternating(variants, 1)  # loads the model
        found.clear()
        walls = alternating(variants, given.rounds)
    evaluation = [{way: rounds[i]["prompt_ms"] for way, rounds in found.items()} for i in range(given.rounds)]
    pairs = (("all", "paper"), ("paper", "naive"), ("all", "naive"))
    ratios = {
        f"{over} to {under}": {"wall": ratio(walls, over, under), "prompt evaluation": ratio(evaluation, over, under)}
        for over, under in pairs
    }
    each = {
        way: {figure: spread([row[figure] for row in rounds]) for figure in rounds[0]} for way, rounds in found.items()
    }
    lines = [f"a sample of {CALLS} calls of {TOKENS} tokens: ms of wall, ms of prompt evaluation, prompt tokens"]
    for way, of in each.items():
        lines.append(f"  {way:<7}{of['wall_ms']}  {of['prompt_ms']}  {of['prompt_tokens'].median:.0f}")
    lines += [f"  {pair:<16}{what} {times}" for pair, kinds in ratios.items() for what, times in kinds.items()]
    publish(lines, {"benchmark": "layouts", "a_sample": each, "ratio": ratios} | vars(given))


if __name__ == "__main__":
    main()
