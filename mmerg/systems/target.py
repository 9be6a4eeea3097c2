"""Classes and functions that a config names: imported, made, and what stands for them in a run's identity.

make(Target.model_validate({"_target_": "my_stage.Classifier", "file": "~/model.bin"}), "system=mine")
named("my_stage.Reply", "system=mine")
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import cast

from pydantic import ValidationError

from mmerg.errors import ConfigError, MmergError, raised_at
from mmerg.settings.model import Target
from mmerg.storage.files import sha256_of


def make(target: Target, where: str) -> object:
    """What the target gives with its arguments. Raises ConfigError where it cannot be imported or made, and the
    MmergError that it raises itself."""
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    try:
        # Twice, as Hydra resolves a node before it reads it, and reading resolves again.
        node = _literal(_literal(target.model_dump(by_alias=True)))
        return cast(object, instantiate(node, _convert_="all"))
    except InstantiationException as error:
        if isinstance(error.__cause__, MmergError):
            raise error.__cause__ from error
        cause: Exception = error
        while isinstance(cause, InstantiationException | ImportError) and isinstance(cause.__cause__, Exception):
            cause = cause.__cause__
        why = " ".join(str(error if cause is error else f"{type(cause).__name__}: {cause}").split())
        if isinstance(cause, ValidationError):
            found = cause.errors(include_url=False)
            why = "; ".join(f"{'.'.join(map(str, one['loc']))} is {one['input']!r:.60}: {one['msg']}" for one in found)
        at = "" if cause is error else raised_at(cause)
        place = f", {at}" if at and "/hydra/_internal/" not in at and "importlib" not in at else ""
        raise ConfigError(f"{target.target} cannot be made: {why}", where=f"{where}{place}") from error


def _literal(value: object) -> object:
    """A value as a config holds it: what looks like an interpolation in a text, as in a path, is a part of it."""
    if isinstance(value, dict):
        return {key: _literal(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_literal(inner) for inner in value]
    return re.sub(r"(\\*)\$\{", lambda found: found[1] * 2 + r"\${", value) if isinstance(value, str) else value


def named(dotted: str, where: str, hint: str) -> object:
    """What a dotted name such as `my_stage.Reply`, or `folder/my_stage.py:Reply`, names. Raises ConfigError where there
    is no such thing, or its module cannot be imported."""
    file, in_file, name = dotted.rpartition(".py:")
    module, _, name = (file, "", name) if in_file else dotted.rpartition(".")
    try:
        return cast(object, getattr(_module_of(f"{file}.py") if in_file else importlib.import_module(module), name))
    except Exception as error:
        why = f"{type(error).__name__}: {error}" if not isinstance(error, ImportError | ValueError) else str(error)
        place = f", {raised_at(error)}" if isinstance(error, SyntaxError | NameError) else ""
        raise ConfigError(f"{dotted!r} cannot be imported: {why}", where=f"{where}{place}", hint=hint) from error


def _module_of(file: str) -> ModuleType:
    """The module that a file holds, which no other module is called like."""
    path = str(Path(file).expanduser().absolute())
    spec = importlib.util.spec_from_file_location(path.replace(".", "_"), path)
    assert spec is not None  # as for any name that ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def digest_of(thing: object) -> str:
    """What stands for a class or function in a run's identity: its own `digest`, else the SHA-256 (hex) of the file
    that it is written in. Raises ConfigError where it has neither."""
    try:
        digest = getattr(thing, "digest", None)
    except Exception as error:  # a property of the user's may raise anything
        what = f"the digest of {name_of(thing)} raised {type(error).__name__}: {error}"
        raise ConfigError(what, where=raised_at(error)) from error
    if isinstance(digest, str) and digest:
        return digest
    try:
        return sha256_of(Path(inspect.getsourcefile(_code(thing)) or ""))
    except (TypeError, OSError) as error:
        raise ConfigError(
            f"{name_of(thing)} has no digest, and no file that one could be taken of",
            where="configuration",
            hint="give it an attribute `digest`: a text that changes whenever what it gives may change",
        ) from error


def name_of(thing: object) -> str:
    """The dotted name of a function, or of an object's class."""
    code = _code(thing)
    return f"{code.__module__}.{code.__qualname__}"


def _code(thing: object) -> FunctionType | type[object]:
    thing = thing.func if isinstance(thing, partial) else thing
    return thing if isinstance(thing, FunctionType | type) else type(thing)
