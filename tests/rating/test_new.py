"""New studies: their items, balance, blind folders, and refusals."""

import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import cv2
import pytest

import mmerg
from mmerg.corpora.dialogue import Clip, Crop
from mmerg.corpora.folder import demo_root
from mmerg.errors import ConfigError, RunError
from mmerg.rating.form import read_form
from mmerg.rating.launch import create
from mmerg.rating.media import write_clip
from mmerg.rating.study import HUMAN, read_key, read_links, read_study
from mmerg.settings.commands import RateSettings
from tests.compared_runs import edit_run
from tests.rating.parts import BARE, create_study, write_runs


def test_every_rater_gets_every_item_once_and_all_candidates_of_a_sample(tmp_path: Path) -> None:
    folder = create_study(tmp_path, human=True)
    key, study = read_key(folder), read_study(folder)
    assert [candidate.name for candidate in key.candidates] == ["zebra", "giraffe", HUMAN]
    for order in study.orders.values():
        items = [shown.item for shown in order[study.practice :]]
        assert sorted(items) == sorted(key.items)
        samples = [key.items[item].sample for item in items]
        assert set(Counter(samples).values()) == {3}
        assert all(sample != following for sample, following in pairwise(samples))
    assert len({tuple(order) for order in study.orders.values()}) == 3
    assert len(set(read_links(folder).values())) == 3


def test_sides_are_balanced_over_raters_and_items(tmp_path: Path) -> None:
    study = read_study(create_study(tmp_path, design="pairwise", raters=4, human=True))
    swaps: Counter[str] = Counter()
    for order in study.orders.values():
        rated = order[study.practice :]
        assert len(rated) == 36
        assert sum(shown.swap for shown in rated) == pytest.approx(18, abs=3)
        swaps.update(shown.item for shown in rated if shown.swap)
    assert set(swaps.values()) == {2}


@pytest.mark.parametrize("design", ["likert", "pairwise"])
def test_checks_and_repeats_are_among_the_items(tmp_path: Path, design: str) -> None:
    folder = create_study(tmp_path, 60, design=design, items=50, gold=0.1, repeats=0.06)
    study, key = read_study(folder), read_key(folder)
    units = 100 if design == "likert" else 50
    for order in study.orders.values():
        checks = [shown.item for shown in order if shown.item in key.items and key.items[shown.item].expect]
        assert len(checks) == units // 10
        assert len(order) == study.practice + round(units * 1.16)
        seen: dict[str, bool] = {}
        for shown in order:
            if shown.again:
                assert seen[shown.item] == (shown.swap != (design == "pairwise"))
            seen[shown.item] = shown.swap
    loud = {code for code, item in key.items.items() if item.loud}
    assert len(loud) == -(-units // 20)
    assert loud == {code for code, item in study.items.items() if item.expect and code in key.items}


def test_the_seed_decides_everything_but_the_links(tmp_path: Path) -> None:
    paths = write_runs(tmp_path, 20)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        create(RateSettings(items=10, seed=seed, **BARE), tmp_path / name, paths)
    a, b, c = (read_study(tmp_path / name) for name in "abc")
    assert a == b
    assert a.orders != c.orders
    assert read_links(tmp_path / "a") != read_links(tmp_path / "b")


def test_stratified_items_have_the_shares_of_emotions_in_the_corpus(tmp_path: Path) -> None:
    folder = create_study(tmp_path, 60, items=12, stratify=True)
    samples = {item.sample for item in read_key(folder).items.values()}
    assert Counter(int(sample[3:].partition("/")[0]) % 3 for sample in samples) == {0: 4, 1: 4, 2: 4}


@pytest.fixture(scope="module")
def demo_runs(tmp_path_factory: pytest.TempPathFactory) -> list[mmerg.Run]:
    """Two dry runs of the demo's dialogues, with frames."""
    runs = str(tmp_path_factory.mktemp("runs"))
    return [mmerg.run("dataset=demo", backend="dry", system=system, runs=runs) for system in ("merg", "one_pass")]


@pytest.mark.parametrize("visual", ["clips", "frames"])
def test_the_public_folder_names_no_run_system_model_or_sample(
    tmp_path: Path, demo_runs: list[mmerg.Run], visual: Literal["clips", "frames"]
) -> None:
    folder = tmp_path / "study"
    create(RateSettings(items=3, visual=visual, gold=0.4), folder, [run.path for run in demo_runs])
    secret = [b"merg", b"one_pass", b"dry-", b"demo", *(sample.encode() for sample in demo_runs[0].samples["sample"])]
    files = [
        file for file in folder.rglob("*") if file.is_file() and file.name != "key.json" and "private" not in str(file)
    ]
    assert len(files) > 4
    for file in files:
        content = file.name.encode() + file.read_bytes()
        assert not [word for word in secret if word in content], file


def test_a_clip_is_cut_cropped_and_without_metadata(tmp_path: Path) -> None:
    clip = Clip(demo_root() / "fine_talk.mp4", 1.0, 2.0, Crop(0.0, 0.0, 0.5, 1.0))
    write_clip(clip, tmp_path / "a.mp4")
    video, whole = cv2.VideoCapture(str(tmp_path / "a.mp4")), cv2.VideoCapture(str(clip.path))
    width = cv2.CAP_PROP_FRAME_WIDTH
    assert video.get(width) == pytest.approx(whole.get(width) / 2, abs=2)
    frames = 0
    while video.read()[0]:
        frames += 1
    assert frames == pytest.approx(whole.get(cv2.CAP_PROP_FPS), abs=2)
    assert b"fine" not in (tmp_path / "a.mp4").read_bytes()


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"items": 13}, "items=13, but only 12 of 12 common samples"),
        ({"items": 3, "visual": "frames"}, "no run has frames"),
        ({"items": 3, "design": "liker"}, "there is no design liker"),
        ({"items": 3, "raters": 4, "people": 3}, "4 raters per item are requested, but there are only 3 people"),
    ],
)
def test_impossible_settings_are_refused_and_leave_no_folder(tmp_path: Path, settings: Any, what: str) -> None:
    paths = write_runs(tmp_path)
    with pytest.raises(ConfigError, match=what):
        create(RateSettings(**BARE | settings), tmp_path / "study", paths)
    assert not (tmp_path / "study").exists()


def test_runs_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    first, second = write_runs(tmp_path)
    with pytest.raises(ConfigError, match="a single candidate"):
        create(RateSettings(items=3, design="pairwise", **BARE), tmp_path / "study", [first])
    edit_run(second, lambda manifest: manifest["identity"].update(corpus="another"))
    with pytest.raises(RunError, match="cannot be compared"):
        create(RateSettings(items=3, **BARE), tmp_path / "study", [first, second])
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="not empty"):
        create(RateSettings(items=3, **BARE), tmp_path / "study", [first])


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("1: It ignores, denies or belittles the feeling.", "x: no number", "points"),
        ("scrambled: [fluency]", "scrambled: [wit]", "unknown questions: wit"),
        ("title:", "titel:", "title: Field required"),
    ],
)
def test_an_invalid_form_is_refused(tmp_path: Path, old: str, new: str, what: str) -> None:
    text = (Path(__file__).parents[2] / "conf/rating/likert.yaml").read_text()
    assert old in text
    (tmp_path / "own.yaml").write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match=what):
        read_form(str(tmp_path / "own.yaml"))


def test_missing_clips_and_frames_are_reported(tmp_path: Path) -> None:
    data = shutil.copytree(demo_root(), tmp_path / "data")
    settings: dict[str, Any] = {"dataset.root": str(data), "runs": str(tmp_path), "system": "one_pass"}
    run = mmerg.run("dataset=folder", backend="dry", limit=2, **settings)
    for file in sorted(data.glob("*.mp4")):
        file.rename(file.with_suffix(".away"))
    with pytest.raises(ConfigError, match=r"clips that the run used are missing: .*, turn \d"):
        create(RateSettings(**BARE | {"items": 2, "visual": "clips"}), tmp_path / "study", [run.path])
    shutil.rmtree(run.path / "frames")
    with pytest.raises(RunError, match="a keyframe of the run is missing"):
        create(RateSettings(**BARE | {"items": 2, "visual": "frames"}), tmp_path / "study", [run.path])
    assert not (tmp_path / "study").exists()
