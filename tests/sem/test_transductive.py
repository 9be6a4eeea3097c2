"""S over what is evaluated, as in the paper: made, named, and never taken for S over the training split."""

from pathlib import Path

import pytest

from mmerg.errors import ConfigError
from mmerg.experiment.launch import Task, launch
from mmerg.runs.manifest import read_manifest
from mmerg.sem.artefact import Artefact, causes_of, data_of, read
from mmerg.sem.fit import fit, idf
from tests.composed import settings_of
from tests.sem.talks import planted, train

SAYS = "sources.W.transductive=true"


@pytest.fixture(scope="module")
def transductive(talks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("transductive") / "sem"
    assert train(talks, out, f"lexicon={talks}/vad.txt", "causes_split=test") == 0
    return out


def task(talks: Path, sem: Path, runs: Path, *settings: str) -> Task:
    base = ("dataset=empathetic", f"dataset.root={talks}", "dataset.label_set=ekman", "system=hef", f"sem={sem}")
    return Task.of(settings_of(*base, "backend=dry", f"runs={runs}", *settings))


def test_s_and_its_means_are_over_the_other_histories() -> None:
    labels = ["afraid", "joyful"]
    model = fit(planted(labels, 20), labels)[0]
    seen = [("joyfulword",), ("joyfulword",), ("afraidword",)]
    causes = causes_of(model, seen, data_of("own", "test", seen), 1, None)
    assert causes.words == ("afraidword", "joyfulword")
    assert causes.mean_idf == pytest.approx((idf(3, 1) + idf(3, 2)) / 2)
    assert causes.mean_idf != pytest.approx(idf(40, 20))  # that of both words in what the model was fitted to


def test_the_artefact_and_the_command_say_it(
    transductive: Path, sem: Path, talks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made: Artefact = read(transductive)
    assert (made.transductive, read(sem).transductive) == (True, False)
    assert made.card.causes.over.split == "test"
    assert made.card.trained_on == read(sem).card.trained_on
    assert not made.knows("hit:20_conv:20")  # whose label was not looked at
    train(talks, tmp_path / "again", "causes_split=test")
    assert "words in S of empathetic test (transductive)" in capsys.readouterr().out


def test_a_run_that_does_not_say_which_it_is_is_refused(
    transductive: Path, sem: Path, talks: Path, tmp_path: Path
) -> None:
    for folder, settings, message in (
        (transductive, (), "has its S from empathetic test, not from what it was trained on"),
        (sem, (SAYS,), "has its S from empathetic train, which is what it was trained on"),
    ):
        with pytest.raises(ConfigError, match=message) as caught:
            task(talks, folder, tmp_path, *settings)
        assert "sources.W.transductive" in caught.value.hint


def test_its_runs_are_others_and_tell_it(
    transductive: Path, sem: Path, talks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = task(talks, transductive, tmp_path, SAYS, "limit=1")
    assert made.path.name != task(talks, sem, tmp_path).path.name
    [ended] = launch(made.settings)
    printed = " ".join(capsys.readouterr().out.split())
    assert "cause words are transductive: S, its means and IDF are over empathetic test" in printed
    assert read_manifest(Path(ended.run)).setting("sources.W.transductive") is True
