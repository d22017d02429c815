"""The one command line: ``adnominal COMMAND key=value …`` (or ``python -m adnominal``)."""

import importlib
import sys
from collections.abc import Sequence

from adnominal import conf
from adnominal.conf import HELP_WORDS, UserError
from adnominal.conf.commandline.commands import COMMANDS, Command, lookup
from adnominal.conf.commandline.completion import candidates, script
from adnominal.conf.help import spelling_hint
from adnominal.conf.hints import hint_for_command
from adnominal.conf.output import output_may_be_closed


def help_text() -> str:
    """The list of commands by groups."""
    lines = [
        "adnominal COMMAND key=value …: adjective–noun semantics at web scale",
        "",
        "Each command runs a script with the same settings; COMMAND --help lists them.",
    ]
    group = ""
    for command in COMMANDS.values():
        if command.group != group:
            group = command.group
            lines += ["", f"{group}:"]
        lines.append(f"  {command.name:<20}{command.help}")
    lines += [
        "",
        '  completion SHELL  completion for bash, zsh or fish: eval "$(adnominal completion bash)"',
        "  --version         the installed version",
        "",
        "Exit codes: 0 done, 1 failed, 2 a mistake in the command (explained in one line).",
    ]
    return "\n".join(lines) + "\n"


def find(words: Sequence[str]) -> tuple[Command, list[str]]:
    """The command that the first words name, and the words after them.

    Raises:
        UserError: no such command; the message names the nearest one.
    """
    command = lookup(words)
    if command is not None:
        _check_second_word(*command)
        return command
    inner = [name for name in COMMANDS if words and name.split()[0] == words[0]]
    if inner:
        seconds = [name.split()[1] for name in inner]
        given_word = repr(words[1]) if len(words) > 1 else "nothing"
        suggestion = spelling_hint(words[1], seconds) if len(words) > 1 else ""
        raise UserError(
            f"{words[0]}: got {given_word}; expected one of {', '.join(seconds)}{suggestion} "
            "(adnominal --help lists the commands)"
        )
    given_word = repr(words[0]) if words else "no command"
    modules = {name: command.module for name, command in COMMANDS.items()}
    suggestion = hint_for_command(words[0], modules) if words else ""
    raise UserError(
        f"got {given_word}; expected a command{suggestion} (adnominal --help lists them)"
    )


def _check_second_word(command: Command, arguments: Sequence[str]) -> None:
    """Raise `UserError` if a misspelt second word makes `report quey` the command `report`."""
    seconds = [name.split()[1] for name in COMMANDS if name.startswith(f"{command.name} ")]
    if not arguments or not arguments[0].isalpha():
        return
    if suggestion := spelling_hint(arguments[0], seconds):
        raise UserError(f"{command.name}: got {arguments[0]!r}; expected key=value{suggestion}")


@output_may_be_closed()
def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if len(words) > 1 and words[0] in HELP_WORDS:
        words = [*words[1:], "--help"]
    if words and words[0] in HELP_WORDS:
        print(help_text(), end="")
        return 0
    if words and words[0] in ("--version", "-V"):
        print(f"adnominal {conf.package_version()} ({conf.code_version()})")
        return 0
    try:
        if words and words[0] == "--complete":
            print("\n".join(candidates(" ".join(words[1:]))))
            return 0
        if words and words[0] == "completion":
            print(script(" ".join(words[1:])), end="")
            return 0
        command, arguments = find(words)
        module = importlib.import_module(command.module)
    except UserError as error:
        return conf.complain(error, 2)
    except ModuleNotFoundError as error:
        message = conf.missing_package(error)
        if message is None:
            raise
        return conf.complain(message, 2)
    # Code that reads sys.argv itself (for an application's name) sees the script's command line.
    sys.argv = [str(module.__file__), *arguments]
    code: int = module.main(arguments)
    return code


if __name__ == "__main__":
    sys.exit(main())
