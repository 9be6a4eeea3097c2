"""The pages of `conf/` and of the user's own folder, by group. Imports neither Hydra nor pydantic.

pages_of("frames")    # ["all", "none", "paper"]
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from mmerg.errors import ConfigError, did_you_mean

OLLAMA = "http://127.0.0.1:11434"


def conf_folder() -> Path:
    """The folder of YAML files: inside an installed package, next to the package in a checkout."""
    here = Path(__file__).parents[1]
    return next(folder for folder in (here / "conf", here.parent / "conf") if folder.is_dir())


def groups(own: Path | None = None) -> list[str]:
    """The groups of which a page is chosen, `group=page`."""
    folders = [conf_folder(), *([own] if own and own.is_dir() else [])]
    found = {group.name for folder in folders for group in folder.iterdir() if group.is_dir()}
    return sorted(found - {"hydra", "rating"})  # rating: forms, which no config composes


def check_folder(own: Path) -> None:
    """Raises ConfigError where a folder of the user's has no configs."""
    hint = "give the folder above the groups: DIR where the config is DIR/system/mine.yaml"
    if not own.is_dir():
        raise ConfigError("there is no such folder", where=str(own), hint=hint)
    if own.name in groups() and any(own.glob("*.yaml")):
        what, hint = f"this is the folder of one group, {own.name}", f"the folder above: --config-dir {own.parent}"
        raise ConfigError(what, where=str(own), hint=hint)
    if not any(file for ending in ("yaml", "py") for file in own.rglob(f"*.{ending}")):
        raise ConfigError("the folder has no configs: no file *.yaml", where=str(own), hint=hint)


def pages_of(group: str, own: Path | None = None) -> list[str]:
    """The pages of a group by name, those of its subfolders as `folder/page`."""
    folders = (folder / group for folder in (conf_folder(), own) if folder)
    files = ((folder, file) for folder in folders for file in folder.rglob("*.yaml"))
    return sorted({file.relative_to(folder).with_suffix("").as_posix() for folder, file in files})


def no_page(group: str, choice: str | None, own: Path | None = None) -> str:
    """The hint where `choice` is no page of a group: the pages that there are, and the one that may be meant."""
    pages = pages_of(group, own)
    all_of = f"one of {', '.join(pages)}"
    if group == "dataset" and not choice:
        return "dataset=demo, or dataset=meld, iemocap, empathetic or folder with dataset.root=…"
    near = did_you_mean(choice or "", pages).replace("mean ", f"mean {group}=")
    if choice and group == "backbone" and is_model(f"{choice}:latest"):
        all_of += f"; a model of Ollama is named with its tag: backbone={choice}:latest"
    return f"{near} {all_of}" if near else all_of


def with_backend(words: Sequence[str]) -> list[str]:
    """The words of a command line, with `backend=ollama` where they ask for the demo's dialogues and a model of
    Ollama's: the demo's config chooses the embedded backend, for its small model."""
    given = {key: value for key, _, value in (word.partition("=") for word in words)}
    names = given.get("backbone", "").split(",")
    demo = given.get("dataset") == "demo" and not {"backend", "backbone.gguf"} & given.keys()
    served = all(is_model(name) or (model_of(name) and "\ngguf:" not in _text(name)) for name in names)
    return [*words, "backend=ollama"] if demo and served else [*words]


def is_model(name: str) -> bool:
    """Whether `backbone=name` names a model of Ollama's, and no config: a model's name has a tag."""
    return re.fullmatch(r"[A-Za-z0-9][\w./+-]*:[\w.+-]+", name, re.ASCII) is not None


def model_of(page: str) -> str:
    """The model that a backbone's config of mmerg's names; "" where there is no such config."""
    match = re.search(r"^model: *[\"']?([^\s\"'#]+)", _text(page), re.MULTILINE)
    return match[1] if match else ""


def _text(page: str) -> str:
    file = conf_folder() / "backbone" / f"{page}.yaml"
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def ollama_host() -> str:
    """Where Ollama's own programs look for the server (OLLAMA_HOST), as an address that can be asked. A password is
    masked, and is refused with the settings."""
    given = os.environ.get("OLLAMA_HOST", "").strip("\"' ")
    if not given:
        return OLLAMA
    scheme, _, rest = given.rpartition("://")
    place, slash, path = rest.partition("/")
    _, at, place = place.rpartition("@")
    host, _, port = place.rpartition(":") if re.search(r":\d*$", place) else (place, "", "")
    ports = {"http": "80", "https": "443"}
    host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)
    return (
        f"{scheme or 'http'}://{'***@' if at else ''}{host}:{port or ports.get(scheme, '11434')}{slash}{path}".rstrip(
            "/"
        )
    )
