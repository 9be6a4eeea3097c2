"""What a command takes, from its pages as they are written: groups, and settings with value and comment.

Nothing is composed, so that `--help` and Tab answer at once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from mmerg.settings.pages import conf_folder, pages_of

OPTIONS = {
    "--help": "this page",
    "--version": "mmerg's version",
    "--config-dir DIR": "pages of your own, by group: DIR/dataset/mine.yaml is dataset=mine",
    "--cfg job": "print what the settings compose to, and stop; with -p GROUP a part of it",
}
OF_SWEEPS = {"-m": "a sweep: a run for each value of key=a,b", "-j N": "so many runs of a sweep at once"}
_ELSEWHERE = ("defaults", "hydra", "stages", "vocabulary", "result", "aspects", "reader")  # explained on their pages
_INCLUDED = re.compile(r"/(\w+)@(\w+)")  # a page that another includes, and under which key


@dataclass(frozen=True)
class Setting:
    """A setting of a page. value: as the page has it. comment: what stands behind it."""

    key: str
    value: str
    comment: str

    def __str__(self) -> str:
        setting = f"  {self.key}={self.value.replace(', ', ',')}"
        return f"{setting:<44}  {self.comment}" if self.comment else setting


def chosen_pages(page: str) -> dict[str, str]:
    """The groups of a command, and the page that each has where none is chosen."""
    return {key: name for key, name in _defaults(page) if key.isidentifier()}


def groups_of(page: str) -> list[str]:
    """The groups from which a command line chooses."""
    groups = [*chosen_pages(page)]
    return [*groups, "experiment"] if "system" in groups else groups


def keys_of_page(page: str) -> list[str]:
    """The groups and settings of a command by the keys that set them."""
    return [*groups_of(page), *(setting.key for part in _parts(page).values() for setting in part)]


def help_text(page: str, usage: str, own: Path | None = None, *, sweep: bool = False) -> str:
    """The help of the command that composes `page`. usage: what it begins with."""
    groups = [f"  {group}={'|'.join(pages_of(group, own))}" for group in groups_of(page)]
    settings: list[str] = []
    for title, part in _parts(page).items():
        settings += [*(["", title] if title else []), *map(str, part)]
    options = [f"  {option:<18}{what}" for option, what in [*OPTIONS.items(), *(OF_SWEEPS.items() if sweep else ())]]
    parts = {"Groups (group=page)": groups, "Settings (key=value)": settings, "Options": options}
    lines = (f"{title}:\n" + "\n".join(part) for title, part in parts.items())
    return "\n\n".join([usage.strip(), *lines])


def _parts(page: str) -> dict[str, list[Setting]]:
    """The settings of a command by title: its own, then those of the default page of each group (of a dataset MELD)."""
    parts = {"": list(_settings(page))}
    for group, default in chosen_pages(page).items():
        shown = "meld" if group == "dataset" else default
        title = f"  of {group}={shown}{', which is the default' * (shown == default)}"
        parts[title] = list(_settings(f"{group}/{shown}", f"{group}."))
    return parts


def _settings(page: str, above: str = "") -> Iterator[Setting]:
    text, root = _read(page)
    lines = text.splitlines()

    def walk(mapping: yaml.MappingNode, above: str) -> Iterator[Setting]:
        for name, value in mapping.value:
            if name.value.startswith("_") or name.value in _ELSEWHERE:
                continue
            begin, end = value.start_mark, value.end_mark
            if begin.line == name.start_mark.line:
                comment = lines[end.line][end.column :].partition("# ")[2]
                yield Setting(f"{above}{name.value}", lines[begin.line][begin.column : end.column], comment)
            elif isinstance(value, yaml.MappingNode):
                yield from walk(value, f"{above}{name.value}.")

    yield from walk(root, above)
    for key, name in _defaults(page):
        if included := _INCLUDED.fullmatch(key):
            yield from _settings(f"{included[1]}/{name}", f"{above}{included[2]}.")


def _defaults(page: str) -> list[tuple[str, str]]:
    """The pages that a page is composed of: what each is called there, and its name."""
    defaults = next((value for name, value in _read(page)[1].value if name.value == "defaults"), None)
    entries = [entry.value[0] for entry in (defaults.value if defaults else ()) if isinstance(entry.value, list)]
    return [(key.value, name.value) for key, name in entries]


@cache
def _read(page: str) -> tuple[str, yaml.MappingNode]:
    text = (conf_folder() / f"{page}.yaml").read_text(encoding="utf-8")
    root = yaml.compose(text)
    assert isinstance(root, yaml.MappingNode)
    return text, root
