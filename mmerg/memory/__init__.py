"""Replies of a corpus that is never evaluated, found by likeness: what supplies M (MERG, arXiv 2604.18988).

`entries` says what of a corpus is kept and what text stands for it, `onnx` and `ollama` turn texts into vectors,
`index` ranks, `guards` keep leaks back, `store` keeps an index on disk, and `memory` answers a query.

    memory, left_out = Store(folder, watch).open(Meld("~/data/MELD", split="dev").load(), Key(), embedder)
    memory.nearest(query, top_k=1).hits
"""
