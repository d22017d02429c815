"""People's votes on items that the lake has (``etl/import_pairs.py item= votes= dataset=``)."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from adnominal.conf import UserError
from adnominal.conf.delimited import SURPLUS
from adnominal.etl import registry
from adnominal.etl.label_votes import TABLE, NoVotes, Votes, read_votes, votes_table
from adnominal.etl.lake import arrow
from adnominal.etl.published.nli import LABELS, NOT_ENTAILMENT
from adnominal.etl.published.reading import Reading
from adnominal.etl.published.user_files import file_rows


class ItemVotes(NamedTuple):
    """The columns of a file of votes, and the items that they are on."""

    item: str
    votes: str
    dataset: str
    edition: str
    source: str


def read_item_votes(file: Path, where: ItemVotes, lake: str) -> Reading:
    """The votes of a file on items of the lake.

    Raises:
        UserError: the file cannot be read, the dataset or edition does not exist, or no row has
            valid votes on one of its items.
    """
    names = _label_names(where.dataset)
    known = _items(lake, where.dataset, where.edition)
    reading, votes = Reading(), dict[str, Votes]()
    for number, fields, is_surplus in file_rows(file, [where.item, where.votes]):
        item = str(fields[where.item]).strip()
        try:
            if is_surplus:
                raise NoVotes(SURPLUS)
            if item not in known:
                raise NoVotes("unknown item")
            if item in votes:
                raise NoVotes("an item of an earlier row")
            votes[item] = read_votes(fields[where.votes], names)
            reading.rows_of(file.name).read += 1
        except NoVotes as fault:
            reading.drop(TABLE, str(fault), f"{file.name}:{number} {item}", file.name)
    if not votes:
        reasons = ", ".join(reason for _, reason in reading.dropped) or "it is empty"
        raise UserError(f"file={file}: no row has votes that can be read: {reasons}")
    rows = votes_table(where.dataset, where.edition, where.source, votes)
    reading.tables[TABLE] = rows
    reading.notes.append(f"votes on {len(votes):,} of {len(known):,} items")
    return reading


def _label_names(dataset: str) -> Mapping[str, str]:
    """Our label for each label of a file of votes: its name, or its number where items have one.

    Raises:
        UserError: the dataset does not exist or has no labels.
    """
    if dataset == "nli":
        return {label: label for label in (*LABELS, NOT_ENTAILMENT)}
    labels = registry.dataset(dataset).labels
    if labels is None:
        raise UserError(f"dataset={dataset}: its answers are texts; expected one with labels")
    numbers = {str(value): name for value, name in zip(labels.values, labels.names, strict=True)}
    return {**numbers, **{name: name for name in labels.names}}


def _items(lake: str, dataset: str, edition: str) -> set[str]:
    """The ids of the items of an edition.

    Raises:
        UserError: there are none.
    """
    tables = {"nli": "item_id"}
    column = "source"
    if dataset != "nli":
        tables = {table.name: table.item for table in registry.dataset(dataset).tables}
        column = "edition"
    items: set[str] = set()
    for name, item in tables.items():
        if arrow.version(lake, name) is not None:
            where = [(column, "=", edition)]
            items.update(arrow.read(lake, name, where=where, columns=[item])[item].to_pylist())
    if not items:
        raise UserError(
            f"edition={edition}: no items of {dataset} in {lake}; import or build them first"
        )
    return items
