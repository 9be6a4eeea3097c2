"""The papers' scores as data: whole, as printed, and what their digits tell of n."""

import hashlib

import pytest

from mmerg.paper.published import NAMES, Name, PaperTable, published

MERG: tuple[Name, ...] = ("main", "ablations", "iterations", "topk", "backbones")


def table(name: Name, dataset: str) -> PaperTable:
    [found] = [one for one in published(name) if one.dataset == dataset]
    return found


def column(paper: PaperTable, name: str) -> dict[str, float | None]:
    return {row.name: row.scores[paper.columns.index(name)] for row in paper.rows}


def as_shares(n: int) -> dict[str, int]:
    """k by what k of n is as a percentage with two decimals."""
    return {f"{100 * k / n:.2f}": k for k in range(n + 1)}


def test_every_table_is_whole() -> None:
    for one in (one for name in NAMES for one in published(name)):
        assert len({row.name for row in one.rows}) == len(one.rows)
        assert {len(row.scores) for row in one.rows} == {len(one.columns)}
    sizes = {name: [(len(one.rows), len(one.columns)) for one in published(name)] for name in NAMES}
    assert sizes == {
        "main": [(12, 10), (12, 10)],
        "ablations": [(6, 7)],
        "iterations": [(7, 8)],
        "topk": [(6, 7)],
        "backbones": [(6, 7)],
        "trace": [(16, 6), (4, 4)],
        "hef": [(12, 1), (1, 4)],
    }


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
def test_no_printed_cell_changes_unseen(name: Name) -> None:
    """What was read from the papers once; who corrects a cell writes its table's new digest here."""
    cells = [repr((one.columns, [(row.name, row.scores, row.n) for row in one.rows])) for one in published(name)]
    assert [hashlib.sha256(text.encode()).hexdigest()[:16] for text in cells] == DIGESTS[name]


def test_mergs_accuracies_on_iemocap_are_k_of_31() -> None:
    """All to two decimals, but for three cells: 74.20 (twice) and 80.64 stand where 23 and 25 of 31 round otherwise."""
    shares = as_shares(31)
    odd = []
    for name in MERG:
        paper = table(name, "iemocap")
        for row in paper.rows:
            printed = row.scores[paper.columns.index("acc")]
            if row.n is None or printed is None:
                continue
            if f"{printed:.2f}" not in shares:
                odd.append((name, row.name, printed, round(printed * 31 / 100)))
            assert abs(printed - 100 * round(printed * 31 / 100) / 31) < 0.01
    assert odd == [("topk", "none", 74.20, 23), ("topk", "5", 74.20, 23), ("backbones", "Qwen3.5:9B", 80.64, 25)]
    assert (shares["74.19"], shares["80.65"]) == (23, 25)


def test_the_accuracy_on_meld_is_not_over_the_last_turns_of_the_test_split() -> None:
    """280 dialogues, 268 of them with a history; 2,610 turns, 2,330 of them with one."""
    printed = column(table("main", "meld"), "acc")["MERG"]
    assert printed == 64.79
    assert [n for n in range(1, 300) if "64.79" in as_shares(n)] == [71, 142, 213, 267, 284]
    assert [n for n in (268, 280, 2330, 2610) if "64.79" in as_shares(n)] == [2610]
    assert as_shares(2610)["64.79"] == 1691
    assert all(row.n is None for row in table("main", "meld").rows)


def test_mergs_row_is_the_same_in_all_its_tables() -> None:
    main = table("main", "iemocap")
    [merg] = [row for row in main.rows if row.name == "MERG"]
    same = {"ablations": "cascaded (MERG)", "iterations": "2", "topk": "1", "backbones": "Qwen3.5:27B"}
    for name in MERG[1:]:
        paper = table(name, "iemocap")
        [row] = [row for row in paper.rows if row.name == same[name]]
        assert row.scores[:7] == merg.scores[:7]


def test_f1_lies_between_precision_and_recall() -> None:
    """A slip of the pen in P, R or F1 would show. The mean of F1s need not be the F1 of means: within 0.2 it is."""
    for name in MERG:
        for paper in published(name):
            for row in paper.rows:
                p, r, f1 = (row.scores[paper.columns.index(f"bert_{part}")] or 0 for part in ("p", "r", "f1"))
                assert min(p, r) <= f1 <= max(p, r), row.name
                assert f1 == pytest.approx(2 * p * r / (p + r), abs=0.2), row.name
