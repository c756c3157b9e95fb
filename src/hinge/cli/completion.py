"""`hinge completion`: what lets a shell complete the command line, made from the parsers of the commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hinge.cli.command import COMMANDS, actions_of, command_of
from hinge.cli.explain import VERBS
from hinge.cli.output import write
from hinge.cli.robot_argument import BUILT_IN

DESCRIPTION = """\
Print a script that lets a shell complete commands, options, robots and verbs. Put it where the shell
reads it:

  eval "$(hinge completion bash)"                                       in ~/.bashrc
  eval "$(hinge completion zsh)"                                        in ~/.zshrc, after compinit
  hinge completion fish > ~/.config/fish/completions/hinge.fish
"""

#: Words that stand for an argument, by its name in the help.
WORDS = {"ROBOT": tuple(BUILT_IN), "VERB": VERBS}
#: Names of arguments that are files.
PATHS = ("ROBOT", "FILE", "DIRECTORY")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hinge completion`."""
    parser.add_argument("shell", metavar="SHELL", choices=sorted(SCRIPTS), help=" or ".join(sorted(SCRIPTS)))


def run(arguments: argparse.Namespace) -> None:
    """Print the script."""
    write(SCRIPTS[arguments.shell]([_spec(name) for name in COMMANDS]))


@dataclass(frozen=True)
class Argument:
    """An option, or an argument by position if it has no flags; what it can be, and the line of its help."""

    flags: tuple[str, ...]
    words: tuple[str, ...]
    is_path: bool
    takes: bool
    summary: str


@dataclass(frozen=True)
class Spec:
    """A sub-command: its name, its options, and the words and files that may stand beside them."""

    name: str
    options: tuple[Argument, ...]
    words: tuple[str, ...]
    has_paths: bool

    @property
    def flags(self) -> tuple[str, ...]:
        """All flags of the options."""
        return tuple(flag for option in self.options for flag in option.flags)


def _spec(name: str) -> Spec:
    parser = argparse.ArgumentParser(prog=f"hinge {name}")
    command_of(name).configure(parser)
    found = list(_arguments(parser))
    beside = [a for a in found if not a.flags]
    words = tuple(dict.fromkeys(w for a in beside for w in a.words))
    return Spec(name, tuple(a for a in found if a.flags), words, any(a.is_path for a in beside))


def _arguments(parser: argparse.ArgumentParser) -> Iterator[Argument]:
    for action in actions_of(parser):
        names = (action.metavar,) if isinstance(action.metavar, str) else ()
        choices: Any = action.choices or ()
        words = *map(str, choices), *(w for n in names for w in WORDS.get(n, ()))
        is_path = action.type is Path or bool({*names} & {*PATHS})
        summary = (action.help or "").partition("(default")[0].strip()
        yield Argument(tuple(action.option_strings), words, is_path, action.nargs != 0, summary)


def _bash(specs: list[Spec]) -> str:
    lines = [
        "# bash completion for hinge",
        "_hinge() {",
        '    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words="" files=""',
        "    COMPREPLY=()",
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f'        words="{" ".join(s.name for s in specs)} --help --version"',
        "    else",
        "        case ${COMP_WORDS[1]} in",
    ]
    for s in specs:
        lines += [f"        {s.name})", *_bash_cases(s), "            ;;"]
    lines += [
        "        esac",
        "    fi",
        '    COMPREPLY=($(compgen -W "$words" -- "$cur"))',
        '    if [ -n "$files" ]; then',
        '        COMPREPLY+=($(compgen -f -- "$cur"))',
        "        compopt -o filenames 2> /dev/null",
        "    fi",
        "}",
        "complete -F _hinge hinge",
    ]
    return "\n".join(lines)


def _bash_cases(s: Spec) -> Iterator[str]:
    """Yield what follows an option that takes a value, an option, and anything else."""
    yield "            case $prev in"
    for option in s.options:
        if option.takes:
            files = " files=1" if option.is_path else ""
            yield f'            {"|".join(option.flags)}) words="{" ".join(option.words)}"{files} ;;'
    yield "            *) case $cur in"
    yield f'                -*) words="{" ".join(s.flags)}" ;;'
    yield f'                *) words="{" ".join(s.words)}"{" files=1" if s.has_paths else ""} ;;'
    yield "                esac ;;"
    yield "            esac"


def _zsh(specs: list[Spec]) -> str:
    lines = [
        "#compdef hinge",
        "_hinge() {",
        "    if (( CURRENT == 2 )); then",
        "        local -a commands=(",
        *(f"            {_quoted(f'{s.name}:{COMMANDS[s.name]}')}" for s in specs),
        "        )",
        "        _describe command commands",
        "        return",
        "    fi",
        "    case $words[2] in",
    ]
    for s in specs:
        lines += [f"    {s.name})", "        case $words[CURRENT-1] in"]
        for option in s.options:
            if option.takes:
                lines.append(
                    f"        {'|'.join(option.flags)}) {_zsh_words(option.words, option.is_path)} ;;"
                )
        lines += [
            "        *)",
            f"            if [[ $words[CURRENT] == -* ]]; then compadd -- {' '.join(s.flags)}",
            f"            else {_zsh_words(s.words, s.has_paths)}",
            "            fi ;;",
            "        esac ;;",
        ]
    return "\n".join([*lines, "    esac", "}", "compdef _hinge hinge"])


def _zsh_words(words: tuple[str, ...], is_path: bool) -> str:
    parts = [f"compadd -- {' '.join(words)}"] if words else []
    parts += ["_files"] if is_path else []
    return "; ".join(parts) or ":"


def _fish(specs: list[Spec]) -> str:
    lines = ["# fish completion for hinge", "complete -c hinge -f"]
    for s in specs:
        summary = _quoted(COMMANDS[s.name], fish=True)
        lines.append(f"complete -c hinge -n __fish_use_subcommand -a {s.name} -d {summary}")
    for s in specs:
        begin = f"complete -c hinge -n '__fish_seen_subcommand_from {s.name}'"
        if s.words or s.has_paths:
            words = f" -a '{' '.join(s.words)}'" if s.words else ""
            lines.append(f"{begin}{' -F' if s.has_paths else ''}{words}")
        lines += [f"{begin} {_fish_option(option)}" for option in s.options]
    return "\n".join(lines)


def _fish_option(option: Argument) -> str:
    flags = " ".join(f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in option.flags)
    takes = f" -r{' -F' if option.is_path else ''}" if option.takes else ""
    words = f" -a '{' '.join(option.words)}'" if option.words else ""
    return f"{flags}{takes}{words} -d {_quoted(option.summary, fish=True)}"


def _quoted(text: str, *, fish: bool = False) -> str:
    """Return text in single quotes, in which nothing has a meaning."""
    inside = text.replace("\\", "\\\\").replace("'", "\\'") if fish else text.replace("'", "'\\''")
    return f"'{inside}'"


#: The script of each shell.
SCRIPTS: dict[str, Callable[[list[Spec]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
