"""Completions of scripted models to served systems."""

import json
import re
import threading
from collections.abc import Callable

import cv2
import numpy as np

from mmerg.backends.dry import TEXT, Dry
from mmerg.backends.protocol import Request
from tests.engine.parts import as_text, audit, find_stage


def picture(kind: str = ".png", grey: int = 90) -> bytes:
    _, data = cv2.imencode(kind, np.full((120, 160, 3), grey, np.uint8))
    return bytes(data.tobytes())


def echo(request: Request) -> str:
    """Repeats the last turn, as one_pass; or the prompt, if a request has no schema."""
    prompt = request.messages[-1].text
    if not request.schema:
        return prompt
    said = [TEXT, *re.findall(r"^\d+\. .+?: (.*)$", prompt, re.MULTILINE)][-1]
    return json.dumps({"emotion": "joy", "response": f"You said: {said}"})


def blaming(stage: str) -> Callable[[Request], str]:
    """Returns completions for MERG, whose first audit blames `stage`, and whose second finds no fault."""
    audits = []

    def answer(request: Request) -> str:
        if find_stage(request) != "gra":
            return Dry().complete(request).text
        audits.append(request)
        fine = dict.fromkeys(("mpa", "caef", "psp", "sgrg"), True)
        return as_text(audit(fine | {stage: False} if len(audits) == 1 else fine))

    return answer


class Held:
    """An echo whose calls wait until `let_go` is set. begun: set once a call waits."""

    def __init__(self) -> None:
        self.begun, self.let_go = threading.Event(), threading.Event()

    def __call__(self, request: Request) -> str:
        self.begun.set()
        assert self.let_go.wait(60)
        return echo(request)
