"""Runs whose outputs name the dialogue that they are of, so that a scripted auditor can know what is planted."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mmerg.auditing.planted import PLANTED, Planted
from mmerg.experiment.launch import launch
from mmerg.storage.record import read_record
from tests.composed import settings_of
from tests.engine.parts import as_text, asked_of, audit, class_names
from tests.scripted_ollama import PLAN

LABELS = ("joy", "anger", "sadness")
DIALOGUES = 6
FOREIGN_ONLY = ("--faults", "foreign", "--forms", "finding")
LAST = f"d{DIALOGUES - 1}"  # the only dialogue with its goal
MARK = re.compile(r"mark-(\w+)")
Auditor = Callable[[list[bool]], list[bool]]  # from which stages are planted to which checks fail


def finds_all(planted: list[bool]) -> list[bool]:
    return planted


def answers(auditor: Auditor | None) -> Callable[[dict[str, Any]], str]:
    """A server's answers; each output repeats the mark of the dialogue. auditor None: one that draws its verdicts by
    the request, whatever is planted."""

    def answer(body: dict[str, Any]) -> str:  # noqa: PLR0911 - one for each question
        prompt = next(message["content"] for message in body["messages"] if message["role"] == "user")
        talk, *others = MARK.findall(prompt) or ["d0"]  # none in the doctor's questions
        if "its number alone" in prompt:
            return "1" if re.search(rf"^1: .*mark-{talk}\b", prompt, re.MULTILINE) else "2"
        if "Answer with one word" in prompt:
            return "true" if set(others) <= {talk} else "false"
        told = f"mark-{talk}" + " anew" * ("You have done this step before" in prompt)
        schema = {"properties": {}} | (body.get("format") or {})
        fields = class_names(schema["properties"])
        by_field = dict(zip(fields, schema["properties"].values(), strict=True))
        choices = by_field.get("emotion", {}).get("enum", ())
        emotion = choices[0] if len(choices) == 1 else LABELS[int(talk[1:]) % len(LABELS)]
        if "textual_cues" in fields:
            cues: dict[str, Any] = {"textual_cues": [{"turn": 1, "cue": told}]}
            return json.dumps(cues | ({"visual_cues": []} if "visual_cues" in fields else {}))
        if "textual" in fields:
            forecast = {"textual": "t", "visual": "v", "consistency": "agree", "reasoning": told, "emotion": emotion}
            return asked_of(forecast, schema)
        if "goal" in fields:
            return asked_of({"reasoning": told, **PLAN, "goal": "comfort" if talk == LAST else "clarify"}, schema)
        if "response" in fields:
            return json.dumps({"emotion": emotion, "response": told})
        if not fields:
            return f"I hear you, {told}."
        planted = ([mark != talk for mark in others] + [True])[: len(fields)]  # a reply that code makes has no mark
        drawn = random.Random(json.dumps(body, sort_keys=True))
        fails = auditor(planted) if auditor else [drawn.random() < 0.4 for _ in fields]
        return as_text(audit({name: not failed for name, failed in zip(fields, fails, strict=True)}))

    return answer


def fitting(body: dict[str, Any], text: str) -> float:
    """The log-probability of a word: an output of another dialogue is unlikely where its own dialogue is shown. Without
    a dialogue all are alike."""
    prompt = next(message["content"] for message in body["messages"] if message["role"] == "user")
    talk, own = MARK.findall(prompt), MARK.findall(text)
    if not talk:
        return -0.5 if own else -3.0
    return -3.0 if own and own[0] != talk[0] else -0.5


def corpus(root: Path, clips: bool = False, dialogues: int = DIALOGUES) -> Path:
    """Dialogues of three turns; with `clips` their second turn has one, which is to be made."""
    lines = []
    for number in range(dialogues):
        shown = {"clip": "clip.mp4"} if clips else {}
        said = [("Ana", f"I lost my keys, mark-d{number}.", {}), ("Ben", "Again?", {}), ("Ana", "Again.", shown)]
        turns = [{"speaker": speaker, "text": text, **more} for speaker, text, more in said]
        turns.append({"speaker": "Ben", "text": "Oh no.", "emotion": "joy"})
        lines.append(json.dumps({"id": f"d{number}", "turns": turns}) + "\n")
    root.mkdir(exist_ok=True)
    (root / "dialogues.jsonl").write_text("".join(lines), encoding="utf-8")
    return root


def run(folder: Path, url: str, *more: str) -> Path:
    """A run over the corpus in folder/data, asked of the server at `url`."""
    where = (f"backend.hosts=[{url}]", f"runs={folder}/runs", f"dataset.root={folder}/data", "dataset=folder")
    [ended] = launch(settings_of(*where, "backbone=qwen2.5vl-7b", *more))
    assert ended.failed == 0
    return Path(ended.run)


def planted_of(path: Path) -> Planted:
    return read_record(path / PLANTED, Planted)
