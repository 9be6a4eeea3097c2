"""The classes and functions that a config names, imported and instantiated."""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import cast

from pydantic import ValidationError

from mmerg.errors import ConfigError, MmergError, format_exception, locate_error
from mmerg.settings.kinds import ClassSpec
from mmerg.settings.model import DatasetSettings
from mmerg.settings.problems import combine_problems, translate_errors


def instantiate(spec: ClassSpec, where: str) -> object:
    """Makes the object that `spec` describes, whose arguments may be specs, too. As in Hydra, `_partial_` gives a
    `functools.partial`. Raises ConfigError if the object cannot be imported or made. An MmergError that its class
    raises passes through."""
    return _build(spec.model_dump(by_alias=True), where)


def _build(node: object, where: str) -> object:
    if isinstance(node, list | tuple):
        return [_build(inner, where) for inner in node]
    if not isinstance(node, dict):
        return node
    arguments = {str(key): _build(inner, where) for key, inner in node.items()}
    if "_target_" not in arguments:
        return arguments
    dotted, is_partial = str(arguments.pop("_target_")), arguments.pop("_partial_", False)
    hint = "_target_ is the dotted name of a class or function"
    target = cast(Callable[..., object], import_name(dotted, where, hint))
    try:
        return partial(target, **arguments) if is_partial else target(**arguments)
    except MmergError:
        raise
    except ValidationError as error:
        problems = translate_errors(error, ClassSpec, where)
        named = [replace(problem, what=f"{_find_settings(problem.key, where)}.{problem.what}") for problem in problems]
        raise combine_problems(named) from error
    except (Exception, SystemExit) as error:  # sys.exit() in the user's code must not end the command with its code
        why, place = " ".join(format_exception(error).split()), ""
        if error.__traceback__ and error.__traceback__.tb_next:  # otherwise the arguments do not fit
            place = f", {locate_error(error)}"
        raise ConfigError(f"{dotted} cannot be made: {why}", where=f"{where}{place}") from error


def _find_settings(argument: str, where: str) -> str:
    """Returns the settings that hold an argument. Those of a dataset hold most arguments of its reader."""
    is_shared = where.endswith(".reader") and argument.partition(".")[0] in DatasetSettings.model_fields
    return where.removesuffix(".reader") if is_shared else where


def import_name(dotted: str, where: str, hint: str) -> object:
    """Imports the object at a name such as `my_stage.Reply` or `folder/my_stage.py:Reply`. Raises ConfigError if the
    name does not exist, or if its module cannot be imported."""
    file, in_file, name = dotted.rpartition(".py:")
    if not in_file:
        file, _, name = dotted.rpartition(".")
    try:
        module = _import_file(f"{file}.py") if in_file else importlib.import_module(file)
        return cast(object, getattr(module, name))
    except (Exception, SystemExit) as error:
        why = format_exception(error) if not isinstance(error, ImportError | ValueError) else str(error)
        place = f", {locate_error(error)}" if isinstance(error, SyntaxError | NameError | SystemExit) else ""
        raise ConfigError(f"{dotted!r} cannot be imported: {why}", where=f"{where}{place}", hint=hint) from error


def _import_file(file: str) -> ModuleType:
    """Imports a Python file under a unique module name."""
    path = str(Path(file).expanduser().absolute())
    spec = importlib.util.spec_from_file_location(path.replace(".", "_"), path)
    assert spec is not None  # as the name ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


def get_dotted_name(thing: object) -> str:
    """Returns the dotted name of a function, or of an object's class."""
    unwrapped = unwrap_callable(thing)
    return f"{unwrapped.__module__}.{unwrapped.__qualname__}"


def unwrap_callable(thing: object) -> FunctionType | type[object]:
    """Returns a function or class itself, the function of a `partial`, or the class of any other object."""
    thing = thing.func if isinstance(thing, partial) else thing
    return thing if isinstance(thing, FunctionType | type) else type(thing)
