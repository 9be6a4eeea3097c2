"""Small corpora with real clips in them, each defect put in by name."""

import json
from pathlib import Path

from mmerg.corpora.published import expected
from tests.corpora.meld_builder import Builder, Line


def folder(root: Path, *dialogues: dict[str, object]) -> Path:
    """A folder dataset of these dialogues."""
    root.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(dialogue) + "\n" for dialogue in dialogues)
    (root / "dialogues.jsonl").write_text(text, encoding="utf-8")
    return root


def turn(
    clip: str | None = None, speaker: str = "Ana", text: str = "I failed again.", **more: object
) -> dict[str, object]:
    """A turn as a folder dataset writes it."""
    return {"speaker": speaker, "text": text, **({"clip": clip} if clip else {}), **more}


def published_dev(root: Path, clip: Path) -> Path:
    """A MELD dev split with exactly the published counts, every clip of it a copy of `clip`, save the one that the
    release lacks. Its words are made up."""
    official = expected("meld", "dev")
    assert official
    labels = [label for label, count in official.labels.items() for _ in range(count)]
    lines = []
    for number, label in enumerate(labels):
        dialogue = min(number // 9, 113)
        utterance = number - 9 * dialogue
        start, end = (f"0:{second // 60:02}:{second % 60:02},000" for second in (3 * utterance, 3 * utterance + 2))
        speaker = ("Ana", "Ben")[utterance % 2]
        lines.append(Line(f"Words {number}.", speaker, label, dialogue, utterance, start, end))
    Builder(split="dev", lines=lines, without_clips=frozenset({(110, 7)})).write(root)
    data = clip.read_bytes()
    for written in root.rglob("*.mp4"):
        written.write_bytes(data)
    return root
