"""Which commands there are: the modules at the top of the package that have a `main`."""

from __future__ import annotations

import ast
from pathlib import Path


def commands() -> dict[str, str]:
    """Each command with the first line of what it says of itself."""
    found = {}
    for file in sorted(Path(__file__).parents[1].glob("[!_]*.py")):
        source = file.read_text(encoding="utf-8")
        if "\ndef main(" in source:
            docs = ast.get_docstring(ast.parse(source)) or ""
            found[file.stem] = docs.partition("\n")[0].partition(": `")[0].rstrip(".:")
    return found
