"""The command `compare`: its tables, files, warnings and refusals."""

from pathlib import Path
from statistics import fmean

import pytest

from mmerg.compare import main
from mmerg.scoring.comparisons import ComparisonReport
from mmerg.scoring.paired import MetricComparison
from mmerg.scoring.shares import holm
from mmerg.storage.record import read_record
from tests.compared_runs import FEW, edit_run, make_results, write_run, write_two_runs


def compare(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments, *FEW]) == 0
    return capsys.readouterr().out


def compare_as_json(*arguments: str) -> ComparisonReport:
    """The report that `--json` writes."""
    file = Path(arguments[0]).parent / "out.json"
    assert main([*arguments, *FEW, "--json", str(file)]) == 0
    return read_record(file, ComparisonReport)


def find_comparisons(compared: ComparisonReport, metric: str) -> list[MetricComparison]:
    return [comparison for pair in compared.pairs for comparison in pair.comparisons if comparison.metric == metric]


def get_row(shown: str, metric: str) -> str:
    """The first row of a metric, with single spaces between its cells."""
    [line, *_] = [line for line in shown.splitlines() if line.split()[:1] == [metric]]
    return " ".join(line.split())


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    return write_two_runs(tmp_path)


def test_a_table_shows_the_differences_of_two_runs(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    compared = compare_as_json(*pair, "--primary", "acc", "--primary", "dist1")
    shown = capsys.readouterr().out
    assert "A: tiny (1), first\nB: tiny (2), second\n10 samples in both\n" in shown
    assert "acc: McNemar, exact: b = 1 pairs are right only in A, c = 3 only in B" in shown
    [acc], [dist] = find_comparisons(compared, "acc"), find_comparisons(compared, "dist1")
    assert (acc.n, acc.p, acc.p_holm) == (10, 0.625, 1.0)
    assert acc.interval
    ends = f"{acc.interval[0]:+.2f} to {acc.interval[1]:+.2f}"
    assert get_row(shown, "acc") == f"acc ↑ 50.00 70.00 +20.00 {ends} 0.6250 1.0000 {acc.detectable:.2f} 10"
    assert (dist.n, dist.skipped, dist.test) == (8, 2, "permutation, 60 draws, seed 0")
    assert get_row(shown, "dist1").endswith(" 8 (2 skipped)")
    assert "tok:nltk" in dist.signature
    table = [line for line in shown.splitlines() if " ↑ " in line]
    assert len(table) > 5
    assert max(map(len, table)) <= 120


def test_only_primary_metrics_are_tested_and_corrected_over_all_runs(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    third = write_run(tmp_path / "third", make_results("..........", shift=2))
    compared = compare_as_json(*pair, third)
    shown = capsys.readouterr().out
    assert "A: tiny (1), first\nB: tiny (2), second\n" in shown
    assert "A: tiny (1), first\nB: tiny (3), third\n" in shown
    assert [pair.b_runs for pair in compared.pairs] == [("second",), ("third",)]
    assert compared.tested == ["acc", "dist2", "acc", "dist2"]
    found = [one for pair in compared.pairs for one in pair.comparisons]
    assert all((one.p_holm, one.test) == (None, "") for one in found if one.p is None)
    [calls, _] = find_comparisons(compared, "calls")
    assert (calls.difference, calls.p, calls.interval, calls.why) == (0.0, None, None, "")
    corrected = holm([one.p for one in found if one.p is not None])
    assert [one.p_holm for one in found if one.p is not None] == corrected
    declared = find_comparisons(compare_as_json(*pair, third, "--primary", "acc"), "acc")
    assert [(one.p, one.p_holm) for one in declared] == [(0.625, 0.625), (0.0625, 0.125)]


def test_the_same_command_gives_the_same_bytes_and_changes_no_run(pair: tuple[str, str], tmp_path: Path) -> None:
    def state() -> dict[Path, bytes]:
        return {file: file.read_bytes() for one in pair for file in Path(one).rglob("*") if file.is_file()}

    before = state()
    files = [tmp_path / name for name in ("one.json", "two.json", "three.json")]
    for file, seed in zip(files, ("7", "7", "8"), strict=True):
        main([*pair, *FEW, "--seed", seed, "--json", str(file)])
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()
    assert state() == before


def test_perplexities_of_two_models_are_not_compared(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [found] = find_comparisons(
        compare_as_json(pair[0], write_run(tmp_path / "other", make_results("xxxx......"), model="larger")), "self_ppl"
    )
    assert (found.difference, found.p, found.p_holm) == (None, None, None)
    why = "self_ppl: not comparable, the signatures differ: lm:tiny and lm:larger"
    assert why in " ".join(capsys.readouterr().out.split())
    edit_run(pair[1], lambda manifest: manifest["engine"].update(version="2"))  # only recorded
    [found] = find_comparisons(compare_as_json(*pair), "self_ppl")
    assert found.signature.endswith("||scripted-1")
    assert found.difference == pytest.approx(2.718281828**1.1 - 2.718281828**1.0)


def test_differing_settings_are_listed(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    edit_run(pair[1], lambda manifest: manifest["settings"]["system"].update(max_iterations=7))
    edit_run(pair[1], lambda manifest: manifest["engine"].update(version="2"))
    [found] = compare_as_json(*pair).pairs
    assert found.settings == {"system.max_iterations": ("2", "7"), "engine.version": ("1", "2")}
    settings = "settings that differ, A → B\n  system.max_iterations: 2 → 7\n  engine.version: 1 → 2\n"
    assert settings in capsys.readouterr().out


def run_seeds(folder: Path, name: str, *patterns: str) -> list[str]:
    """A run per pattern. They differ only in their seeds."""
    made = []
    for seed, pattern in enumerate(patterns):
        made.append(write_run(folder / f"{name}{seed}", make_results(pattern)))
        edit_run(made[-1], lambda manifest, seed=seed: manifest["settings"].update(seed=seed))
        edit_run(made[-1], lambda manifest: manifest["settings"]["system"].update(max_iterations=len(name)))
    return made


def test_seeds_are_averaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = run_seeds(tmp_path, "a", "xxxx....", "xxx.....")
    b = run_seeds(tmp_path, "bb", "xxxxxx..", "xxxxx...")
    edit_run(a[1], lambda manifest: manifest["protocol"].update(samples=9))
    compared = compare_as_json(a[0], b[0], a[1], b[1])
    shown = capsys.readouterr().out
    assert "warning: a1 has no result for 1 samples of its protocol" in shown
    [pair], [acc], [dist] = compared.pairs, find_comparisons(compared, "acc"), find_comparisons(compared, "dist1")
    assert (pair.a_runs, pair.b_runs, pair.samples) == (("a0", "a1"), ("bb0", "bb1"), 8)
    assert (acc.n, acc.a_value, acc.b_value, acc.difference) == (8, 43.75, 68.75, 25.0)
    assert acc.a_sd == pytest.approx(8.8388, abs=1e-3)
    assert acc.test == "permutation, 60 draws, seed 0"
    alone = [compare_as_json(*both) for both in zip(a, b, strict=True)]
    assert dist.a_value == pytest.approx(fmean(find_comparisons(one, "dist1")[0].a_value or 0 for one in alone))
    assert "A: tiny max_iterations 1 seed 0, a0; tiny max_iterations 1 seed 1, a1\nB: tiny max_iterations 2" in shown
    assert "seed 1, bb1\n8 samples in both, each score the mean over 2 seeds\n" in shown
    assert "seed: " not in shown
    assert get_row(shown, "acc").startswith("acc ↑ 43.75 ± 8.84 68.75 ± 8.84 +25.00 ")


def refuse(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The error, without line breaks."""
    assert main([*arguments, *FEW]) == 2
    return " ".join(capsys.readouterr().err.split())


def test_runs_of_other_corpora_or_protocols_are_refused(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_run(tmp_path / "other", make_results("xx"), corpus="meld", identity="of meld")
    assert "different corpora (demo test and meld test)" in refuse(capsys, pair[0], other)
    edit_run(pair[1], lambda manifest: manifest["settings"]["protocol"].update(history=3))
    assert "protocol.history is – and 3" in refuse(capsys, *pair)
    edit_run(pair[1], lambda manifest: manifest["identity"].update(corpus="other"))
    assert "these runs cannot be compared: the files of demo test differ" in refuse(capsys, *pair)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--primary", "calls"), "describes a run"),
        (("--primary", "bert_f1"), "no such metric"),
        (("--seed", "-1"), "seed is -1"),
        (("nowhere",), "this is not a run folder"),
    ],
)
def test_wrong_arguments_are_refused(
    pair: tuple[str, str], arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refuse(capsys, *pair, *arguments)


def test_a_single_run_and_an_unwritable_file_are_refused(
    pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([pair[0]])
    assert "cannot write" in refuse(capsys, *pair, "--json", str(Path(pair[0]) / "results.jsonl" / "out.json"))
