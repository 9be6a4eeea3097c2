"""Datasets as dialogues: a reader for each (`meld`, `iemocap`, `empathetic`, `folder`), with a `load()` that gives a
`Corpus`; `reading`, which checks what readers give; and `protocols`, which says what turns are targets.

    samples = Protocol().select(read_corpus(Meld("~/data/MELD", split="test"))).samples
"""
