"""Experiments and ablations: each row composes and is a run of its own."""

from typing import Any

import pytest
import yaml

from mmerg.runs.identity import digest_settings
from tests.configs import dump_settings
from tests.engine.parts import ROOT

EXPERIMENTS = sorted((ROOT / "conf/experiment").glob("*.yaml"))
NAMES = [file.stem for file in EXPERIMENTS]


def swept(experiment: str) -> dict[str, list[str]]:
    page = yaml.safe_load((ROOT / f"conf/experiment/{experiment}.yaml").read_text(encoding="utf-8"))
    return {key: str(values).split(",") for key, values in page["hydra"]["sweeper"]["params"].items()}


def plain_of(experiment: str, *overrides: str) -> dict[str, Any]:
    return dump_settings(f"+experiment={experiment}", "dataset=demo", *overrides)


@pytest.mark.parametrize("experiment", NAMES)
def test_every_row_of_every_experiment_composes(experiment: str) -> None:
    [(key, values)] = swept(experiment).items()
    identities = set()
    for value in values:
        plain = plain_of(experiment, f"{key}={value}")
        identities.add((digest_settings(plain), plain["sem"]))  # a model counts by its content, once it is read
    assert len(identities) == len(values)


def test_a_row_with_the_default_values_is_the_plain_run() -> None:
    plain = digest_settings(dump_settings("dataset=meld", "dataset.root=/meld"))
    for row in ("ablation=full", "system.max_iterations=2", "memory.top_k=1", "frames=paper"):
        assert digest_settings(dump_settings("dataset=meld", "dataset.root=/meld", row)) == plain
