"""Systems are asked for the emotion that the dataset's labels name: of who answers, or of who tells."""

import pytest

from mmerg.engine.state import State
from mmerg.settings.groups import list_options
from tests.composed import settings_of
from tests.engine.parts import SCENE
from tests.systems.played import Played

SYSTEMS = [name for name in list_options("system") if name != "best_of_n_matched"]  # it asks what best_of_n does
EXPRESSED = ("the emotion of Ben's next turn", "show in saying it", "The emotion in it is")
FELT = "what the one who tells feels (not Ben), in the conversation as a whole"


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_asks_for_what_is_scored(system: str) -> None:
    asked = Played(system, "dataset.emotion_of=speaker", state=State(SCENE)).prompts
    assert FELT in asked
    assert [words for words in EXPRESSED if words in asked] == []
    asked = Played(system, "dataset.emotion_of=responder", state=State(SCENE)).prompts
    assert EXPRESSED[0] in asked
    assert "the one who tells feels" not in asked


@pytest.mark.parametrize("dataset", list_options("dataset"))
def test_a_dataset_says_whose_emotion_its_labels_are(dataset: str) -> None:
    root = () if dataset in ("demo", "talk") else ("dataset.root=/d",)
    whose = settings_of(f"dataset={dataset}", *root).dataset.emotion_of
    assert whose == ("speaker" if dataset == "empathetic" else "responder")
