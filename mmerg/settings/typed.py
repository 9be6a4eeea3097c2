"""Overrides as users type them, with the quotes that Hydra's grammar needs.

expanded("dataset.root=~/a'b")    # "dataset.root='/home/ana/a\\'b'"
"""

import re
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException


def expanded(word: str) -> str:
    """The override with ~ expanded, which shells leave in `dataset.root=~/MELD`, and with quotes around a value that
    Hydra cannot read without them, such as a path with a letter outside ASCII or a bracket."""
    word = re.sub(r"^([\w./@+-]+=)~(?=/|$)", lambda match: match[1] + str(Path.home()), word)
    key, _, value = word.partition("=")
    if word.startswith("-") or not value or value[0] in "[{'\"" or parses(word):
        return word
    return f"{key}={quoted(value)}"


def parses(word: str) -> bool:
    try:
        OverridesParser.create().parse_override(word)
    except (HydraException, ValueError):
        return False
    return True


def quoted(text: str) -> str:
    """The text in quotes, which Hydra reads unchanged."""
    return "'" + re.sub(r"(\\*)'", r"\1\1\\'", re.sub(r"\\+$", lambda match: match[0] * 2, text)) + "'"
