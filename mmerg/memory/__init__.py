"""Replies of a corpus that is never evaluated, found by likeness: what supplies M (MERG, arXiv 2604.18988)."""
