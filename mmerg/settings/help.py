"""The help of a command that composes its settings: from the pages as they are written, so that nothing is composed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from mmerg.settings.command import OPTIONS
from mmerg.settings.pages import conf_folder, pages_of

_LINE = re.compile(r"^( *)(\w+):(?: +(?!#)(.+?))??(?: +# (.*))?$")
_EXPERIMENT = {"config": ("experiment",), "data": ("experiment",)}
_DEFAULT = re.compile(r"^  - (\w+): (\S+)", re.MULTILINE)
OPTIONS_TITLE = "Options"
_ELSEWHERE = ("defaults", "hydra", "stages", "vocabulary", "result", "aspects")  # a page has these for itself


def help_of(page: str, usage: str, own: Path | None = None) -> str:
    """The help of the command that composes `page`: what it says of itself, and what it takes."""
    file = conf_folder() / f"{page}.yaml"
    chosen = dict(_DEFAULT.findall(file.read_text(encoding="utf-8")))
    groups = [f"  {group}={'|'.join(pages_of(group, own))}" for group in (*chosen, *_EXPERIMENT.get(page, ()))]
    settings = [*_settings(file)]
    for group, default in chosen.items():
        if (of_group := conf_folder() / group / f"{default}.yaml").is_file():
            settings += ["", f"  of {group}={default}, which is the default", *_settings(of_group, f"{group}.")]
    options = [f"  {option:<18}{told}" for option, told in OPTIONS.items()]
    parts = {"Groups (group=page)": groups, "Settings (key=value)": settings, OPTIONS_TITLE: options}
    told = (f"{title}:\n" + "\n".join(lines) for title, lines in parts.items())
    return "\n\n".join([usage.strip(), *told])


def setting_keys(page: str) -> list[str]:
    """The groups and settings of a command, by the keys that set them."""
    lines = help_of(page, "").partition(OPTIONS_TITLE)[0].splitlines()
    return [line.strip().partition("=")[0] for line in lines if re.match(r"  [\w.]+=", line)]


def _settings(file: Path, above: str = "") -> Iterator[str]:
    """A line a setting: what a command line gives to set it as it is, and what its page says of it."""
    parents: list[str] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        found = _LINE.match(line)
        if not found:
            continue
        depth, name, value, told = len(found[1]) // 2, found[2], found[3], found[4]
        parents = [*parents[:depth], name]
        if value is None or name.startswith("_") or parents[0] in _ELSEWHERE:
            continue
        setting = f"  {above}{'.'.join(parents)}={value.replace(', ', ',')}"
        yield f"{setting:<44}  {told}" if told else setting
