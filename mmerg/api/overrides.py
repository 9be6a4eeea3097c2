"""Settings from Python as overrides of a command line.

to_overrides(("dataset=demo",), {"limit": 2, "name": "my run"})    # ["dataset=demo", "limit=2", "name='my run'"]
"""

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TypeVar

from mmerg.settings.compose import compose
from mmerg.settings.groups import check_folder
from mmerg.settings.kinds import SettingsModel
from mmerg.settings.overrides import prepare_override, quote_text
from mmerg.settings.parse import parse

Settings = TypeVar("Settings", bound=SettingsModel)


def compose_settings(
    config_name: str,
    kind: type[Settings],
    overrides: Iterable[str],
    settings: Mapping[str, object],
    config_dir: str | PathLike[str] | None,
) -> Settings:
    """Composes the settings of a command, as its command line does. Raises ConfigError for a wrong setting."""
    folders = [check_folder(Path(config_dir))] if config_dir else []
    return parse(compose(config_name, to_overrides(overrides, settings), *folders), kind, folders)


def to_overrides(overrides: Iterable[str], settings: Mapping[str, object]) -> list[str]:
    return [*map(prepare_override, overrides), *(f"{key}={_format_value(value)}" for key, value in settings.items())]


def _format_value(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str() | PathLike():
            return quote_text(str(value))
        case Mapping():
            return "{" + ",".join(f"{key}:{_format_value(inner)}" for key, inner in value.items()) + "}"
        case list() | tuple():
            return "[" + ",".join(map(_format_value, value)) + "]"
    return str(value)
