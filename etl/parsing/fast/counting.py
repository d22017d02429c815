"""Counting with `parser=fast`: from text to pair counts in one compiled pass.

The pairs are those that `etl.amod.columns.occurrences` finds in the columns of
`etl.parsing.fast.parser.FastParser`, but the columns are not built.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from adnominal.conf import UserError
from adnominal.etl.amod.kernel import bucket_of, pairs_in
from adnominal.etl.amod.reference import Stats, Tally
from adnominal.etl.amod.rules import CLEAN, ReadingRules
from adnominal.etl.corpora.documents import Document, Rejected, sample_of
from adnominal.etl.corpora.text import text_events
from adnominal.etl.parsing.fast.extractor import new_extractor
from adnominal.etl.parsing.tokens import encode_text


def check_rules(rules: ReadingRules) -> None:
    """Raise `UserError` for a reading rule that the extractor cannot follow."""
    if rules.dependent != "adjective":
        raise UserError(
            f"parser=fast with dependent={rules.dependent}: it finds only the nouns of "
            "adjectives; give dependent=adjective, or use parser=spacy"
        )


class TextCounter:
    """Counts the pairs of texts, each with one paragraph per line.

    Counts do not depend on how texts are distributed over counters. Raises `UserError` if the
    extension was not built, the model cannot be read, or the extractor cannot follow the rules.
    """

    def __init__(self, rules: ReadingRules, model: str | None = None) -> None:
        check_rules(rules)
        self._extractor = new_extractor(
            model,
            adjective_by_lemma=rules.adjective_by == "lemma",
            noun_by_lemma=rules.noun_by == "lemma",
            lowercase=rules.lowercase,
            proper_nouns=rules.proper_nouns,
            plural=rules.heads == "common",
        )

    def feed(self, text: str) -> None:
        """Count the pairs of one text."""
        self._extractor.feed(encode_text(text), True)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the pairs occupy."""
        return int(self._extractor.nbytes)

    def drain(self) -> pa.RecordBatch:
        """The distinct pairs counted since the last drain (schema `PAIRS`), in arbitrary order."""
        count, *buffers = self._extractor.drain()
        return pairs_in(count, buffers)

    def drain_buckets(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """As `drain`, but by bucket (`etl.amod.kernel.bucket_of`); empty buckets are skipped."""
        pairs = self.drain()
        if not pairs.num_rows:
            return
        nouns = pairs.column("noun").dictionary_encode()
        bucket_of_noun = [bucket_of(noun) for noun in nouns.dictionary.to_pylist()]
        buckets = np.array(bucket_of_noun, np.int32)[nouns.indices.to_numpy()]
        order = np.argsort(buckets, kind="stable")
        pairs = pairs.take(pa.array(order))
        buckets = buckets[order]
        # A bucket starts where its number differs from the one before.
        starts = np.flatnonzero(np.diff(buckets, prepend=-1)).tolist()
        for start, end in pairwise([*starts, len(buckets)]):
            yield int(buckets[start]), pairs.slice(start, end - start)

    def stats(self) -> Stats:
        """The statistics of all texts read so far, drained or not."""
        counts = self._extractor.stats()
        left_out = counts.pop("left_out")
        stats = Stats(**counts)
        stats.left_out = {reason: Tally(n, 0, sample) for reason, (n, sample) in left_out.items()}
        return stats


def count_texts(texts: Iterable[str]) -> pa.Table:
    """The pairs of texts in memory (schema `PAIRS`), the most frequent first.

    A text is read like a row of a Parquet file: a line is a paragraph, except in blocks that were
    wrapped at a fixed width. The reading rules are those of the preset ``clean``.

    Raises:
        UserError: the extension was not built, or a text is no text.
    """
    if isinstance(texts, pa.Array | pa.ChunkedArray):
        texts = texts.to_pylist()  # iteration gives Arrow's scalars
    counter = TextCounter(CLEAN)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise UserError(f"text {place}: got {type(text).__name__}; expected a string")
        for event in text_events(f"text {place}", text, sample_of(text)):
            if isinstance(event, Rejected):
                raise UserError(f"text {place} cannot be read ({event.reason}): {event.sample}")
            if isinstance(event, Document):
                counter.feed(event.text)
    pairs = pa.Table.from_batches([counter.drain()])
    by_count = [("count", "descending"), ("adjective", "ascending"), ("noun", "ascending")]
    return pairs.sort_by(by_count)
