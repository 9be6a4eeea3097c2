"""The published counts of corpora (`published.yaml`), to which a copy is compared.

expected("meld", "test")           # 280 dialogues, 2610 turns, 1256 of them neutral
expected("iemocap", "session2+5")  # the two sessions together
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from mmerg.corpora.dialogue import Corpus
from mmerg.corpora.files import first_file, read_bytes
from mmerg.errors import CorpusError


@dataclass(frozen=True)
class Expected:
    """Published counts of a split; None, or no label, if unknown. replies: listeners' turns that follow another turn.
    samples: the number that MERG (arXiv 2604.18988) has by protocol, with sample_labels labels."""

    dialogues: int | None
    turns: int | None
    labels: Mapping[str, int] = field(default_factory=dict)
    source: str = ""
    replies: int | None = field(default=None, kw_only=True)
    samples: Mapping[str, int] = field(default_factory=dict, kw_only=True)
    sample_labels: int | None = field(default=None, kw_only=True)


class _Published(BaseModel, frozen=True, extra="forbid"):
    """A corpus in `published.yaml`. bad_clips: the reason for each bad clip, by split and name."""

    source: str = ""
    splits: Mapping[str, Expected] = {}
    bad_clips: Mapping[str, Mapping[str, str]] = {}


def expected(name: str, split: str) -> Expected | None:
    """The counts of a split of a corpus, or None if unknown. Sessions joined by a plus are summed."""
    corpus = _corpora().get(name, _Published())
    sessions = sorted(split.removeprefix("session").split("+")) if split.startswith("session") else []
    if known := corpus.splits.get(f"session{'+'.join(sessions)}" if sessions else split):
        return replace(known, source=corpus.source)
    parts = [corpus.splits.get(f"session{number}") for number in sessions]
    if not parts or None in parts or len(set(sessions)) < len(sessions):
        return None
    dialogues, turns = (sum(getattr(part, what) for part in parts) for what in ("dialogues", "turns"))
    return Expected(dialogues, turns, source=corpus.source)


def known_bad(name: str, split: str) -> Mapping[str, str]:
    """The clips that are bad in every copy of a release, by file stem, with the reason (`ClipError.reason`)."""
    return _corpora().get(name, _Published()).bad_clips.get(split, {})


def refuse_mixed_up(corpus: Corpus, path: Path, data: bytes, splits: Mapping[str, Iterable[Path]]) -> None:
    """Raise CorpusError if a corpus has the bytes or the published counts of another split. Otherwise a memory could
    contain the test split. data, path: the corpus's file. splits: where each split's file may be."""
    published = _corpora()[corpus.name].splits
    sizes = {split: f"{counts.turns} turns in {counts.dialogues} dialogues" for split, counts in published.items()}
    own = f"{sum(len(dialogue.turns) for dialogue in corpus.dialogues)} turns in {len(corpus.dialogues)} dialogues"
    others = {split: first_file(places) for split, places in splits.items() if split != corpus.split}
    for split, other in others.items():
        if other and other.stat().st_size == len(data) and read_bytes(other) == data:
            what = f"{path} and {other} are the same file: one of them is not its split"
        elif sizes[split] == own:
            what = f"{path.name} holds the {split} split: {own}"
        else:
            continue
        hint = f"take both files as published: {corpus.split} has {sizes[corpus.split]}, {split} has {sizes[split]}"
        raise CorpusError(what, where=str(path), hint=hint)


@cache
def _corpora() -> Mapping[str, _Published]:
    from omegaconf import OmegaConf

    page = OmegaConf.to_container(OmegaConf.load(Path(__file__).with_name("published.yaml")))
    return TypeAdapter(Mapping[str, _Published]).validate_python(page)
