"""Separates a model's thoughts from its words, for servers that return both in one text.

`Reply` does this for every reply, so adapters need not. Models mark thoughts as follows:

    <think>…</think>                 DeepSeek R1, Qwen3, QwQ, GLM, Granite; also thinking, thought, reasoning and others
    [THINK]…[/THINK]                 Magistral, Ministral
    <|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>words<|return|>    gpt-oss
    analysis…assistantfinal          gpt-oss where the server drops special tokens
    <|channel>thought…<channel|>     Gemma 4; a first line `thought` where the server drops special tokens
    <unused94>thought…<unused95>     MedGemma
    ◁think▷…◁/think▷                 Kimi-VL
    <|START_THINKING|>…<|END_THINKING|>, <|begin_of_thought|>…<|end_of_thought|>    Command, OpenThinker

Some chat templates write the opening tag. Then the reply has the closing tag alone, and all text before it is thoughts.
If an opening tag is never closed, all text after it is thoughts. Tags that a sentence mentions and tags inside a JSON
object are not separated.

    separate("<think>He is sad.</think>\\n\\nI am so sorry.")    # ("He is sad.", "I am so sorry.")
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from mmerg.storage.json_objects import find_objects

_NAMES = r"(?:\w+[:_])?(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad)(?:_\w+)?\s*>"
_ASSISTANT = r"(?:<\|start\|>\s*assistant\s*)?"
_FINAL = rf"{_ASSISTANT}<\|channel\|>\s*final\b(?:[^<\n]*<\|constrain\|>)?(?:[^<\n]*<\|message\|>)?"
_SPECIAL = (  # opening tags that never occur as words
    rf"{_ASSISTANT}<\|channel\|?>(?!\s*final\b)\s*(?:(?:analysis|commentary|thought)\b)?(?:[^<\n]*<\|message\|>)?"
    r"|<unused94>\s*(?:thought\b)?|◁think▷|<\|(?:START_THINKING|begin_of_thought|think|inner_prefix)\|>"
    r"|(?-i:\Aanalysis(?=[A-Z])|\Athought(?=\s*\n|\s*\Z))"
)
_LONE = (  # closing tags that need no opening tag: all text before them is thoughts
    rf"</\s*{_NAMES}|\[/THINK\]|<unused95>|◁/think▷|<\|(?:END_THINKING|end_of_thought|/think|inner_suffix)\|>|</?channel\|>"
    rf"|assistantfinal(?:\s*json(?=\s*{{))?|{_FINAL}"
)
_OPENING = re.compile(rf"(?P<special>{_SPECIAL})|<{_NAMES}|\[THINK\]", re.IGNORECASE)
_CLOSING = re.compile(rf"{_LONE}|<\|end\|>", re.IGNORECASE)
_CLOSING_ALONE = re.compile(_LONE, re.IGNORECASE)
_STARTS_SENTENCE = re.compile(r"(?:\A|[\n.!?…])\W*\Z")
_AFTER_COLON = re.compile(r":\W*\Z")
_END_MARKS = re.compile(r"(?:\s|<[^<>\s]*>)*")
_QUOTES = "\"'“”‘’«»`"
_BEFORE_WORDS = re.compile(
    r"\A(?:\s|<\|start\|>\s*assistant|<\|(?:message|START_RESPONSE|begin_of_(?:solution|box))\|>|<(?:answer|response)>)+",
    re.IGNORECASE,
)
_AFTER_WORDS = re.compile(
    r"(?:\s|<\|(?:return|end|END_RESPONSE|end_of_(?:solution|box))\|>|</(?:answer|response)>)+\Z", re.IGNORECASE
)
_IN_TEMPLATE = re.compile(r"\.Thinking\b|enable_thinking|reasoning_content", re.IGNORECASE)


def separate(text: str) -> tuple[str, str]:
    """The thoughts in `text`, and its words. Text without thoughts is returned unchanged. The words are those after the
    last thoughts, or those before them if nothing follows."""
    thoughts: list[str] = []
    words = text
    while found := _first_thought(words):
        before, thought, after = found
        if any(map(str.isalnum, before)) and after.strip():
            thoughts.append(before.strip())
            before = ""
        thoughts.append(thought.strip())
        words = before + after.lstrip() if after.strip() or any(map(str.isalnum, before)) else ""
    if words == text:
        return "", text
    words = _BEFORE_WORDS.sub("", _AFTER_WORDS.sub("", words))
    return "\n\n".join(filter(None, thoughts)), words


def _first_thought(text: str) -> tuple[str, str, str] | None:
    """The text before, in and after the first thoughts; None without thoughts."""
    openings = list(_tags(_OPENING, text))
    for opening in openings:
        before, closing = text[: opening.start()], _CLOSING.search(text, opening.end())
        thought = text[opening.end() : closing.start() if closing else len(text)]
        starts = opening["special"] or _STARTS_SENTENCE.search(before) or (closing and _AFTER_COLON.search(before))
        if starts or (closing and _is_more_than_mentioned(thought)):
            return before, thought, text[closing.end() :] if closing else ""
    closing = next(_tags(_CLOSING_ALONE, text), None)
    if closing is None or any(opening.start() < closing.start() for opening in openings):
        return None
    return "", text[: closing.start()], text[closing.end() :]


def _tags(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The tags in a text, except those in quotes or in JSON objects."""
    objects: list[range] | None = None
    for tag in pattern.finditer(text):
        objects = list(find_objects(text)) if objects is None else objects
        if not _is_quoted(tag) and not any(tag.start() in place for place in objects):
            yield tag


def _is_more_than_mentioned(thought: str) -> bool:
    """Whether the text between two tags in a sentence is a thought, not words between two mentions."""
    return any(map(str.isalnum, thought)) and bool(re.search(r"[.!?\n]", thought) or thought == thought.strip())


def _is_quoted(tag: re.Match[str]) -> bool:
    before, after = tag.string[: tag.start()][-1:], tag.string[tag.end() :][:1]
    return bool(before and after) and before in _QUOTES and after in _QUOTES


def first_token(tokens: Sequence[str], words: str) -> int | None:
    """The index of the first of `tokens` that belongs to `words`. None if it is unclear, if this token also contains a
    part of the thoughts, or if thoughts follow the words."""
    text = "".join(tokens)
    start = text.rfind(words)
    if not words or start < 0 or not _END_MARKS.fullmatch(text, start + len(words)):
        return None
    place, end = next((place, end) for place, end in enumerate(accumulate(map(len, tokens))) if end > start)
    return None if text[end - len(tokens[place]) : start].strip() else place


def may_think(template: str) -> bool:
    """Whether a model with this chat template (Jinja or Go) may write thoughts before its words."""
    return any(pattern.search(template) for pattern in (_OPENING, _CLOSING_ALONE, _IN_TEMPLATE))
