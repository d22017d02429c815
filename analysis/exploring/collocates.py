"""Word sketches as Arrow tables: what the explorer shows, for Python."""

from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from adnominal.analysis.exploring.queries import Query
from adnominal.analysis.exploring.sketches import Sketches, missing_word
from adnominal.analysis.exploring.thesaurus import similar_words
from adnominal.analysis.exploring.words import CACHE, ROLES
from adnominal.conf import UserError
from adnominal.etl.lake.storage import table_uri

COLLOCATES = pa.schema(
    [
        ("collocate", pa.string()),
        ("corpus", pa.string()),
        ("count", pa.int64()),
        ("log_dice", pa.float64()),
        ("pmi", pa.float64()),
    ]
)
SIMILAR = pa.schema(
    [
        ("word", pa.string()),
        ("similarity", pa.float64()),
        ("shared", pa.int64()),
        ("collocates", pa.string()),
    ]
)


def collocates(lake: str, query: Query) -> pa.Table:
    """The rows of a word's sketch (`Sketches.sketch`), as `COLLOCATES`.

    Raises:
        LakeError: the lake has no pairs, or no table sorted by adjective.
        UserError: no pair has the word, or the lake does not have the corpus.
    """
    answer = open_sketches(lake).sketch(query)
    message = missing_word(query, answer)
    if message is not None:
        raise UserError(message)
    partner = ROLES[1 - ROLES.index(query.role)]
    rows = [{**row, "collocate": row[partner]} for row in answer["rows"]]
    return pa.Table.from_pylist(rows, COLLOCATES)


def similar_word_rows(lake: str, query: Query) -> pa.Table:
    """The words with collocates similar to a word's (`thesaurus.similar_words`), as `SIMILAR`.

    Raises:
        LakeError: as `collocates`.
        UserError: as `collocates`.
    """
    sketches = open_sketches(lake)
    answer = similar_words(sketches, query.role, query.word, query.corpus, query.limit)
    message = missing_word(query, answer)
    if message is not None:
        raise UserError(message)
    return pa.Table.from_pylist(answer["rows"], SIMILAR)


def open_sketches(lake: str) -> Sketches:
    """The sketches of a lake, kept for the next call as long as its pairs do not change."""
    # The full address, because a relative path is another lake in another folder.
    address = table_uri(lake, "amod_association")
    sketches = _sketches(lake, address)
    if sketches.is_outdated():
        _sketches.cache_clear()
        sketches = _sketches(lake, address)
    return sketches


@lru_cache(maxsize=1)
def _sketches(lake: str, address: str) -> Sketches:
    return Sketches(lake, Path(CACHE).expanduser())
