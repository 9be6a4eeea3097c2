"""Completes commands, pages and settings with Tab in bash: `eval "$(mmerg completion bash)"`."""

import sys

from mmerg.console.terminal import run_command, start
from mmerg.errors import ConfigError
from mmerg.settings.command import OPTIONS, read_line, setting_keys
from mmerg.settings.pages import groups, pages_of

# Commands that compose a page of their name.
ITS_OWN = ("cluster", "data", "doctor", "import", "judge", "serve", "train")
PAGES = {"run": "config", "bench": "config"} | {name: name for name in ITS_OWN}
# What stands behind the last = or : is a word of its own to bash, and only that is replaced.
BASH = r"""_mmerg() {
  local line="${COMP_LINE:0:COMP_POINT}"
  local word="${line##*[[:space:]]}"
  local cut="${word%"${COMP_WORDS[COMP_CWORD]#[=:]}"}"
  local found
  COMPREPLY=()
  while IFS= read -r found; do COMPREPLY+=("${found#"$cut"}"); done < <(mmerg completion words "$line")
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -o default -o nospace -F _mmerg mmerg"""


def words(line: str) -> list[str]:
    """What the last word of a command line may become."""
    *before, last = line.split(" ")
    before = [word for word in before if word]
    if len(before) < 2:
        from mmerg.console.terminal import commands

        return [f"{name} " for name in commands() if name.startswith(last)]
    page = PAGES.get(before[1])
    if page is None:
        return []
    if last.startswith("-"):
        return [f"{option.split()[0]} " for option in OPTIONS if option.startswith(last)]
    try:
        own = read_line(before[2:]).own
    except ConfigError:  # the command itself will say what is wrong
        own = None
    keys = setting_keys(page)
    chosen = [group for group in groups(own) if group in keys or group not in groups()]
    group, equals, _ = last.partition("=")
    if equals:
        found = [f"{group}={name} " for name in pages_of(group, own)] if group in chosen else []
    else:
        found = [f"{key}=" for key in dict.fromkeys([*chosen, *keys])]
    return [one for one in found if one.startswith(last)]


def main() -> int:
    """The command."""

    def command() -> int:
        match sys.argv[1:]:
            case ["bash"]:
                print(BASH)  # noqa: T201
            case ["words", line]:
                sys.stdout.writelines(f"{word}\n" for word in words(line))  # with none, bash completes names of files
            case _:
                hint = 'eval "$(mmerg completion bash)"'
                raise ConfigError("completion is for bash", where="command line", hint=hint)
        return 0

    return run_command(command)


if __name__ == "__main__":
    start(main)
