"""How many dialogues, turns and labels a corpus holds, against the counts of the published one.

Knows no file: what a reader left out shows here as a count that is too small.

    for count in counted(corpus, expected(corpus.name, corpus.split)):
        print(count.what, count.found, count.official, count.wrong)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from mmerg.corpora.dialogue import Corpus
from mmerg.corpora.published import Expected


@dataclass(frozen=True)
class Count:
    """So many were found; official: so many were published, None where no count is known."""

    what: str
    found: int
    official: int | None = None

    @property
    def wrong(self) -> bool:
        """Whether it differs from what was published."""
        return self.official is not None and self.found != self.official


def counted(corpus: Corpus, official: Expected | None) -> list[Count]:
    """Dialogues, turns, replies where their number was published, then each label in the corpus's order.

    Labels are held against the published ones only where the corpus has all of those: a set that is smaller was merged
    or left out on purpose.
    """
    turns = [turn for dialogue in corpus.dialogues for turn in dialogue.turns]
    labels = Counter(turn.emotion for turn in turns)
    published = official.labels if official and set(official.labels) <= set(corpus.labels) else {}
    rows = [
        Count("dialogues", len(corpus.dialogues), official.dialogues if official else None),
        Count("turns", len(turns), official.turns if official else None),
    ]
    if official and official.replies is not None:
        rows.append(Count("replies", _replies(corpus), official.replies))
    rows += [Count(f"turns of {label}", labels[label], published.get(label)) for label in corpus.labels]
    if labels[None]:
        rows.append(Count("turns without a label", labels[None]))
    return rows


def _replies(corpus: Corpus) -> int:
    """Turns of those whose replies are asked for, each of which follows another turn."""
    return sum(
        not dialogue.responders or turn.speaker in dialogue.responders
        for dialogue in corpus.dialogues
        for turn in dialogue.turns[1:]
    )
