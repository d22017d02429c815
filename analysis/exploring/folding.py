"""Comparatives and superlatives counted as their positive form (*older*, *oldest* as *old*)."""

from collections import defaultdict
from functools import cached_property

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
                positive = self._positive_form(form)
                if positive is not None:
                    positives[form] = positive
        return positives

    def _positive_form(self, form: str) -> str | None:
        """The positive of a comparative or superlative, if the tables have it; else None."""
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
        adjectives = rows.column("adjective").cast(pa.string()).combine_chunks()
        known_forms = pa.array(list(self.positives), pa.string())
        known_positives = pa.array(list(self.positives.values()), pa.string())
        places = pc.index_in(adjectives, value_set=known_forms)
        positives = known_positives.take(places)
        folded_adjectives = pc.coalesce(positives, adjectives)
        counts = rows.column("count")
        by_adjective = pa.table({"adjective": folded_adjectives, "count": counts})
        folded = by_adjective.group_by("adjective").aggregate([("count", "sum")])
        names = folded.column("adjective")
        totals = [self.count(corpus, name) for name in names.to_pylist()]
        columns = [names, folded.column("count_sum"), pa.array(totals, pa.int64())]
        return _as_rows(columns, rows.schema)

    def fold_nouns(self, parts: list[pa.Table]) -> pa.Table:
        """Rows of the forms of an adjective (noun, count, noun_count) with one row a noun."""
        plain_parts = []
        for part in parts:
            nouns = part.column("noun").cast(pa.string())
            plain_parts.append(part.set_column(0, "noun", nouns))
        by_noun = pa.concat_tables(plain_parts).group_by("noun")
        folded = by_noun.aggregate([("count", "sum"), ("noun_count", "max")])
        columns = [
            folded.column("noun"),
            folded.column("count_sum"),
            folded.column("noun_count_max"),
        ]
        return _as_rows(columns, parts[0].schema)


def _as_rows(columns: list[pa.ChunkedArray], schema: pa.Schema) -> pa.Table:
    """Columns as a table whose first column is dictionary-encoded, as rows of files are."""
    words = columns[0].combine_chunks()
    encoded = words.dictionary_encode()
    table = pa.table([encoded, *columns[1:]], names=schema.names)
    return table.cast(schema)
