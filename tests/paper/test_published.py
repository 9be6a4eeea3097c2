"""The papers' scores as data, as printed."""

import hashlib

import pytest

from mmerg.paper.published import NAMES, Name, published

DIGESTS: dict[Name, list[str]] = {
    "main": ["757d1fa2c6d456bf", "12a9eb409010d199"],
    "ablations": ["3bdc03d2c326dce8"],
    "iterations": ["894518c2f38fc339"],
    "topk": ["ec33596ce0082a2a"],
    "backbones": ["c36a8c297380b390"],
    "trace": ["160b0c01d6f48f34", "8472be0a7d1edb8f"],
    "hef": ["e9c0dba4b015a7c5", "32adebb791a757ff"],
}


@pytest.mark.parametrize("name", NAMES)
def test_printed_cells_do_not_change(name: Name) -> None:
    """If you correct a cell, write the new digest of its table here."""
    cells = [repr((one.columns, [(row.name, row.scores, row.n) for row in one.rows])) for one in published(name)]
    assert [hashlib.sha256(text.encode()).hexdigest()[:16] for text in cells] == DIGESTS[name]


def test_rows_are_complete_and_f1_lies_between_precision_and_recall() -> None:
    for paper in (one for name in NAMES for one in published(name)):
        assert len({row.name for row in paper.rows}) == len(paper.rows)
        assert {len(row.scores) for row in paper.rows} == {len(paper.columns)}
        for row in paper.rows if "bert_f1" in paper.columns else ():
            p, r, f1 = (row.scores[paper.columns.index(f"bert_{part}")] or 0 for part in ("p", "r", "f1"))
            assert min(p, r) <= f1 <= max(p, r), row.name


@pytest.mark.parametrize(
    ("dataset", "printed", "numbers"),
    [("iemocap", 83.87, [31, 62, 93, 124]), ("meld", 64.79, [71, 142, 213, 267, 284])],
)
def test_the_sample_sizes_that_fit_merg_s_accuracy(dataset: str, printed: float, numbers: list[int]) -> None:
    """The last turns of IEMOCAP's Session 5 are 31. MELD's test split has 280 dialogues, 268 with a history."""
    [paper] = [one for one in published("main") if one.dataset == dataset]
    [merg] = [row for row in paper.rows if row.name == "MERG"]
    assert (merg.scores[paper.columns.index("acc")], merg.n) == (printed, 31 if dataset == "iemocap" else None)
    fits = [n for n in range(1, 300) if any(f"{100 * k / n:.2f}" == f"{printed:.2f}" for k in range(n + 1))]
    assert fits[: len(numbers)] == numbers
