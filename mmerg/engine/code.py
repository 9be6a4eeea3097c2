"""Checks by code, for stages with form=code. A function gets an output and its state, and returns descriptions of
faults, each with its size from 0 to 1.

    cues_not_in_turn(evidence, state)    # {"turn 3 does not say: a long sigh": 0.75}

They find faults that small models make in English. `mmerg audit RUN` measures what they miss.
"""

import re

from rapidfuzz import fuzz

from mmerg.engine.state import Output, State

REFUSAL = re.compile(
    r"(\bI( am|'m|’m)? |^|[.!?,] )(cannot|can't|can’t|unable to|not able to) "
    r"(assist|fulfil|comply|provide|engage in|(help( you)? with|respond to|answer) (that|this|your))\b"
    r"|\bas an? (ai|language model)\b",
    re.IGNORECASE,
)
ASSISTANT = re.compile(
    r"\bhow (can|may) i (help|assist)\b|\banything else\b.*\bhelp\b|\bany (other|further|more) questions\b"
    r"|\bfeel free to\b|\bi('|’)?m here to (help|assist)\b|\bis there anything (else )?i can\b",
    re.IGNORECASE,
)
OWN_INTRODUCTION = r"(?<![Ii]'m )(?<![Ii]’m )(?<![Ii] am )(?<!name is )(?<!name's )(?<![Ii]t's )"
COPIED = 85.0  # similarity, of 100, from which two texts are the same line


def reply_faults(output: Output, state: State) -> dict[str, float]:
    """Finds refusals, phrases of assistants, narration, replies that address their own speaker, and repeated lines. A
    repeated line of another speaker means confused roles."""
    text, scene = str(getattr(output, "response", output)), state.scene
    me, others = scene.responder, {turn.speaker for turn in scene.history} - {scene.responder}
    found = {
        "an assistant's refusal": bool(REFUSAL.search(text)),
        "an assistant's phrase": bool(ASSISTANT.search(text)),
        "a narration": any(_narrates(text, name) for name in {me, *others} if name),
        f"{me} speaks to {me}": len(me) > 1
        and bool(re.search(rf"{OWN_INTRODUCTION}(?<!\w){re.escape(me)}(?!\w)(?=[,.!?]|$)", text)),
    }
    for turn in scene.history:
        if len(text.split()) > 2 and fuzz.ratio(text.lower(), turn.text.lower()) > COPIED:
            found["a line that was said before" if turn.speaker == me else f"{turn.speaker}'s line"] = True
    return {what: 1.0 for what, holds in found.items() if holds}


def cues_not_in_turn(output: Output, state: State) -> dict[str, float]:
    """Finds textual cues of which most words are not in the turn that they name. Returns each with the share of missing
    words."""
    found = {}
    for cue in getattr(output, "textual_cues", ()):
        said = {word for turn in state.scene.history[cue.turn - 1 : cue.turn] for word in _words(turn.text)}
        words = _words(cue.cue)
        missing = sum(word not in said for word in words) / max(len(words), 1)
        if missing > 0.5:
            found[f"turn {cue.turn} does not say: {cue.cue}"] = missing
    return found


def _narrates(text: str, name: str) -> bool:
    """Returns True if a text begins with narration: "Ross looks …", "Ross's face …"."""
    tells = r"('s|’s)? (face|eyes|voice|is|was|seems|looks|feels|smiles|nods|sighs|takes|turns|thinks|says)\b"
    return bool(re.match(re.escape(name) + tells, text.strip()))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
