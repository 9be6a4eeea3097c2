"""Writes an example to start from: `mmerg new system|corpus|metric|backbone NAME`; it runs as it is.

`mmerg new system NAME --from merg` extends a system: change one of its prompts, or insert an agent.
Prints the files and the commands that use them. Existing files stay unchanged.
Exit code 0 written, 2 the name or the place is wrong.
"""

import keyword
import re
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from mmerg.console.terminal import Parser, console, escape, run_command, start
from mmerg.errors import ConfigError
from mmerg.settings.groups import is_model, list_options, suggest_options
from mmerg.storage.files import locate, wrap_os_errors

MODEL = "qwen2.5vl:7b"  # the default of a new backbone
EXAMPLES = Path(__file__).parent / "examples"
KINDS = ("system", "corpus", "metric", "backbone")
# The group in which a name must be new.
GROUPS = {"system": "system", "corpus": "dataset", "backbone": "backbone"}


def new(out: Console, kind: str, name: str, model: str, base: str | None) -> int:
    """Writes the folder `name` to the working directory. model: Ollama's name for the model of a new backbone. base:
    the system to extend. Raises ConfigError for a wrong name."""
    _check_name(kind, name, model)
    files = render_extension(base, name) if base else render_example(kind, name, model)
    folder = Path(name)
    if folder.exists():
        raise ConfigError(f"{folder} already exists", where="command line", hint="choose another name")
    for place, text in files.items():
        path = folder / place
        with wrap_os_errors(path):  # with the usual file modes: users edit and share these files
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        out.print(escape(f"written: {path}"), soft_wrap=True)
    out.print("\nuse it:")
    for line in files["README.md"].splitlines():
        if line.startswith("    mmerg "):
            out.print(escape(f"  {line.strip()}"), soft_wrap=True)
    return 0


def _check_name(kind: str, name: str, model: str) -> None:
    if kind == "backbone":
        if not re.fullmatch(r"[\w.+-]*\w", name) or not is_model(model if ":" in model else f"{model}:latest"):
            hint = "letters, digits, '.', '_', '+' and '-', then the model as Ollama lists it: small gemma3:4b"
            raise ConfigError(f"{name} {model} is no name and model of a backbone", where="command line", hint=hint)
    elif not name.isidentifier() or keyword.iskeyword(name) or name != name.lower() or not name.isascii():
        hint = "use lowercase letters, digits and _, first a letter: it also names a Python module"
        raise ConfigError(f"{name!r} cannot be the name", where="command line", hint=hint)
    group = GROUPS.get(kind)
    if group and name in list_options(group):
        extend = f"; to extend it: mmerg new system NAME --from {name}" if kind == "system" else ""
        raise ConfigError(f"mmerg has {group}={name} itself", where="command line", hint=f"choose another name{extend}")


def render_example(kind: str, name: str, model: str = MODEL) -> dict[str, str]:
    """Returns the files of an example by path, with NAME and MODEL filled in."""
    root = EXAMPLES / kind
    files = [file for file in sorted(root.rglob("*")) if file.is_file() and file.suffix != ".pyc"]
    texts = {file.relative_to(root).as_posix(): file.read_text(encoding="utf-8") for file in files}
    return {
        path.replace("NAME", name): text.replace("NAME", name).replace("MODEL", model) for path, text in texts.items()
    }


def render_extension(base: str, name: str) -> dict[str, str]:
    """Returns the files of a system that extends `base`, with its prompts. Raises ConfigError without such a system."""
    from mmerg.settings.compose import compose

    if base not in list_options("system"):
        raise ConfigError(f"there is no system={base}", where="command line", hint=suggest_options("system", base))
    system = compose("config", ["dataset=demo", f"system={base}"]).system
    folders = [system.prompts] if isinstance(system.prompts, str) else list(system.prompts)
    texts = render_example("extension", name)
    files = {path: text.replace("BASE", base).replace("PROMPTS", ", ".join(folders)) for path, text in texts.items()}
    agents = [*system.stages, *([system.auditor.name] if system.get("auditor") else ())]
    for folder in reversed(folders):  # the first folder that has a prompt takes precedence
        prompts = locate(folder, f"set prompts in system={base}", "folder")
        paths = {f"system/{name}/{agent}.j2": prompts / f"{agent}.j2" for agent in agents}
        files |= {place: path.read_text(encoding="utf-8") for place, path in paths.items() if path.is_file()}
    return files


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(prog="mmerg new", description=__doc__)
    parser.add_argument("kind", choices=KINDS, help="what to write")
    parser.add_argument("name", metavar="NAME", help="its name, and the name of the folder")
    parser.add_argument("model", metavar="MODEL", nargs="?", default=MODEL, help="of a backbone; default: %(default)s")
    parser.add_argument("--from", dest="base", metavar="SYSTEM", help="the system to extend")
    given = parser.parse_args(arguments)
    if given.base and given.kind != "system":
        parser.error("--from extends a system: mmerg new system NAME --from merg")
    return run_command(lambda: new(console(), given.kind, given.name, given.model, given.base))


if __name__ == "__main__":
    start(main)
