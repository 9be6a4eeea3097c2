"""The check whether a model knows lines of a dataset by heart, as scripts are in training data.

The model completes lines, as in guided instruction (Golchin and Surdeanu, 2024, arXiv 2308.08493). For comparison it
completes mixed-up lines: they start with the first half of another line, so that only the scene shows how they end.
"""

import random
from collections.abc import Iterator
from typing import NamedTuple

from mmerg.backends.protocol import Backend
from mmerg.checking.probes import Finding, build_request
from mmerg.corpora.dialogue import Corpus

LINES = 10
MIN_WORDS = 12  # in a line, so that its second half is not a common phrase
TURNS = 4  # shown before the line
RECITED = 0.8  # edit similarity to the second half, from 0 to 1, above which a line counts as recited


class Line(NamedTuple):
    """A line in two halves."""

    scene: str  # the turns before it
    speaker: str
    first: str
    second: str


def check_contamination(backend: Backend, corpus: Corpus) -> Finding:
    """Counts how many of ten lines the model completes nearly word for word, and how many of ten mixed-up lines."""
    name = f"{corpus.name} {corpus.split}"
    lines = list(_lines(corpus))
    if len(lines) < LINES:
        found = f"{len(lines)} lines of {MIN_WORDS} words or more after a first turn"
        return "open", f"{name} has {found}; {LINES} are needed"
    lines = random.Random(7).sample(lines, LINES)
    mixed = [line._replace(first=other.first) for line, other in zip(lines, [*lines[1:], lines[0]], strict=True)]
    completions = {line: _complete(backend, name, line) for line in (*lines, *mixed)}
    if blank := [*completions.values()].count(""):
        return "open", f"{blank} of {len(completions)} completions were blank: see the check `completion`"
    recited = sum(_recites(completions[line], line) for line in lines)
    recited_mixed = sum(_recites(completions[line], line) for line in mixed)
    text = f"recited {recited} of {LINES} lines of {name}, and {recited_mixed} of {LINES} mixed up"
    if recited > recited_mixed:
        return "open", f"{text}: the model knows lines by heart, so its scores are partly memory"
    return "ok", f"{text}: no sign that the model knows them by heart, which proves nothing"


def _lines(corpus: Corpus) -> Iterator[Line]:
    for dialogue in corpus.dialogues:
        for number, turn in enumerate(dialogue.turns):
            words = turn.text.split()
            if number and len(words) >= MIN_WORDS:
                before = dialogue.turns[max(0, number - TURNS) : number]
                scene = "\n".join(f"{earlier.speaker}: {earlier.text}" for earlier in before)
                half = len(words) // 2
                yield Line(scene, turn.speaker, " ".join(words[:half]), " ".join(words[half:]))


def _complete(backend: Backend, name: str, line: Line) -> str:
    lacks = f"The last one lacks its last {len(line.second.split())} words."
    task = f"These lines are from the dataset {name}. {lacks} Write these words as they stand there, nothing else."
    text = f"{task}\n\n{line.scene}\n{line.speaker}: {line.first}"
    return backend.complete(build_request(text)).text.strip()


def _recites(completion: str, line: Line) -> bool:
    """Returns True if a line of the completion starts with the second half, or with the whole line."""
    from rapidfuzz.distance.Levenshtein import normalized_similarity
    from rapidfuzz.utils import default_process

    speaker, first, second = map(default_process, (line.speaker, line.first, line.second))
    count = len(second.split())
    for text in map(default_process, completion.splitlines()):
        ending = text.removeprefix(speaker).strip().removeprefix(first).split()[:count]
        if normalized_similarity(" ".join(ending), second) > RECITED:
            return True
    return False
