"""The published counts of corpora (`published.yaml`), to which the user's copy is compared.

find_counts("meld", "test")           # 280 dialogues, 2610 turns, 1256 of them neutral
find_counts("iemocap", "session2+5")  # the two sessions together
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from mmerg.corpora.dialogue import Corpus
from mmerg.errors import CorpusError


@dataclass(frozen=True)
class PublishedCounts:
    """The published counts of a split. Unknown counts are None, and unknown labels have no key."""

    dialogues: int | None
    turns: int | None
    labels: Mapping[str, int] = field(default_factory=dict)  # turns by label
    source: str = ""
    replies: int | None = field(default=None, kw_only=True)  # listeners' turns that follow another turn
    samples: Mapping[str, int] = field(default_factory=dict, kw_only=True)  # of MERG (arXiv 2604.18988), by protocol
    sample_labels: int | None = field(default=None, kw_only=True)  # the size of MERG's label set; None: any


class _PublishedCorpus(BaseModel, frozen=True, extra="forbid"):
    """A corpus in `published.yaml`."""

    source: str = ""
    splits: Mapping[str, PublishedCounts] = {}
    bad_clips: Mapping[str, Mapping[str, str]] = {}  # why a clip is bad, by split and name of the clip


def find_counts(name: str, split: str) -> PublishedCounts | None:
    """Finds the published counts of a split; None if unknown. Sessions joined by a plus are summed."""
    corpus = _corpora().get(name, _PublishedCorpus())
    sessions = sorted(split.removeprefix("session").split("+")) if split.startswith("session") else []
    if counts := corpus.splits.get(f"session{'+'.join(sessions)}" if sessions else split):
        return replace(counts, source=corpus.source)
    parts = [corpus.splits.get(f"session{number}") for number in sessions]
    if not parts or None in parts or len(set(sessions)) < len(sessions):
        return None
    dialogues, turns = (sum(getattr(part, name) for part in parts) for name in ("dialogues", "turns"))
    return PublishedCounts(dialogues, turns, source=corpus.source)


def get_bad_clips(name: str, split: str) -> Mapping[str, str]:
    """Returns the clips that are bad in every copy of a release: the reason (`ClipError.reason`) by file stem."""
    return _corpora().get(name, _PublishedCorpus()).bad_clips.get(split, {})


def refuse_mixed_up(corpus: Corpus, path: Path) -> None:
    """Raises CorpusError if a corpus has the published counts of another split, as a memory could then contain the test
    split. path: the corpus's file."""
    published = _corpora()[corpus.name].splits
    sizes = {split: f"{counts.turns} turns in {counts.dialogues} dialogues" for split, counts in published.items()}
    size = f"{sum(len(dialogue.turns) for dialogue in corpus.dialogues)} turns in {len(corpus.dialogues)} dialogues"
    for split in sizes.keys() - {corpus.split}:
        if sizes[split] == size:
            what = f"{path.name} holds the {split} split: {size}"
            hint = f"take both files as published: {corpus.split} has {sizes[corpus.split]}, {split} has {size}"
            raise CorpusError(what, where=str(path), hint=hint)


@cache
def _corpora() -> Mapping[str, _PublishedCorpus]:
    from omegaconf import OmegaConf

    config = OmegaConf.to_container(OmegaConf.load(Path(__file__).with_name("published.yaml")))
    return TypeAdapter(Mapping[str, _PublishedCorpus]).validate_python(config)
