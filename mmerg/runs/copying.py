"""The four-word sequences that a reply copies from the model's prompts.

count_copied(trace, "I am so sorry to hear that.", "R")    # {"all": 4, "any": 4, "exemplars": 4}
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from mmerg.runs.trace import Pass, SampleTrace
from mmerg.storage.words import split_ngrams

SOURCES = ("history", "exemplars", "instructions")
LAST_TURN = "last turn"
Run = tuple[str, ...]


def count_copied(trace: SampleTrace, response: str, symbol: str) -> dict[str, int]:
    """Counts the four-word sequences of a reply ("all"), and those that are also in the history, its last turn, the
    exemplars, the instructions (prompt text that is no data, also the auditor's), or "any" of these. Omits counts of 0;
    {} for a reply under four words. symbol: of the reply in the system's state."""
    own = split_ngrams(response)
    if not own or not trace.started:
        return {}
    turns = [text for _, text in trace.started.history]
    exemplars = [
        text for event in trace.supplied for item in event.content if "id" in item for text in iterate_texts(item)
    ]
    known = {name: _in(texts, own) for name, texts in (("history", turns), (LAST_TURN, turns[-1:]))}
    known["exemplars"] = _in(exemplars, own)
    first = next(iter(trace.passes.values()), Pass(0))
    known["instructions"] = _instructions(trace, first, own, symbol) - known["history"] - known["exemplars"]
    counts = {name: sum(run in runs for run in own) for name, runs in known.items()}
    counts = {"all": len(own), "any": sum(any(run in runs for runs in known.values()) for run in own), **counts}
    return {name: count for name, count in counts.items() if count}


def _instructions(trace: SampleTrace, first: Pass, own: Iterable[Run], symbol: str) -> set[Run]:
    """The sequences in the instructions of the first pass. Prompts after the reply show it, so a sequence counts there
    only if it appears more often than in the reply."""
    data = _in((keyframe.description for keyframe in trace.keyframes), own)
    wanted, found = frozenset(own), set[Run]()
    shown: Counter[Run] = Counter()
    for step in first.steps.values():
        data |= _in((text for event in step.supplied for text in iterate_texts(event.content)), own)
        for call in step.calls[:1] if shown else step.calls:
            prompt = [line for message in call.event.messages for line in message.text.splitlines()]
            if not call.event.attempt:  # a repair shows the model's reply
                counts = Counter(run for line in prompt for run in wanted & _line_runs(line))
                found |= {run for run, count in counts.items() if count > shown[run]}
        if step.output and step.output.symbol == symbol:
            shown.update(run for run in wanted & _in(iterate_texts(step.output.output), own))
        elif step.output:
            data |= _in(iterate_texts(step.output.output), own)
    return found - data


def _in(texts: Iterable[str], own: Iterable[Run]) -> set[Run]:
    """The sequences of `own` that appear in one of the texts."""
    return {run for text in texts for run in _line_runs(text)} & set(own)


@lru_cache(maxsize=10_000)  # prompts share instructions and dialogues
def _line_runs(line: str) -> frozenset[Run]:
    return frozenset(split_ngrams(line))


def iterate_texts(value: object) -> Iterator[str]:
    """All texts in an output, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from iterate_texts(one)
