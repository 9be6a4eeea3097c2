"""Datasets as dialogues: a reader for each, whose `load()` gives a `Corpus`; `protocols` says what turns are targets.

samples = select(read_corpus(Meld("~/data/MELD", split="test")), ProtocolSettings()).samples
"""
