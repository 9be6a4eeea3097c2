"""The separation of a model's thoughts from the words of its completion, for servers that return both in one text.

`Completion` does this for every completion, so adapters need not do it. Models mark thoughts as follows:

    <think>…</think>                 DeepSeek R1, Qwen3, QwQ, GLM, Granite; also thinking, thought, reasoning and others
    [THINK]…[/THINK]                 Magistral, Ministral
    <|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>words<|return|>    gpt-oss
    analysis…assistantfinal          gpt-oss where the server drops special tokens
    <|channel>thought…<channel|>     Gemma 4; a first line `thought` where the server drops special tokens
    <unused94>thought…<unused95>     MedGemma
    ◁think▷…◁/think▷                 Kimi-VL
    <|START_THINKING|>…<|END_THINKING|>, <|begin_of_thought|>…<|end_of_thought|>    Command, OpenThinker

Some chat templates contain the opening tag. The completion then has only the closing tag, and all text before that is
thoughts. If an opening tag is never closed, all text after it is thoughts. A tag that a sentence only mentions, or that
is inside a JSON object, does not mark thoughts.

    separate_thoughts("<think>He is sad.</think>\\n\\nI am so sorry.")    # ("He is sad.", "I am so sorry.")
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from mmerg.storage.json_objects import find_objects

_NAMES = r"(?:\w+[:_])?(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad)(?:_\w+)?\s*>"
_ASSISTANT = r"(?:<\|start\|>\s*assistant\s*)?"
_FINAL = rf"{_ASSISTANT}<\|channel\|>\s*final\b(?:[^<\n]*<\|constrain\|>)?(?:[^<\n]*<\|message\|>)?"
_SPECIAL = (  # opening tags that cannot be words of a completion
    rf"{_ASSISTANT}<\|channel\|?>(?!\s*final\b)\s*(?:(?:analysis|commentary|thought)\b)?(?:[^<\n]*<\|message\|>)?"
    r"|<unused94>\s*(?:thought\b)?|◁think▷|<\|(?:START_THINKING|begin_of_thought|think|inner_prefix)\|>"
    r"|(?-i:\Aanalysis(?=[A-Z])|\Athought(?=\s*\n|\s*\Z))"
)
_LONE = (  # closing tags that can stand alone: all text before them is thoughts
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


def separate_thoughts(text: str) -> tuple[str, str]:
    """Returns the thoughts in `text` and its words: those after the last thoughts, or those before them if none follow.
    Without thoughts, the words are the unchanged text."""
    thoughts: list[str] = []
    words = text
    while parts := _split_at_first_thought(words):
        before, thought, after = parts
        has_words_before, has_words_after = any(map(str.isalnum, before)), bool(after.strip())
        if has_words_before and has_words_after:
            thoughts.append(before.strip())
            before = ""
        thoughts.append(thought.strip())
        words = before + after.lstrip() if has_words_before or has_words_after else ""
    if words == text:
        return "", text
    words = _BEFORE_WORDS.sub("", _AFTER_WORDS.sub("", words))
    return "\n\n".join(filter(None, thoughts)), words


def _split_at_first_thought(text: str) -> tuple[str, str, str] | None:
    """Returns the text before, in and after the first thoughts, or None if there are none."""
    openings = list(_find_tags(_OPENING, text))
    for opening in openings:
        before, closing = text[: opening.start()], _CLOSING.search(text, opening.end())
        thought = text[opening.end() : closing.start() if closing else len(text)]
        starts_thought = (
            opening["special"]
            or _STARTS_SENTENCE.search(before)
            or (closing and (_AFTER_COLON.search(before) or _is_thought(thought)))
        )
        if starts_thought:
            return before, thought, text[closing.end() :] if closing else ""
    closing = next(_find_tags(_CLOSING_ALONE, text), None)
    if closing is None or any(opening.start() < closing.start() for opening in openings):
        return None
    return "", text[: closing.start()], text[closing.end() :]


def _find_tags(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yields the tags in a text, except those in quotes or in JSON objects."""
    objects: list[range] | None = None
    for tag in pattern.finditer(text):
        objects = list(find_objects(text)) if objects is None else objects
        if not _is_quoted(tag) and not any(tag.start() in place for place in objects):
            yield tag


def _is_thought(text: str) -> bool:
    """Returns True if the text between two tags in a sentence is a thought. If not, the sentence mentions both tags."""
    return any(map(str.isalnum, text)) and bool(re.search(r"[.!?\n]", text) or text == text.strip())


def _is_quoted(tag: re.Match[str]) -> bool:
    before, after = tag.string[: tag.start()][-1:], tag.string[tag.end() :][:1]
    return bool(before and after) and before in _QUOTES and after in _QUOTES


def find_first_token(tokens: Sequence[str], words: str) -> int | None:
    """Returns the index of the first of `tokens` that belongs to `words`. Returns None if it is unclear, if this token
    also contains a part of the thoughts, or if thoughts follow the words."""
    text = "".join(tokens)
    start = text.rfind(words)
    if not words or start < 0 or not _END_MARKS.fullmatch(text, start + len(words)):
        return None
    ends = accumulate(map(len, tokens))
    index, end = next((index, end) for index, end in enumerate(ends) if end > start)
    part_before = text[end - len(tokens[index]) : start]
    return None if part_before.strip() else index


def may_think(template: str) -> bool:
    """Returns True if a model with this chat template (Jinja or Go) may write thoughts before its words."""
    return any(pattern.search(template) for pattern in (_OPENING, _CLOSING_ALONE, _IN_TEMPLATE))
