"""Guards against leaks: a memory must not hold the evaluated corpus, nor show entries that reveal a hidden reply.

Guards are ordered from certain leaks to likely ones. The first that matches names the exclusion.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from mmerg.corpora.dialogue import Corpus
from mmerg.errors import ConfigError, preview
from mmerg.memory.entries import Entry, Origin
from mmerg.settings.sources import MemorySettings
from mmerg.storage.words import is_distinctive, normalize_words, split_bare_words

# Two dialogues of an episode count as one scene if at most so many seconds lie between them. MELD cuts a scene into
# several dialogues, which may be in different splits; a scene of a sitcom lasts one to three minutes.
SCENE_GAP = 60.0
SAME = 80.0  # percent of the letters of the shorter text that a part of the longer one shares


@dataclass(frozen=True, slots=True)
class Query:
    """The search for a sample. text: the key text (see `build_key`). emotion: the forecast. Only guards use `history`,
    the words of the dialogue's last turns even if no prompt shows them, and `reply`, the hidden reply."""

    origin: Origin
    text: str
    history: str
    emotion: str | None = None
    reply: str | None = None


def guard_against(entry: Entry, query: Query, settings: MemorySettings, likeness: Callable[[], float]) -> str:
    """The name of the first guard that excludes `entry`, or "". likeness: computes the cosine of the two histories."""
    here, there, threshold = query.origin, entry.origin, settings.exclude_similarity
    if _same_dialogue(here, there):
        return "same dialogue"
    if settings.exclude_same_script and here.script is not None and here.script == there.script:
        return "same script"
    if settings.exclude_same_scene and _same_scene(here, there):
        return "same scene"
    if settings.exclude_same_reply and _holds_reply(entry, query.reply or ""):
        return "same reply"
    return "near duplicate" if threshold is not None and likeness() >= threshold else ""


def _holds_reply(entry: Entry, reply: str) -> bool:
    """Whether the entry reveals the hidden reply: its reply has the same words, or, if the hidden reply is not short,
    any text that prompts may show nearly matches it or a part of it, in any order."""
    words = normalize_words(reply)
    if words and words == normalize_words(entry.reply):
        return True
    if not is_distinctive(reply):
        return False
    texts = [*(text for _, text in entry.history), entry.reply]
    if words in "".join(map(normalize_words, texts)):  # one turn there may be split into several here
        return True
    return any(_nearly(reply, text) for text in (*texts, entry.situation or ""))


def _nearly(reply: str, text: str) -> bool:
    """Whether two texts have nearly the same words, or a text that is not short nearly matches a part of the other."""
    from rapidfuzz import fuzz

    counts = Counter(split_bare_words(reply)), Counter(split_bare_words(text))
    if 200 * (counts[0] & counts[1]).total() >= SAME * sum(map(Counter.total, counts)):
        return True
    likeness = fuzz.partial_ratio if is_distinctive(text) else fuzz.ratio
    return likeness(normalize_words(reply), normalize_words(text)) >= SAME


def _same_dialogue(one: Origin, other: Origin) -> bool:
    """Whether two origins have the same dialogue id, conversation, or words in all turns."""
    if one.conversation is not None and one.conversation == other.conversation:
        return True
    return one.dialogue == other.dialogue or bool(one.words and one.words == other.words)


def _same_scene(one: Origin, other: Origin) -> bool:
    """Whether two origins are in one episode and at most SCENE_GAP apart, or have no times."""
    if one.episode is None or one.episode != other.episode:
        return False
    if one.start is None or one.end is None or other.start is None or other.end is None:
        return True
    return max(one.start, other.start) - min(one.end, other.end) <= SCENE_GAP


def refuse_evaluated(source: Corpus, evaluated: Corpus) -> None:
    """Raise ConfigError if the memory's corpus shares files, conversations or dialogue ids with the evaluated one."""
    names, tested = f"{source.name} {source.split}", f"{evaluated.name} {evaluated.split}"
    conversations, ids = ({getattr(dialogue, by) for dialogue in evaluated.dialogues} for by in ("conversation", "id"))
    shared = dict.fromkeys(
        d.conversation for d in source.dialogues if d.conversation and d.conversation in conversations
    )
    same = [dialogue.id for dialogue in source.dialogues if dialogue.id in ids]
    what, more = "", ""
    if source.fingerprint == evaluated.fingerprint:
        what = f"the memory contains the evaluated data: {names} has the same files as {tested}"
    elif shared:
        what = f"{len(shared)} conversations are in both the memory and the evaluated data: {preview(list(shared), 3)}"
    elif same:
        what = f"{len(same)} dialogues of the memory have the id of an evaluated dialogue: {preview(same, 3)}"
        more = "; if they are different dialogues, rename them"
    if what:
        hint = f"dataset.memory.split=… (or sessions, or root) selects another part of the data{more}"
        raise ConfigError(what, where="dataset.memory", hint=hint)
