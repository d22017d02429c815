"""What a mistyped word of a command line may mean: the end of a one-line error.

A hint is empty, or begins with a semicolon.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from adnominal.conf.help import fields_of, spelling_hint

# A comparison with a word that is not in quotes: noun=key, noun = "key".
_UNQUOTED = re.compile(r'(\w+)\s*(=|==|!=|<>|like)\s*("?)([^\W\d]\w*)\3', re.IGNORECASE)
_SQL_WORDS = {"true", "false", "null", "and", "or", "not"}


def hint_for_key(cls: type, key: str, known_keys: Sequence[str]) -> str:
    """What an unknown setting of the settings `cls` may mean.

    The class's ``RENAMED`` has the right name by one that users type. A name may also be that of a
    nested setting without its group.
    """
    renamed: Mapping[str, str] = getattr(cls, "RENAMED", {})
    nested = [name for name, _, _ in fields_of(cls) if name.endswith(f".{key}")]
    hint = spelling_hint(key, known_keys) or spelling_hint(key, renamed)
    if nested:
        hint = f"; did you mean {nested[0]!r}?"
    for name, right_name in renamed.items():
        hint = hint.replace(f"'{name}'", repr(right_name.split()[0]))
    return hint or "; known: " + ", ".join(known_keys)


def hint_for_word(cls: type, word: str, rest: Sequence[str]) -> str:
    """What a word without an equals sign may mean, for the settings `cls`.

    A setting's name followed by its value, or one of a setting's choices.
    """
    fields = fields_of(cls)
    names = [key for key, _, _ in fields]
    if word in names:
        value = rest[0] if rest and "=" not in rest[0] else "…"
        return f"; did you mean {f'{word}={value}'!r}?"
    for key, field, _ in fields:
        if word in field.metadata.get("choices", ()):
            return f"; did you mean {f'{key}={word}'!r}?"
    return spelling_hint(word, names)


def hint_for_command(word: str, modules: Mapping[str, str]) -> str:
    """The command that a first word may mean; `modules` has each command's script by its name.

    The second word of a command, as *knowledge*, and the name of its script, as *finetune*, stand
    for the command.
    """
    meant: dict[str, str] = {}
    for name, module in modules.items():
        script = module.rpartition(".")[2]
        for alias in (name.split()[-1], script):
            meant.setdefault(alias, name)
        meant.setdefault(name.split()[0], name.split()[0])
    meant |= {word: word for word in ("completion", "--help", "--version")}
    for alias in difflib.get_close_matches(word, meant, n=1):
        return f"; did you mean {meant[alias]!r}?"
    return ""


def hint_for_condition(condition: str, columns: Iterable[str]) -> str:
    """How to quote a text in a condition in SQL, if a comparison has a word without quotes.

    Single quotes enclose a text; double quotes enclose the name of a column.
    """
    known = set(columns)
    for match in _UNQUOTED.finditer(condition):
        column, operator, _, word = match.groups()
        if word in known or word.lower() in _SQL_WORDS:
            continue
        return f"; a text stands in single quotes: where=\"{column} {operator} '{word}'\""
    return ""
