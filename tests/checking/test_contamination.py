"""The check of contamination on models that know lines, guess them from the scene, or do neither."""

from collections.abc import Callable
from hashlib import sha256
from textwrap import wrap

import pytest

from mmerg.backends.dry import Dry
from mmerg.backends.protocol import Completion, Finish, Request
from mmerg.checking.contamination import check_contamination
from mmerg.corpora.dialogue import Corpus, Dialogue, Turn


def random_words(key: str) -> str:
    return " ".join(wrap(sha256(key.encode()).hexdigest()[:30], 5))


FIRST = [random_words(f"{number} a") for number in range(10)]
SECOND = [random_words(f"{number} b") for number in range(10)]


def corpus(lines: int) -> Corpus:
    turns = [(Turn("A", f"Scene {n}"), Turn("B", f"{FIRST[n]} {SECOND[n]}")) for n in range(lines)]
    dialogues = tuple(Dialogue(f"d{number}", pair) for number, pair in enumerate(turns))
    return Corpus(name="meld", split="test", labels=("joy",), fingerprint="f", dialogues=dialogues)


class ScriptedCompletions(Dry):
    """A backend that completes the last two lines of a prompt: the scene, and the first half of a line."""

    def __init__(self, answer: Callable[[str, str], str]) -> None:
        super().__init__()
        self.answer = answer

    def complete(self, request: Request) -> Completion:
        scene, start = request.messages[0].text.splitlines()[-2:]
        return Completion(text=self.answer(scene, start), finish=Finish.STOP)


def by_heart(_: str, start: str) -> str:
    """The second half in capitals, and more text."""
    return f"{SECOND[FIRST.index(start.removeprefix('B: '))].upper()}, and so on!\n\nA: That is it."


def whole(_: str, start: str) -> str:
    return f"{start} {SECOND[FIRST.index(start.removeprefix('B: '))]}"


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        (by_heart, "open", "10 of 10 lines of meld test, and 0 of 10 mixed up: the model knows lines by heart"),
        (whole, "open", "10 of 10 lines of meld test, and 0 of 10 mixed up: the model knows lines by heart"),
        (lambda scene, _: SECOND[int(scene[-1])], "ok", "10 of 10 lines of meld test, and 10 of 10 mixed up: no sign"),
        (lambda *_: "I do not know.", "ok", "0 of 10 lines of meld test, and 0 of 10 mixed up: no sign"),
    ],
)
def test_recited_lines_are_counted(answer: Callable[[str, str], str], status: str, message: str) -> None:
    found = check_contamination(ScriptedCompletions(answer), corpus(10))
    assert found[0] == status
    assert found[1].startswith(f"recited {message}")


def test_blank_completions_show_nothing() -> None:
    assert check_contamination(ScriptedCompletions(lambda *_: " "), corpus(10))[1].startswith("20 of 20 completions")


def test_a_corpus_with_few_lines_shows_nothing() -> None:
    message = "meld test has 9 lines of 12 words or more after a first turn; 10 are needed"
    assert check_contamination(Dry(), corpus(9)) == ("open", message)
