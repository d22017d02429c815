"""Write ``conf/training_arguments.json``: the fields of TrainingArguments as settings.

``python -m tests.training.arguments_file`` after the pinned version of transformers has changed;
a test compares the file with the installed version.
"""

import dataclasses
import enum
import inspect
import json
import re
import typing
from typing import Any

from adnominal.training.argument_lists import (
    DECLARED_BY_US,
    OUR_DEFAULTS,
    SET_BY_US,
    WITHOUT_INFLUENCE,
)
from adnominal.training.arguments import FILE


def content() -> str:
    """Return the text of the file for the installed version of transformers."""
    import transformers

    descriptions = _descriptions(inspect.getdoc(transformers.TrainingArguments) or "")
    entries = [
        _entry(field, descriptions.get(field.name, ""))
        for field in dataclasses.fields(transformers.TrainingArguments)
        if field.init and field.name not in {*SET_BY_US, *DECLARED_BY_US}
    ]
    values = {"transformers": transformers.__version__, "fields": entries}
    return json.dumps(values, indent=1) + "\n"


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


def _entry(field: dataclasses.Field[Any], description: str) -> dict[str, Any]:
    types = [hint for hint in _members(field.type) if hint is not type(None)]
    choices = [str(member.value) for hint in types if _is_enum(hint) for member in hint]
    library_default = _default(field)
    default = OUR_DEFAULTS.get(field.name, library_default)
    kind = _type_name(types, library_default)
    if kind == "dict":
        default = default or {}
    if kind == "list":
        default = default or []
    help_text = description or field.name.replace("_", " ")
    if field.name in OUR_DEFAULTS:
        help_text += f" (transformers' own default: {library_default})"
    entry = {"name": field.name, "type": kind, "default": default, "help": help_text}
    if choices:
        entry["choices"] = choices
    if field.name in WITHOUT_INFLUENCE:
        entry["identity"] = False
    if field.name in OUR_DEFAULTS:
        entry["library_default"] = library_default
    return entry


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
        return "dict"
    if any(typing.get_origin(hint) is list for hint in types):
        return "list"
    names = [hint.__name__ for hint in types if hint in (bool, int, float)]
    return names[0] if names and not isinstance(default, str) else "str"


if __name__ == "__main__":
    FILE.write_text(content(), encoding="utf-8")
