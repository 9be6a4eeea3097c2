"""The config groups of `conf/` and of the user's folder, and their options. Imports neither Hydra nor pydantic.

list_options("frames")    # ["all", "none", "paper"]
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from mmerg.errors import ConfigError, did_you_mean


def conf_folder() -> Path:
    """Returns the folder of mmerg's configs: inside an installed package, but beside the package in a checkout."""
    here = Path(__file__).parents[1]
    return next(folder for folder in (here / "conf", here.parent / "conf") if folder.is_dir())


def list_groups(own: Path | None = None) -> list[str]:
    folders = [conf_folder(), *([own] if own and own.is_dir() else [])]
    found = {group.name for folder in folders for group in folder.iterdir() if group.is_dir()}
    return sorted(found - {"hydra", "rating"})  # rating: forms of rating pages, which no config composes


def check_folder(own: Path) -> Path:
    """Returns the absolute path of the user's folder of configs. Raises ConfigError if it has no configs."""
    folder = Path(os.path.expanduser(own)).absolute()  # noqa: PTH111 - pathlib raises for an unknown user
    if not (any(folder.glob("*/**/*.yaml")) or any(folder.rglob("*.py"))):
        hint = "give the folder above the groups: DIR where the config is DIR/system/mine.yaml"
        raise ConfigError("there is no folder of configs here", where=str(folder), hint=hint)
    return folder


def list_options(group: str, own: Path | None = None) -> list[str]:
    """Lists the options of a config group, which are the names of its files; in subfolders `folder/name`."""
    folders = (folder / group for folder in (conf_folder(), own) if folder)
    files = ((folder, file) for folder in folders for file in folder.rglob("*.yaml"))
    return sorted({file.relative_to(folder).with_suffix("").as_posix() for folder, file in files})


def suggest_options(group: str, choice: str | None, own: Path | None = None) -> str:
    """Returns the hint for a wrong option: the nearest option, and all options of the group."""
    options = list_options(group, own)
    choices = f"one of {', '.join(options)}"
    if group == "dataset" and not choice:
        return "dataset=demo, or dataset=meld, iemocap, empathetic or folder with dataset.root=…"
    near = did_you_mean(choice or "", options).replace("mean ", f"mean {group}=")
    if choice and group == "backbone" and is_model(f"{choice}:latest"):
        choices += f"; a model of Ollama is named with its tag: backbone={choice}:latest"
    return f"{near} {choices}" if near else choices


def with_backend(overrides: Sequence[str]) -> list[str]:
    """Adds `backend=ollama` to overrides that choose both a model of Ollama and the demo dataset, as that dataset's
    config chooses the embedded backend."""
    given = {key: value for key, _, value in (override.partition("=") for override in overrides)}
    names = given.get("backbone", "").split(",")
    demo = given.get("dataset") == "demo" and not {"backend", "backbone.gguf"} & given.keys()
    served = all(is_model(name) or (read_model_name(name) and "\ngguf:" not in _text(name)) for name in names)
    return [*overrides, "backend=ollama"] if demo and served else [*overrides]


def is_model(name: str) -> bool:
    """Returns True if `backbone=name` names a model of Ollama rather than a config. Names of models have a tag."""
    return re.fullmatch(r"[A-Za-z0-9][\w./+-]*:[\w.+-]+", name, re.ASCII) is not None


def read_model_name(backbone: str) -> str:
    """Reads the model in the config of a backbone of mmerg; "" if there is no such config."""
    match = re.search(r"^model: *[\"']?([^\s\"'#]+)", _text(backbone), re.MULTILINE)
    return match[1] if match else ""


def _text(backbone: str) -> str:
    file = conf_folder() / "backbone" / f"{backbone}.yaml"
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def read_ollama_host() -> str:
    """Reads OLLAMA_HOST, the address of Ollama's server, as Ollama's client does. A password in it is dropped."""
    from ollama._client import _parse_host

    return _parse_host(os.environ.get("OLLAMA_HOST", "").strip("\"' "))
