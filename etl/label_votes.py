"""People's votes on the labels of items: how they are written, checked and stored (label_votes)."""

import ast
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf.numbers import finite_number
from adnominal.conf.texts import json_value
from adnominal.etl.annotation.keys import SIMULATED
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table

TABLE = "label_votes"
_MAX_VOTES = 2**31 - 1
Votes = Mapping[str, int]
"""The number of people who gave each label."""


OTHER_FORM = "votes of another form than a list of labels or counts of labels"


class NoVotes(Exception):
    """A value that is not valid votes; the message is the reason to drop it."""


def read_votes(value: Any, names: Mapping[str, str]) -> dict[str, int]:
    """The votes in a field of a file, by our labels; labels without votes are left out.

    A field is a list with the label that each person gave, or a mapping from labels to counts, as
    JSON, or as text ``neutral:3,entailment:2``. `names` has our label for each label of the file.

    Raises:
        NoVotes: the field is empty or of another form, a label is unknown, or a count is negative
            or no whole number.
    """
    if isinstance(value, str):
        value = _parse_votes(value)
    if isinstance(value, list | tuple):
        value = Counter(str(label) for label in value)
    if not isinstance(value, Mapping):
        raise NoVotes(OTHER_FORM)
    votes: Counter[str] = Counter()
    for label, count in value.items():
        if str(label) not in names:
            raise NoVotes(f"votes for the label {str(label)!r}")
        # A column of JSON objects has null for the labels that a row lacks.
        votes[names[str(label)]] += _whole_number(0 if count is None else count)
    if not votes.total():
        raise NoVotes("no votes")
    return {label: count for label, count in votes.items() if count}


def _parse_votes(text: str) -> Any:
    """The JSON in a field, or the counts of ``neutral:3,entailment:2``."""
    if not text.strip():
        raise NoVotes("no votes")
    try:
        return json_value(text)
    except ValueError:
        if text.lstrip()[0] in "[{":
            return _python_value(text)
        pairs = [part.rpartition(":") for part in text.split(",")]
    if not all(colon for _, colon, _ in pairs):
        raise NoVotes(OTHER_FORM)
    votes = {label.strip(): count.strip() for label, _, count in pairs}
    if len(votes) < len(pairs):
        raise NoVotes("votes for one label twice")
    return votes


def _python_value(text: str) -> Any:
    """The list or dictionary that pandas has written to a CSV file, in Python's form."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise NoVotes(OTHER_FORM) from error


def _whole_number(count: Any) -> int:
    """A number of votes; `NoVotes` unless it is a whole number from 0."""
    number = finite_number(str(count))
    if number is not None and number < 0:
        raise NoVotes("negative votes")
    if number is None or not number.is_integer() or number > _MAX_VOTES:
        raise NoVotes("votes that are no whole number")
    return int(number)


def is_simulated(sources: Collection[str]) -> bool:
    """Whether some of the votes are of simulated annotators (`etl.annotation.simulate`)."""
    return any(source.startswith(SIMULATED) for source in sources)


def add_votes(items: dict[str, dict[str, int]], row: Mapping[str, Any]) -> None:
    """Add a row of the table to the votes of its item; those of several sources are added up."""
    of_item = items.setdefault(row["item_id"], {})
    of_item[row["label"]] = of_item.get(row["label"], 0) + row["votes"]


def votes_table(dataset: str, edition: str, source: str, votes: Mapping[str, Votes]) -> pa.Table:
    """The rows of votes by item id, in the order of ids and labels."""
    common = {"dataset": dataset, "edition": edition, "source": source}
    rows = [
        {**common, "item_id": item, "label": label, "votes": count}
        for item, of_item in sorted(votes.items())
        for label, count in sorted(of_item.items())
    ]
    return pa.Table.from_pylist(rows, table(TABLE).schema)


def replace_votes(lake: str, rows: pa.Table, job: str, also: Collection[str] = ()) -> None:
    """Replace the votes of these rows' source, and of `also`, on their edition; others stay.

    Raises:
        LakeConflict: another job changed the votes of the dataset meanwhile.
    """
    if not rows.num_rows:
        return
    first = rows.slice(0, 1).to_pylist()[0]
    dataset = first["dataset"]
    base = arrow.version(lake, TABLE)
    pieces = [rows]
    if base is not None:
        stored = arrow.read(lake, TABLE, version=base, where=[("dataset", "=", dataset)])
        of_edition = pc.equal(stored["edition"], first["edition"])
        sources = pa.array([first["source"], *also], pa.string())
        of_sources = pc.is_in(stored["source"], value_set=sources)
        is_replaced = pc.and_(of_edition, of_sources)
        pieces.append(stored.filter(pc.invert(is_replaced)))
    all_rows = pa.concat_tables(pieces)
    arrow.replace(lake, TABLE, all_rows, {"dataset": dataset}, base=base, job=job)
