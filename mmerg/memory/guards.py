"""Guards against leaks: a memory must not contain the evaluated corpus, nor show entries that reveal a hidden reply.

Guards are ordered from certain leaks to likely ones. The first that matches is given as the reason of an exclusion.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from mmerg.corpora.dialogue import Corpus
from mmerg.errors import ConfigError, preview
from mmerg.memory.entries import Entry, Origin
from mmerg.settings.sources import MemorySettings
from mmerg.storage.words import is_distinctive, normalize_words, split_bare_words

# Two dialogues of an episode count as one scene if at most so many seconds are between them. MELD cuts a scene into
# several dialogues, which may be in different splits; a scene of a sitcom lasts one to three minutes.
SCENE_GAP = 60.0
NEARLY_EQUAL = 80.0  # percent of the letters of the shorter text that a part of the longer one shares


@dataclass(frozen=True, slots=True)
class Query:
    """A search of the memory for a sample."""

    origin: Origin
    text: str  # the key text (see `build_key`)
    history: str  # the texts of the dialogue's last turns even if no prompt shows them; only for guards
    emotion: str | None = None  # the forecast
    reply: str | None = None  # the hidden reply; only for guards


def find_guard(entry: Entry, query: Query, settings: MemorySettings, compare_histories: Callable[[], float]) -> str:
    """Returns the name of the first guard that excludes `entry`, or "". compare_histories: computes the cosine of the
    history of the entry and that of the query."""
    origin, other, threshold = query.origin, entry.origin, settings.exclude_similarity
    if _same_dialogue(origin, other):
        return "same dialogue"
    if settings.exclude_same_script and origin.script is not None and origin.script == other.script:
        return "same script"
    if settings.exclude_same_scene and _same_scene(origin, other):
        return "same scene"
    if settings.exclude_same_reply and _reveals_reply(entry, query.reply or ""):
        return "same reply"
    return "near duplicate" if threshold is not None and compare_histories() >= threshold else ""


def _reveals_reply(entry: Entry, reply: str) -> bool:
    """Returns True if the entry reveals the hidden reply: its reply has the same words, or, if the hidden reply is not
    short, one of the texts that prompts may show nearly matches it or a part of it, in any order of words."""
    words = normalize_words(reply)
    if words and words == normalize_words(entry.reply):
        return True
    if not is_distinctive(reply):
        return False
    texts = [*(text for _, text in entry.history), entry.reply]
    if words in "".join(map(normalize_words, texts)):  # the entry may split the reply into several turns
        return True
    return any(_nearly_equal(reply, text) for text in (*texts, entry.situation or ""))


def _nearly_equal(reply: str, text: str) -> bool:
    """Returns True if texts have nearly the same words, or if a distinctive one nearly matches a part of the other."""
    from rapidfuzz import fuzz

    counts = Counter(split_bare_words(reply)), Counter(split_bare_words(text))
    if 200 * (counts[0] & counts[1]).total() >= NEARLY_EQUAL * sum(map(Counter.total, counts)):
        return True
    ratio = fuzz.partial_ratio if is_distinctive(text) else fuzz.ratio
    return ratio(normalize_words(reply), normalize_words(text)) >= NEARLY_EQUAL


def _same_dialogue(first: Origin, second: Origin) -> bool:
    """Returns True if two origins have the same dialogue id, conversation, or words in all turns."""
    if first.conversation is not None and first.conversation == second.conversation:
        return True
    return first.dialogue == second.dialogue or bool(first.words and first.words == second.words)


def _same_scene(first: Origin, second: Origin) -> bool:
    """Returns True if two origins are in the same episode and at most SCENE_GAP apart, or without times."""
    if first.episode is None or first.episode != second.episode:
        return False
    if first.start is None or first.end is None or second.start is None or second.end is None:
        return True
    return max(first.start, second.start) - min(first.end, second.end) <= SCENE_GAP


def refuse_evaluated(source: Corpus, evaluated: Corpus) -> None:
    """Raises ConfigError if the memory's corpus shares files, conversations or dialogue ids with the evaluated one."""
    conversations = {dialogue.conversation for dialogue in evaluated.dialogues if dialogue.conversation}
    ids = {dialogue.id for dialogue in evaluated.dialogues}
    shared = list(dict.fromkeys(d.conversation for d in source.dialogues if d.conversation in conversations))
    same_ids = [dialogue.id for dialogue in source.dialogues if dialogue.id in ids]
    if source.fingerprint == evaluated.fingerprint:
        files = f"{source.name} {source.split} has the same files as {evaluated.name} {evaluated.split}"
        what = f"the memory contains the evaluated data: {files}"
    elif shared:
        names = preview([str(name) for name in shared], 3)
        what = f"{len(shared)} conversations are in both the memory and the evaluated data: {names}"
    elif same_ids:
        what = f"{len(same_ids)} dialogues of the memory have the id of an evaluated dialogue: {preview(same_ids, 3)}"
    else:
        return
    hint = "select other data with dataset.memory.split=… (or sessions, or root), or rename dialogues that differ"
    raise ConfigError(what, where="dataset.memory", hint=hint)
