"""What a published corpus holds, so that a copy can be checked against it: dialogues, turns and labels, with a source.

The figures are data, in `official.yaml`. Reads no corpus and judges none.

    expected("meld", "test")          # 280 dialogues, 2610 turns, 1256 of them neutral
    expected("iemocap", "session2+5")   # the two sessions together
    expected("my_dialogues", "all")   # None
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mmerg.corpora.packaged import packaged

SESSIONS = re.compile(r"session([1-5](?:\+[1-5])*)")


@dataclass(frozen=True)
class Expected:
    """Counts of a split as published; None, or no label, where none are known.

    turns: rows or utterances. labels: turns by label, as the files spell it; a reader that merges or leaves out labels
    gives other counts. source: who published or counted it. replies: turns of listeners that follow another turn.
    samples: how many MERG (arXiv 2604.18988) has, by protocol.
    """

    dialogues: int | None
    turns: int | None
    labels: Mapping[str, int]
    source: str
    replies: int | None = field(default=None, kw_only=True)
    samples: Mapping[str, int] = field(default_factory=dict, kw_only=True)


def expected(name: str, split: str) -> Expected | None:
    """What the corpus `name` (as `Corpus.name`) holds in `split` (as `Corpus.split`); None where nothing is known.

    Sessions joined by a plus are summed; IEMOCAP's labels are known for all five together and no fewer.
    """
    corpus = packaged("official.yaml").get(name)
    if corpus is None:
        return None
    splits: dict[str, dict[str, Any]] = corpus["splits"]
    parts = [split]
    if match := SESSIONS.fullmatch(split):
        numbers = sorted(match[1].split("+"))
        together = f"session{'+'.join(numbers)}"
        parts = [together] if together in splits else [f"session{number}" for number in numbers]
    if not all(part in splits for part in parts) or len(set(parts)) < len(parts):
        return None
    found = [splits[part] for part in parts]
    labels = found[0].get("labels", {}) if len(found) == 1 else {}
    dialogues, turns, replies = (_sum(part.get(what) for part in found) for what in ("dialogues", "turns", "replies"))
    samples = MappingProxyType(found[0].get("samples", {}) if len(found) == 1 else {})
    source = str(corpus["source"])
    return Expected(dialogues, turns, MappingProxyType(labels), source, replies=replies, samples=samples)


def _sum(counts: Any) -> int | None:
    known = list(counts)
    return None if None in known else sum(known)
