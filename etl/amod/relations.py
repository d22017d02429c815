"""Further relations of a parsed corpus, counted in the scan that counts amod.

``predicative``  the adjective is the predicate of a nominal subject with a copula ("the key is
                 false"): an adjective with a ``cop`` child and an ``nsubj`` child that is a noun.
                 Dependent: the adjective; head: the subject.
``compound``     a noun that modifies a noun: ``compound``, in Stanford's relations ``nn``.
``obj``          a noun that is a verb's object: ``obj``, in Stanford's relations ``dobj``.
``advmod``       an adverb under a verb, an adjective or an adverb: ``advmod``.

Tags decide as for amod (`etl.amod.rules`): adjectives and nouns by the rules of the corpus (but
``dependent="any"`` is a rule of amod alone), verbs by VB…, MD or VERB, AUX, adverbs by RB… or ADV.
Adjectives and adverbs are counted by the column that the rules use for adjectives, nouns by the one
for nouns, verbs by their lemma. Subtypes of relations (``nsubj:pass``, ``compound:prt``) do not
count. `etl.amod.reference` defines which rows are tokens; only tokens make triples, while an `amod`
row rejected for its head can still be the noun of an amod pair.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from adnominal.etl.amod.reference import Stats, sentences
from adnominal.etl.amod.rules import ReadingRules, Token
from adnominal.etl.corpora.dialects import DEPREL, FORM, HEAD, ID, LEMMA, UPOS, XPOS, Dialect

OBJECTS = frozenset({"obj", "dobj"})
COMPOUNDS = frozenset({"compound", "nn"})

Triple = tuple[str, str, str]


class RelationCounter:
    """Counts `relations` in the blocks of one file (or range).

    `counts` maps (relation, dependent, head) to occurrences; memory grows with the distinct
    triples.
    """

    def __init__(self, rules: ReadingRules, relations: Iterable[str]) -> None:
        self._rules = replace(rules, dependent="adjective")
        self._relations = frozenset(relations)
        self.counts: Counter[Triple] = Counter()

    def watch(self, pieces: Iterable[memoryview], dialect: Dialect) -> Iterator[memoryview]:
        """Count each of `pieces` and yield it unchanged."""
        for block in pieces:
            if self._relations:
                self.feed(block, dialect)
            yield block

    def feed(self, block: bytes | memoryview, dialect: Dialect) -> None:
        """Count the relations of a block of whole sentences."""
        for sentence in sentences([block], dialect, self._rules, Stats()):
            rows = [row.decode("utf-8").split("\t") for row in sentence.rows.split(b"\n")]
            self.counts.update(self._triples(rows))

    # ----------------------------------------------------------------------------- one sentence

    def _triples(self, rows: list[list[str]]) -> Iterator[Triple]:
        """The (relation, dependent, head) of a sentence whose members pass the rules.

        Most relations are an arc of the tree. ``predicative`` is none: in *the dog is old*, *old*
        has a copula and a subject, and the pair is (old, dog).
        """
        by_id = {row[ID]: row for row in rows}
        children: defaultdict[str, list[list[str]]] = defaultdict(list)
        for row in rows:
            relation = row[DEPREL]
            head = by_id.get(row[HEAD])
            if head is None or head is row:
                continue
            if relation in ("cop", "nsubj"):
                children[row[HEAD]].append(row)
            yield from self._pair(relation, row, head)
        if "predicative" not in self._relations:
            return
        for identifier, dependents in children.items():
            if any(child[DEPREL] == "cop" for child in dependents):
                for child in dependents:
                    if child[DEPREL] == "nsubj":
                        dependent = self._adjective(by_id[identifier])
                        head_word = self._noun(child)
                        if dependent and head_word:
                            yield "predicative", dependent, head_word

    def _pair(self, relation: str, row: list[str], head: list[str]) -> Iterator[Triple]:
        """The triple of an arc from `row` to its `head`, if it has a relation that is counted."""
        dependent = target = None
        if relation in COMPOUNDS and "compound" in self._relations:
            relation = "compound"
            dependent, target = self._noun(row), self._noun(head)
        elif relation in OBJECTS and "obj" in self._relations:
            relation = "obj"
            dependent, target = self._noun(row), self._verb(head)
        elif relation == "advmod" and "advmod" in self._relations:
            dependent = self._adverb(row)
            target = self._verb(head) or self._adjective(head) or self._adverb(head)
        if dependent and target:
            yield relation, dependent, target

    def _adjective(self, row: list[str]) -> str | None:
        return self._rules.adjective(Token.of(row))

    def _noun(self, row: list[str]) -> str | None:
        return self._rules.noun(Token.of(row))

    def _verb(self, row: list[str]) -> str | None:
        tag = self._tag(row)
        if tag.startswith("VB") or tag in ("MD", "VERB", "AUX"):
            verb = row[LEMMA] if row[LEMMA] not in ("", "_") else row[FORM]
            return verb.lower() if self._rules.lowercase else verb
        return None

    def _adverb(self, row: list[str]) -> str | None:
        if self._tag(row) in ("RB", "RBR", "RBS", "ADV"):
            word = row[LEMMA] if self._rules.adjective_by == "lemma" else row[FORM]
            return self._rules.adjective_word(word if word not in ("", "_") else row[FORM])
        return None

    def _tag(self, row: list[str]) -> str:
        """The tag that decides: Penn's if the fifth column has one, else the fourth column's."""
        return self._rules.penn_tag(row[XPOS], row[UPOS]) or row[UPOS]
