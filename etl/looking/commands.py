"""``python -m etl.lake``: inspect and maintain the lake without Spark.

list                         every table: rows, size, version, partitions, last job, meaning
show TABLE                   meaning, columns, partitions, highest counts or first rows
history TABLE                every commit: when, job, rows, code version, metadata
export TABLE format=… out=…  the table as tsv, csv, jsonl or parquet
why ADJECTIVE NOUN           a pair's counts, rank, association and example sentences
lookup FILE                  counts and association of the pairs of a file or table, zeros included
compact [TABLE]              merge the small files of one table or of all
vacuum [TABLE]               delete files that no version of the last older_than= names
repair [TABLE]               remove rows that a replacement in another spelling of a path left
verify [TABLE]               check every log and file; exit code 1 if there is a fault
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from adnominal import conf
from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_minimum
from adnominal.conf.help import spelling_hint
from adnominal.conf.output import output_may_be_closed

_LAKE: dict[str, Any] = {"help": "root of the lake, a folder or URI", "example": "lake=./lake"}
_VERSION: dict[str, Any] = {"help": "version to read; the newest if null"}
_WHERE: dict[str, Any] = {
    "help": 'condition in SQL over the table\'s columns; quote "end" and "group"',
    "example": "where=\"noun = 'key' AND count > 5\"",
}
_FORMATS = ("tsv", "csv", "jsonl", "parquet")


@dataclass(frozen=True)
class _Lake:
    lake: str = setting("./lake", **_LAKE)

    def __post_init__(self) -> None:
        if hasattr(self, "limit"):  # only some commands have it
            check_minimum(self, 1, "limit")


@dataclass(frozen=True)
class ShowSettings(_Lake):
    version: int | None = setting(None, **_VERSION)
    limit: int = setting(10, help="rows shown")
    where: str | None = setting(None, **_WHERE)


@dataclass(frozen=True)
class HistorySettings(_Lake):
    limit: int = setting(50, help="commits shown, newest first")


@dataclass(frozen=True)
class ExportSettings:
    format: str = setting(help="form of the file", example="format=tsv", choices=_FORMATS)
    out: str = setting(help="file to write", example="out=pairs.tsv")
    lake: str = setting("./lake", **_LAKE)
    version: int | None = setting(None, **_VERSION)
    where: str | None = setting(None, **_WHERE)
    overwrite: bool = setting(False, help="replace the file if it is there")
    formulas: bool = setting(
        False, help="csv: texts like =1+1 as they are, without an apostrophe before them"
    )


@dataclass(frozen=True)
class WhySettings(_Lake):
    limit: int = setting(5, help="example sentences shown")


@dataclass(frozen=True)
class LookupSettings(_Lake):
    corpus: list[str] = setting([], help="corpora to look in; all if empty", example="corpus=depcc")
    where: str | None = setting(None, help="with a table for FILE: " + _WHERE["help"])
    lowercase: bool = setting(
        True, help="lower-case the words of FILE; false for a corpus read with lowercase=false"
    )
    limit: int = setting(50, help="rows shown")
    out: str | None = setting(None, help="file for all rows", example="out=counts.tsv")
    format: str | None = setting(None, help="form of out=", choices=_FORMATS)
    overwrite: bool = setting(False, help="replace the file if it is there")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.out is None) != (self.format is None):
            raise UserError("out= and format= belong together; give both, or neither")


@dataclass(frozen=True)
class CompactSettings(_Lake):
    dry_run: bool = setting(False, help="say what would be done, and do nothing")


@dataclass(frozen=True)
class VacuumSettings(_Lake):
    older_than: str = setting(
        "7d", help="versions younger than this stay readable: a number and s, m, h, d or w"
    )
    dry_run: bool = setting(False, help="say what would be deleted, and delete nothing")


# command -> (its words, those in brackets not needed; its settings)
COMMANDS: dict[str, tuple[tuple[str, ...], type]] = {
    "list": ((), _Lake),
    "show": (("TABLE",), ShowSettings),
    "history": (("TABLE",), HistorySettings),
    "export": (("TABLE",), ExportSettings),
    "why": (("ADJECTIVE", "NOUN"), WhySettings),
    "lookup": (("FILE",), LookupSettings),
    "compact": (("[TABLE]",), CompactSettings),
    "vacuum": (("[TABLE]",), VacuumSettings),
    "repair": (("[TABLE]",), CompactSettings),
    "verify": (("[TABLE]",), _Lake),
}


def _parse(argv: Sequence[str]) -> tuple[str, list[str], Any]:
    """The command, its words and its settings from the command line."""
    if not argv or argv[0] not in COMMANDS:
        got = repr(argv[0]) if argv else "nothing"
        hint = spelling_hint(argv[0], COMMANDS) if argv else ""
        raise UserError(f"got {got}; expected one of {', '.join(COMMANDS)}{hint} (--help explains)")
    command, *rest = argv
    names, settings = COMMANDS[command]
    words = [word for word in rest[: len(names)] if not _is_setting(word, command)]
    needed = [name for name in names if not name.startswith("[")]
    if len(words) < len(needed):
        usage = " ".join([command, *names])
        raise UserError(
            f"{command} needs {' '.join(names)}: python -m etl.lake {usage} [key=value …]"
        )
    return command, words, conf.load(settings, rest[len(words) :])


def _is_setting(word: str, command: str) -> bool:
    """Whether a word sets a value; a word of a corpus may look alike, but for the known names."""
    key, equals, _ = word.removeprefix("--").partition("=")
    looks_so = bool(equals) or word.startswith("--")
    known_keys = {"config", *(field.name for field in fields(COMMANDS[command][1]))}
    return looks_so and (command != "why" or key.replace("-", "_") in known_keys)


def _asks_for_help(argv: Sequence[str]) -> bool:
    """Whether help is wanted; "help" is a noun, too."""
    return "--help" in argv or "-h" in argv or (argv[:1] != ["why"] and "help" in argv)


def _text(command: str, words: list[str], settings: Any) -> str:
    """Run a command and return what it prints."""
    # Imported here, so that --help and mistakes on the command line answer at once.
    from adnominal.etl.looking import export, lookup, maintenance, show, why

    if command == "list":
        return show.list_tables(settings.lake)
    if command == "show":
        options = {name: getattr(settings, name) for name in ("version", "limit", "where")}
        return show.show(settings.lake, words[0], **options)
    if command == "history":
        return show.history(settings.lake, words[0], settings.limit)
    if command in ("compact", "vacuum", "repair", "verify"):
        return maintenance.run(command, settings, words[0] if words else None)
    if command == "why":
        return why.explain_pair(settings.lake, words[0], words[1], settings.limit)
    if command == "lookup":
        return lookup.lookup(words[0], settings)
    output = export.Output(settings.out, settings.format, settings.overwrite, settings.formulas)
    rows = export.export(
        settings.lake, words[0], output, version=settings.version, where=settings.where
    )
    return f"{rows:,} rows of {words[0]} written to {settings.out}"


def _help(argv: Sequence[str]) -> str:
    if argv and argv[0] in COMMANDS:
        names, settings = COMMANDS[argv[0]]
        return conf.help_text(settings, f"python -m etl.lake {' '.join((argv[0], *names))}")
    return f"{(__doc__ or '').strip()}\n\npython -m etl.lake COMMAND --help lists its settings\n"


@output_may_be_closed()
def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 done, 1 nothing found or failed, 2 the user's mistake."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if _asks_for_help(arguments):
        print(_help(arguments), end="", flush=True)
        return 0
    return conf.exit_code(lambda: print(_text(*_parse(arguments)), flush=True))
