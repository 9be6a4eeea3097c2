"""Experiments' pages: every row composes and is a run of its own, and a row that cannot be is refused by its name."""

from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

from mmerg.errors import ConfigError
from mmerg.settings.identity import identity_hash
from tests.composed import composed, resolve
from tests.engine.parts import ROOT

EXPERIMENTS = sorted((ROOT / "conf/experiment").glob("*.yaml"))
NAMES = [file.stem for file in EXPERIMENTS]
WITH_ROWS = [file.stem for file in EXPERIMENTS if "rows" in yaml.safe_load(file.read_text(encoding="utf-8"))]


def swept(experiment: str) -> dict[str, list[str]]:
    page = yaml.safe_load((ROOT / f"conf/experiment/{experiment}.yaml").read_text(encoding="utf-8"))
    return {key: str(values).split(",") for key, values in page["hydra"]["sweeper"]["params"].items()}


def plain_of(experiment: str, *overrides: str) -> dict[str, Any]:
    return resolve(composed(f"+experiment={experiment}", "dataset=demo", *overrides))


@pytest.mark.parametrize("experiment", [name for name in NAMES if name.startswith("hef_")])
def test_every_member_of_every_experiment_composes(experiment: str) -> None:
    """tests/test_sharing.py runs those of the other experiments."""
    [(key, values)] = swept(experiment).items()
    identities = set()
    for value in values:
        plain = plain_of(experiment, f"{key}={value}")
        identities.add((identity_hash(plain), plain["sem"]))  # a model counts by its content, once it is read
    assert len(identities) == len(values)


@pytest.mark.parametrize("experiment", WITH_ROWS)
def test_a_sweep_goes_over_every_row_of_its_page(experiment: str) -> None:
    page = yaml.safe_load((ROOT / f"conf/experiment/{experiment}.yaml").read_text(encoding="utf-8"))
    assert swept(experiment)["row"] == list(page["rows"])


def test_a_row_that_says_what_the_defaults_say_is_the_plain_run() -> None:
    plain = identity_hash(resolve(composed("dataset=meld", "dataset.root=/meld")))
    for experiment, row in (("ablations", "full"), ("iterations", "t2"), ("topk", "k1"), ("table1", "merg")):
        member = resolve(composed(f"+experiment={experiment}", "dataset=meld", "dataset.root=/meld", f"row={row}"))
        assert identity_hash(member) == plain


def test_a_row_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match="there is no row 'k9'") as caught:
        plain_of("topk", "row=k9")
    assert "k0, k1" in caught.value.hint
    with pytest.raises(ConfigError, match="there is no row 'k9'"):
        resolve(composed("dataset=demo", "row=k9"))


def test_an_experiment_without_a_row_is_refused() -> None:
    with pytest.raises(ConfigError, match="none is chosen") as caught:
        plain_of("topk")
    assert "row=k0 runs one; -m row=k0,k1" in caught.value.hint


@pytest.mark.parametrize(
    ("row", "message", "hint"),
    [
        (
            "{system: {max_iteration: 3}}",
            "there is no setting system.max_iteration",
            "did you mean system.max_iterations",
        ),
        ("{memory: {topk: 3}}", "there is no setting memory.topk", "did you mean memory.top_k"),
        ("{memori: {top_k: 3}}", "there is no setting memori", "did you mean memory"),
        ("{system: {max_iterations: many}}", "system.max_iterations is 'many'", "a whole number"),
        ("{frames: none}", "frames is 'none', and it holds several settings", "seen_by"),
        ("[a, b]", "it is ['a', 'b'], not settings", "settings by name"),
        ("many", "it is 'many', not settings", "settings by name"),
    ],
)
def test_a_row_that_cannot_be_is_refused_by_its_name(row: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(composed("dataset=demo", f"+rows.x={row}", "row=x"))
    assert message in caught.value.what
    assert (caught.value.where, hint in caught.value.hint) == ("row x", True)


@pytest.mark.parametrize("row", ["{}", "null"])
def test_a_row_with_nothing_is_the_plain_run(row: str) -> None:
    plain = identity_hash(resolve(composed("dataset=demo")))
    assert identity_hash(resolve(composed("dataset=demo", f"+rows.x={row}", "row=x"))) == plain


def test_what_is_wrong_with_a_row_costs_that_one_alone() -> None:
    rows = ("dataset=demo", "+rows.good={seed: 3}", "+rows.bad={}")
    config = composed(*rows, "row=good")
    config.rows.bad = OmegaConf.create({"seed": "${nix}"})
    assert resolve(config)["seed"] == 3
    config.row = "bad"
    with pytest.raises(ConfigError):
        resolve(config)
