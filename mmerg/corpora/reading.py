"""Reads a corpus and validates it, whoever wrote the reader.

corpus = read_corpus(Meld("~/data/MELD", split="test"))
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from pydantic import TypeAdapter, ValidationError

from mmerg.corpora.dialogue import Corpus
from mmerg.corpora.files import unusable
from mmerg.errors import ConfigError, CorpusError, MmergError, format_exception, locate_error, preview

CONTRACT = "mmerg new corpus NAME writes an example; see docs/extend.md"


def read_corpus(reader: object, labels: Sequence[str] | None = None) -> Corpus:
    """Load and validate a corpus.

    labels: as configured, or None for the reader's own. Raises CorpusError for an unusable corpus, and with file and
    line for anything that a user's reader raises. Raises ConfigError for other labels and for an object that is no
    reader.
    """
    if not callable(load := getattr(reader, "load", None)):
        what = f"{_name(reader)} is not a reader: it has no load()"
        raise ConfigError(what, where="dataset.reader", hint=CONTRACT)
    try:
        corpus = load()
    except (Exception, SystemExit) as error:  # a user's code may raise anything
        if isinstance(error, MmergError) or type(reader).__module__.startswith("mmerg."):
            raise
        what = f"{_name(reader)} raised {format_exception(error)}"
        where = locate_error(error, _file(reader))
        raise CorpusError(what, where=where, hint=f"correct the reader; {CONTRACT}") from error
    corpus = check_corpus(corpus, reader)
    if labels is not None and list(labels) != list(corpus.labels):
        what = f"dataset.labels is [{', '.join(map(str, labels))}], and {corpus.name} has [{', '.join(corpus.labels)}]"
        hint = "remove dataset.labels; dataset.label_set chooses a set of labels, protocol.emotions selects targets"
        raise ConfigError(what, where="dataset.labels", hint=hint)
    return corpus


def check_corpus(corpus: object, reader: object) -> Corpus:
    """Return `corpus` unchanged. Raises CorpusError, with up to ten places, for wrong types, dialogues without turns,
    repeated ids and unknown labels. reader: who made it, for the message."""
    try:
        TypeAdapter(Corpus).validate_python(corpus)
        problems = list(_contradictions(cast(Corpus, corpus)))
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, problem['loc'])) or 'corpus'}: {problem['msg']}, and it is {problem['input']!r:.80}"
            for problem in error.errors(include_url=False)
        ]
    if not problems:
        return cast(Corpus, corpus)
    what, hint = f"what {_name(reader)} returned cannot be used", f"correct the reader or its files; {CONTRACT}"
    raise unusable(what, problems, _file(reader) or _name(reader), hint)


def clip_files(corpus: Corpus) -> set[Path]:
    """The files of all clips in a corpus."""
    return {turn.clip.path for dialogue in corpus.dialogues for turn in dialogue.turns if turn.clip}


def _contradictions(corpus: Corpus) -> Iterator[str]:
    for what, names in (("label", corpus.labels), ("id", [dialogue.id for dialogue in corpus.dialogues])):
        for name, count in Counter(names).items():
            if count > 1:
                places = [str(at) for at, other in enumerate(names) if other == name]
                yield f"{what}s: {count} have the {what} {name!r}: {preview(places, 3)}"
    known = frozenset(corpus.labels)
    for at, dialogue in enumerate(corpus.dialogues):
        for number, turn in enumerate(dialogue.turns):
            if turn.emotion is not None and turn.emotion not in known:
                place = f"dialogues.{at}.turns.{number}.emotion"
                yield f"{place}: {turn.emotion!r} is none of the labels {', '.join(corpus.labels)}"


def _name(reader: object) -> str:
    return f"{type(reader).__module__}.{type(reader).__qualname__}"


def _file(reader: object) -> str | None:
    """The file that defines a reader's class, or None if it has no file."""
    return getattr(sys.modules.get(type(reader).__module__), "__file__", None)
