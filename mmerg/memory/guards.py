"""What must not come back from a memory: each guard is a function of a query and an entry, and has a name.

They are asked in the order of `NAMES`, from what is surely a leak to what only looks like one; the first that says yes
names the exclusion. Knows nothing of vectors but the likeness that it is told.

    Guards().fired(query, entry, lambda: 0.99)    # "near duplicate"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mmerg.memory.entries import Entry, Origin, plain_words

NAMES = ("same dialogue", "same script", "same scene", "same reply", "near duplicate")
# Seconds between two dialogues of an episode up to which they count as one scene. MELD cuts a scene into several
# dialogues, and a split may take the one and leave the other; a scene of a sitcom lasts one to three minutes.
SCENE_GAP = 60.0


@dataclass(frozen=True, slots=True)
class Query:
    """A sample as the memory is asked for it. sample: its id, for errors. text: what is compared (see `Key`), of what a
    prompt may show. emotion: the forecast one. Known to guards alone: history, the words of the dialogue's last turns,
    also of those that no prompt shows; reply, the hidden one, None where there is none."""

    sample: str
    origin: Origin
    text: str
    history: str
    emotion: str | None = None
    reply: str | None = None


@dataclass(frozen=True, slots=True)
class Guards:
    """Which guards are on; that of the same dialogue always is. exclude_similarity: None or the cosine of two
    histories from which they count as one."""

    exclude_same_script: bool = True
    exclude_same_scene: bool = True
    exclude_same_reply: bool = True
    exclude_similarity: float | None = 0.98

    def fired(self, query: Query, entry: Entry, likeness: Callable[[], float]) -> str | None:
        """The name of the first guard that keeps `entry` back, or None. likeness: the cosine of the two histories."""
        threshold = self.exclude_similarity
        if same_dialogue(query.origin, entry.origin):
            return NAMES[0]
        if self.exclude_same_script and same_script(query.origin, entry.origin):
            return NAMES[1]
        if self.exclude_same_scene and same_scene(query.origin, entry.origin):
            return NAMES[2]
        if self.exclude_same_reply and same_reply(query, entry):
            return NAMES[3]
        if threshold is not None and likeness() >= threshold:
            return NAMES[4]
        return None


def same_dialogue(one: Origin, other: Origin) -> bool:
    """The same id, the same conversation, or the same words in all turns: one dialogue under two names."""
    if one.conversation is not None and one.conversation == other.conversation:
        return True
    return one.dialogue == other.dialogue or bool(one.words and one.words == other.words)


def same_script(one: Origin, other: Origin) -> bool:
    """Two performances of one play."""
    return one.script is not None and one.script == other.script


def same_scene(one: Origin, other: Origin) -> bool:
    """The same episode, at times that overlap or lie at most SCENE_GAP apart. Where a time is not known, what is of the
    same episode counts as of the same scene."""
    if one.episode is None or one.episode != other.episode:
        return False
    if one.start is None or one.end is None or other.start is None or other.end is None:
        return True
    return max(one.start, other.start) - min(one.end, other.end) <= SCENE_GAP


def same_reply(query: Query, entry: Entry) -> bool:
    """The words of the hidden reply (see `plain_words`); a short "Yeah." counts, too, as it is the answer by the
    letter."""
    words = plain_words(query.reply or "")
    return bool(words) and words == plain_words(entry.reply)
