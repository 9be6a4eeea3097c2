"""The entries of a memory: turns of a corpus with their history, and the text by which each is searched."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from mmerg.corpora.dialogue import Corpus, Dialogue, Turn
from mmerg.errors import CorpusError
from mmerg.settings.sources import KeySettings
from mmerg.storage.words import normalize_words

Spoken = tuple[tuple[str, str], ...]  # turns as (speaker, text)

ENOUGH_TURNS = 3  # two dialogues of fewer turns can have the same words by chance ("Hey!" "Hey.")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a turn comes from; guards compare origins. words: a digest of all words of the dialogue, "" if it has fewer
    than three turns. start, end: seconds in the episode."""

    dialogue: str
    words: str = ""
    conversation: str | None = None
    script: str | None = None
    episode: str | None = None
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A turn that may serve as an exemplar. id: the id of its sample in its own corpus. history: the last turns before
    it. emotion: the label of the reply."""

    id: str
    origin: Origin
    history: Spoken
    reply: str
    emotion: str | None = None
    situation: str | None = None


def build_key(key: KeySettings, history: Sequence[tuple[str, str]], situation: str | None) -> str:
    """The text by which a turn is found, or "": the situation if `key` asks for it and there is one, else the words of
    the last `key.turns` turns without speakers."""
    words = "" if key.text == "history" else (situation or "").strip()
    return words or history_text(history[-key.turns :])


def history_text(history: Iterable[tuple[str, str]]) -> str:
    """The words of turns, one turn per line."""
    return "\n".join(words for _, text in history if (words := _one_line(text)))


def get_origin(dialogue: Dialogue) -> Origin:
    times = [time for turn in dialogue.turns for time in (turn.start, turn.end) if time is not None]
    text = "\n".join(normalize_words(turn.text) for turn in dialogue.turns)
    return Origin(
        dialogue=dialogue.id,
        words=hashlib.sha256(text.encode()).hexdigest() if len(dialogue.turns) >= ENOUGH_TURNS else "",
        conversation=dialogue.conversation,
        script=dialogue.script,
        episode=dialogue.episode,
        start=min(times, default=None),
        end=max(times, default=None),
    )


def build_entries(corpus: Corpus, key: KeySettings) -> tuple[tuple[Entry, ...], Mapping[str, int]]:
    """The entries of `corpus`, sorted by id, and the number of turns left out, by reason.

    An entry is a turn with words, a history and a key text, by a speaker whose turns may be targets. If the key is the
    situation, which all turns of a dialogue share, only the last turn is an entry. Raises CorpusError if no entry is
    left.
    """
    entries: list[Entry] = []
    left_out: Counter[str] = Counter()
    for dialogue in corpus.dialogues:
        origin = get_origin(dialogue)
        own: list[Entry] = []
        for number, turn in enumerate(dialogue.turns[1:], start=1):
            if dialogue.responders and turn.speaker not in dialogue.responders:
                continue
            history = spoken(dialogue.turns[max(0, number - key.turns) : number])
            reply = _one_line(turn.text)  # a line feed would look like another exemplar
            if not reply:
                left_out["blank replies"] += 1
            elif not build_key(key, history, dialogue.situation):
                left_out[f"turns without a {key.named}"] += 1
            else:
                own.append(
                    Entry(f"{dialogue.id}/{number + 1}", origin, history, reply, turn.emotion, dialogue.situation)
                )
        entries += own[-1:] if dialogue.situation and key.text != "history" else own
    if not entries:
        what = f"{corpus.name} {corpus.split} has no exemplars: no turn has text and a {key.named} before it"
        raise CorpusError(what, where="dataset.memory", hint="name another corpus, or set memory=none")
    return tuple(sorted(entries, key=lambda entry: entry.id)), dict(left_out)


def spoken(turns: Iterable[Turn]) -> Spoken:
    return tuple((turn.speaker, turn.text) for turn in turns)


def to_line(entry: Entry) -> str:
    """The entry as a line of JSON, for the digest of the memory."""
    return json.dumps(asdict(entry), sort_keys=True) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())
