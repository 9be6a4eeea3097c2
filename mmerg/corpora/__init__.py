"""Datasets as dialogues. Each has a reader with a `load()` that returns a `Corpus`. A protocol selects target turns.

samples = select(read_corpus(Meld("~/data/MELD", split="test")), ProtocolSettings()).samples
"""
