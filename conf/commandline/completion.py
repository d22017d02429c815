"""Completion for shells: the words that may follow the words typed so far.

The shell calls ``adnominal --complete LINE`` at every completion, so that commands, keys and values
are those of the installed version.
"""

import typing

from adnominal.conf import UserError
from adnominal.conf.commandline.commands import COMMANDS, Command, lookup, settings_of
from adnominal.conf.help import fields_of, spelling_hint

SHELLS = {
    # Bash treats "=" as the end of a word and replaces only the value.
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
    """The code for the start-up file of a shell: ``eval "$(adnominal completion bash)"``.

    Raises:
        UserError: an unknown shell.
    """
    if shell not in SHELLS:
        raise UserError(
            f"completion {shell or '(nothing)'}: expected one of "
            f"{', '.join(SHELLS)}{spelling_hint(shell, SHELLS)}"
        )
    return SHELLS[shell]


def candidates(line: str) -> list[str]:
    """The completions of the last word of a line that begins with the program.

    Values are returned as ``key=value``. Paths have no candidates: the shell completes them.
    """
    words = line.split()[1:]
    last = "" if not words or line[-1:].isspace() else words.pop()
    return sorted(word for word in _possible_words(words, last) if word.startswith(last))


def _possible_words(words: list[str], last: str) -> list[str]:
    """What may stand in place of the incomplete word `last` after `words`."""
    if (command := lookup(words)) is not None:
        return _of_command(*command, last)
    if not words:
        first = {name.split()[0] for name in COMMANDS}
        return [*first, "completion", "--help", "--version"]
    if words == ["completion"]:
        return list(SHELLS)
    return [name.split()[1] for name in COMMANDS if name.split()[:-1] == words]


def _of_command(command: Command, words: list[str], last: str) -> list[str]:
    """What may follow a command: its verbs, its settings, or the values of a setting."""
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
