"""Which corpus a memory may be made of: never the one that is evaluated, under whatever name (MERG, arXiv 2604.18988:
IEMOCAP's Session 2 for Session 5, MELD's dev split for its test split).

    refuse_evaluated(source=Meld(root, "dev").load(), evaluated=Meld(root, "test").load())
"""

from __future__ import annotations

from mmerg.dialogue import Corpus
from mmerg.errors import ConfigError

WHERE = "dataset.memory"
HINT = "name another split or folder there, or memory=none"


def refuse_evaluated(source: Corpus, evaluated: Corpus) -> None:
    """Raises ConfigError where the corpus of the memory is the evaluated one: by name and split, by the digest of its
    files, or by a dialogue's id. What two corpora share beyond that is for the guards to find."""
    if (source.name, source.split) == (evaluated.name, evaluated.split):
        what = f"the memory would be made of what is evaluated: {source.name} {source.split}"
        raise ConfigError(what, where=WHERE, hint=HINT)
    if source.fingerprint == evaluated.fingerprint:
        what = f"{source.name} {source.split} has the same files as {evaluated.name} {evaluated.split}"
        raise ConfigError(f"the memory would be made of what is evaluated: {what}", where=WHERE, hint=HINT)
    ids = {dialogue.id for dialogue in evaluated.dialogues}
    if shared := [dialogue.id for dialogue in source.dialogues if dialogue.id in ids]:
        raise ConfigError(
            f"{len(shared)} dialogues of the memory have the id of one that is evaluated: {', '.join(shared[:5])}",
            where=WHERE,
            hint=f"{HINT}; where they are other dialogues, rename them",
        )
