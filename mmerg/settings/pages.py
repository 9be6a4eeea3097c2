"""The pages of `conf/` and of the user's own folder, by group. Imports neither Hydra nor pydantic.

pages_of("frames")    # ["all", "none", "paper"]
"""

import os
import re
from pathlib import Path

from mmerg.errors import did_you_mean

OLLAMA = "http://127.0.0.1:11434"


def conf_folder() -> Path:
    """The folder of YAML files: inside an installed package, next to the package in a checkout."""
    here = Path(__file__).parents[1]
    return next(folder for folder in (here / "conf", here.parent / "conf") if folder.is_dir())


def groups(own: Path | None = None) -> list[str]:
    """The groups of which a page is chosen, `group=page`."""
    folders = [conf_folder(), *([own] if own and own.is_dir() else [])]
    return sorted({group.name for folder in folders for group in folder.iterdir() if group.is_dir()} - {"hydra"})


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
    if choice and group == "backbone" and (page := next((page for page in pages if _model(page, own) == choice), None)):
        return f"{choice} is the model of backbone={page}"
    if choice and group == "backbone" and ":" in choice:
        name = re.sub(r"[^\w.+-]+", "-", choice)
        return (
            f"a model that no page is of: backbone=qwen2.5vl-7b backbone.model={choice} backbone.name={name}; {all_of}"
        )
    near = did_you_mean(choice or "", pages).replace("mean ", f"mean {group}=")
    return f"{near} {all_of}" if near else all_of


def _model(page: str, own: Path | None) -> str:
    files = (folder / "backbone" / f"{page}.yaml" for folder in (own, conf_folder()) if folder)
    text = next((file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()), "")
    match = re.search(r"^model: *[\"']?([^\s\"'#]+)", text, re.MULTILINE)
    return match[1] if match else ""


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
