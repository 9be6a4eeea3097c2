"""What the agents of a run saw of the keyframes, as its trace tells: a run whose clips were not found is one of text.

seen(Path("runs/meld-merg-qwen3.5-27b-1a2b3c4d/trace.jsonl"))    # "keyframes"
"""

from __future__ import annotations

from pathlib import Path

from mmerg.runs.events import FramesTaken
from mmerg.runs.trace import parsed, read_heads

KEYFRAMES = "keyframes"
MEASURED = "descriptions measured from keyframes"
NOT_FOUND = "no clip was found: text only"
UNUSABLE = "no clip could be used: text only"


def seen(trace: Path) -> str:
    """One of the above. Reads up to the first sample that has a keyframe. Every try at a sample begins with a look at
    its clips, so nothing is held against a trace that tells of no such look. Raises RunError where the trace is not
    there or cannot be read."""
    told = KEYFRAMES
    for head, line in read_heads(trace):
        if head.kind != "frames_taken":
            continue
        taken = parsed(line, head.number, trace)
        assert isinstance(taken, FramesTaken)
        if any(turn.frames for turn in taken.turns):
            return MEASURED if taken.form == "descriptions" else KEYFRAMES
        if taken.turns:
            told = UNUSABLE
        elif told == KEYFRAMES:
            told = NOT_FOUND
    return told
