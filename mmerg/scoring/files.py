"""Figures as a JSON file, and back. Not pydantic's own JSON: that refuses a lone surrogate, which the name of a folder
and what a model forecasts may hold.

    written(folder / "scores.json", scores)
    read(folder / "scores.json", Scores) == scores
"""

import json
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from mmerg.storage.files import open_regular, write_whole

Model = TypeVar("Model", bound=BaseModel)


def written(path: Path, model: BaseModel) -> None:
    """Write a file whole or not at all. Raises RunError where it cannot be written."""
    write_whole(path, json.dumps(model.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")


def read(path: Path, kind: type[Model]) -> Model:
    """What `written` wrote. Raises OSError where the file cannot be read, ValueError where it is no such thing."""
    try:
        with open_regular(path) as file:
            return kind.model_validate(json.loads(file.read().decode()))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
