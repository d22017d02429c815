"""The text of ``--help`` for a class of settings: the important ones first, then by groups.

A class names its most important settings in ``FIRST``. Otherwise these are the required settings,
then those that the class declares itself, in order. At most ten are printed first.

A base class names its settings as a group in ``HELP_TITLE``; such groups come last.
"""

import dataclasses
import difflib
import functools
import inspect
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MAX_FIRST = 10
_TYPE_NAMES = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "dict": "mapping",
}

Setting = tuple[str, dataclasses.Field[Any], Any]


@functools.cache
def type_hints(cls: type) -> Mapping[str, Any]:
    """The types of a class's settings by name, which Python evaluates anew at each call."""
    return typing.get_type_hints(cls)


def fields_of(cls: type, prefix: str = "") -> list[Setting]:
    """(key, field, type) of every setting; a nested dataclass is replaced by its settings."""
    settings: list[Setting] = []
    types = type_hints(cls)
    for field in dataclasses.fields(cls):
        hint = types[field.name]
        if dataclasses.is_dataclass(hint):
            settings += fields_of(typing.cast(type, hint), f"{prefix}{field.name}.")
        else:
            settings.append((prefix + field.name, field, hint))
    return settings


def type_name(type_hint: Any) -> str:
    """The name of a type in words: ``whole number``, ``list of texts``, …"""
    if typing.get_origin(type_hint) is list:
        return f"list of {type_name(typing.get_args(type_hint)[0])}s"
    arguments = [argument for argument in typing.get_args(type_hint) if argument is not type(None)]
    if arguments and typing.get_origin(type_hint) is not dict:
        return " or ".join(type_name(argument) for argument in arguments)
    name = str(getattr(type_hint, "__name__", type_hint))
    return _TYPE_NAMES.get(name, name)


def spelling_hint(word: object, candidates: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for a word that is close to a known one, else an empty text."""
    by_lower_case = {candidate.lower(): candidate for candidate in candidates}
    near = difflib.get_close_matches(str(word).lower(), by_lower_case, n=1)
    return f"; did you mean {by_lower_case[near[0]]!r}?" if near else ""


def is_required(field: dataclasses.Field[Any]) -> bool:
    """Whether the user must give a value: there is no default."""
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _inherited_fields(cls: type) -> dict[str, str]:
    """The settings of a class's public bases, with the title of their group."""
    titles: dict[str, str] = {}
    for base in reversed(cls.__mro__[1:]):
        if dataclasses.is_dataclass(base) and not base.__name__.startswith("_"):
            title = vars(base).get("HELP_TITLE", "Settings that other jobs have too")
            for field in dataclasses.fields(base):
                titles.setdefault(field.name, title)
    return titles


def _by_group(cls: type) -> list[tuple[str, list[Setting]]]:
    """The settings by groups, the most important ones first; each setting is in one group."""
    settings = fields_of(cls)
    inherited_fields = _inherited_fields(cls)
    declared_here = [
        entry for entry in settings if "." not in entry[0] and entry[0] not in inherited_fields
    ]
    first_names: Sequence[str] = getattr(cls, "FIRST", ())
    important = [entry for name in first_names for entry in settings if entry[0] == name]
    important += [entry for entry in settings if is_required(entry[1]) and entry not in important]
    if not first_names:
        important += [entry for entry in declared_here if entry not in important]
    first = important[:MAX_FIRST]
    groups: dict[str, list[Setting]] = {"Most used": first, "Further settings": []}
    for entry in settings:
        if entry in first:
            continue
        key = entry[0]
        if "." in key:
            title = f"Settings of {key.rpartition('.')[0]}"
        elif key in inherited_fields:
            title = inherited_fields[key]
        else:
            title = "Further settings"
        groups.setdefault(title, []).append(entry)
    # The declared groups of base classes are long.
    own_titles = {vars(base).get("HELP_TITLE") for base in cls.__mro__}
    ordered = sorted(groups.items(), key=lambda group: group[0] in own_titles)
    return [(title, members) for title, members in ordered if members]


def _lines_of(key: str, field: dataclasses.Field[Any], type_hint: Any) -> list[str]:
    """The lines of ``--help`` on a setting: type and default, meaning, example."""
    if field.default is not dataclasses.MISSING:
        default = f"default {field.default!r}"
    elif field.default_factory is not dataclasses.MISSING:
        default = f"default {field.default_factory()!r}"
    else:
        default = "must be given"
    choices = field.metadata.get("choices") or ()
    kind = "|".join(choices) if choices else type_name(type_hint)
    lines = [f"  {key}  ({kind}; {default})", f"      {field.metadata.get('help', '')}"]
    if field.metadata.get("example"):
        lines.append(f"      example: {field.metadata['example']}")
    return lines


def help_text(cls: type, doc: str = "") -> str:
    """The text of ``--help``: each setting with its meaning, type, default and an example."""
    lines = [
        inspect.cleandoc(doc),
        "",
        "Settings (key=value, or the same as --key value; --config FILE adds a YAML file; "
        "--show-settings prints all of them at the start).",
    ]
    groups = _by_group(cls)
    for title, settings in groups:
        lines += ["", f"{title}:" if len(groups) > 1 else "All of them:", ""]
        for entry in settings:
            lines += _lines_of(*entry)
    presets = getattr(cls, "PRESETS", {})
    if presets:
        lines += ["", "Presets:"]
        for name, values in presets.items():
            text = ", ".join(f"{k}={v}" for k, v in values.items()) or "the defaults"
            lines.append(f"  preset={name}: {text}")
    return "\n".join(lines).strip() + "\n"
