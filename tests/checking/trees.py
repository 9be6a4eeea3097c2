"""Folder datasets for tests."""

import json
from pathlib import Path


def folder(root: Path, *dialogues: dict[str, object]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(dialogue) + "\n" for dialogue in dialogues)
    (root / "dialogues.jsonl").write_text(text, encoding="utf-8")
    return root


def turn(
    clip: str | None = None, speaker: str = "Ana", text: str = "I failed again.", **more: object
) -> dict[str, object]:
    return {"speaker": speaker, "text": text, **({"clip": clip} if clip else {}), **more}
