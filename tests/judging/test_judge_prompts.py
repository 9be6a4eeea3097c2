"""What a judge is shown: a golden file an aspect, what calls share comes first, and nothing that it must not know."""

import os
from dataclasses import fields
from pathlib import Path

import pytest

from mmerg.judging.items import Item
from mmerg.judging.judge import Judge
from tests.judging.parts import ITEM, PAIR, always_first, asked, judge, node, rating, shown, user_of

GOLDEN = Path(__file__).parent / "golden"
ASPECTS = [(name, aspect) for name in ("likert", "pairwise") for aspect in node(name).aspects]


def prompts(judge: Judge, item: Item) -> list[str]:
    """Each call's messages, in order."""
    _, backend, _ = asked(judge, item, lambda request: always_first(request) if judge.replies == 2 else rating(3))
    return ["\n".join(f"=== {m.role}\n{m.text}" for m in request.messages) + "\n" for request in backend.requests]


@pytest.mark.parametrize(("name", "aspect"), ASPECTS, ids=[f"{name}-{aspect}" for name, aspect in ASPECTS])
def test_prompt_is_as_in_its_golden_file(name: str, aspect: str) -> None:
    file = GOLDEN / f"{name}-{aspect}.txt"
    place = list(node(name).aspects).index(aspect)
    prompt = prompts(judge(name), PAIR if name == "pairwise" else ITEM)[place]
    if os.environ.get("MMERG_WRITE_GOLDEN"):
        file.write_text(prompt, encoding="utf-8")
    assert prompt == file.read_text(encoding="utf-8")


def test_calls_are_one_an_aspect_and_differ_in_the_aspect_alone() -> None:
    told = prompts(judge("likert"), ITEM)
    assert len(told) == 3
    assert len({prompt.split("Question:")[0] for prompt in told}) == 1
    assert len({prompt.split("Question:")[1] for prompt in told}) == 3


def test_a_comparison_asks_in_both_orders_and_aspects_of_an_order_follow_each_other() -> None:
    _, backend, _ = asked(judge("pairwise"), PAIR, always_first)
    orders = [shown(request) for request in backend.requests]
    a, b = PAIR.replies
    assert orders == [(a, b)] * 5 + [(b, a)] * 5
    before = [user_of(request).split("Question:")[0] for request in backend.requests]
    assert len(set(before[:5])) == len(set(before[5:])) == 1


def test_an_item_holds_nothing_but_history_and_replies() -> None:
    """What is not in an item cannot be in a prompt."""
    assert {field.name for field in fields(Item)} == {"id", "dialogue", "history", "responder", "replies"}
    assert ITEM.scene.labels == ()
    assert all(turn.emotion is None and turn.clip is None for turn in ITEM.scene.history)


def test_neither_ids_nor_names_are_in_a_prompt() -> None:
    item = Item("SECRET-id/4", "SECRET-dialogue", PAIR.history, "Ben", PAIR.replies)
    assert not [prompt for prompt in prompts(judge("pairwise"), item) if "SECRET" in prompt]
