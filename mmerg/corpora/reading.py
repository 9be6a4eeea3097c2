"""A corpus that is read and validated, as the reader may be the user's own class.

corpus = read_corpus(Meld("~/data/MELD", split="test"))
"""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from mmerg.corpora.dialogue import Corpus
from mmerg.corpora.files import build_corpus_error
from mmerg.errors import CorpusError, MmergError, format_exception, locate_error, preview

EXAMPLE_HINT = "mmerg new corpus NAME writes an example; see docs/extend.md"


def read_corpus(reader: Any) -> Corpus:
    """Loads and validates a corpus. Raises CorpusError if it cannot be used or if a user's reader raises anything, with
    its file and line."""
    try:
        corpus = reader.load()
    except (Exception, SystemExit) as error:  # a user's code may raise anything
        if isinstance(error, MmergError) or type(reader).__module__.startswith("mmerg."):
            raise
        what = f"{_class_name(reader)} raised {format_exception(error)}"
        where = locate_error(error, _class_file(reader))
        raise CorpusError(what, where=where, hint=f"correct the reader; {EXAMPLE_HINT}") from error
    return check_corpus(corpus, reader)


def check_corpus(corpus: object, reader: object) -> Corpus:
    """Returns `corpus` unchanged. Raises CorpusError, with up to ten places, for wrong types, dialogues without turns,
    repeated ids and unknown labels. reader: the reader that returned it, for the message."""
    try:
        TypeAdapter(Corpus).validate_python(corpus)
        problems = list(_find_contradictions(cast(Corpus, corpus)))
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, problem['loc'])) or 'corpus'}: {problem['msg']}, and it is {problem['input']!r:.80}"
            for problem in error.errors(include_url=False)
        ]
    if not problems:
        return cast(Corpus, corpus)
    what = f"what {_class_name(reader)} returned cannot be used"
    hint = f"correct the reader or its files; {EXAMPLE_HINT}"
    raise build_corpus_error(what, problems, _class_file(reader) or _class_name(reader), hint)


def clip_files(corpus: Corpus) -> set[Path]:
    return {turn.clip.path for dialogue in corpus.dialogues for turn in dialogue.turns if turn.clip}


def _find_contradictions(corpus: Corpus) -> Iterator[str]:
    for kind, names in (("label", corpus.labels), ("id", [dialogue.id for dialogue in corpus.dialogues])):
        for name, count in Counter(names).items():
            if count > 1:
                places = [str(index) for index, other in enumerate(names) if other == name]
                yield f"{kind}s: {count} have the {kind} {name!r}: {preview(places, 3)}"
    labels = frozenset(corpus.labels)
    for position, dialogue in enumerate(corpus.dialogues):
        for index, turn in enumerate(dialogue.turns):
            if turn.emotion is not None and turn.emotion not in labels:
                place = f"dialogues.{position}.turns.{index}.emotion"
                yield f"{place}: {turn.emotion!r} is none of the labels {', '.join(corpus.labels)}"


def _class_name(reader: object) -> str:
    return f"{type(reader).__module__}.{type(reader).__qualname__}"


def _class_file(reader: object) -> str | None:
    return getattr(sys.modules.get(type(reader).__module__), "__file__", None)
