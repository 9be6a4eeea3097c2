"""The demo corpus of the package."""

from mmerg.corpora.dialogue import Clip
from mmerg.corpora.folder import Folder, demo_root
from mmerg.corpora.protocols import select
from tests.configs import build_protocol

CLIPS = sorted(path.name for path in demo_root().glob("*.mp4"))


def test_the_demo_loads_without_notes() -> None:
    corpus = Folder(demo_root()).load()
    assert corpus.name == "demo"
    assert corpus.notes == {}
    assert len(corpus.dialogues) == 5
    turns = [turn for dialogue in corpus.dialogues for turn in dialogue.turns]
    assert {turn.emotion for turn in turns} == set(corpus.labels)
    assert {turn.clip.path.name for turn in turns if turn.clip} == set(CLIPS)
    assert all(3 <= len(dialogue.turns) <= 6 for dialogue in corpus.dialogues)
    assert sorted(len({turn.speaker for turn in dialogue.turns}) for dialogue in corpus.dialogues) == [2, 2, 2, 2, 3]


def test_a_file_of_several_turns_is_shown_up_to_the_hidden_reply() -> None:
    selection = select(Folder(demo_root()).load(), build_protocol())
    assert all(sample.target and sample.target.emotion and not sample.dropped for sample in selection.samples)
    (sample,) = (sample for sample in selection.samples if sample.dialogue_id == "fine")
    spans = [(turn.clip.path.name, turn.clip.start, turn.clip.end) for turn in sample.scene.history if turn.clip]
    assert spans == [("fine_1.mp4", None, None), ("fine_talk.mp4", 0.0, 3.0), ("fine_talk.mp4", 3.0, 6.5)]
    assert sample.scene.history[2].clip is None
    assert sample.target
    hidden = sample.target.clip
    assert hidden == Clip((demo_root() / "fine_talk.mp4").resolve(), 6.5, 9.0)
