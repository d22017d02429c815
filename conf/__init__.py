"""Settings: one frozen dataclass per job, filled from presets, YAML files and the command line.

A job declares its settings once::

    @dataclass(frozen=True)
    class Settings:
        input: list[str] = setting(help="files to read", example="input=dump/*.gz")
        seed: int = setting(0, help="job seed")

and starts with ``sys.exit(conf.run(Settings, job))``. A value written as ``key=value`` or
``--key value`` overrides ``--config FILE``, which overrides ``preset=``, which overrides the
defaults. An unknown key is an error and is never ignored, because a setting without effect can cost
a whole run. A first word that ends in ``.yaml`` is treated as ``--config``, and a setting inside a
nested dataclass is written with a dot (``task.classes=3``).

Exit codes: 0 done, 1 failed, 2 a mistake of the user (one line on standard error).
"""

from adnominal.conf.interrupts import (  # before all other imports, which take a while
    INTERRUPTED,
    INTERRUPTED_CODE,
)

# isort: split
import atexit
import dataclasses
import gc
import io
import logging
import os
import shlex
import sys
import traceback
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException, ValidationError
from yaml import YAMLError

from adnominal.conf.extras import EXTRAS as EXTRAS
from adnominal.conf.help import fields_of, is_required, spelling_hint, type_hints, type_name
from adnominal.conf.help import help_text as help_text
from adnominal.conf.hints import hint_for_key, hint_for_word
from adnominal.conf.opening import DelayedOpening, common_commands
from adnominal.conf.output import output_may_be_closed
from adnominal.conf.values import as_yaml as as_yaml
from adnominal.conf.values import escape_interpolation, settings_text
from adnominal.conf.values import identity as identity
from adnominal.conf.values import settings_hash as settings_hash
from adnominal.conf.values import to_dict as to_dict
from adnominal.conf.version import code_version as code_version
from adnominal.conf.version import package_version as package_version
from adnominal.conf.yaml_text import as_written, is_literal, reason_of

ROOT = Path(__file__).resolve().parent.parent
"""The folder of `conf`, `etl`, `training` and `analysis`, with their data files: the checkout, or
the installed package."""

IMPORT_ROOT = ROOT if (ROOT / "adnominal").is_dir() else ROOT.parent
"""The folder to put on a process's path so that it imports ``adnominal``: the checkout, or
site-packages."""

SHOW_SETTINGS = "--show-settings"
"""The word of a command line that prints all resolved settings, not only the changed ones."""

HELP_WORDS = frozenset(("--help", "-h", "help"))
"""The words of a command line that print the settings of a job and do nothing else."""

SettingsType = TypeVar("SettingsType")
log = logging.getLogger("adnominal")

EXPLAINERS: list[Callable[[Exception], str | None]] = []
"""Functions that describe an exception of a library in one line, or return None for others."""


class UserError(Exception):
    """A mistake that the user can correct (exit code 2): says what was expected and what to do."""


class JobFailed(Exception):
    """The job ran and failed, for the reason in the message (exit 1)."""


def setting(
    default: Any = dataclasses.MISSING,
    *,
    help: str,
    example: str = "",
    choices: Sequence[str] = (),
    identity: bool = True,
    free_text: bool = False,
) -> Any:
    """A dataclass field with its description for ``--help``.

    The user must set a field that has no default. `choices` limits a text (or each member of a list
    of texts) to these values. `identity=False` marks a setting that does not change a result: how
    the work is done, where files are written, what they are called (see `identity`). `free_text=
    True` marks an optional text that may be any word: on the command line ``null`` and ``none`` are
    words there, and only an empty value unsets it.
    """
    metadata: dict[str, Any] = {"help": help, "example": example, "choices": tuple(choices)}
    metadata |= {"identity": identity, "free_text": free_text}
    if default is dataclasses.MISSING:
        return dataclasses.field(metadata=metadata)
    if isinstance(default, list | dict):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def setting_type(cls: type, key: str) -> Any:
    """The type of the setting `key`, nested ones written with a dot; `Any` inside dictionaries.

    Raises `UserError` for an unknown key, and for one in the class's ``REFUSED``, which has the
    reason or the right name by key.
    """
    refusals: Mapping[str, str] = getattr(cls, "REFUSED", {})
    if key in refusals:
        raise UserError(f"{key}=: {refusals[key]}")
    type_hint: Any = cls
    parts = key.split(".")
    for depth, part in enumerate(parts):
        if not dataclasses.is_dataclass(type_hint):
            if typing.get_origin(type_hint) is dict:
                return Any
            names = [f.name for f in dataclasses.fields(cls)]
            hint = f"; did you mean {part!r}?" if part in names else ""
            above = ".".join(parts[:depth])
            raise UserError(f"{key}: {above} has no settings of its own{hint}")
        types = type_hints(typing.cast(type, type_hint))
        known = [f.name for f in dataclasses.fields(type_hint)]
        if part not in known:
            inside = "".join(f"{above}." for above in parts[:depth])
            known_keys = [inside + name for name in known]
            hint = hint_for_key(cls, key, known_keys)
            raise UserError(f"unknown setting {key!r}{hint} (--help lists every setting)")
        type_hint = types[part]
    return type_hint


def _is_list(type_hint: Any) -> bool:
    origin = typing.get_origin(type_hint)
    if origin in (list, tuple):
        return True
    return origin is typing.Union and any(map(_is_list, typing.get_args(type_hint)))


def _is_typed(type_hint: Any) -> bool:
    return type_hint is not Any and all(map(_is_typed, typing.get_args(type_hint)))


def _split_arguments(argv: Sequence[str], cls: type) -> tuple[list[str], list[tuple[str, str]]]:
    """The ``--config`` files and the (key, raw value) pairs, in their order."""
    types = type_hints(cls)
    files: list[str] = []
    pairs: list[tuple[str, str]] = []
    last_list: str | None = None
    arguments = list(argv)
    while arguments:
        word = arguments.pop(0)
        if word.startswith(("--local_rank", "--local-rank")):
            # The deepspeed launcher inserts it; the rank is read from the environment.
            if "=" not in word and arguments:
                arguments.pop(0)
            continue
        if word.startswith("--"):
            key, equals, value = word[2:].partition("=")
            key = key.replace("-", "_")
            if not equals:
                if not arguments:
                    raise UserError(f"--{key} has no value; write --{key} VALUE or {key}=VALUE")
                value = arguments.pop(0)
        elif "=" in word:
            key, _, value = word.partition("=")
        elif word.endswith((".yaml", ".yml")) and not pairs:
            files.append(word)
            continue
        elif last_list is not None:
            # input=a.gz b.gz: a list of paths as a shell expands it
            pairs.append((last_list, word))
            continue
        else:
            hint = hint_for_word(cls, word, arguments)
            raise UserError(f"got {word!r}; expected key=value{hint} (--help lists every setting)")
        if key == "config":
            files.append(value)
            last_list = None
            continue
        pairs.append((key, value))
        last_list = key if _is_list(types.get(key)) else None
    return files, pairs


def _list_items(key: str, text: str) -> list[Any]:
    if text.startswith("["):
        return list(_any_value(key, text))
    return [part for part in text.split(",") if part]


def _any_value(key: str, text: str) -> Any:
    """A value without a declared type: a list, a mapping, a literal or a text."""
    if not text.startswith(("[", "{", "'", '"')) and not is_literal(text):
        return text
    try:
        return OmegaConf.to_container(OmegaConf.create(as_written(f"v: {text}")))["v"]  # type: ignore[index, call-overload]
    except (YAMLError, OmegaConfBaseException) as error:
        is_list = text.startswith("[")
        expected = f"a list; write {key}=[a,b,c]" if is_list else "readable as a value"
        raise UserError(f"{key}={text}: not {expected}") from error


def _read_yaml(path: str) -> dict[str, Any]:
    """The settings in a YAML file, by their names."""
    # An installed package has the files that the documents name, where there is no checkout.
    is_packaged = path.startswith("conf/") and not Path(path).exists()
    file = ROOT / path if is_packaged else Path(path)
    try:
        text = as_written(file.read_text(encoding="utf-8"))
        yaml_values = OmegaConf.to_container(OmegaConf.load(io.StringIO(text)), resolve=True)
    except FileNotFoundError as error:
        raise UserError(f"--config {path}: no such file") from error
    except IsADirectoryError as error:
        raise UserError(f"--config {path}: a folder, where a YAML file was expected") from error
    except (YAMLError, OmegaConfBaseException, ValueError, OSError, RecursionError) as error:
        reason = reason_of(error)
        raise UserError(f"--config {path}: not readable as YAML settings: {reason}") from error
    if yaml_values is None:
        return {}
    if not isinstance(yaml_values, dict):
        raise UserError(f"--config {path}: expected lines of `key: value`, got a list")
    return {str(key): value for key, value in yaml_values.items()}


def load(cls: type[SettingsType], argv: Sequence[str]) -> SettingsType:
    """The settings of a command line.

    Raises `UserError` for an unknown key, a value of the wrong type, a value outside `choices`, a
    missing setting, and whatever the class itself rejects in ``__post_init__``.
    """
    for word in argv:
        if word != word.encode(errors="replace").decode():
            raise UserError(f"got {word!r}: not UTF-8; expected UTF-8, in names of files as well")
    files, pairs = _split_arguments(argv, cls)
    assignments: dict[str, Any] = {}
    for path in files:
        values = _read_yaml(path)
        try:
            _check_keys(cls, values)
        except UserError as error:
            raise UserError(f"--config {path}: {error}") from error
        assignments.update(values)
    free_texts = {key for key, field, _ in fields_of(cls) if field.metadata.get("free_text")}
    command_line_keys: set[str] = set()
    for key, raw in pairs:
        type_hint = setting_type(cls, key)
        if _is_list(type_hint):
            previous_items = assignments[key] if key in command_line_keys else []
            assignments[key] = [*previous_items, *_list_items(key, raw)]
        elif type_hint is Any:
            assignments[key] = _any_value(key, raw)
        else:
            unset = ("",) if key in free_texts else ("", "null", "none")
            is_optional = type(None) in typing.get_args(type_hint)
            assignments[key] = None if raw in unset and is_optional else raw
        command_line_keys.add(key)
    return _with_presets(cls, assignments)


def from_dict(cls: type[SettingsType], values: Mapping[str, Any]) -> SettingsType:
    """The settings of a mapping, read like a YAML file with the same content.

    Raises `UserError` as `load` does.
    """
    _check_keys(cls, values)
    return _with_presets(cls, values)


def _check_keys(cls: type, values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        hint = setting_type(cls, key)
        for inner in value if dataclasses.is_dataclass(hint) and value else ():
            setting_type(cls, f"{key}.{inner}")


def _with_presets(cls: type[SettingsType], values: Mapping[str, Any]) -> SettingsType:
    """The settings with `values`, which override the preset that they name and the defaults."""
    fields = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    presets: Mapping[str, Mapping[str, Any]] = getattr(cls, "PRESETS", {})
    layers: dict[str, Any] = {}
    if "preset" in fields and presets:
        default = fields["preset"].default
        preset = str(values.get("preset", default))
        if preset not in presets:
            known_presets = ", ".join(presets)
            hint = spelling_hint(preset, presets)
            raise UserError(f"preset={preset}: expected one of {known_presets}{hint}")
        layers.update(presets[preset])
    layers.update(values)
    missing = [name for name, f in fields.items() if is_required(f) and name not in layers]
    if missing:
        example = fields[missing[0]].metadata.get("example") or f"{missing[0]}=…"
        raise UserError(f"missing setting {missing[0]!r}; write {example}")
    return _with_values(cls, OmegaConf.structured(cls), layers)


def _with_values(cls: type[SettingsType], config: Any, values: Mapping[str, Any]) -> SettingsType:
    """The settings that `config` (OmegaConf's form of the defaults) gives with `values` in it.

    A text, or a text of a list, that begins with ``~/`` begins with the home folder instead.

    Raises:
        UserError: a value has another type than its setting, is none of the setting's choices, or
            is empty where a text is expected; a required setting has none.
    """
    _make_writable(config)
    for key, value in values.items():
        type_hint = setting_type(cls, key)
        is_group = dataclasses.is_dataclass(type_hint)
        try:
            needs_mapping = is_group or typing.get_origin(type_hint) is dict
            if isinstance(value, str) and needs_mapping:
                # Raised here, to be reported below as any value of another type is.
                raise ValidationError("OmegaConf would take a text with ${ for an interpolation")
            members = list(map(_in_home, value)) if isinstance(value, list) else value
            literal_value = escape_interpolation(members, _is_typed(type_hint))
            OmegaConf.update(config, key, literal_value, merge=True)
        except OmegaConfBaseException as error:
            expected = "group of settings" if is_group else type_name(type_hint)
            article = "" if expected.startswith("true") else "a "
            example = f", as {key}.KEY=VALUE" if needs_mapping else ""
            raise UserError(f"{key}={value}: expected {article}{expected}{example}") from error
    for key, field, type_hint in fields_of(cls):
        choices = field.metadata.get("choices") or ()
        value = OmegaConf.select(config, key)
        if isinstance(value, int) and abs(value) >= 10**18:  # tables have 64 bits for it
            raise UserError(f"{key}={value}: expected at most 18 digits")
        if type_hint is str and value == "" and field.default != "" and not choices:
            raise UserError(f"{key}= is empty; expected a text")
        in_home = _in_home(value)
        if in_home is not value:
            OmegaConf.update(config, key, escape_interpolation(in_home))
        if not choices or value is None:
            continue
        members = value if _is_list(type_hint) else [value]
        for member in members:
            if member not in choices:
                raise UserError(
                    f"{key}={member}: expected one of {', '.join(choices)}"
                    f"{spelling_hint(member, choices)}"
                )
    try:
        return typing.cast(SettingsType, OmegaConf.to_object(config))
    except MissingMandatoryValue as error:
        raise UserError(f"{error.full_key}=???: expected a value; ??? stands for none") from error


def _in_home(value: Any) -> Any:
    """The value, with the home folder at the beginning of a text that begins with ``~/``."""
    is_in_home = isinstance(value, str) and value.startswith("~/")
    return os.path.expanduser(value) if is_in_home else value


def with_changes(settings: SettingsType, changes: Mapping[str, Any]) -> SettingsType:
    """The settings with these changes, nested ones by dotted key, checked as by `load`."""
    for key in changes:
        setting_type(type(settings), key)
    values = {**to_dict(settings), **changes}
    return _with_values(type(settings), OmegaConf.structured(type(settings)), values)


def _make_writable(config: Any) -> None:
    # The dataclasses and the nested ones are frozen, but they must be filled first.
    OmegaConf.set_readonly(config, False)
    for key in config:
        if OmegaConf.is_dict(config._get_node(key)):
            _make_writable(config[key])


@output_may_be_closed()
def run(
    cls: type[SettingsType],
    job: Callable[[SettingsType], object],
    argv: Sequence[str] | None = None,
    next_step: str | Callable[[SettingsType], str] = "",
) -> int:
    """Parse the command line, call the job, return the exit code (0 done, 1 failed, 2 mistake).

    The settings that differ from the defaults are printed before the first message of `job`, so
    that a mistake prints one line; with ``--show-settings``, all of them at once. `next_step` is
    printed at the end: a command with the names of settings in braces (``adnominal explore
    lake={lake}``), or a function of the settings that returns such a command.
    """
    # At exit, a process searches all imported objects for cycles, which takes a quarter of a
    # second; frozen objects are not searched.
    atexit.register(gc.freeze)
    arguments = list(sys.argv[1:] if argv is None else argv)
    show_all = SHOW_SETTINGS in arguments
    arguments = [word for word in arguments if word != SHOW_SETTINGS]
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S"
    )
    # torch reports its caches where its import is interrupted.
    for library in ("py4j", "torch"):
        logging.getLogger(library).setLevel(logging.WARNING)
    # The hub's client reports each attempt; its import sets the level of its logger from this.
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    if HELP_WORDS & set(arguments):
        print(help_text(cls, job.__doc__ or ""), end="")
        return 0

    if not arguments and (commands := common_commands(cls)):
        print(f"error: {commands}", file=sys.stderr, flush=True)
        return 2

    def load_and_run() -> None:
        settings = load(cls, arguments)
        text = settings_text(settings, show_all)
        if show_all:
            log.info("%s", text)
            text = ""
        with DelayedOpening(log, text, expected=(UserError, JobFailed)):
            job(settings)
        command = next_step(settings) if callable(next_step) else next_step
        if command:
            values = {name: shlex.quote(str(value)) for name, value in vars(settings).items()}
            log.info("next: %s", command.format(**values))

    return exit_code(load_and_run)


def exit_code(work: Callable[[], object]) -> int:
    """Call `work` and return the exit code; a failure is described on standard error."""
    # Imported before the work, so that its handler at exit is called after those of the work.
    from adnominal.conf.exiting import note_code, skip_teardown

    code = _exit_code(work)
    if code == INTERRUPTED_CODE:
        # The embedded engine's threads may still be in a stage.
        skip_teardown()
    return note_code(code)


def _exit_code(work: Callable[[], object]) -> int:
    """Call `work`; 0, 1 for a failure, 2 for a user's mistake, or the code of an interrupt."""
    try:
        work()
    except UserError as error:
        return complain(error, 2)
    except JobFailed as error:
        return complain(error, 1)
    except KeyboardInterrupt:
        return complain(INTERRUPTED, INTERRUPTED_CODE)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and (message := missing_package(error)):
            return complain(message, 2)
        for explain in EXPLAINERS:
            if (line := explain(error)) is not None:
                log.debug("the exception", exc_info=error)
                return complain(line, 1)
        # A bug in this program, not a mistake of the user: a report of it needs the traceback.
        traceback.print_exc()
        return 1
    return 0


def missing_package(error: ModuleNotFoundError) -> str | None:
    """One line for a package of an extra that is not installed; None for any other module."""
    name = (error.name or "").partition(".")[0]
    extra = next((extra for extra, names in EXTRAS.items() if name in names), None)
    if extra is None:
        return None
    return (
        f"this needs the package {name}, which is not part of adnominal's core; install it with: "
        f"pip install 'adnominal[{extra}]' (in a checkout: make setup)"
    )


def complain(error: object, code: int) -> int:
    """Print the error line of a failed command on standard error; returns the exit code."""
    print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
    sys.stderr.flush()
    return code
