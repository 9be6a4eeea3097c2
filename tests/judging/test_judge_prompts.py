"""The prompts of judges: golden files, shared prefixes, and no leaks."""

import os
from pathlib import Path

import pytest

from mmerg.judging.items import Item
from mmerg.judging.judge import Judge
from tests.judging.parts import ITEM, PAIR, always_first, ask_scripted, judge, node, rating, shown, user_text

GOLDEN = Path(__file__).parent / "golden"
ASPECTS = [(name, aspect) for name in ("likert", "pairwise") for aspect in node(name).aspects]


def prompts(judge: Judge, item: Item) -> list[str]:
    """The messages of each call, in order."""
    _, backend, _ = ask_scripted(
        judge, item, lambda request: always_first(request) if judge.replies == 2 else rating(3)
    )
    return ["\n".join(f"=== {m.role}\n{m.text}" for m in request.messages) + "\n" for request in backend.requests]


@pytest.mark.parametrize(("name", "aspect"), ASPECTS, ids=[f"{name}-{aspect}" for name, aspect in ASPECTS])
def test_prompts_match_their_golden_files(name: str, aspect: str) -> None:
    file = GOLDEN / f"{name}-{aspect}.txt"
    place = list(node(name).aspects).index(aspect)
    prompt = prompts(judge(name), PAIR if name == "pairwise" else ITEM)[place]
    if os.environ.get("MMERG_WRITE_GOLDEN"):
        file.write_text(prompt, encoding="utf-8")
    assert prompt == file.read_text(encoding="utf-8")


def test_the_prompts_of_an_item_differ_only_in_the_question() -> None:
    texts = prompts(judge("likert"), ITEM)
    assert len(texts) == len({text.split("Question:")[1] for text in texts}) == 3
    assert len({text.split("Question:")[0] for text in texts}) == 1


def test_pairs_are_judged_in_both_orders_one_after_the_other() -> None:
    _, backend, _ = ask_scripted(judge("pairwise"), PAIR, always_first)
    a, b = PAIR.replies
    assert [shown(request) for request in backend.requests] == [(a, b)] * 5 + [(b, a)] * 5
    before = [user_text(request).split("Question:")[0] for request in backend.requests]
    assert len(set(before[:5])) == len(set(before[5:])) == 1


def test_ids_and_labels_are_not_in_prompts() -> None:
    item = Item("SECRET-id/4", "SECRET-dialogue", PAIR.history, "Ben", PAIR.replies)
    assert not [prompt for prompt in prompts(judge("pairwise"), item) if "SECRET" in prompt]
    assert item.scene.labels == ()
    assert all(turn.emotion is None and turn.clip is None for turn in item.scene.history)
