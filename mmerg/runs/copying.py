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
Ngram = tuple[str, ...]


def count_copied(trace: SampleTrace, response: str, symbol: str) -> dict[str, int]:
    """Counts the four-word sequences of a reply ("all"), and how many of them are also in

    - the history ("history") and its last turn ("last turn"),
    - the exemplars ("exemplars"),
    - the instructions ("instructions"): the text of prompts that is not data, including the auditor's prompt,
    - any of these ("any").

    Omits counts of 0; a reply of fewer than four words gives {}. symbol: the reply's symbol, such as "R".
    """
    ngrams = split_ngrams(response)
    if not ngrams or not trace.started:
        return {}
    turns = [text for _, text in trace.started.history]
    items = [item for event in trace.supplied for item in event.content if "id" in item]
    history = _find_ngrams(ngrams, turns)
    exemplars = _find_ngrams(ngrams, (text for item in items for text in iterate_texts(item)))
    first = next(iter(trace.passes.values()), Pass(0))
    sources = {
        "history": history,
        LAST_TURN: _find_ngrams(ngrams, turns[-1:]),
        "exemplars": exemplars,
        "instructions": _find_instructions(trace, first, ngrams, symbol) - history - exemplars,
    }
    copied: set[Ngram] = set().union(*sources.values())
    counts = {"all": len(ngrams), "any": sum(ngram in copied for ngram in ngrams)}
    counts |= {name: sum(ngram in found for ngram in ngrams) for name, found in sources.items()}
    return {name: count for name, count in counts.items() if count}


def _find_instructions(trace: SampleTrace, first: Pass, ngrams: Iterable[Ngram], symbol: str) -> set[Ngram]:
    """Finds the sequences that are in the instructions of the first pass. Prompts after the reply show the reply, so
    there a sequence must appear more often than in the reply."""
    data = _find_ngrams(ngrams, (keyframe.description for keyframe in trace.keyframes))
    wanted, instructions = frozenset(ngrams), set[Ngram]()
    in_reply: Counter[Ngram] = Counter()
    for step in first.steps.values():
        data |= _find_ngrams(ngrams, (text for event in step.supplied for text in iterate_texts(event.content)))
        for call in step.calls[:1] if in_reply else step.calls:
            prompt = [line for message in call.event.messages for line in message.text.splitlines()]
            if not call.event.attempt:  # a repair shows the model's completion
                counts = Counter(ngram for line in prompt for ngram in wanted & _split_line(line))
                instructions |= {ngram for ngram, count in counts.items() if count > in_reply[ngram]}
        if step.output and step.output.symbol == symbol:
            in_reply.update(_find_ngrams(ngrams, iterate_texts(step.output.output)))
        elif step.output:
            data |= _find_ngrams(ngrams, iterate_texts(step.output.output))
    return instructions - data


def _find_ngrams(ngrams: Iterable[Ngram], texts: Iterable[str]) -> set[Ngram]:
    """Finds the sequences that appear in one of the texts."""
    return {ngram for text in texts for ngram in _split_line(text)} & set(ngrams)


@lru_cache(maxsize=10_000)  # prompts share instructions and dialogues
def _split_line(line: str) -> frozenset[Ngram]:
    return frozenset(split_ngrams(line))


def iterate_texts(value: object) -> Iterator[str]:
    """Yields all texts in an output, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from iterate_texts(item)
