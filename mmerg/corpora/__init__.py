"""Datasets as dialogues. Each has a reader whose `load()` returns a `Corpus`; a protocol selects the target turns.

samples = select(read_corpus(Meld("~/data/MELD", split="test")), ProtocolSettings()).samples
"""
