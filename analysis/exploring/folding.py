"""Comparatives and superlatives counted as their positive form (*older*, *oldest* as *old*)."""

from collections import defaultdict
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.exploring.words import Words
from adnominal.etl.knowledge.english import lemmas

_SUFFIXES = "(er|est|worse|worst)$"


class Folding:
    """The comparatives and superlatives among the adjectives of a lake."""

    def __init__(self, adjectives: Words) -> None:
        self._adjectives = adjectives

    @cached_property
    def positives(self) -> dict[str, str]:
        """The positive form, if it is among the adjectives, of each comparative and superlative."""
        positives: dict[str, str] = {}
        for corpus in self._adjectives.corpora.values():
            has_suffix = pc.match_substring_regex(corpus.words, _SUFFIXES)
            for form in corpus.words.filter(has_suffix).to_pylist():
                positive = self._positive(form)
                if positive is not None:
                    positives[form] = positive
        return positives

    def _positive(self, form: str) -> str | None:
        known_lemmas = [
            lemma
            for lemma in lemmas(form, "ADJ")
            if any(self._adjectives.count(corpus, lemma) for corpus in self._adjectives.corpora)
        ]
        # A form that is a lemma itself (latter, upper) is an adjective of its own.
        if not known_lemmas or form in known_lemmas:
            return None
        return known_lemmas[0]

    @cached_property
    def _comparisons(self) -> dict[str, list[str]]:
        """The comparatives and superlatives of each positive form."""
        forms: defaultdict[str, list[str]] = defaultdict(list)
        for form, positive in self.positives.items():
            forms[positive].append(form)
        return dict(forms)

    def forms(self, adjective: str) -> list[str]:
        """The adjective and its comparative and superlative."""
        return [adjective, *self._comparisons.get(adjective, [])]

    def count(self, corpus: str, adjective: str) -> int:
        """The number of pairs in the corpus with any form of the adjective."""
        return sum(self._adjectives.count(corpus, form) for form in self.forms(adjective))

    def fold_adjectives(self, rows: pa.Table, corpus: str) -> pa.Table:
        """Rows of a noun (adjective, count, adjective_count) with one row a positive form."""
        adjectives = rows.column("adjective").cast(pa.string())
        known_forms = pa.array(list(self.positives), pa.string())
        known_positives = pa.array(list(self.positives.values()), pa.string())
        places = pc.index_in(adjectives, value_set=known_forms)
        positives = pc.coalesce(known_positives.take(places.combine_chunks()), adjectives)
        folded = pa.table({"adjective": positives, "count": rows.column("count")})
        folded = folded.group_by("adjective").aggregate([("count", "sum")])
        names = folded.column("adjective").to_pylist()
        totals = [self.count(corpus, name) for name in names]
        columns = [folded.column("adjective"), folded.column("count_sum"), pa.array(totals)]
        return _as_rows(columns, rows.schema)

    def fold_nouns(self, parts: list[pa.Table]) -> pa.Table:
        """Rows of the forms of an adjective (noun, count, noun_count) with one row a noun."""
        rows = pa.concat_tables([part.set_column(0, "noun", _plain(part, 0)) for part in parts])
        folded = rows.group_by("noun").aggregate([("count", "sum"), ("noun_count", "max")])
        columns = [folded.column(name) for name in ("noun", "count_sum", "noun_count_max")]
        return _as_rows(columns, parts[0].schema)


def _plain(rows: pa.Table, place: int) -> pa.ChunkedArray:
    return rows.column(place).cast(pa.string())


def _as_rows(columns: list[pa.ChunkedArray], schema: pa.Schema) -> pa.Table:
    table = pa.table(columns, names=schema.names)
    words = np.asarray(columns[0].to_pylist(), dtype=object)
    encoded = pa.array(words, pa.string()).dictionary_encode()
    return table.set_column(0, schema.names[0], encoded).cast(schema)
