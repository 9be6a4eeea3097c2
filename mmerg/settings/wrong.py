"""What is wrong with settings, all of it at once: each key, what it may be, and the nearest right word.

raise refusal([unknown(RunSettings, "limt")])    # there is no setting limt; did you mean limit?
"""

import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import ValidationError

from mmerg.errors import ConfigError, did_you_mean
from mmerg.settings.kinds import PASSWORD, Part
from mmerg.settings.tree import every_key, keys_of, kind_at

Node = TypeVar("Node", bound=Part)
COMMAND_LINE, CONFIGURATION = "command line", "configuration"
_KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number, which nan and inf are not",
    "bool_type": "true or false",
    "tuple_type": "a list: [a,b]",
    "too_short": "at least one, or leave it out",
    "dict_type": "settings by name",
}
_BOUNDS = {"ge": "at least {}", "le": "at most {}", "gt": "a number over {}", "lt": "under {}"}
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


@dataclass(frozen=True)
class Wrong:
    """One thing that is wrong: what it is, and what may stand there."""

    key: str
    what: str
    hint: str
    where: str = CONFIGURATION


def refusal(wrongs: Sequence[Wrong]) -> ConfigError:
    """All of `wrongs` as one error."""
    places = ", ".join(dict.fromkeys(one.where for one in wrongs))
    if len(wrongs) == 1:
        return ConfigError(wrongs[0].what, where=places, hint=wrongs[0].hint)
    lines = (f"  {one.what}; {one.hint}" for one in wrongs)
    return ConfigError("\n".join([f"{len(wrongs)} settings are wrong", *lines]), where=places)


def unknown(kind: type[Part], key: str, where: str = COMMAND_LINE) -> Wrong:
    """A key that no setting has, with what it may be meant for: a key beside it, or one of this name elsewhere."""
    above, _, last = key.rpartition(".")
    try:
        parent = kind_at(kind, above) if above else kind
    except KeyError:
        parent = None
    beside = {name: f"{above}.{name}" if above else name for name in keys_of(parent)} if parent else {}
    every = [one for one, _ in every_key(kind)]
    near = (
        [beside[name] for name in get_close_matches(last, beside, 1)]
        or [one for one in every if f".{one}".endswith((f".{key}", f".{last}"))]
        or [one for one in every if get_close_matches(last, [one.rpartition(".")[2]], 1, 0.8)]
    )
    known = f"settings: {', '.join(beside.values() or keys_of(kind))}"
    hint = f"did you mean {' or '.join(near[:3])}?" if near else known
    return Wrong(key, f"there is no setting {key}", hint, where)


def of_validation(error: ValidationError, kind: type[Part], where: str = CONFIGURATION) -> Iterator[Wrong]:
    """Each thing that pydantic found, in our words."""
    for found in error.errors(include_url=False):
        key, value, context = ".".join(map(str, found["loc"])), found["input"], found.get("ctx", {})
        match found["type"]:
            case "extra_forbidden":
                yield unknown(kind, key, where)
                continue
            case "missing" if key.endswith("._target_"):
                what = f"{key.removesuffix('._target_')} names no class that would take settings"
                yield Wrong(key, what, f"leave its settings away, or name one: {key}=…", where)
                continue
            case "missing":
                yield Wrong(key, f"{key} has no value", f"set it on the command line: {key}=…", where)
                continue
            case "model_type" if part := kind_at(kind, key):  # as where a row chooses a page of a group
                of_class = "_target_, a class, and what it is made with"
                hint = f"its settings by name: {', '.join(keys_of(part)) or of_class}"
                hint += "" if value is None or "." in key else f"; {key}={value} goes on the command line"
                yield Wrong(key, f"{key} is {as_typed(value)}, and it holds several settings", hint, where)
                continue
            case "too_short" if value:  # of its items one is wrong, which is told
                continue
            case "literal_error":
                hint = one_of(value, re.findall(r"'([^']*)'", context["expected"]))
            case "value_error":
                hint = str(context["error"])
            case other:
                bounds = (text.format(context[bound]) for bound, text in _BOUNDS.items() if bound in context)
                hint = next(bounds, "") or _KINDS.get(other, found["msg"])
        yield Wrong(key, f"{key} is {as_typed(value)}", hint, where)


def read_part(kind: type[Node], plain: Mapping[str, object], where: str) -> Node:
    """A part by itself. Raises ConfigError, naming `where`, with all that is wrong."""
    try:
        return kind.model_validate(plain)
    except ValidationError as error:
        raise refusal(list(of_validation(error, kind, where))) from error


def one_of(value: Any, allowed: Sequence[str]) -> str:
    """The words that are allowed, and whether the nearest is meant."""
    words = f"one of {', '.join(allowed)}"
    if isinstance(value, bool) and "off" in allowed:
        return f'{words}; in YAML on and off are true and false: write "on" or "off", in quotes'
    return "; ".join(filter(None, (words, did_you_mean(str(value).lower(), allowed))))


def as_typed(value: Any) -> str:
    """A value as a command line has it; a long one is cut, and a password is not shown."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return PASSWORD.sub("://***@", _SHORT.repr(value))
