"""Checks whether a model knows lines of a dataset by heart, as scripts are in training data.

The model completes a line, as in guided instruction (Golchin and Surdeanu, 2024, arXiv 2308.08493). A mixed-up line has
the first half of another line, so that only the scene shows how it ends.
"""

import random
from collections.abc import Iterator
from typing import NamedTuple

from mmerg.backends.protocol import Backend
from mmerg.checking.probes import Finding, request
from mmerg.corpora.dialogue import Corpus

LINES = 10
WORDS = 12  # in a line, at least, so that its second half is no common phrase
TURNS = 4  # before the line
RECITED = 0.8  # edit similarity to the second half, from 0 to 1, above which a line counts as recited


class Line(NamedTuple):
    scene: str
    speaker: str
    first: str
    second: str


def contamination(backend: Backend, corpus: Corpus) -> Finding:
    """Counts how many of ten lines the model completes word for word, and how many mixed-up lines."""
    name = f"{corpus.name} {corpus.split}"
    lines = list(_lines(corpus))
    if len(lines) < LINES:
        return "open", f"{name} has {len(lines)} lines of {WORDS} words or more after a first turn; {LINES} are needed"
    lines = random.Random(7).sample(lines, LINES)
    mixed = [line._replace(first=other.first) for line, other in zip(lines, [*lines[1:], lines[0]], strict=True)]
    replies = {line: _reply(backend, name, line) for line in (*lines, *mixed)}
    if blank := [*replies.values()].count(""):
        return "open", f"{blank} of {len(replies)} replies were blank: see the check `reply`"
    known, other = (sum(_recites(replies[line], line) for line in half) for half in (lines, mixed))
    text = f"recited {known} of {LINES} lines of {name}, and {other} of {LINES} mixed up"
    if known > other:
        return "open", f"{text}: the model knows lines by heart, so its scores are partly memory"
    return "ok", f"{text}: no sign that the model knows them by heart, which proves nothing"


def _lines(corpus: Corpus) -> Iterator[Line]:
    for dialogue in corpus.dialogues:
        for number, turn in enumerate(dialogue.turns):
            words = turn.text.split()
            if number and len(words) >= WORDS:
                before = dialogue.turns[max(0, number - TURNS) : number]
                scene = "\n".join(f"{one.speaker}: {one.text}" for one in before)
                half = len(words) // 2
                yield Line(scene, turn.speaker, " ".join(words[:half]), " ".join(words[half:]))


def _reply(backend: Backend, name: str, line: Line) -> str:
    lacks = f"The last one lacks its last {len(line.second.split())} words."
    task = f"These lines are from the dataset {name}. {lacks} Write these words as they stand there, nothing else."
    text = f"{task}\n\n{line.scene}\n{line.speaker}: {line.first}"
    return backend.complete(request(text)).text.strip()


def _recites(reply: str, line: Line) -> bool:
    """Whether a line of the reply starts with the second half, or with the whole line."""
    from rapidfuzz.distance.Levenshtein import normalized_similarity
    from rapidfuzz.utils import default_process

    speaker, first, second = map(default_process, (line.speaker, line.first, line.second))
    spoken = (default_process(said).removeprefix(speaker).strip().removeprefix(first) for said in reply.splitlines())
    endings = (" ".join(said.split()[: len(second.split())]) for said in spoken)
    return any(normalized_similarity(ending, second) > RECITED for ending in endings)
