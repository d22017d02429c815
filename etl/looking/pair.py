"""What the corpora say about one pair: counts, rank, association and example sentences.

``adnominal lake why`` prints it, `adnominal.pair` returns it, and the explorer shows it.
"""

import difflib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table as declaration

_PARTNERS = 20_000  # of a word, the most frequent, searched for similar spellings
_ASSOCIATION = declaration("amod_association").schema
MEASURES = ("adjective_count", "noun_count", "pmi", "npmi", "log_dice")
"""The columns of amod_association beside the counts of the pair."""

COUNTS = pa.schema(
    [
        ("corpus", pa.string()),
        ("count", pa.int64()),
        ("rank", pa.int64()),
        ("adjectives", pa.int64()),
        *((name, _ASSOCIATION.field(name).type) for name in MEASURES),
    ]
)
EXAMPLES = pa.schema([(name, pa.string()) for name in ("corpus", "sentence", "document")])

Words: TypeAlias = tuple[str, str]
"""An adjective and a noun."""

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Pair:
    """A pair in each corpus that has it.

    Attributes:
        adjective: the adjective.
        noun: the noun.
        counts: a row for each corpus, the highest count first: `count`; `rank`, 1 + the number of
            adjectives that occur more often with the noun there; `adjectives`, the number of
            adjectives that occur with it; and the columns of amod_association, null if it has no
            such row.
        examples: example sentences with their documents and corpora; none if extraction kept none.
    """

    adjective: str
    noun: str
    counts: pa.Table
    examples: pa.Table


def find_pair(root: str, adjective: str, noun: str, most_examples: int) -> Pair | None:
    """The pair in all corpora of the lake, with at most `most_examples`; None if none has it.

    A pair that is unknown is looked up in lower case.

    Raises:
        LakeError: there is no table amod_pairs.
    """
    words = (adjective, noun)
    names = ["adjective", "noun", "corpus", "count"]
    rows = list(rows_of_pairs(root, "amod_pairs", names, {words}))
    if not rows:
        lower_words = (adjective.lower(), noun.lower())
        if lower_words == words:
            return None
        return find_pair(root, *lower_words, most_examples)
    rows.sort(key=lambda row: (-row["count"], row["corpus"]))
    count_of = {row["corpus"]: row["count"] for row in rows}
    rank_of = _ranks(root, noun, count_of)
    association_of = _association(root, words)
    records = []
    for corpus, count in count_of.items():
        rank, adjectives = rank_of[corpus]
        record = {"corpus": corpus, "count": count, "rank": rank, "adjectives": adjectives}
        records.append(record | association_of.get(corpus, {}))
    examples = examples_of(root, {words}).get(words, [])
    return Pair(
        adjective,
        noun,
        pa.Table.from_pylist(records, COUNTS),
        pa.Table.from_pylist(examples[:most_examples], EXAMPLES),
    )


def rows_of_pairs(
    root: str, table: str, columns: Sequence[str], pairs: Collection[Words]
) -> Iterator[Row]:
    """The table's rows with one of the pairs, whose adjective and noun are the first two columns.

    The table is streamed; a single pair is looked up through file and row-group statistics.
    """
    adjective, noun = columns[:2]
    adjectives = sorted({pair[0] for pair in pairs})
    nouns = sorted({pair[1] for pair in pairs})
    where: list[tuple[str, str, Any]]
    if len(pairs) == 1:
        where = [(adjective, "=", adjectives[0]), (noun, "=", nouns[0])]
    else:
        where = [(adjective, "in", adjectives), (noun, "in", nouns)]
    for batch in arrow.batches(root, table, where=where, columns=columns):
        for row in batch.to_pylist():
            if (row[adjective], row[noun]) in pairs:
                yield row


def examples_of(root: str, pairs: Collection[Words]) -> Mapping[Words, list[Row]]:
    """The example sentences of pairs, by corpus, document and sentence (rows as `EXAMPLES`).

    Empty if the lake has no table amod_examples.
    """
    if "amod_examples" not in arrow.tables(root):
        return {}
    by_pair: defaultdict[Words, list[Row]] = defaultdict(list)
    columns = ["adjective", "noun", *EXAMPLES.names]
    for row in rows_of_pairs(root, "amod_examples", columns, pairs):
        words = row.pop("adjective"), row.pop("noun")
        by_pair[words].append(row)
    for rows in by_pair.values():
        rows.sort(key=lambda row: (row["corpus"], row["document"] or "", row["sentence"]))
    return by_pair


def missing_pair(root: str, adjective: str, noun: str) -> str:
    """One line for a pair that no corpus has, with words that occur with either of its words."""
    adjective, noun = adjective.lower(), noun.lower()
    parts = [f"no pair {adjective!r} {noun!r} in amod_pairs of lake={root}"]
    for word, column, other_word, partner in (
        (adjective, "adjective", noun, "noun"),
        (noun, "noun", adjective, "adjective"),
    ):
        sql = (
            f'SELECT {partner}, sum("count") AS n FROM amod_pairs '
            f"WHERE {column} = {_sql_string(word)} "
            f"GROUP BY {partner} ORDER BY n DESC LIMIT {_PARTNERS}"
        )
        partners = [row[partner] for row in arrow.records(root, "amod_pairs", sql)]
        if not partners:
            parts.append(f"the {column} {word!r} is in no pair")
            continue
        close_matches = difflib.get_close_matches(other_word, partners, n=3, cutoff=0.6)
        suggestions = close_matches or partners[:3]
        kind = "near" if close_matches else "most often"
        parts.append(f"{partner}s seen with {word!r}, {kind}: {', '.join(suggestions)}")
    return "; ".join(parts)


def _ranks(root: str, noun: str, counts: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """By corpus, the rank of a count among the noun's adjectives, and how many adjectives it has.

    `counts` has the count of the pair in each corpus; rank 1 is the most frequent adjective.
    """
    # A corpus's own count by CASE: `above` is the number of adjectives with a greater one.
    cases = " ".join(f"WHEN {_sql_string(name)} THEN {count}" for name, count in counts.items())
    corpora = ", ".join(_sql_string(name) for name in counts)
    rows = arrow.records(
        root,
        "amod_pairs",
        f'SELECT corpus, sum(CASE WHEN "count" > CASE corpus {cases} END THEN 1 ELSE 0 END) AS '
        f"above, count(*) AS adjectives FROM amod_pairs WHERE noun = {_sql_string(noun)} "
        f"AND corpus IN ({corpora}) GROUP BY corpus",
    )
    return {row["corpus"]: (int(row["above"]) + 1, int(row["adjectives"])) for row in rows}


def _association(root: str, words: Words) -> dict[str, Row]:
    """The `MEASURES` of a pair in each corpus; empty if there is no table amod_association."""
    if "amod_association" not in arrow.tables(root):
        return {}
    columns = ["adjective", "noun", "corpus", *MEASURES]
    rows = rows_of_pairs(root, "amod_association", columns, {words})
    return {row["corpus"]: {name: row[name] for name in MEASURES} for row in rows}


def _sql_string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
