"""Which turns are targets: from a corpus to samples.

The default protocol is one sample a dialogue, its final turn (MERG, arXiv 2604.18988: accuracies on IEMOCAP's Session 5
are all k/31, and the session has 31 dialogues). Reads no file and shows nothing to a model.

    selection = last_turn(corpus)
    len(selection.samples), selection.left_out    # MELD test: 268, 12
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mmerg.dialogue import Corpus, Dialogue, Sample, cut
from mmerg.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Selection:
    """The samples, in the corpus's order, and how many dialogues gave none because no turn precedes the target."""

    samples: tuple[Sample, ...]
    left_out: int


def last_turn(corpus: Corpus) -> Selection:
    """One sample a dialogue: the last turn is hidden as the target; where `respond_as` is set, all turns are history
    and the reply after them is asked for."""
    targets = [(dialogue, _last_target(dialogue)) for dialogue in corpus.dialogues]
    samples = tuple(cut(dialogue, target, corpus.labels) for dialogue, target in targets if target > 0)
    return Selection(samples, left_out=len(targets) - len(samples))


def _last_target(dialogue: Dialogue) -> int:
    return len(dialogue.turns) - (dialogue.respond_as is None)


def chosen(samples: Sequence[Sample], ids: Sequence[str] | None, limit: int | None) -> list[Sample]:
    """The samples that `ids` (None: all) and `limit` (None: no limit) leave, in order.

    Raises ConfigError for an id that is not there.
    """
    if ids is not None:
        unknown = sorted(set(ids) - {sample.id for sample in samples})
        if unknown:
            some = ", ".join(sample.id for sample in samples[:3])
            raise ConfigError(f"no sample is called {', '.join(unknown)}", where="ids", hint=f"ids look like {some}")
        samples = [sample for sample in samples if sample.id in ids]
    return list(samples[:limit])
