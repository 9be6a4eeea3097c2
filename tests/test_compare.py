"""`python -m mmerg.compare` over run folders: what it prints, keeps and warns of."""

import io
import re
import shutil
from pathlib import Path
from statistics import fmean

import pytest
from rich.console import Console
from rich.text import Text
from statsmodels.stats.multitest import multipletests

from mmerg.compare import main, telling
from mmerg.scoring.answers import read_run
from mmerg.scoring.comparisons import Compared, compared_with
from mmerg.scoring.differences import shown as shown_parts
from mmerg.scoring.paired import Comparison
from mmerg.scoring.standard import Options
from tests.compared_runs import FEW, edit, results, run, two_runs
from tests.scoring.run_builder import build_run, result


def kept(file: Path) -> Compared:
    return Compared.model_validate_json(file.read_bytes())


def of(compared: Compared, metric: str) -> list[Comparison]:
    return [one for one in compared.comparisons if one.metric == metric]


def row(shown: str, metric: str) -> str:
    """The first row of a figure, blanks made one."""
    [line, *_] = [line for line in shown.splitlines() if line.split()[:1] == [metric]]
    return " ".join(line.split())


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    return two_runs(tmp_path)


def test_two_runs(pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tested = ("--primary", "acc", "--primary", "dist1")
    assert main([*pair, *FEW, *tested, "--json", str(tmp_path / "out.json")]) == 0
    shown = capsys.readouterr().out
    assert "A: tiny (1), first\nB: tiny (2), second\n10 samples in both\n" in shown
    assert "acc: b = 1 pairs count in A alone, c = 3 in B alone (McNemar, exact)" in shown
    compared = kept(tmp_path / "out.json")
    [acc] = of(compared, "acc")
    assert (acc.a, acc.b, acc.n, acc.a_right, acc.b_right, acc.p, acc.p_holm) == (
        "first",
        "second",
        10,
        1,
        3,
        0.625,
        1.0,
    )
    assert acc.interval
    assert acc.detectable
    ends = f"{acc.interval[0]:+.2f} to {acc.interval[1]:+.2f}"
    assert row(shown, "acc") == f"acc ↑ 50.00 70.00 +20.00 {ends} 0.6250 1.0000 {acc.detectable:.2f} 10"
    [dist] = of(compared, "dist1")
    assert (dist.n, dist.left_out, dist.test) == (8, 2, "permutation, 60 draws, seed 0")
    assert row(shown, "dist1").endswith(" 8 (2 left out)")
    assert "tok:nltk" in dist.signature


def test_the_table_stays_within_120_columns(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*pair, *FEW])
    shown = capsys.readouterr().out
    table = [line for line in shown.splitlines() if " ↑ " in line]
    assert len(table) > 5
    assert max(map(len, table)) <= 120


def test_it_says_how_each_number_was_had(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*pair, *FEW, "--seed", "4", "--verbose"])
    shown = capsys.readouterr().out
    for part in (
        "McNemar's exact test for shares",
        "60 draws, seed 4",
        "all that is tested here together (2)",
        "80 % power",
    ):
        assert part in shown


def test_several_runs_are_held_against_the_first_and_corrected(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    third = run(tmp_path / "third", results("..........", shift=2))
    assert main([*pair, third, *FEW, "--primary", "acc", "--json", str(tmp_path / "out.json")]) == 0
    shown = capsys.readouterr().out
    assert "A: tiny (1), first\nB: tiny (2), second\n" in shown
    assert "A: tiny (1), first\nB: tiny (3), third\n" in shown
    found = of(kept(tmp_path / "out.json"), "acc")
    assert [one.b for one in found] == ["second", "third"]
    assert [one.p for one in found] == [0.625, 0.0625]
    assert [one.p_holm for one in found] == [0.625, 0.125]


def test_only_primary_figures_are_tested_and_corrected_together(pair: tuple[str, str], tmp_path: Path) -> None:
    third, file = run(tmp_path / "third", results("..........", shift=2)), tmp_path / "out.json"
    main([*pair, third, *FEW, "--json", str(file)])
    found = kept(file).comparisons
    assert {one.metric for one in found if one.p is not None} == {"acc", "dist2"}
    assert all((one.p_holm, one.p_mcnemar, one.test) == (None, None, "") for one in found if one.p is None)
    [calls, _] = of(kept(file), "calls")
    assert (calls.difference, calls.p, calls.why[:13]) == (0.0, None, "no interval: ")
    tested = [one for one in found if one.p is not None]
    published = multipletests([one.p for one in tested], method="holm")[1].tolist()
    assert [one.p_holm for one in tested] == pytest.approx(published)


@pytest.mark.parametrize(("name", "told"), [("calls", "describes a run"), ("bert_f1", "no such figure")])
def test_what_cannot_be_tested_is_refused(
    pair: tuple[str, str], name: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*pair, *FEW, "--primary", name]) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_the_same_command_gives_the_same_bytes(pair: tuple[str, str], tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.json", "two.json", "three.json")]
    for file, seed in zip(files, ("7", "7", "8"), strict=True):
        main([*pair, *FEW, "--seed", seed, "--json", str(file)])
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()


def test_the_options_of_scores_decide_the_figures(pair: tuple[str, str], tmp_path: Path) -> None:
    options = ["--tokenizer", "whitespace", "--level", "response", "--keep-case", "--vocabulary", "50"]
    main([*pair, *FEW, *options, "--json", str(tmp_path / "out.json")])
    compared = kept(tmp_path / "out.json")
    assert of(compared, "dist1")[0].signature == (
        "n:1|tok:whitespace|case:keep|level:response|failed:left-out|scale:100"
    )
    assert "V:50" in of(compared, "ead1")[0].signature


def test_a_run_folder_stays_as_it_is(pair: tuple[str, str]) -> None:
    def state() -> dict[Path, bytes]:
        return {file: file.read_bytes() for one in pair for file in Path(one).rglob("*") if file.is_file()}

    before = state()
    main([*pair, *FEW])
    assert state() == before


def test_samples_of_one_side_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = run(tmp_path / "first", results("xxxxx"), samples=9)
    second = run(tmp_path / "second", results("x.x.xx", start=3), samples=9)
    assert main([first, second, *FEW]) == 0
    shown = capsys.readouterr().out.replace("\n", " ")
    assert "2 samples in both; 3 more in A alone, 4 in B alone" in shown
    assert "warning: first is not finished: 4 samples of its protocol have no result yet" in shown
    assert "warning: second is not finished: 3 samples" in shown


def test_too_few_pairs_are_told(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*pair, *FEW])
    shown = " ".join(capsys.readouterr().out.split())
    assert re.search(r"warning: so few pairs cannot show a difference as small as found with second: acc \(10\)", shown)


def test_a_difference_that_is_shown_is_marked_and_not_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = run(tmp_path / "first", results("." * 40)), run(tmp_path / "second", results("x" * 40))
    main([*pair, *FEW])
    shown = capsys.readouterr().out
    assert "<0.0001 <0.0001 *" in row(shown, "acc")
    assert "acc (40)" not in shown


def test_a_copy_of_a_run_does_not_differ_from_it(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(pair[0], tmp_path / "elsewhere" / "first")
    assert main([pair[0], str(copy), *FEW]) == 0
    shown = capsys.readouterr().out
    assert f"A: tiny (1), {pair[0]}\nB: tiny (2), {copy}\n10 samples in both\nno setting differs\n" in shown
    assert f"warning: {pair[0]} and {copy} have one identity" in shown
    assert re.search(r" \+0\.00 -\d+\.\d\d to \+\d+\.\d\d 1\.0000 1\.0000 ", row(shown, "acc"))


def test_a_long_comparison_names_each_figure(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    baseline, other = (read_run(Path(one)) for one in pair)
    compared = compared_with([baseline], [[other]], Options(resamples=5), telling(0.0))
    told = capsys.readouterr().err.splitlines()
    assert told == [f"comparing {one.metric} …" for one in compared.comparisons]
    compared_with([baseline], [[other]], Options(resamples=5), telling(9999.0))
    assert capsys.readouterr().err == ""


def test_two_runs_of_one_identity_are_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = [str(build_run(tmp_path / name, results("xx.."))) for name in ("first", "second")]
    assert main([*pair, *FEW]) == 0
    assert "warning: first and second have one identity" in capsys.readouterr().out


def test_dialogues_with_several_samples_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = []
    for name, forecast in (("first", "anger"), ("second", "joy")):
        lines = [result(f"d{number // 3}/{number}", "Well.", forecast, gold="joy") for number in range(12)]
        sides.append(run(tmp_path / name, lines))
    assert main([*sides, *FEW]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "with second, 12 pairs are from 4 dialogues, so p is of exchanging whole dialogues" in shown
    assert "McNemar's, which takes pairs as independent, would be: acc 0.0005" in shown
    assert "c = 12 in B alone (permutation, all 16 exchanges of 4 dialogues)" in shown


def test_perplexities_of_two_models_are_not_compared(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = run(tmp_path / "other", results("xxxx......"), model="larger")
    assert main([pair[0], other, *FEW, "--json", str(tmp_path / "out.json")]) == 0
    [found] = of(kept(tmp_path / "out.json"), "self_ppl")
    assert (found.difference, found.p, found.p_holm) == (None, None, None)
    assert "self_ppl: not one figure: lm:tiny" in capsys.readouterr().out
    edit(pair[1], lambda manifest: manifest["engine"].update(version="2"))  # only recorded
    main([*pair, *FEW, "--json", str(tmp_path / "out.json")])
    [found] = of(kept(tmp_path / "out.json"), "self_ppl")
    assert found.signature.endswith("||scripted-1")
    assert found.difference == pytest.approx(2.718281828**1.1 - 2.718281828**1.0)


def test_the_settings_that_differ_are_told(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(pair[1], lambda manifest: manifest["settings"]["system"].update(max_iterations=7))
    edit(pair[1], lambda manifest: manifest["engine"].update(version="2"))
    assert main([*pair, *FEW, "--json", str(tmp_path / "out.json")]) == 0
    shown = capsys.readouterr().out
    assert "settings that differ, A → B\n  system.max_iterations: 2 → 7\n  engine.version: 1 → 2\n" in shown
    [found] = kept(tmp_path / "out.json").pairs
    assert [one.name for one in found.settings] == ["system.max_iterations", "engine.version"]


def test_log_probabilities_that_cannot_be_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = results("xx..")
    first = build_run(tmp_path / "first", lines, logprobs={line.id: [-1.0] for line in lines})
    second = build_run(tmp_path / "second", lines, logprobs={line.id: [-1.0] for line in lines} | {"d2/3": [0.7]})
    assert main([str(first), str(second), *FEW]) == 0
    shown = capsys.readouterr().out
    assert "warning: second: self_ppl is without d2/3: the server gave a token a probability above 1" in shown
    assert row(shown, "self_ppl").endswith(" 3 (1 left out)")


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 160])
def test_no_number_is_cut_on_any_terminal(pair: tuple[str, str], columns: int) -> None:
    first, second = (read_run(Path(one)) for one in pair)
    compared = compared_with([first], [[second]], Options(resamples=60))
    out = io.StringIO()
    console = Console(file=out, width=columns)
    for part in shown_parts(compared, {first.name: "mine", second.name: "yours"}):
        console.print(part, soft_wrap=isinstance(part, Text))
    shown = out.getvalue()
    assert f"A: mine, {first.name}\nB: yours, {second.name}\n" in shown
    for one in compared.comparisons:
        if one.interval and one.difference is not None:
            ends = f"{one.interval[0]:+.2f} to {one.interval[1]:+.2f}"
            rows = [line for line in shown.splitlines() if line.split()[:1] == [one.metric]]
            assert any(ends in line for line in rows)
            assert any(f"{one.difference:+.2f} " in f"{line} " for line in rows)
    assert "…" not in shown
    tables = [line for line in shown.splitlines() if re.match(r"\w+ ↑ ", line)]
    assert max(map(len, tables)) <= columns


def test_samples_that_improved_and_got_worse_are_listed_with_both_replies(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*pair, *FEW, "--json", str(tmp_path / "out.json")]) == 0
    shown = capsys.readouterr().out
    changes = kept(tmp_path / "out.json").changes
    assert {(one.sample, one.better) for one in changes} == {
        ("d4/3", True),
        ("d5/3", True),
        ("d8/3", True),
        ("d9/3", False),
    }
    assert {one.metric for one in changes} == {"acc"}  # no sample has distinct n-grams by itself
    assert "acc: 3 samples improved\n" in shown
    assert "acc: 1 sample got worse\n  d9/3: 100.00 → 0.00, label joy\n    A: (joy) well 1.\n    B: failed\n" in shown


def test_of_many_samples_that_changed_a_few_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = run(tmp_path / "first", results("." * 9)), run(tmp_path / "second", results("x" * 9))
    main([*pair, *FEW])
    few = capsys.readouterr().out
    main([*pair, *FEW, "--verbose"])
    assert "acc: 9 samples improved, the first 3\n" in few
    assert [text.count(": 0.00 → 100.00") for text in (few, capsys.readouterr().out)] == [3, 9]


def seeds(folder: Path, name: str, *patterns: str, first: int = 0) -> list[str]:
    """A run a pattern, alike but for the seed."""
    made = []
    for seed, pattern in enumerate(patterns, start=first):
        made.append(run(folder / f"{name}{seed}", results(pattern)))
        edit(made[-1], lambda manifest, seed=seed: manifest["settings"].update(seed=seed))
        edit(made[-1], lambda manifest: manifest["settings"]["system"].update(max_iterations=len(name)))
    return made


def test_seeds_of_one_setting_are_compared_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = seeds(tmp_path, "a", "xxxx....", "xxx.....")
    b = seeds(tmp_path, "bb", "xxxxxx..", "xxxxx...")
    out = tmp_path / "out.json"
    assert main([a[0], b[1], a[1], b[0], *FEW, "--json", str(out)]) == 0
    [pair] = kept(out).pairs
    assert (pair.a_runs, pair.b_runs, pair.samples) == (("a0", "a1"), ("bb0", "bb1"), 8)
    [acc] = of(kept(out), "acc")
    assert (acc.n, acc.dialogues, acc.a_value, acc.b_value, acc.difference) == (8, 8, 43.75, 68.75, 25.0)
    assert acc.a_sd == pytest.approx(8.8388, abs=1e-3)
    assert (acc.test, acc.p_mcnemar) == ("permutation, 60 draws, seed 0", None)
    [dist] = of(kept(out), "dist1")
    sides = [[[read_run(Path(one))] for one in side] for side in (a, b)]
    alone = [compared_with(one, [other], Options(resamples=5)) for one, other in zip(*sides, strict=True)]
    assert dist.a_value == pytest.approx(fmean(of(one, "dist1")[0].a_value or 0 for one in alone))
    shown = capsys.readouterr().out
    for side in ("A: tiny max_iterations 1 seed 0, a0; tiny", "seed 1, a1\nB: tiny max_iterations 2 seed 0, bb0; tiny"):
        assert side in shown
    assert "seed 1, bb1\n8 samples in both, each figure the mean over 2 seeds\n" in shown
    assert "seed: " not in shown
    assert row(shown, "acc").startswith("acc ↑ 43.75 ± 8.84 68.75 ± 8.84 +25.00 ")


def test_a_side_with_fewer_seeds_decides_how_many_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = seeds(tmp_path, "a", "xx..", "x..."), seeds(tmp_path, "bb", "xxx.", first=1)
    assert main([*a, *b, *FEW]) == 0
    shown = capsys.readouterr().out
    assert "seed 1, a1\nB: tiny max_iterations 2 seed 1, bb1\n" in shown
    assert "warning: not compared, as the other side has fewer seeds: a0" in shown


def test_seeds_of_one_setting_alone_are_held_against_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*seeds(tmp_path, "a", "xx..", "x..."), *FEW]) == 0
    assert (
        "A: tiny seed 0, a0\nB: tiny seed 1, a1\n4 samples in both\nsettings that differ, A → B\n  seed: 0 → 1\n"
        in capsys.readouterr().out
    )
