"""Resolved settings as values: dictionaries, YAML, what differs from the defaults, hashes."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from omegaconf import OmegaConf

from adnominal.conf.help import is_required


def escape_interpolation(value: Any, is_typed: bool = False) -> Any:
    """A value of which OmegaConf takes each text as it is, ``${…}`` too.

    Truth values of settings with a declared type are written as in YAML: the type may be text.
    """
    if isinstance(value, str):
        return re.sub(r"(\\*)\$\{", r"\1\1\\${", value)
    if isinstance(value, Mapping):
        return {key: escape_interpolation(member, is_typed) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [escape_interpolation(member, is_typed) for member in value]
    return str(value).lower() if is_typed and isinstance(value, bool) else value


def to_dict(settings: Any) -> dict[str, Any]:
    """The settings as plain dictionaries and lists, in declaration order."""
    return dataclasses.asdict(settings)


def identity(settings: Any) -> dict[str, Any]:
    """The settings that decide a result: all except those declared with ``identity=False``."""
    values = to_dict(settings)
    return {
        f.name: values[f.name]
        for f in dataclasses.fields(settings)
        if f.metadata.get("identity", True)
    }


def changed_settings(settings: Any) -> dict[str, Any]:
    """The settings that differ from the defaults of their class, as `to_dict`; required ones do."""
    changed: dict[str, Any] = {}
    for f in dataclasses.fields(settings):
        value = getattr(settings, f.name)
        if dataclasses.is_dataclass(value):
            value = changed_settings(value)
            if value:
                changed[f.name] = value
        elif is_required(f) or value != default_of(f):
            changed[f.name] = value
    return changed


def default_of(field: dataclasses.Field[Any]) -> Any:
    """The default of a setting that is not required."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def as_yaml(settings: Any) -> str:
    """The resolved settings as YAML that ``--config`` can read."""
    return yaml_of(to_dict(settings))


def yaml_of(values: Mapping[str, Any]) -> str:
    return str(OmegaConf.to_yaml(OmegaConf.create(escape_interpolation(values))))


def settings_hash(settings: Any, names: Sequence[str] | None = None) -> str:
    """16 hex digits that change when a value changes, whatever the order of the keys.

    For an instance of a settings class only its `identity` is used. `names` restricts the hash to
    the settings that it names.
    """
    values = identity(settings) if dataclasses.is_dataclass(settings) else dict(settings)
    if names is not None:
        values = {key: values[key] for key in names}
    text = json.dumps(values, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def settings_text(settings: Any, show_all: bool) -> str:
    """The settings as a message: those that differ from the defaults, or all; empty without any."""
    shown = to_dict(settings) if show_all else changed_settings(settings)
    return f"settings\n{yaml_of(shown).rstrip()}" if shown else ""
