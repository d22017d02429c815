"""Completion for shells: the words that may follow what was typed so far.

The shell asks ``adnominal --complete LINE`` at every key, so that commands, keys and values are
those of the installed version.
"""

from __future__ import annotations

import typing

from conf import UserError
from conf.commandline.commands import COMMANDS, Command, settings_of
from conf.help import fields_of, nearest

__all__ = ["SHELLS", "candidates", "script"]

SHELLS = {
    # Bash takes "=" for the end of a word: what it replaces is the value alone.
    "bash": """\
_adnominal() {
    local IFS=$'\\n'
    COMPREPLY=($(adnominal --complete "${COMP_LINE:0:COMP_POINT}" 2>/dev/null))
    if [[ "${COMP_LINE:0:COMP_POINT}" =~ =[^[:space:]]*$ ]]; then
        COMPREPLY=("${COMPREPLY[@]#*=}")
    fi
    [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *= ]] && compopt -o nospace
}
complete -o default -F _adnominal adnominal
""",
    "zsh": """\
#compdef adnominal
_adnominal() {
    local -a found
    found=("${(@f)$(adnominal --complete "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then compadd -Q -S '' -- $found; else _files; fi
}
compdef _adnominal adnominal
""",
    "fish": """\
complete -c adnominal -a '(adnominal --complete (commandline -cp) 2>/dev/null)'
""",
}


def script(shell: str) -> str:
    """What a shell's start-up file is to read: ``eval "$(adnominal completion bash)"``.

    Raises:
        UserError: a shell that is not known.
    """
    if shell not in SHELLS:
        raise UserError(
            f"completion {shell or '(nothing)'}: expected one of "
            f"{', '.join(SHELLS)}{nearest(shell, SHELLS)}"
        )
    return SHELLS[shell]


def candidates(line: str) -> list[str]:
    """The words that the last word of the line may become, the line beginning with the program.

    Values are given whole, as ``key=value``; paths are left to the shell (no candidates).
    """
    words = line.split()[1:]
    last = "" if not words or line[-1:].isspace() else words.pop()
    return sorted(word for word in _possible(words, last) if word.startswith(last))


def _possible(words: list[str], last: str) -> list[str]:
    for length in (2, 1):
        command = COMMANDS.get(" ".join(words[:length]))
        if command is not None and len(words) >= length:
            return _of_command(command, words[length:], last)
    if not words:
        first = {name.split()[0] for name in COMMANDS}
        return [*first, "completion", "--help", "--version"]
    if words == ["completion"]:
        return list(SHELLS)
    return [name.split()[1] for name in COMMANDS if name.split()[:-1] == words]


def _of_command(command: Command, words: list[str], last: str) -> list[str]:
    verbs = settings_of(command)
    if "" not in verbs and not words:
        return list(verbs)
    settings = verbs.get("" if "" in verbs else words[0])
    if settings is None:
        return []
    key, equals, _ = last.partition("=")
    fields = {name: (field, hint) for name, field, hint in fields_of(settings)}
    if not equals:
        return [*(f"{name}=" for name in fields), "--help", "--config"]
    if key not in fields:
        return []
    field, hint = fields[key]
    values = field.metadata.get("choices") or ()
    if hint is bool or bool in typing.get_args(hint):
        values = ("true", "false")
    return [f"{key}={value}" for value in values]
