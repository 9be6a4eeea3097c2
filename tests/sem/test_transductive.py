"""S over the evaluated split, as in the paper, is never confused with S over the training split."""

from pathlib import Path

import pytest

from mmerg.errors import ConfigError
from mmerg.experiment.plan import Plan, plan_run
from mmerg.sem.artefact import read_sem
from tests.configs import parse_settings
from tests.sem.talks import train

SAYS = "sources.W.transductive=true"


@pytest.fixture(scope="module")
def transductive(talks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("transductive") / "sem.json"
    assert train(talks, out, f"lexicon={talks}/vad.txt", "causes_split=test") == 0
    return out


def task(talks: Path, sem: Path, runs: Path, *settings: str) -> Plan:
    base = ("dataset=empathetic", f"dataset.root={talks}", "dataset.label_set=ekman", "system=hef", f"sem={sem}")
    return plan_run(parse_settings(*base, "backend=dry", f"runs={runs}", *settings))


def test_the_file_records_the_split_of_s(transductive: Path, sem: Path) -> None:
    model = read_sem(transductive)
    assert (model.transductive, read_sem(sem).transductive) == (True, False)
    assert model.causes.over.split == "test"
    assert model.trained_on == read_sem(sem).trained_on
    assert model.conversations == read_sem(sem).conversations  # none of the test split, whose labels were not used


def test_a_run_whose_setting_contradicts_the_split_of_s_is_refused(
    transductive: Path, sem: Path, talks: Path, tmp_path: Path
) -> None:
    for folder, settings, message in (
        (transductive, (), "has its S from empathetic test, not from its training data"),
        (sem, (SAYS,), "has its S from empathetic train, which is its training data"),
    ):
        with pytest.raises(ConfigError, match=message) as caught:
            task(talks, folder, tmp_path, *settings)
        assert "sources.W.transductive" in caught.value.hint
