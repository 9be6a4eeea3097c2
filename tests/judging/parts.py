"""Judges as conf/ composes them, items, and scripted completions, for the tests of judging."""

import json
import re
from collections.abc import Callable
from typing import Any

from mmerg.backends.protocol import Request, Sampling
from mmerg.backends.scripted import Scripted
from mmerg.engine.prompts import Prompts
from mmerg.judging.items import Item
from mmerg.judging.judge import Judge, build_judge_system
from mmerg.runs.events import Event
from mmerg.runs.result import Verdicts
from mmerg.settings.commands import JudgeSettings, RubricSettings
from mmerg.settings.parse import parse
from tests.configs import compose_config

HISTORY = (("Ana", "I did not get the job."), ("Ben", "Oh no."), ("Ana", "It's fine.\nReally."))
ITEM = Item("d1/4", "d1", HISTORY, "Ben", ("That must hurt. Do you want to talk?",))
PAIR = Item("d1/4", "d1", HISTORY, "Ben", ("That must hurt. Do you want to talk?", "Jobs are overrated."))


def node(name: str) -> RubricSettings:
    return parse(compose_config(f"judge={name}", name="judge"), JudgeSettings).judge


def judge(name: str, repeats: int = 1) -> Judge:
    settings = node(name)
    sampling = Sampling(seed=7, temperature=0.7 if repeats > 1 else 0.0)
    return Judge(Prompts(build_judge_system(settings)), sampling, settings.replies, repeats)


def ask_scripted(judge: Judge, item: Item, answer: Callable[[Request], Any]) -> tuple[Verdicts, Scripted, list[Event]]:
    """Asks a scripted judge. Returns the verdicts, the backend with its requests, and the events."""
    backend, emitted = Scripted(answer), list[Event]()
    return judge.judge_item(item, backend, emitted.append), backend, emitted


def user_text(request: Request) -> str:
    return request.messages[1].text


def shown(request: Request) -> tuple[str, str]:
    """Returns the texts of Reply 1 and Reply 2 in a prompt."""
    found = re.search(r"Reply 1:\n(.*)\n\nReply 2:\n(.*)\n", user_text(request))
    assert found
    return found[1], found[2]


def better(which: str) -> str:
    return json.dumps({"reason": "because", "better": which})


def always_first(request: Request) -> str:
    return better("Reply 1")


def rating(score: object) -> str:
    return json.dumps({"reason": "because", "score": score})
