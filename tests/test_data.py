"""`mmerg data`: its exit codes and output, on small corpora with real clips."""

from pathlib import Path

import pytest

from mmerg.checking.check import check_data
from mmerg.console.terminal import run_command
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse
from tests.checking.trees import folder, turn
from tests.configs import compose_config
from tests.corpora import iemocap_builder
from tests.corpora.meld_builder import Builder, Line
from tests.engine.parts import ROOT
from tests.frames.clips import numbered

REAL = ROOT / "../shared/data/meld"


class Checker:
    """Runs the command in this process, with all its files in one folder."""

    def __init__(self, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.runs, self.capsys = runs, capsys
        self.out = self.error = ""

    def __call__(self, *settings: str) -> int:
        config = compose_config(*settings, f"runs={self.runs}", name="data")
        code = run_command(lambda: check_data(parse(config, RunSettings)))
        self.out, self.error = self.capsys.readouterr()
        return code

    @property
    def problems(self) -> list[str]:
        return [line.removeprefix("✗ ") for line in self.out.splitlines() if line.startswith("✗ ")]


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Checker:
    return Checker(tmp_path / "runs", capsys)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip of two seconds."""
    return numbered(tmp_path_factory.mktemp("clips") / "clip.mp4", 50)


@pytest.fixture
def mine(tmp_path: Path, clip: Path) -> Path:
    """A folder with one dialogue. Each of its turns has a clip."""
    root = folder(tmp_path / "mine", {"id": "a", "turns": [turn("a.mp4"), turn("sub/b.mp4"), turn("c.mp4", "Ben")]})
    (root / "sub").mkdir()
    for name in ("a.mp4", "sub/b.mp4", "c.mp4"):
        (root / name).write_bytes(clip.read_bytes())
    return root


def test_the_demo_is_sound(check: Checker) -> None:
    assert check("dataset=demo", "limit=null") == 0
    assert "5 of 5" in check.out
    assert "memory: demo memory; there are no official counts" in check.out
    assert check.out.splitlines()[-1].startswith("sound")
    first = check.out
    assert check("dataset=demo", "limit=null") == 0
    assert check.out == first


def test_damaged_and_missing_clips_are_problems(mine: Path, check: Checker) -> None:
    settings = ("dataset=folder", f"dataset.root={mine}")
    assert check(*settings) == 0
    (mine / "a.mp4").write_bytes(b"")
    (mine / "sub" / "b.mp4").write_bytes(b"no film")
    (mine / "c.mp4").unlink()
    assert check(*settings) == 1
    assert check.problems == ["clips missing: 1 (c.mp4)", "clips unreadable: 2 (a.mp4, sub/b.mp4)"]
    assert "0 of 1; without usable frames: unreadable 2" in check.out
    assert check.out.splitlines()[-1] == "2 problems"


def test_clips_that_are_bad_in_the_release_are_not_problems(tmp_path: Path, clip: Path, check: Checker) -> None:
    lines = [Line("Words.", "Ana", "joy", 110, number) for number in range(8)]
    Builder(split="dev", lines=lines, without_clips=frozenset({(110, 7)})).write(tmp_path / "meld")
    clips = list((tmp_path / "meld").rglob("*.mp4"))
    for path in clips:
        path.write_bytes(clip.read_bytes())
    settings = ("dataset=meld", f"dataset.root={tmp_path / 'meld'}", "dataset.split=dev", "memory=none")
    assert check(*settings) == 1
    assert "1 clips are bad in the published release" in check.out
    assert [problem for problem in check.problems if "clips" in problem] == []
    min(clips).unlink()
    assert check(*settings) == 1
    assert f"clips missing: 1 ({min(clips).name})" in check.problems


def test_a_film_of_several_turns_is_named_once(tmp_path: Path, check: Checker) -> None:
    """IEMOCAP has a film for each dialogue. Here one is damaged, and the other is missing."""
    without = frozenset({"dialog/avi/DivX/Ses05M_script01_1b.avi"})
    root = iemocap_builder.Builder(without=without).write(tmp_path / "iemocap")
    assert check("dataset=iemocap", f"dataset.root={root}", "memory=none") == 1
    films = "Session5/dialog/avi/DivX"
    assert check.problems[-2:] == [
        f"clips missing: 1 ({films}/Ses05M_script01_1b.avi)",
        f"clips unreadable: 1 ({films}/Ses05F_impro01.avi)",
    ]


def test_differing_counts_and_missing_clips_are_problems(tmp_path: Path, check: Checker) -> None:
    Builder().write(tmp_path / "meld")
    settings = ("dataset=meld", f"dataset.root={tmp_path / 'meld'}", "memory=none")
    assert check(*settings, "dataset.reader.clips=false") == 1
    assert "corpus: meld test: 3 dialogues (280 official), 6 turns (2610 official)" in check.problems[0]
    assert "clips: 0 of 6 turns have one; 0 are missing" in check.out
    for clip in (tmp_path / "meld").rglob("*.mp4"):
        clip.unlink()
    assert check(*settings) == 1
    assert "next: no clip was found" in check.out
    assert "dataset.reader.clips=false" in check.out


def test_the_memory_is_compared_with_the_published_counts(tmp_path: Path, check: Checker) -> None:
    Builder().write(tmp_path / "meld")
    settings = ("dataset=meld", f"dataset.root={tmp_path / 'meld'}", "dataset.reader.clips=false")
    assert check(*settings) == 2
    assert "no dev_sent_emo.csv for MELD's dev split" in check.error
    memory = Builder(split="dev")
    memory.lines = memory.lines[:3]
    memory.write(tmp_path / "meld")
    assert check(*settings) == 1
    assert "memory: meld dev: 1 dialogues (114 official), 3 turns (1109 official)" in check.out


@pytest.mark.skipif(not REAL.is_dir(), reason="needs MELD's csv files")
@pytest.mark.parametrize("split", ["dev", "test"])
def test_the_real_csv_has_the_published_counts(split: str, check: Checker) -> None:
    settings = ("dataset=meld", f"dataset.root={REAL}", f"dataset.split={split}", "memory=none")
    assert check(*settings, "dataset.reader.clips=false") == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((), "no dataset is chosen"),
        (("dataset=folder", "dataset.root=/nowhere/at/all"), "does not exist"),
        (("dataset=demo", "protocol.emotions=[1]"), "protocol.emotions is [1]"),
        (
            ("dataset=folder", "dataset.root={mine}", "memory=minilm", "dataset.memory.root={mine}"),
            "the evaluated data",
        ),
    ],
)
def test_wrong_settings_are_refused(settings: tuple[str, ...], message: str, mine: Path, check: Checker) -> None:
    assert check(*(setting.format(mine=mine) for setting in settings)) == 2
    assert message in check.error
    assert "  next:  " in check.error


def test_a_protocol_that_selects_no_sample_is_a_problem(mine: Path, check: Checker) -> None:
    settings = ("dataset=folder", f"dataset.root={mine}", "protocol.emotions=[joy]")
    assert check(*settings) == 1
    assert "✗ the protocol selects no sample: targets=last emotions=joy, n=0" in check.out


def test_clips_are_checked_as_samples_show_them(tmp_path: Path, clip: Path, check: Checker) -> None:
    """In MELD, a file of two seconds gives frames even if the reply comes 75 s later, and so does a file that is too
    long as a whole but short until the reply."""
    root = tmp_path / "meld"
    pairs = (("0:00:10,000", "0:01:25,000"), ("0:02:00,000", "0:02:01,500"))
    lines = [
        Line("Words.", "Joey", "joy", dialogue, utterance, start, f"{start[:-3]}900")
        for dialogue, pair in enumerate(pairs)
        for utterance, start in enumerate(pair)
    ]
    Builder(lines=lines).write(root)
    for path in root.rglob("*.mp4"):
        path.write_bytes(clip.read_bytes())
    numbered(root / "MELD.Raw/test/output_repeated_splits_test/dia1_utt0.mp4", 100)
    assert check("dataset=meld", f"dataset.root={root}", "memory=none", "frames.max_seconds=3") == 1
    assert [problem for problem in check.problems if "clips" in problem] == []
    assert "turns before the target: 2 of 2\n" in check.out
    assert "clips over 1.5 times as long as their row, cut off there: test_dia0/1: row 0.9 s, clip 2 s" in check.out
    assert "test_dia1/1: row 0.9 s, clip 4 s" in check.out


def test_a_span_past_the_end_is_named_even_if_no_sample_shows_it(tmp_path: Path, clip: Path, check: Checker) -> None:
    spans = [turn("a.mp4", start=start, end=start + 0.5) for start in (7.0, 0.0, 0.5, 1.0)]
    root = folder(tmp_path / "mine", {"id": "talk", "turns": spans})
    (root / "a.mp4").write_bytes(clip.read_bytes())
    assert check("dataset=folder", f"dataset.root={root}") == 1
    assert check.problems == ["clips outside: 1 (a.mp4)"]


def test_a_clip_that_starts_with_the_reply_is_not_a_problem(tmp_path: Path, clip: Path, check: Checker) -> None:
    """Spans of one file: the second starts with the reply."""
    talks: list[dict[str, object]] = [
        {"id": name, "turns": [turn("a.mp4", start=start, end=1.5), turn("a.mp4", "Ben", start=1.03, end=1.9)]}
        for name, start in (("late", 1.01), ("with", 1.03), ("before", 0.5))
    ]
    root = folder(tmp_path / "mine", *talks)
    (root / "a.mp4").write_bytes(clip.read_bytes())
    assert check("dataset=folder", f"dataset.root={root}") == 0
    assert "2 of 3; without usable frames: could_show_target 1" in check.out
    assert "clips that could show the target, excluded: with/2 turn 1" in check.out
