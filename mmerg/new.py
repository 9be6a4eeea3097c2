"""Writes a folder to build on beside your work: `mmerg new system|corpus|metric|backbone NAME`; it runs as it is.

Prints the files that it wrote and the commands that use them. Nothing that is there is touched.
Exit code 0 written, 2 the name or the place is wrong.
"""

import argparse
import keyword
import re
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from mmerg.console.terminal import console, escape, run_command, start
from mmerg.errors import ConfigError, unwritable
from mmerg.settings.pages import is_model, pages_of

BASE = "qwen2.5vl:7b"  # the model of a backbone that names none
EXAMPLES = Path(__file__).parent / "examples"
KINDS = ("system", "corpus", "metric", "backbone")
GROUPS = {"system": "system", "corpus": "dataset", "backbone": "backbone"}  # where a config of that name may be already
NAME, MODEL = "NAME", "MODEL"  # what stands for these in the files' texts and paths


def new(out: Console, kind: str, name: str, beside: Path, model: str = BASE) -> int:
    """Write the folder `name` in `beside`. model: Ollama's name for a backbone's model. Raises ConfigError for a name
    that cannot be one."""
    if kind == "backbone":
        if not re.fullmatch(r"[\w.+-]*\w", name) or not is_model(model if ":" in model else f"{model}:latest"):
            hint = "letters, digits, '.', '_', '+' and '-', then the model as Ollama lists it: small gemma3:4b"
            raise ConfigError(f"{name} {model} names no backbone", where="command line", hint=hint)
    elif not name.isidentifier() or keyword.iskeyword(name) or name != name.lower() or not name.isascii():
        hint = "small letters, digits and _, the first a letter: it names a Python module, too"
        raise ConfigError(f"{name!r} cannot be the name", where="command line", hint=hint)
    group = GROUPS.get(kind)
    if group and name in pages_of(group):
        hint = "choose another name; docs/own.md shows how to extend a config"
        raise ConfigError(f"mmerg has {group}={name} itself", where="command line", hint=hint)
    folder = beside / name
    if folder.exists():
        raise ConfigError(f"{folder} is there already", where="command line", hint="choose another name")
    for place, text in files_of(kind, name, model).items():
        path = folder / place
        try:  # with the modes of the user's own files: they are there to be edited and shared
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise unwritable(error, path) from error
        out.print(escape(f"written: {path}"), soft_wrap=True)
    out.print("\nuse it:")
    for line in commands_of(kind, name):
        out.print(escape(f"  {line}"), soft_wrap=True)
    return 0


def files_of(kind: str, name: str, model: str = BASE) -> dict[str, str]:
    """The files of the example by path, the name in its place."""
    root = EXAMPLES / kind
    files = [file for file in sorted(root.rglob("*")) if file.is_file() and file.suffix != ".pyc"]
    texts = {file.relative_to(root).as_posix(): file.read_text(encoding="utf-8") for file in files}
    return {path.replace(NAME, name): text.replace(NAME, name).replace(MODEL, model) for path, text in texts.items()}


def commands_of(kind: str, name: str) -> list[str]:
    """The commands that the example's README shows."""
    return [line.strip() for line in files_of(kind, name)["README.md"].splitlines() if line.startswith("    mmerg ")]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="mmerg new", description=__doc__)
    parser.add_argument("kind", choices=KINDS, help="what to begin")
    parser.add_argument("name", metavar="NAME", help="what it is called, and the folder")
    parser.add_argument("model", metavar="MODEL", nargs="?", default=BASE, help="of a backbone; default: %(default)s")
    given = parser.parse_args(arguments)
    return run_command(lambda: new(console(), given.kind, given.name, Path(), given.model))


if __name__ == "__main__":
    start(main)
