"""`python -m mmerg.data`: exit codes, what is said, the JSON's bytes; on small corpora with real clips."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmerg.checking.check import check_data
from mmerg.console.terminal import run_command
from mmerg.settings.commands import DataSettings
from mmerg.settings.parse import parse
from tests.checking.trees import folder, published_dev, turn
from tests.composed import composed
from tests.corpora import iemocap_builder
from tests.corpora.meld_builder import Builder, Line
from tests.engine.parts import ROOT
from tests.frames.clips import numbered

REAL = ROOT / "../shared/data/meld"


class Checker:
    """Runs the command in this process, its files under one folder."""

    def __init__(self, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.runs, self.capsys = runs, capsys
        self.out = self.error = ""

    def __call__(self, *settings: str) -> int:
        config = composed(*settings, f"runs={self.runs}", name="data")
        code = run_command(lambda: check_data(parse(config, DataSettings)))
        self.out, self.error = self.capsys.readouterr()
        return code

    @property
    def path(self) -> Path:
        """As the last line says."""
        return Path(self.out.splitlines()[-1].removeprefix("report: "))

    @property
    def report(self) -> Any:
        return json.loads(self.path.read_text(encoding="utf-8"))


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Checker:
    return Checker(tmp_path / "runs", capsys)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds."""
    return numbered(tmp_path_factory.mktemp("clips") / "clip.mp4", 50)


@pytest.fixture
def mine(tmp_path: Path, clip: Path) -> Path:
    """A folder with one dialogue, each turn with a clip."""
    root = folder(tmp_path / "mine", {"id": "a", "turns": [turn("a.mp4"), turn("sub/b.mp4"), turn("c.mp4", "Ben")]})
    (root / "sub").mkdir()
    for name in ("a.mp4", "sub/b.mp4", "c.mp4"):
        (root / name).write_bytes(clip.read_bytes())
    return root


def test_the_demo_is_sound(check: Checker) -> None:
    assert check("dataset=demo", "limit=null") == 0
    assert "5 of 5" in check.out
    assert "memory: demo memory: 8 dialogues, 32 turns; there are no official counts" in check.out
    digest = check.report["corpus"]["fingerprint"][:8]
    assert check.path == check.runs / ".checks" / f"demo-dialogues-{digest}.json"
    assert check.report["problems"] == []
    assert check.report["clips"]["files"] == 17


def test_a_sound_folder(mine: Path, check: Checker) -> None:
    assert check("dataset=folder", f"dataset.root={mine}") == 0
    assert check.report["targets"] == {
        "told": "targets=last emotions=all, n=1",
        "samples": 1,
        "left_out": {},
        "labels": {**dict.fromkeys(("neutral", "joy", "sadness", "anger", "surprise", "fear", "disgust"), 0), "": 1},
        "with_clip": 1,
        "in_vain": {},
        "could_show_target": [],
        "last_turns": 2,
        "official": None,
    }
    assert "sound" in check.out.splitlines()


def test_a_folder_with_defects(mine: Path, check: Checker) -> None:
    (mine / "a.mp4").write_bytes(b"")
    (mine / "sub" / "b.mp4").write_bytes(b"no film")
    (mine / "c.mp4").unlink()
    assert check("dataset=folder", f"dataset.root={mine}") == 1
    bad = {(one["clip"], one["reason"]): one["turns"] for one in check.report["clips"]["bad"]}
    unreadable = {("sub/b.mp4", "unreadable"): ["a/2"], ("a.mp4", "unreadable"): ["a/1"]}
    assert bad == {("c.mp4", "missing"): ["a/3"], **unreadable}
    assert check.report["targets"]["with_clip"] == 0
    assert check.report["targets"]["in_vain"] == {"unreadable": 2}
    assert "✗ clips missing: 1 (c.mp4)" in check.out
    assert "2 problems" in check.out


def test_the_same_corpus_gives_the_same_bytes(mine: Path, check: Checker) -> None:
    (mine / "a.mp4").write_bytes(b"")
    settings = ("dataset=folder", f"dataset.root={mine}")
    made = []
    for _ in range(2):
        assert check(*settings) == 1
        made.append((check.path.read_bytes(), check.out))
    assert made[0] == made[1]


def test_a_release_with_its_known_faults_is_sound(tmp_path: Path, clip: Path, check: Checker) -> None:
    root = published_dev(tmp_path / "meld", clip)
    settings = ("dataset=meld", f"dataset.root={root}", "dataset.split=dev", "memory=none")
    assert check(*settings) == 0
    [bad] = check.report["clips"]["bad"]
    assert (bad["clip"], bad["turns"], bad["known"]) == ("dia110_utt7.mp4", ["dev_dia110/8"], True)
    assert "1 of these are bad in the published release" in check.out
    assert check.report["targets"]["with_clip"] == 114
    (root / "MELD.Raw/dev/dev_splits_complete/dia3_utt1.mp4").unlink()
    assert check(*settings) == 1
    assert "✗ clips missing: 1 (dia3_utt1.mp4)" in check.out


def test_films_that_many_turns_share_are_told_once(tmp_path: Path, check: Checker) -> None:
    """IEMOCAP: a film a dialogue, one of them broken, the other missing."""
    without = frozenset({"dialog/avi/DivX/Ses05M_script01_1b.avi"})
    root = iemocap_builder.Builder(without=without).write(tmp_path / "iemocap")
    assert check("dataset=iemocap", f"dataset.root={root}", "memory=none") == 1
    film = "Session5/dialog/avi/DivX/Ses05F_impro01.avi"
    assert [(one["clip"], one["reason"], len(one["turns"])) for one in check.report["clips"]["bad"]] == [
        ("Session5/dialog/avi/DivX/Ses05M_script01_1b.avi", "missing", 2),
        (film, "unreadable", 5),
    ]
    assert f"✗ clips unreadable: 1 ({film})" in check.out


def test_counts_that_differ(tmp_path: Path, check: Checker) -> None:
    Builder().write(tmp_path / "meld")
    settings = ("dataset=meld", f"dataset.root={tmp_path / 'meld'}", "memory=none", "dataset.reader.clips=false")
    assert check(*settings) == 1
    assert "✗ meld test: 3 dialogues (280 official), 6 turns (2610 official)" in check.out
    assert "clips: the reader reads none" in check.out
    assert check.report["clips"] is None


def test_the_memory_is_counted_and_one_that_cannot_be_read_is_a_problem(tmp_path: Path, check: Checker) -> None:
    Builder().write(tmp_path / "meld")
    settings = ("dataset=meld", f"dataset.root={tmp_path / 'meld'}", "dataset.reader.clips=false")
    assert check(*settings) == 1
    [line] = [line for line in check.out.splitlines() if line.startswith("✗ memory: ")]
    assert "no dev_sent_emo.csv for MELD's dev split" in line
    other = Builder(split="dev")
    other.lines = other.lines[:3]
    other.write(tmp_path / "meld")
    assert check(*settings) == 1
    assert "memory: meld dev: 1 dialogues (114 official), 3 turns (1109 official); differs" in check.out
    assert "✗ memory: meld dev: 1 dialogues (114 official)" in check.out


def test_a_memory_that_a_run_refuses_is_a_problem(mine: Path, check: Checker) -> None:
    assert check("dataset=folder", f"dataset.root={mine}", "memory=minilm", f"dataset.memory.root={mine}") == 1
    assert "✗ memory: a run would stop here: the memory contains the evaluated data" in check.out


@pytest.mark.parametrize("split", ["dev", "test"])
def test_the_real_csv_without_clips(split: str, check: Checker) -> None:
    if not REAL.is_dir():
        pytest.skip("MELD's csv files are not here")
    settings = ("dataset=meld", f"dataset.root={REAL}", f"dataset.split={split}", "memory=none")
    assert check(*settings) == 1
    assert [line for line in check.out.splitlines() if line.startswith("✗")] == [
        line for line in check.out.splitlines() if line.startswith("✗ clips missing: ")
    ]
    assert "next: no clip was found" in check.out
    assert "dataset.reader.clips=false" in check.out
    assert check(*settings, "dataset.reader.clips=false") == 0


WRONG: list[tuple[tuple[str, ...], str]] = [
    ((), "no dataset is chosen"),
    (("dataset=folder", "dataset.root=/nowhere/at/all"), "does not exist"),
    (("dataset=meld",), "dataset.root has no value"),
    (("dataset=demo", "out=/proc/report.json"), "this cannot be written"),
    (("dataset=demo", "frames.per_clip=0"), "frames.per_clip is 0"),
    (("dataset=demo", "system.without=[nobody]"), "nobody"),
    (("dataset=demo", "system.without=[gra]", "system.final_selection=last"), "final_selection"),
    (("dataset=demo", "memory=none", "system.without=[nobody]"), "system"),
    (("dataset=demo", "protocol.emotions=[1]"), "protocol.emotions is [1]"),
]


@pytest.mark.parametrize(("settings", "message"), WRONG, ids=[" ".join(case[0]) for case in WRONG])
def test_what_is_wrong_with_the_settings(settings: tuple[str, ...], message: str, check: Checker) -> None:
    assert check(*settings) == 2
    assert message in check.error
    assert "  next:  " in check.error


def test_a_protocol_that_leaves_no_sample(mine: Path, check: Checker) -> None:
    settings = ("dataset=folder", f"dataset.root={mine}", "protocol.emotions=[joy]")
    assert check(*settings) == 1
    assert "✗ the protocol selects no sample: targets=last emotions=joy, n=0" in check.out


def test_clips_are_judged_as_samples_show_them(tmp_path: Path, clip: Path, check: Checker) -> None:
    """Of MELD: a file of two seconds whose reply comes 75 s later gives frames, and so does one that is too long as it
    is and short until the reply; the other turns of the corpus are nobody's history."""
    root = tmp_path / "meld"
    pairs = (("0:00:10,000", "0:01:25,000"), ("0:02:00,000", "0:02:01,500"))
    lines = [
        Line("Words.", "Joey", "joy", dialogue, utterance, start, f"{start[:-3]}900")
        for dialogue, pair in enumerate(pairs)
        for utterance, start in enumerate(pair)
    ]
    Builder(lines=lines).write(root)
    for written in root.rglob("*.mp4"):
        written.write_bytes(clip.read_bytes())
    numbered(root / "MELD.Raw/test/output_repeated_splits_test/dia1_utt0.mp4", 100)
    assert check("dataset=meld", f"dataset.root={root}", "memory=none", "frames.max_seconds=3") == 1
    assert [(bad["turns"], bad["reason"]) for bad in check.report["clips"]["bad"]] == [(["test_dia1/1"], "too_long")]
    assert (check.report["targets"]["with_clip"], check.report["targets"]["in_vain"]) == (2, {})
    assert check.report["clips"]["long"]["test_dia1/1"] == [0.9, 4.0]
    assert "1.5 times as long as their row, cut off there: test_dia0/1: row 0.9 s, clip 2 s, test_dia0/2" in check.out


def test_what_the_reply_leaves_nothing_of_is_told_and_no_fault_of_the_data(
    tmp_path: Path, clip: Path, check: Checker
) -> None:
    """Spans of one file: the second starts with the reply."""
    talks: list[dict[str, object]] = [
        {"id": name, "turns": [turn("a.mp4", start=start, end=1.5), turn("a.mp4", "Ben", start=1.03, end=1.9)]}
        for name, start in (("late", 1.01), ("with", 1.03), ("before", 0.5))
    ]
    root = folder(tmp_path / "mine", *talks)
    (root / "a.mp4").write_bytes(clip.read_bytes())
    assert check("dataset=folder", f"dataset.root={root}") == 0
    assert check.report["clips"]["bad"] == []
    assert check.report["targets"]["in_vain"] == {"could_show_target": 1}
    assert "2 of 3; without usable frames: could_show_target 1" in check.out
    assert "clips that could show the target, excluded: with/2 turn 1" in check.out
