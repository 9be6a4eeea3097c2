"""Overrides as users type them, with the quotes that Hydra's grammar needs.

prepare_override("dataset.root=~/a'b")    # "dataset.root='/home/ana/a\\'b'"
"""

import re
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

# A value, or an item of a list or sweep. Parentheses enclose a single item.
_PART = re.compile(r"(?! )(?:\$\{[^}]*\}|\([^()]*\)|[^,\[\]{}])+")


def prepare_override(word: str) -> str:
    """Expands ~, which shells leave in `dataset.root=~/MELD`, and quotes values and items of lists that Hydra cannot
    read otherwise: letters outside ASCII, &, a single quote, round brackets."""
    word = re.sub(r"^([\w./@+-]+=)~(?=/|$)", lambda match: match[1] + str(Path.home()), word)
    key, _, value = word.partition("=")
    if word.startswith("-") or not value or is_override(word):
        return word
    items = _PART.sub(lambda part: part[0] if is_override(f"{key}={part[0]}") else quote_text(part[0]), value)
    if is_override(f"{key}={items}"):
        return f"{key}={items}"
    return word if value[0] in "[{'\"" else f"{key}={quote_text(value)}"


def is_override(word: str) -> bool:
    try:
        OverridesParser.create().parse_override(word)
    except (HydraException, ValueError):
        return False
    return True


def quote_text(text: str) -> str:
    """Quotes a text, so that Hydra reads it unchanged."""
    return "'" + re.sub(r"(\\*)'", r"\1\1\\'", re.sub(r"\\+$", lambda match: match[0] * 2, text)) + "'"
