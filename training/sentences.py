"""The sentences of the lake as training text for a language model.

The table is streamed; memory holds the texts and their ids as Arrow columns, and 16 bytes per
sentence during reading. Rows are sorted by id, so that the order of the files has no effect.
"""

import hashlib
import logging
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.training.tasks import reading
from adnominal.training.tasks.dataset import Dataset, Examples, Ids, Source

TABLE = "sentences"
# Minimum sentences for training and validation: with fewer, figures are meaningless.
SMALLEST_PARTS = (100, 10)
_COLUMNS = ("sentence_id", "text")
log = logging.getLogger("adnominal")


def load(
    lake: str, corpora: Sequence[str], *, min_words: int, share: float, validation: float
) -> Dataset:
    """Load the sentences of `corpora` (by default all), each text once, as parts train and val.

    A hash of the text decides its part and whether it is in the `share`: the same sentence is never
    in both parts, whatever its corpus, edition or order, and a smaller share is a subset of any
    larger one. Dropped sentences are logged by reason with their number.

    Raises:
        UserError: there is no table sentences, no such corpus, or a part has too few sentences.
    """
    if TABLE not in arrow.tables(lake):
        raise UserError(
            f"lake={lake}: no table {TABLE} there; it is written by etl/extract_amod.py with "
            "keep_text=true"
        )
    known = reading.partition_values(lake, TABLE, "corpus")
    sources = [reading.source(lake, TABLE, name, "corpus") for name in corpora or known]
    table, text_hash, dropped_counts = _read(lake, sources, min_words, share)
    order = pc.sort_indices(table.column("sentence_id")).to_numpy()
    # Of equal texts, the one with the first id.
    _, first = np.unique(text_hash[order], return_index=True)
    order = order[np.sort(first)]
    dropped_counts["repeated"] = table.num_rows - len(order)
    left_out = {reason: count for reason, count in dropped_counts.items() if count}
    if left_out:
        log.info("sentences: %d kept, dropped %s", len(order), left_out)
    held_out = _unit(text_hash[order]) < validation
    parts = {
        "train": _examples(table, order[~held_out]),
        "val": _examples(table, order[held_out]),
    }
    _check(parts, lake, sources, left_out)
    return Dataset(
        task=TABLE,
        edition="+".join(source.edition for source in sources),
        scheme="text_hash",
        fold=f"{validation:g}",
        labels=(),
        parts=parts,
        sources=tuple(sources),
    )


def _read(
    lake: str, sources: Sequence[Source], min_words: int, share: float
) -> tuple[pa.Table, npt.NDArray[np.uint64], dict[str, int]]:
    """Return sentences that are long enough and in the share, hashes, and counts of the others.

    Raises:
        UserError: there are no sentences.
    """
    dropped_counts = {"short": 0, "share": 0}
    tables: list[pa.Table] = []
    hashes: list[npt.NDArray[np.uint64]] = []
    for number, source in enumerate(sources):
        stream = arrow.batches(
            lake,
            TABLE,
            version=source.version,
            where=[("corpus", "=", source.edition)],
            columns=list(_COLUMNS),
        )
        for batch in stream:
            rows = _long_sentences(batch, min_words)
            dropped_counts["short"] += batch.num_rows - len(rows)
            digests = _digests(rows.column("text"))
            selected = np.flatnonzero(_unit(digests[:, 1]) < share)
            dropped_counts["share"] += len(rows) - len(selected)
            origin = pa.array(np.full(len(selected), number, dtype=np.int8))
            tables.append(rows.take(pa.array(selected)).append_column("origin", origin))
            hashes.append(digests[selected, 0])
    if not tables:
        raise UserError(
            f"table {TABLE} of {lake}: no sentences; expected {SMALLEST_PARTS[0]} or more"
        )
    return pa.concat_tables(tables), np.concatenate(hashes), dropped_counts


def _long_sentences(batch: pa.RecordBatch, min_words: int) -> pa.Table:
    """Return rows of at least `min_words` words; as long strings, since columns may exceed 2 GB."""
    table = pa.Table.from_batches([batch])
    columns = [table.column(name).cast(pa.large_string()) for name in _COLUMNS]
    words = pc.list_value_length(pc.utf8_split_whitespace(columns[1]))
    long_enough = pc.fill_null(pc.greater_equal(words, min_words), False)
    return pa.table(columns, names=list(_COLUMNS)).filter(long_enough)


def _digests(texts: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """Return two independent 64-bit numbers for each text, shape [texts, 2]."""
    joined = b"".join(
        hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts.to_pylist()
    )
    return np.frombuffer(joined, dtype=np.dtype("<u8")).reshape(-1, 2).astype(np.uint64)


def _unit(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """Convert hashes to numbers in [0, 1)."""
    return (values >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _examples(table: pa.Table, rows: Ids) -> Examples:
    sampled = table.take(pa.array(rows))
    return Examples(
        item_ids=sampled.column("sentence_id").combine_chunks(),
        first=sampled.column("text").combine_chunks(),
        second=None,
        labels=None,
        gold=None,
        targets=None,
        origin=sampled.column("origin").to_numpy(),
    )


def _check(
    parts: dict[str, Examples], lake: str, sources: Sequence[Source], left_out: dict[str, int]
) -> None:
    for (part, examples), smallest in zip(parts.items(), SMALLEST_PARTS, strict=True):
        if len(examples) < smallest:
            corpora = ", ".join(source.edition for source in sources)
            raise UserError(
                f"table {TABLE} of {lake}, corpora {corpora}: {len(examples)} sentences to "
                f"{'train' if part == 'train' else 'validate'} on (dropped: {left_out or 'none'}); "
                f"expected {smallest} or more: extract a larger corpus, or change share=, "
                "validation= or min_words="
            )
