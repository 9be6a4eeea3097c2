"""The options with which a model is loaded, as settings have them: each server knows some."""

from collections.abc import Mapping

from mmerg.errors import ConfigError

Load = Mapping[str, int | str | bool | float]


def check_load(load: Mapping[str, object], least: Mapping[str, int | None], where: str) -> None:
    """Raises ConfigError where an option is none of `least`, or its value is not a whole number of at least that much;
    with None it is true or false. The context's length must be given."""
    if unknown := [name for name in load if name not in least]:
        hint = f"load takes {', '.join(least)}; samplers belong to each request, all else to where a server is started"
        raise ConfigError(f"not a load option: {', '.join(unknown)}", where=where, hint=hint)
    if "num_ctx" not in load:
        hint = "set backbone.load.num_ctx, for example to 12288: five frames can be over 5,000 tokens"
        raise ConfigError("num_ctx is not set; the server would pick one by its memory", where=where, hint=hint)
    for name, value in load.items():
        lowest = least[name]
        if type(value) is bool if lowest is None else type(value) is int and value >= lowest:  # a bool is an int, too
            continue
        meaning = "true or false" if lowest is None else f"a whole number of at least {lowest}"
        hint = f"give {name} {meaning}, or leave it out where there is a default"  # pages set it in several places
        raise ConfigError(f"load option {name} is {value!r}, not {meaning}", where=where, hint=hint)
