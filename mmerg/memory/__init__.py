"""A memory of replies from a corpus that is never evaluated, searched by similarity: the source of the symbol M (MERG,
arXiv 2604.18988)."""
