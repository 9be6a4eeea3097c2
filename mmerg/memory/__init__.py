"""A memory of replies from a corpus that is never evaluated: the source of the symbol M (MERG, arXiv 2604.18988)."""
