"""Which corpus a memory may be made of: never the one that is evaluated, under whatever name (MERG, arXiv 2604.18988:
IEMOCAP's Session 2 for Session 5, MELD's dev split for its test split).

    refuse_evaluated(source=Meld(root, "dev").load(), evaluated=Meld(root, "test").load())
"""

from __future__ import annotations

from collections.abc import Iterator

from mmerg.corpora.dialogue import Corpus
from mmerg.errors import ConfigError
from mmerg.memory.entries import ENOUGH_TURNS, plain_words

WHERE = "dataset.memory"
HINT = "name another split or folder there, or memory=none"
NAMED = 3  # of what is shared, so many are told by name


def refuse_evaluated(source: Corpus, evaluated: Corpus) -> None:
    """Raises ConfigError where the corpus of the memory is the evaluated one: by the digest of its files, by a
    dialogue's conversation or id, or, where conversations are not known, by name and split with words in common: two
    folders may have one name and nothing else. What two corpora share beyond that is for the guards to find."""
    names = f"{source.name} {source.split}"
    if source.fingerprint == evaluated.fingerprint:
        what = f"{names} has the same files as {evaluated.name} {evaluated.split}"
        raise ConfigError(f"the memory would be made of what is evaluated: {what}", where=WHERE, hint=HINT)
    known = {dialogue.conversation for dialogue in evaluated.dialogues} - {None}
    conversations = [dialogue.conversation for dialogue in source.dialogues if dialogue.conversation in known]
    if shared := list(dict.fromkeys(map(str, conversations))):
        what = f"{len(shared)} conversations of the memory are evaluated, too: {_named(shared)}"
        raise ConfigError(what, where=WHERE, hint=HINT)
    if (
        names == f"{evaluated.name} {evaluated.split}"
        and _unknown(source, evaluated)
        and _same_words(source, evaluated)
    ):
        raise ConfigError(f"the memory would be made of what is evaluated: {names}", where=WHERE, hint=HINT)
    ids = {dialogue.id for dialogue in evaluated.dialogues}
    if shared := [dialogue.id for dialogue in source.dialogues if dialogue.id in ids]:
        raise ConfigError(
            f"{len(shared)} dialogues of the memory have the id of one that is evaluated: {_named(shared)}",
            where=WHERE,
            hint=f"{HINT}; where they are other dialogues, rename them",
        )


def _unknown(*corpora: Corpus) -> bool:
    """Whether the conversation of any dialogue is not known."""
    return any(dialogue.conversation is None for corpus in corpora for dialogue in corpus.dialogues)


def _same_words(one: Corpus, other: Corpus) -> bool:
    """Whether any three turns in a row, or a shorter dialogue, have the same words."""
    return not set(_passages(one)).isdisjoint(_passages(other))


def _passages(corpus: Corpus) -> Iterator[tuple[str, ...]]:
    for dialogue in corpus.dialogues:
        words = [plain_words(turn.text) for turn in dialogue.turns]
        for start in range(max(1, len(words) - ENOUGH_TURNS + 1)):
            yield tuple(words[start : start + ENOUGH_TURNS])


def _named(shared: list[str]) -> str:
    return ", ".join(shared[:NAMED]) + (", …" if len(shared) > NAMED else "")
