"""`system=hef` with a small empathetic model: what its call sees, and which runs are refused."""

import json
import re
from pathlib import Path

import pytest

from mmerg.errors import ConfigError
from mmerg.experiment.launch import launch
from mmerg.experiment.plan import plan_run
from mmerg.runs.events import Called, Supplied
from mmerg.runs.folder import read_results
from mmerg.sources.sem import Sem
from mmerg.storage.record import Record
from tests.configs import parse_settings
from tests.run_folders import read_all_events
from tests.sem.talks import EKMAN, train


class Predicted(Record):
    """What the model says of a dialogue."""

    emotions: list[dict[str, object]]
    high: list[str]
    low: list[str]


def hef(talks: Path, sem: Path, tmp_path: Path, *settings: str) -> Path:
    base = ("dataset=empathetic", f"dataset.root={talks}", "dataset.label_set=ekman", "system=hef", f"sem={sem}")
    run = parse_settings(*base, "backend=dry", "limit=2", f"runs={tmp_path}/runs", *settings)
    ended = launch(run)
    return Path(ended.run)


def test_one_call_sees_the_probable_emotions_and_the_cause_words(talks: Path, sem: Path, tmp_path: Path) -> None:
    run = hef(talks, sem, tmp_path, "sources.W.k2=3")
    assert {result.status for result in read_results(run).values()} == {"ok"}
    assert all(result.calls == 1 and result.emotion and result.response for result in read_results(run).values())
    [supplied, other] = [event for event in read_all_events(run) if isinstance(event, Supplied)]
    [called, _] = [event for event in read_all_events(run) if isinstance(event, Called)]
    content, of_other = (Predicted.model_validate(event.content[0]) for event in (supplied, other))
    mood, word = "anger", "angryword"
    assert (content.emotions[0]["label"], len(content.emotions)) == (mood, 3)
    assert word in [*content.high, *content.low]
    assert "disgustedword" in [*of_other.high, *of_other.low]
    prompt = called.messages[-1].text
    assert f"in descending order: {', '.join(str(entry['label']) for entry in content.emotions)}\n" in prompt
    assert all(f'"{label}"' in prompt for label in EKMAN)
    assert f"relevant: {word}" in prompt


def test_a_run_without_a_lexicon_reports_that_cause_words_are_off(
    talks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(talks, tmp_path / "sem")
    run = hef(talks, tmp_path / "sem", tmp_path)
    assert "sources W: cause words are off" in " ".join(capsys.readouterr().out.split())
    assert not any(
        "relevant: " in event.messages[-1].text for event in read_all_events(run) if isinstance(event, Called)
    )


def test_another_model_makes_another_run_but_another_path_does_not(talks: Path, sem: Path, tmp_path: Path) -> None:
    base = ("dataset=empathetic", f"dataset.root={talks}", "dataset.label_set=ekman", "system=hef", "backend=dry")
    moved, other = tmp_path / "moved.json", tmp_path / "other.json"
    moved.write_bytes(sem.read_bytes())
    changed = json.loads(sem.read_text(encoding="utf-8"))
    other.write_text(json.dumps({**changed, "bias": [0.0] * 6}), encoding="utf-8")
    names = [plan_run(parse_settings(*base, f"sem={file}")).path.name for file in (sem, moved, other)]
    assert names[0] == names[1] != names[2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("dataset.label_set=32",), "has the labels anger, disgust, .* but the samples have afraid"),
        (("dataset.split=valid",), "was trained or validated on valid_hit:10_conv:10, which is evaluated"),
    ],
)
def test_a_run_that_does_not_fit_the_model_is_refused_before_the_first_call(
    settings: tuple[str, ...], message: str, talks: Path, sem: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        hef(talks, sem, tmp_path, *settings)
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("*/manifest.json"))


def test_training_dialogues_are_recognised_under_other_names_and_with_added_words(
    talks: Path, sem: Path, tmp_path: Path
) -> None:
    text = (talks / "train.csv").read_text(encoding="utf-8").replace("hit:", "hit:9")
    rows = re.sub(r"(Talk \d+( \w+){8}|Oh)", r"\1 today", text).splitlines(keepends=True)
    (tmp_path / "test.csv").write_text("".join(rows[:-2]), encoding="utf-8")
    with pytest.raises(ConfigError, match="was trained or validated on test_hit:900_conv:00, which is evaluated"):
        hef(tmp_path, sem, tmp_path)


def test_a_run_without_a_model_is_refused(talks: Path, tmp_path: Path) -> None:
    base = ("dataset=empathetic", f"dataset.root={talks}", "system=hef", "backend=dry")
    with pytest.raises(ConfigError, match="no small empathetic model is set") as caught:
        plan_run(parse_settings(*base))
    assert "mmerg train" in caught.value.hint
    with pytest.raises(ConfigError, match="the small empathetic model does not exist"):
        plan_run(parse_settings(*base, f"sem={tmp_path}/sem.json"))
    with pytest.raises(ConfigError, match="k2 is -1"):
        Sem(file=str(tmp_path), k2=-1)
