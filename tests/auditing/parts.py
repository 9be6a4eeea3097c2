"""Runs whose outputs name their dialogue, so that a scripted auditor can tell which ones are planted."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mmerg.auditing.planted import PLANTED, PlantedFaults
from mmerg.experiment.launch import launch
from mmerg.storage.record import read_record
from tests.configs import parse_settings
from tests.engine.parts import as_text, audit, fill_schema, to_class_names
from tests.scripted_ollama import PLAN

LABELS = ("joy", "anger", "sadness")
DIALOGUES = 6
FOREIGN_ONLY = ("--faults", "foreign", "--forms", "finding")
LAST = f"d{DIALOGUES - 1}"  # the only dialogue with the goal "comfort"
MARK = re.compile(r"mark-(\w+)")
Auditor = Callable[[list[bool]], list[bool]]  # from the stages with a planted output to the checks that fail


def find_all(planted: list[bool]) -> list[bool]:
    return planted


def answer_with(auditor: Auditor | None) -> Callable[[dict[str, Any]], str]:
    """Returns a function that answers a server's requests with outputs that repeat the mark of the dialogue. auditor:
    None for random verdicts that depend on the request alone."""

    def answer(body: dict[str, Any]) -> str:  # noqa: PLR0911 - one return per kind of request
        prompt = next(message["content"] for message in body["messages"] if message["role"] == "user")
        dialogue, *others = MARK.findall(prompt) or ["d0"]  # the doctor's requests have no mark
        if "its number only" in prompt:
            return "1" if re.search(rf"^1: .*mark-{dialogue}\b", prompt, re.MULTILINE) else "2"
        if "Answer with one word" in prompt:
            return "true" if set(others) <= {dialogue} else "false"
        text = f"mark-{dialogue}" + " anew" * ("You have done this step before" in prompt)
        schema = {"properties": {}} | (body.get("format") or {})
        fields = to_class_names(schema["properties"])
        by_field = dict(zip(fields, schema["properties"].values(), strict=True))
        choices = by_field.get("emotion", {}).get("enum", ())
        emotion = choices[0] if len(choices) == 1 else LABELS[int(dialogue[1:]) % len(LABELS)]
        if "textual_cues" in fields:
            cues: dict[str, Any] = {"textual_cues": [{"turn": 1, "cue": text}]}
            return json.dumps(cues | ({"visual_cues": []} if "visual_cues" in fields else {}))
        if "textual" in fields:
            forecast = {"textual": "t", "visual": "v", "consistency": "agree", "reasoning": text, "emotion": emotion}
            return fill_schema(forecast, schema)
        if "goal" in fields:
            return fill_schema(
                {"reasoning": text, **PLAN, "goal": "comfort" if dialogue == LAST else "clarify"}, schema
            )
        if "response" in fields:
            return json.dumps({"emotion": emotion, "response": text})
        if not fields and "What does Ana say next?" in prompt:  # roles are swapped
            return "Where are they?"
        if not fields:
            return f"I hear you, {text}."
        planted = ([mark != dialogue for mark in others] + [True])[: len(fields)]  # a reply made by code has no mark
        generator = random.Random(json.dumps(body, sort_keys=True))
        fails = auditor(planted) if auditor else [generator.random() < 0.4 for _ in fields]
        return as_text(audit({name: not failed for name, failed in zip(fields, fails, strict=True)}))

    return answer


def score_fit(body: dict[str, Any], text: str) -> float:
    """Returns the log-probability of each word in an output: low if the prompt shows another dialogue than that of the
    output, or the output has no mark. Without a dialogue in the prompt, all marked outputs are equally likely."""
    prompt = next(message["content"] for message in body["messages"] if message["role"] == "user")
    shown, marks = MARK.findall(prompt), MARK.findall(text)
    if not shown:
        return -0.5 if marks else -3.0
    return -0.5 if marks[:1] == shown[:1] else -3.0 if marks else -6.0


def corpus(root: Path, clips: bool = False, dialogues: int = DIALOGUES) -> Path:
    """Writes dialogues of four turns. clips: the third turn has the clip clip.mp4, which the test must write."""
    lines = []
    for number in range(dialogues):
        turns = [
            {"speaker": "Ana", "text": f"I lost my keys, mark-d{number}."},
            {"speaker": "Ben", "text": "Again?"},
            {"speaker": "Ana", "text": "Again.", **({"clip": "clip.mp4"} if clips else {})},
            {"speaker": "Ben", "text": "Oh no.", "emotion": "joy"},
        ]
        lines.append(json.dumps({"id": f"d{number}", "turns": turns}) + "\n")
    root.mkdir(exist_ok=True)
    (root / "dialogues.jsonl").write_text("".join(lines), encoding="utf-8")
    return root


def run(folder: Path, url: str, *more: str) -> Path:
    """Runs the corpus in folder/data on the server at `url`. Returns the run folder."""
    settings = (f"backend.hosts=[{url}]", f"runs={folder}/runs", f"dataset.root={folder}/data", "dataset=folder")
    ended = launch(parse_settings(*settings, "backbone=qwen2.5vl-7b", *more))
    assert ended.failed == 0
    return Path(ended.run)


def read_faults(path: Path) -> PlantedFaults:
    return read_record(path / PLANTED, PlantedFaults)
