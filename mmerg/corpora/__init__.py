"""Datasets as dialogues: one reader a file (`meld`, `folder`, and `demo`, a packaged folder), and `protocols`,
which says what turns are targets. Readers are frozen dataclasses whose `load()` gives a `Corpus`.

    samples = Protocol().select(Meld("~/data/MELD", split="test").load()).samples
"""
