"""The probe on models that know lines, guess from the scene, or do neither."""

from collections.abc import Callable
from hashlib import sha256
from textwrap import wrap

import pytest

from mmerg.backends.dry import Dry
from mmerg.backends.protocol import Finish, Reply, Request
from mmerg.checking.contamination import check_contamination
from mmerg.corpora.dialogue import Corpus, Dialogue, Turn

FIRST, SECOND = (
    [" ".join(wrap(sha256(f"{i} {half}".encode()).hexdigest()[:30], 5)) for i in range(10)] for half in "ab"
)


def corpus(lines: int) -> Corpus:
    turns = [(Turn("A", f"Scene {i}"), Turn("B", f"{FIRST[i]} {SECOND[i]}")) for i in range(lines)]
    dialogues = tuple(Dialogue(f"d{i}", both) for i, both in enumerate(turns))
    return Corpus(name="meld", split="test", labels=("joy",), fingerprint="f", dialogues=dialogues)


class Scripted(Dry):
    """A backend whose replies follow from a prompt's last two lines: the scene and the start of a line."""

    def __init__(self, answer: Callable[[str, str], str]) -> None:
        super().__init__()
        self.answer = answer

    def complete(self, request: Request) -> Reply:
        scene, start = request.messages[0].text.splitlines()[-2:]
        return Reply(text=self.answer(scene, start), finish=Finish.STOP)


def by_heart(_: str, start: str) -> str:
    """In capitals, and continues."""
    return f"{SECOND[FIRST.index(start.removeprefix('B: '))].upper()}, and so on!\n\nA: That is it."


def whole(_: str, start: str) -> str:
    return f"{start} {SECOND[FIRST.index(start.removeprefix('B: '))]}"


@pytest.mark.parametrize(
    ("answer", "status", "told"),
    [
        (by_heart, "open", "10 of 10 lines of meld test, and 0 of 10 mixed up: the model knows lines by heart"),
        (whole, "open", "10 of 10 lines of meld test, and 0 of 10 mixed up: the model knows lines by heart"),
        (lambda scene, _: SECOND[int(scene[-1])], "ok", "10 of 10 lines of meld test, and 10 of 10 mixed up: no sign"),
        (lambda *_: "I do not know.", "ok", "0 of 10 lines of meld test, and 0 of 10 mixed up: no sign"),
    ],
)
def test_lines_that_are_recited(answer: Callable[[str, str], str], status: str, told: str) -> None:
    found = check_contamination(Scripted(answer), corpus(10))
    assert found[0] == status
    assert found[1].startswith(f"recited {told}")


def test_blank_replies_show_nothing() -> None:
    assert check_contamination(Scripted(lambda *_: " "), corpus(10))[1].startswith("20 of 20 replies were blank")


def test_a_corpus_with_few_lines_shows_nothing() -> None:
    told = "meld test has 9 lines of 12 words or more after a first turn; 10 are needed"
    assert check_contamination(Dry(), corpus(9)) == ("open", told)
