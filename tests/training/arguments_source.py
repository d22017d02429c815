"""Write ``training/arguments.py``: the fields of transformers' TrainingArguments as settings.

``python -m tests.training.arguments_source`` after the pinned version of transformers has changed.
The generated file lets ``--help``, completion and errors work without importing torch; a test
compares it with the installed version.
"""

import dataclasses
import enum
import inspect
import re
import subprocess
import sys
import textwrap
import typing
from typing import Any

from adnominal.conf import ROOT
from adnominal.training.argument_lists import (
    DECLARED_BY_US,
    OUR_DEFAULTS,
    SET_BY_US,
    WITHOUT_INFLUENCE,
)

TARGET = ROOT / "training" / "arguments.py"
_HEADER = '''\
"""The fields of transformers' TrainingArguments that users may set, as settings (GENERATED).

Written by ``tests/training/arguments_source.py`` from transformers {version}; do not edit.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from adnominal.conf import setting

TRANSFORMERS = "{version}"


@dataclass(frozen=True, kw_only=True)
class PassedArguments:
    """Arguments of transformers' Trainer, under its own names and with its own meaning."""

    HELP_TITLE: ClassVar[str] = "Arguments of transformers' Trainer (TrainingArguments)"

'''
# The width of a line of help, inside its quotation marks.
_HELP_WIDTH = 80


def source() -> str:
    """Return the text of ``training/arguments.py`` for the installed version of transformers."""
    import transformers

    descriptions = _descriptions(inspect.getdoc(transformers.TrainingArguments) or "")
    fields = [
        field
        for field in dataclasses.fields(transformers.TrainingArguments)
        if field.init and field.name not in {*SET_BY_US, *DECLARED_BY_US}
    ]
    lines = [_field_source(field, descriptions.get(field.name, "")) for field in fields]
    defaults = {field.name: _default(field) for field in fields if field.name in OUR_DEFAULTS}
    footer = f"\n\nLIBRARY_DEFAULTS: dict[str, Any] = {defaults!r}\n"
    footer += '"""The library\'s defaults of the arguments that have another default here."""\n'
    return _HEADER.format(version=transformers.__version__) + "".join(lines) + footer


def _descriptions(doc: str) -> dict[str, str]:
    """Return the first sentence about each field from the class's docstring."""
    entry = re.compile(r"^ *(\w+) ?\((?:`|\[).*?\):\n((?: {8,}.*\n|\n)+)", re.MULTILINE)
    return {match[1]: _first_sentence(match[2]) for match in entry.finditer(doc + "\n")}


def _first_sentence(text: str) -> str:
    words = " ".join(text.split())
    without_marks = re.sub(r"\[`~?(?:\w+\.)*(\w+)`\](?:\([^)]*\))?", r"\1", words)
    without_marks = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", without_marks)
    without_marks = without_marks.replace("`", "").replace("*", "")
    sentence = re.split(r"(?<=[^.][.:])\s+(?=[A-Z-])", without_marks, maxsplit=1)[0]
    return sentence.rstrip(".: ")


def _field_source(field: dataclasses.Field[Any], description: str) -> str:
    types = [hint for hint in _members(field.type) if hint is not type(None)]
    choices = [str(member.value) for hint in types if _is_enum(hint) for member in hint]
    library_default = _default(field)
    default = OUR_DEFAULTS.get(field.name, library_default)
    hint = _type_name(types, library_default)
    if hint == "dict[str, Any]":
        default = default or {}
    if hint == "list[str]":
        default = default or []
    optional = " | None" if default is None else ""
    text = description or field.name.replace("_", " ")
    if field.name in OUR_DEFAULTS:
        text += f" (transformers' own default: {library_default})"
    arguments = [repr(default), _help_source(text)]
    if choices:
        arguments.append(f"choices={tuple(choices)!r}")
    if field.name in WITHOUT_INFLUENCE:
        arguments.append("identity=False")
    return f"    {field.name}: {hint}{optional} = setting({', '.join(arguments)})\n"


def _members(hint: Any) -> list[Any]:
    """Return the members of a union, or the type itself."""
    return list(typing.get_args(hint)) if _is_union(hint) else [hint]


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) is typing.Union or type(hint).__name__ == "UnionType"


def _is_enum(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, enum.Enum)


def _default(field: dataclasses.Field[Any]) -> Any:
    value = field.default
    if field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    return value.value if isinstance(value, enum.Enum) else value


def _type_name(types: list[Any], default: Any) -> str:
    """Return one of our settings' types: what a YAML file or a command line can say."""
    if any(typing.get_origin(hint) is dict or hint is dict for hint in types):
        return "dict[str, Any]"
    if any(typing.get_origin(hint) is list for hint in types):
        return "list[str]"
    names = [hint.__name__ for hint in types if hint in (bool, int, float)]
    return names[0] if names and not isinstance(default, str) else "str"


def _help_source(text: str) -> str:
    parts = textwrap.wrap(text, _HELP_WIDTH, drop_whitespace=False) or [""]
    return "help=" + " ".join(repr(part) for part in parts)


def formatted_source() -> str:
    """Return the file's text as ruff formats it."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    formatting = subprocess.run(command, input=source(), capture_output=True, text=True, check=True)
    return formatting.stdout


if __name__ == "__main__":
    TARGET.write_text(formatted_source(), encoding="utf-8")
