"""Completes commands, pages and settings with Tab in bash: `eval "$(mmerg completion bash)"`."""

import sys

from mmerg.console.terminal import commands, run_command, start
from mmerg.errors import ConfigError
from mmerg.settings.command import read_line
from mmerg.settings.listing import OPTIONS, groups_of, keys_of_page
from mmerg.settings.pages import conf_folder, groups, pages_of

PAGES = {"run": "config", "bench": "config"}  # other commands compose the page of their name, if there is one
# What stands behind the last = or : is a word of its own to bash, and only that is replaced.
BASH = r"""_mmerg() {
  local line="${COMP_LINE:0:COMP_POINT}"
  local word="${line##*[[:space:]]}"
  local cut="${word%"${COMP_WORDS[COMP_CWORD]#[=:]}"}"
  local reply
  COMPREPLY=()
  while IFS= read -r reply; do COMPREPLY+=("${reply#"$cut"}"); done < <(mmerg completion words "$line")
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -o default -o nospace -F _mmerg mmerg"""


def words(line: str) -> list[str]:
    """What the last word of a command line may become."""
    *before, last = line.split(" ")
    _, *given = [word for word in before if word] or [""]
    if not given:
        return [f"{name} " for name in commands() if name.startswith(last)]
    page = PAGES.get(given[0], given[0])
    if not (conf_folder() / f"{page}.yaml").is_file():
        return []
    return [word for word in _words(page, given[1:], last) if word.startswith(last)]


def _words(page: str, given: list[str], last: str) -> list[str]:
    if last.startswith("-"):
        return [f"{option.split()[0]} " for option in OPTIONS]
    try:
        own = read_line(given).own
    except ConfigError:  # the command itself will say what is wrong
        own = None
    chosen = [*groups_of(page), *(group for group in groups(own) if group not in groups())]
    group, equals, _ = last.partition("=")
    if equals:
        return [f"{group}={name} " for name in pages_of(group, own)] if group in chosen else []
    return [f"{key}=" for key in dict.fromkeys([*chosen, *keys_of_page(page)])]


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
