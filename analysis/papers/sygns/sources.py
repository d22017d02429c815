"""Data shared by SyGNS's exhibits: sequence-to-sequence runs, scored by class of sentence."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.estimates import (
    Floats,
    Interval,
    bootstrap_sums,
    mean_over_runs,
    percentile_interval,
    wilson,
)
from adnominal.analysis.papers.exhibits import Sources
from adnominal.analysis.predictions import labelled_predictions
from adnominal.analysis.rows import join_items, lists, schema
from adnominal.analysis.semantics import drs_matching, polarity
from adnominal.analysis.semantics.prover import Outcome, Proving, provers
from adnominal.conf import UserError
from adnominal.conf.progress import Progress
from adnominal.etl.lake import arrow
from adnominal.etl.sygns import splits
from adnominal.etl.sygns.polarity import Direction
from adnominal.training.finished_runs import Run, Runs, groups

log = logging.getLogger("adnominal")

# The paper's training length (section 4.1); longer or shorter runs are only listed.
EPOCHS = "25.0"
_T = TypeVar("_T")
Triple = tuple[Interval, Interval, Interval]
QUANTIFIERS = ("EXI", "NUM", "UNI")
_CLASSES = schema("sentence_id quantifier modifier depth:int32")


def classes(lake: str, edition: str) -> pa.Table:
    """The classes by which scores are broken down: columns sentence_id, quantifier, modifier (+NEG
    under negation) and depth, for all sentences of the edition."""
    pieces = []
    columns = ["sentence_id", "sentence", "phenomena", "depth"]
    for batch in arrow.batches(lake, "sygns", where=[("edition", "=", edition)], columns=columns):
        ids, sentences, phenomena, depths = lists(batch, *columns)
        quantifiers = list(map(splits.quantifier_class, sentences))
        modifiers = list(map(splits.modifier_class, phenomena))
        pieces.append(pa.table([ids, quantifiers, modifiers, depths], schema=_CLASSES))
    return pa.concat_tables(pieces) if pieces else _CLASSES.empty_table()


class Meanings:
    """The runs on one edition of SyGNS with answers in the lake."""

    def __init__(self, page: "Sygns", edition: str) -> None:
        self.page, self.edition = page, edition
        settings = {"task.name": "sygns", "task.edition": edition}
        self.runs = page.runs_of("finetune", settings)
        self._parts: dict[tuple[str, str], pa.Table] = {}
        self._exact: dict[str, pa.Table] = {}

    def group(
        self,
        architecture: str,
        form: str,
        split: tuple[str, str] = ("systematicity", "one"),
        size: str = "10M",
        train_size: str = "[]",
    ) -> list[Run]:
        """The newest runs of a model on a form; they differ only by seed.

        `split` is the scheme with its primitive quantifier, which is empty if it has none.
        """
        scheme, primitive = split
        parameters = {
            "task.scheme": scheme,
            "task.primitive": primitive,
            "task.form": form,
            "seq2seq.architecture": architecture,
            "seq2seq.size": size,
            "train_size": train_size,
            "num_train_epochs": EPOCHS,
        }
        if not primitive:
            del parameters["task.primitive"]
        return next(iter(groups(Runs(self.runs).of("finetune", parameters))), [])

    def rows(self, run: Run) -> pa.Table:
        """A run's answers to the sentences of the edition.

        The columns are item_id, gold and text; quantifier, modifier and depth, as in `classes`; the
        part of the run's split (null for sentences outside the split); and whether the text is
        exactly the gold form, which a missing text is not.
        """
        answers = labelled_predictions(self.page.lake.root, run.id, ("item_id", "gold", "text"))
        answers = join_items(answers, self.page.classes(self.edition), "sentence_id")
        scheme = run.params.get("task.scheme", "")
        primitive = run.params.get("task.primitive", "")
        split = self._split(scheme, primitive)
        ids = split.column("sentence_id").combine_chunks()
        places = pc.index_in(answers.column("item_id"), value_set=ids)
        answers = answers.append_column("part", split.column("part").take(places))
        exact = pc.equal(answers.column("gold"), answers.column("text"))
        exact = pc.fill_null(exact, False)
        return answers.append_column("exact", exact)

    def _split(self, scheme: str, primitive: str) -> pa.Table:
        key = scheme, primitive
        if key not in self._parts:
            where = [("edition", "=", self.edition), ("scheme", "=", scheme)]
            where.append(("primitive", "=", primitive))
            self._parts[key] = arrow.read(
                self.page.lake.root, "sygns_splits", where=where, columns=["sentence_id", "part"]
            )
        return self._parts[key]

    def accuracy(
        self, runs: Sequence[Run], by: str, value: str, part: str = "test"
    ) -> Interval | None:
        """Share of exact matches among the sentences whose class `by` is `value` (among all if `by`
        is empty), over the runs; None if there are no such sentences."""
        shares = [share for run in runs if (share := self._share(run, by, value, part))]
        return mean_over_runs(shares) if shares else None

    def _share(self, run: Run, by: str, value: str, part: str) -> Interval | None:
        if run.id not in self._exact:
            columns = ["part", "exact", "quantifier", "modifier", "depth"]
            self._exact[run.id] = self.rows(run).select(columns)
        rows = _of(self._exact[run.id], by, value, part)
        if not rows.num_rows:
            return None
        return wilson(pc.sum(rows.column("exact")).as_py() or 0, rows.num_rows)

    def clauses(self, runs: Sequence[Run], by: str, values: Iterable[str]) -> dict[str, Interval]:
        """F over matching clauses by class, with clauses read as in SyGNS's copy of COUNTER;
        ``valid`` is the validation part."""
        scores: dict[str, list[Interval]] = defaultdict(list)
        for run in runs:
            rows = self.rows(run)
            match = partial(drs_matching.match, variant="sygns")
            matches = _of_pairs(rows, f"clauses of run {run.id}", match)
            for value in values:
                counts = [
                    (score.matched, score.predicted, score.gold)
                    for score in (matches[place] for place in _places(rows, by, value))
                ]
                if counts:
                    scores[value].append(clause_f(counts))
        return {value: mean_over_runs(intervals) for value, intervals in scores.items()}

    def polarity(self, runs: Sequence[Run], form: str, direction: Direction) -> dict[str, Triple]:
        """Precision, recall and F of polarity by quantifier, averaged over sentences (table 15).

        Shares of a sentence are rounded to two digits, as in the published evaluation.
        """
        scores: dict[str, list[Triple]] = defaultdict(list)

        score = partial(polarity.score, form, direction=direction, rounding=2)
        for run in runs:
            rows = self.rows(run)
            of_rows = _of_pairs(rows, f"polarity {direction} of run {run.id}", score)
            for value in QUANTIFIERS:
                places = _places(rows, "quantifier", value)
                triples = [of_rows[place] for place in places]
                defined = [triple for triple in triples if triple]
                if defined:
                    precision, recall, f = zip(*defined, strict=True)
                    scores[value].append((mean(precision), mean(recall), mean(f)))
        return {value: _means(triples) for value, triples in scores.items()}

    def entailment(self, runs: Sequence[Run]) -> dict[str, Triple]:
        """Shares of G⇒P, P⇒G and both by quantifier (table 6); unproved counts as not entailed.

        Raises:
            UserError: the prover is not installed.
        """
        scores: dict[str, list[Triple]] = defaultdict(list)
        programs = provers(self.page.prover.split(","))
        cache = Path(self.page.cache) if self.page.cache else None
        with closing(Proving(programs, cache=cache)) as proving:
            for number, run in enumerate(runs, 1):
                log.info("proving: run %d of %d (%s)", number, len(runs), run.id)
                rows = self.rows(run)
                for value in QUANTIFIERS:
                    of_class = _of(rows, "quantifier", value, "test")
                    if of_class.num_rows:
                        scores[value].append(_entailment_counts(proving, of_class))
        return {value: _means(triples) for value, triples in scores.items()}


def _entailment_counts(proving: Proving, rows: pa.Table) -> Triple:
    gold, texts = lists(rows, "gold", "text")
    pairs = zip(gold, (text or "" for text in texts), strict=True)
    proofs = proving.entailments("fol", pairs)
    forward = [proof.forward == Outcome.THEOREM for proof in proofs]
    backward = [proof.backward == Outcome.THEOREM for proof in proofs]
    both = [a and b for a, b in zip(forward, backward, strict=True)]
    size = len(proofs)
    return wilson(sum(forward), size), wilson(sum(backward), size), wilson(sum(both), size)


def _means(runs: Sequence[Triple]) -> Triple:
    first, second, third = zip(*runs, strict=True)
    return mean_over_runs(first), mean_over_runs(second), mean_over_runs(third)


def _of(rows: pa.Table, by: str, value: str, part: str) -> pa.Table:
    mask = pc.field("part") == part
    if by:
        mask = mask & (pc.field(by).cast(pa.string()) == value)
    return rows.filter(mask)


def _places(rows: pa.Table, by: str, value: str) -> list[int]:
    """Row numbers of a class in the test part; ``valid`` selects the whole validation part."""
    numbered = rows.select(["part", by]).append_column("row", pa.array(range(rows.num_rows)))
    valid = value == "valid"
    members = _of(numbered, "", "", "val") if valid else _of(numbered, by, value, "test")
    return list(members.column("row").to_pylist())


def _of_pairs(rows: pa.Table, title: str, score: Callable[[str, str], _T]) -> list[_T]:
    """The score of every row; each distinct pair of meanings is scored only once."""
    golds = rows.column("gold").to_pylist()
    texts = pc.fill_null(rows.column("text"), "").to_pylist()
    cached = cache(score)
    scores: list[_T] = []
    with Progress(title, len(golds), unit="sentences") as progress:
        for pair in zip(golds, texts, strict=True):
            scores.append(cached(*pair))
            progress.advance(1)
    return scores


def clause_f(clauses: Sequence[tuple[int, int, int]]) -> Interval:
    """F over all clauses from the (matched, predicted, gold) counts of each item (COUNTER's
    micro-F), with the percentile interval of a bootstrap over items.

    Raises:
        ValueError: no items.
    """

    def f(sums: Floats) -> Floats:
        return 2 * sums[..., 0] / (sums[..., 1] + sums[..., 2])

    return _over_items(np.array(clauses, dtype=np.float64), f)


def mean(values: Sequence[float]) -> Interval:
    """The mean of scores from 0 to 1 with the percentile interval of a bootstrap over items.

    Raises:
        ValueError: no items.
    """
    number = len(values)
    return _over_items(np.array(values)[:, None], lambda sums: sums[..., 0] / number)


def _over_items(rows: Floats, statistic: Callable[[Floats], Floats]) -> Interval:
    """A statistic of the sums of rows. There are few distinct rows, so their counts are drawn."""
    if not len(rows):
        raise ValueError("no items")
    distinct_rows, times = np.unique(rows, axis=0, return_counts=True)
    estimate, resampled = bootstrap_sums(statistic, distinct_rows, seed=0, times=times)
    return percentile_interval(estimate, resampled, len(rows))


@dataclass(frozen=True)
class Sygns(Sources):
    """Data shared by the exhibits of SyGNS; only table 6 needs `prover` and `cache`, as in
    ``python -m analysis.semantics``."""

    prover: str = "none"
    cache: str | None = None

    @cached_property
    def _classes(self) -> dict[str, pa.Table]:
        """What `classes` has read, by edition."""
        return {}

    def classes(self, edition: str) -> pa.Table:
        """The classes of an edition's sentences, as `classes` gives them, read once."""
        if edition not in self._classes:
            self._classes[edition] = classes(self.lake.root, edition)
        return self._classes[edition]

    @cached_property
    def meanings(self) -> Meanings:
        """The runs on the first edition with runs, else on the first; none if none has splits."""
        try:
            editions = self.lake.shown_editions("sygns", "sygns_splits")
        except UserError:
            editions = [""]
        of_editions = [Meanings(self, edition) for edition in editions]
        return next((meanings for meanings in of_editions if meanings.runs), of_editions[0])
