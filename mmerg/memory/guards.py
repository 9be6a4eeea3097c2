"""What a memory must withhold: the corpus that is evaluated, and entries that would give its replies away.

Guards go from what is surely a leak to what only looks like one. The first that matches names the exclusion.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mmerg.corpora.dialogue import Corpus
from mmerg.errors import ConfigError, preview
from mmerg.memory.entries import ENOUGH_TURNS, Entry, Origin
from mmerg.settings.sources import MemorySettings
from mmerg.storage.words import bare_words, distinctive, plain_words

# Seconds between two dialogues of an episode up to which they count as one scene. MELD cuts a scene into several
# dialogues, and a split may take the one and leave the other; a scene of a sitcom lasts one to three minutes.
SCENE_GAP = 60.0
SAME = 80.0  # percent of the letters in which the shorter text agrees with a part of the longer one


@dataclass(frozen=True, slots=True)
class Query:
    """The search for a sample. text: the text to compare (see `build_key`). emotion: the forecast one. Only guards use
    history, the words of the dialogue's last turns, also of those that no prompt shows, and reply, the hidden reply."""

    origin: Origin
    text: str
    history: str
    emotion: str | None = None
    reply: str | None = None


def guard_against(entry: Entry, query: Query, settings: MemorySettings, likeness: Callable[[], float]) -> str:
    """The name of the first guard that withholds `entry`, or "". likeness: gives the cosine of the two histories."""
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
    """Whether the entry's reply has the same words; or any text that prompts may show has nearly the words of a hidden
    reply that is not short, in any order, or of a part of it, or holds them among others."""
    words = plain_words(reply)
    if words and words == plain_words(entry.reply):
        return True
    if not distinctive(reply):
        return False
    texts = [*(text for _, text in entry.history), entry.reply]
    if words in "".join(map(plain_words, texts)):  # one turn there may be several here
        return True
    return any(_nearly(reply, text) for text in (*texts, entry.situation or ""))


def _nearly(reply: str, text: str) -> bool:
    """Whether two texts have nearly the same words, or one that is not short those of a part of the other."""
    from rapidfuzz import fuzz

    counts = Counter(bare_words(reply)), Counter(bare_words(text))
    if 200 * (counts[0] & counts[1]).total() >= SAME * sum(map(Counter.total, counts)):
        return True
    likeness = fuzz.partial_ratio if distinctive(text) else fuzz.ratio
    return likeness(plain_words(reply), plain_words(text)) >= SAME


def _same_dialogue(one: Origin, other: Origin) -> bool:
    """Whether two origins are one dialogue: by id, by conversation, or by the same words in all turns."""
    if one.conversation is not None and one.conversation == other.conversation:
        return True
    return one.dialogue == other.dialogue or bool(one.words and one.words == other.words)


def _same_scene(one: Origin, other: Origin) -> bool:
    """Whether two origins are of one episode and at most SCENE_GAP apart, or of one episode and without times."""
    if one.episode is None or one.episode != other.episode:
        return False
    if one.start is None or one.end is None or other.start is None or other.end is None:
        return True
    return max(one.start, other.start) - min(one.end, other.end) <= SCENE_GAP


def refuse_evaluated(source: Corpus, evaluated: Corpus) -> None:
    """Raises ConfigError where the memory's corpus is the evaluated one, under whatever name.

    They are one by the digest of their files, or by the conversation or id of a dialogue. Where conversations are not
    known, they are one by name and split with words in common: two folders may share a name alone.
    """
    names, tested = f"{source.name} {source.split}", f"{evaluated.name} {evaluated.split}"
    conversations, ids = ({getattr(one, by) for one in evaluated.dialogues} for by in ("conversation", "id"))
    both = dict.fromkeys(d.conversation for d in source.dialogues if d.conversation and d.conversation in conversations)
    same = [dialogue.id for dialogue in source.dialogues if dialogue.id in ids]
    unknown = any(dialogue.conversation is None for dialogue in (*source.dialogues, *evaluated.dialogues))
    what, more = "", ""
    if source.fingerprint == evaluated.fingerprint:
        what = f"the memory contains the evaluated data: {names} has the same files as {tested}"
    elif both:
        what = f"{len(both)} conversations are in both the memory and the evaluated data: {preview(list(both), 3)}"
    elif names == tested and unknown and not set(_passages(source)).isdisjoint(_passages(evaluated)):
        what = f"the memory contains the evaluated data: {names}"
    elif same:
        what = f"{len(same)} dialogues of the memory have the id of an evaluated dialogue: {preview(same, 3)}"
        more = "; if they are different dialogues, rename them"
    if what:
        hint = f"dataset.memory.split=… (or sessions, or root) selects another part of the data{more}"
        raise ConfigError(what, where="dataset.memory", hint=hint)


def _passages(corpus: Corpus) -> Iterator[tuple[str, ...]]:
    """The words of every three turns in a row, or of a shorter dialogue."""
    for dialogue in corpus.dialogues:
        words = [plain_words(turn.text) for turn in dialogue.turns]
        for start in range(max(1, len(words) - ENOUGH_TURNS + 1)):
            yield tuple(words[start : start + ENOUGH_TURNS])
