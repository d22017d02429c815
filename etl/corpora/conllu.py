"""CoNLL-U (universaldependencies.org/format.html) and the properties of its dialects.

Columns: ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC, tab-separated; an empty field is
``_``. Ids count from 1 and the root's head is 0. Multi-word ranges (``3-4``) and empty nodes
(``3.1``) are rows but not tokens. Sentences end at a blank line; ``# newdoc id = …`` begins a
document and ``# text = …`` contains the sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

COLUMNS = 10
ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(COLUMNS)


@dataclass(frozen=True)
class Dialect:
    """A layout of ten tab-separated columns.

    Attributes:
        name: name of the dialect in settings and tables.
        first_id: the smallest id of a token (0 or 1).
        ranges: whether rows with ids ``3-4`` and ``3.1`` are allowed (they are not tokens).
    """

    name: str
    first_id: int
    ranges: bool


CONLLU = Dialect("conllu", first_id=1, ranges=True)
