"""The entries of a memory: turns of a corpus with their history, and the key text by which each is found."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mmerg.corpora.dialogue import Corpus, Dialogue, Turn
from mmerg.errors import CorpusError
from mmerg.settings.sources import KeySettings
from mmerg.storage.words import normalize_words

Pairs = tuple[tuple[str, str], ...]  # turns as (speaker, text)

MIN_TURNS = 3  # two dialogues of fewer turns can have the same words by chance ("Hey!" "Hey.")


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a turn, which guards compare with other origins. conversation, script, episode: see `Dialogue`."""

    dialogue: str  # its id
    words: str = ""  # a digest of all words of the dialogue; "" if it has fewer than three turns
    conversation: str | None = None
    script: str | None = None
    episode: str | None = None
    start: float | None = None  # of the dialogue's first turn, in seconds of the episode
    end: float | None = None  # of its last turn


@dataclass(frozen=True, slots=True)
class Entry:
    """A turn that may serve as an exemplar."""

    id: str  # of the sample whose target is this turn
    origin: Origin
    history: Pairs  # the last turns before it
    reply: str  # its text
    emotion: str | None = None
    situation: str | None = None  # of its dialogue


def build_key(key: KeySettings, history: Sequence[tuple[str, str]], situation: str | None) -> str:
    """Builds the text by which a turn is found: the situation if `key` wants it and there is one, or else the texts of
    the last `key.turns` turns without speakers. It is "" if they are blank."""
    words = "" if key.text == "history" else (situation or "").strip()
    return words or join_history(history[-key.turns :])


def join_history(history: Iterable[tuple[str, str]]) -> str:
    """Joins the texts of turns, one per line, without blank ones."""
    return "\n".join(filter(None, (_join_lines(text) for _, text in history)))


def build_origin(dialogue: Dialogue) -> Origin:
    times = [time for turn in dialogue.turns for time in (turn.start, turn.end) if time is not None]
    text = "\n".join(normalize_words(turn.text) for turn in dialogue.turns)
    return Origin(
        dialogue=dialogue.id,
        words=hashlib.sha256(text.encode()).hexdigest() if len(dialogue.turns) >= MIN_TURNS else "",
        conversation=dialogue.conversation,
        script=dialogue.script,
        episode=dialogue.episode,
        start=min(times, default=None),
        end=max(times, default=None),
    )


def build_entries(corpus: Corpus, key: KeySettings) -> tuple[tuple[Entry, ...], Mapping[str, int]]:
    """Builds the entries of `corpus`, sorted by id, and counts the skipped turns, by reason.

    An entry is a turn with a text, a history and a key text, by a speaker whose turns may be targets. If the key is the
    situation, which all turns of a dialogue share, only the last turn is an entry. Raises CorpusError if there is no
    entry.
    """
    entries: list[Entry] = []
    skipped: Counter[str] = Counter()
    for dialogue in corpus.dialogues:
        origin = build_origin(dialogue)
        of_dialogue: list[Entry] = []
        for number, turn in enumerate(dialogue.turns[1:], start=1):
            if dialogue.responders and turn.speaker not in dialogue.responders:
                continue
            history = as_pairs(dialogue.turns[max(0, number - key.turns) : number])
            reply = _join_lines(turn.text)  # in a prompt, a second line would look like another exemplar
            if not reply:
                skipped["blank replies"] += 1
            elif not build_key(key, history, dialogue.situation):
                skipped[f"turns without a {key.named}"] += 1
            else:
                id = f"{dialogue.id}/{number + 1}"
                of_dialogue.append(Entry(id, origin, history, reply, turn.emotion, dialogue.situation))
        entries += of_dialogue[-1:] if dialogue.situation and key.text != "history" else of_dialogue
    if not entries:
        what = f"{corpus.name} {corpus.split} has no exemplars: no turn has text and a {key.named} before it"
        raise CorpusError(what, where="dataset.memory", hint="name another corpus, or set memory=none")
    return tuple(sorted(entries, key=lambda entry: entry.id)), dict(skipped)


def as_pairs(turns: Iterable[Turn]) -> Pairs:
    return tuple((turn.speaker, turn.text) for turn in turns)


def _join_lines(text: str) -> str:
    return " ".join(text.split())
