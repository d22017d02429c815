"""What sequence-to-sequence runs on SyGNS answered, scored by class of sentence."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from analysis import sygns
from analysis.interval import Interval
from analysis.reporting.answers import answered, rows_of
from analysis.reporting.lake import Lake
from analysis.reporting.numbers import mean_over_runs
from analysis.reporting.runs import Run, Runs, groups
from analysis.semantics import drs_matching, polarity
from analysis.semantics.polarity import PolarityScore
from analysis.semantics.prover import Outcome, Proving, provers
from analysis.significance import wilson
from etl.lake import arrow
from etl.sygns.polarity import Direction

log = logging.getLogger("adnominal")

# The paper's own training (section 4.1); runs of another length are listed, but stand for nothing.
EPOCHS = "25"
_TOLD = 15.0  # seconds between two lines of progress
_T = TypeVar("_T")
_QUANTIFIERS = ("EXI", "NUM", "UNI")


class Meanings:
    """The runs on one edition of SyGNS that the lake has answers of.

    `prover` and `cache` are those of ``python -m analysis.semantics``.
    """

    def __init__(
        self, lake: Lake, runs: Runs, edition: str, prover: str = "none", cache: str | None = None
    ) -> None:
        self.lake, self.edition, self.prover, self.cache = lake, edition, prover, cache
        mine = runs.of("finetune", {"task.name": "sygns", "task.edition": edition})
        self.runs = answered(lake, mine)
        self.used: list[Run] = []
        self._classes: pa.Table | None = None
        self._parts: dict[tuple[str, str], pa.Table] = {}
        self._exact: dict[str, pa.Table] = {}

    def group(
        self,
        scheme: str,
        primitive: str,
        form: str,
        architecture: str,
        size: str = "10M",
        train_size: str = "[]",
    ) -> list[Run]:
        """The newest runs that the paper's table is of: the same but for their seeds. `used` keeps
        what was asked for."""
        wanted = {
            "task.scheme": scheme,
            "task.form": form,
            "seq2seq.architecture": architecture,
            "seq2seq.size": size,
            "train_size": train_size,
            "epochs": EPOCHS,
        }
        if primitive:
            wanted["task.primitive"] = primitive
        own = [
            run
            for run in self.runs
            if all(run.params.get(key) == value for key, value in wanted.items())
        ]
        found = groups(own)
        self.used += found[0] if found else []
        return found[0] if found else []

    def rows(self, run: Run) -> pa.Table:
        """A run's rows: item_id, gold, text, part, exact, and the classes of `sygns.classes`."""
        table = rows_of(self.lake, run, ("item_id", "gold", "text"))
        if self._classes is None:
            self._classes = sygns.classes(self.lake.root, self.edition)
        ids = table.column("item_id")
        known = self._classes.column("sentence_id").combine_chunks()
        at = pc.index_in(ids, value_set=known)
        table, at = table.filter(at.is_valid()), at.drop_null()
        of = self._classes.take(at)
        for name in ("quantifier", "modifier", "depth"):
            table = table.append_column(name, of.column(name))
        parts = self._split(run.params.get("task.scheme", ""), run.params.get("task.primitive", ""))
        place = pc.index_in(
            table.column("item_id"), value_set=parts.column("sentence_id").combine_chunks()
        )
        table = table.append_column("part", parts.column("part").take(place))
        exact = pc.fill_null(pc.equal(table.column("gold"), table.column("text")), False)
        return table.append_column("exact", exact)

    def _split(self, scheme: str, primitive: str) -> pa.Table:
        key = scheme, primitive
        if key not in self._parts:
            where = [("edition", "=", self.edition), ("scheme", "=", scheme)]
            where.append(("primitive", "=", primitive))
            self._parts[key] = arrow.read(
                self.lake.root, "sygns_splits", where=where, columns=["sentence_id", "part"]
            )
        return self._parts[key]

    def accuracy(
        self, runs: Sequence[Run], by: str, value: str, part: str = "test"
    ) -> Interval | None:
        """Share of exact matches among the sentences whose class `by` is `value` (of all, with an
        empty `by`), over the runs; None where there are no such sentences."""
        shares = [own for run in runs if (own := self._share(run, by, value, part))]
        return mean_over_runs(shares) if shares else None

    def _share(self, run: Run, by: str, value: str, part: str) -> Interval | None:
        if run.id not in self._exact:
            kept = ["part", "exact", "quantifier", "modifier", "depth"]
            self._exact[run.id] = self.rows(run).select(kept)
        own = _of(self._exact[run.id], by, value, part)
        if not own.num_rows:
            return None
        return wilson(pc.sum(own.column("exact")).as_py() or 0, own.num_rows)

    def clauses(self, runs: Sequence[Run], by: str, values: Iterable[str]) -> dict[str, Interval]:
        """F over matching clauses, as SyGNS's copy of COUNTER reads them, by class; ``valid`` is
        the validation part."""
        scores: dict[str, list[Interval]] = {}
        for run in runs:
            rows = self.rows(run)
            score = partial(drs_matching.match, variant="sygns")
            matched = _of_pairs(rows, f"clauses of run {run.id}", score)
            for value in values:
                own = _places(rows, by, value)
                if own:
                    found = [matched[at] for at in own]
                    triples = [(s.matched, s.predicted, s.gold) for s in found]
                    scores.setdefault(value, []).append(sygns.clause_f(triples))
        return {value: mean_over_runs(own) for value, own in scores.items()}

    def polarity(
        self, runs: Sequence[Run], form: str, direction: Direction
    ) -> dict[str, tuple[Interval, Interval, Interval]]:
        """Precision, recall and F of polarity by quantifier, a mean over sentences (table 15).

        Shares of a sentence are rounded to two digits, as the published evaluation does.
        """
        scores: dict[str, list[tuple[Interval, Interval, Interval]]] = {}

        def score(gold: str, predicted: str) -> PolarityScore | None:
            return polarity.score(form, gold, predicted, direction, 2)

        for run in runs:
            rows = self.rows(run)
            own = _of_pairs(rows, f"polarity {direction} of run {run.id}", score)
            for value in _QUANTIFIERS:
                there = [found for at in _places(rows, "quantifier", value) if (found := own[at])]
                if there:
                    precision, recall, f = (sygns.mean(list(c)) for c in zip(*there, strict=True))
                    scores.setdefault(value, []).append((precision, recall, f))
        return {value: _means(own) for value, own in scores.items()}

    def entailment(self, runs: Sequence[Run]) -> dict[str, tuple[Interval, Interval, Interval]]:
        """Shares of G⇒P, P⇒G and both by quantifier (table 6); what is not proved counts as no.

        Raises:
            UserError: a prover that is not there.
        """
        scores: dict[str, list[tuple[Interval, Interval, Interval]]] = {}
        cache = Path(self.cache) if self.cache else None
        proving = Proving(provers(self.prover.split(",")), cache=cache)
        try:
            for number, run in enumerate(runs, 1):
                log.info("proving: run %d of %d (%s)", number, len(runs), run.id)
                rows = self.rows(run)
                for value in _QUANTIFIERS:
                    own = rows.take(pa.array(_places(rows, "quantifier", value), pa.int64()))
                    if not own.num_rows:
                        continue
                    texts = pc.fill_null(own.column("text"), "").to_pylist()
                    pairs = zip(own.column("gold").to_pylist(), texts, strict=True)
                    found = proving.entailments("fol", pairs)
                    forward = [one.forward == Outcome.THEOREM for one in found]
                    backward = [one.backward == Outcome.THEOREM for one in found]
                    both = [a and b for a, b in zip(forward, backward, strict=True)]
                    one, two, three = (
                        wilson(sum(own), len(own)) for own in (forward, backward, both)
                    )
                    scores.setdefault(value, []).append((one, two, three))
        finally:
            proving.close()
        return {value: _means(own) for value, own in scores.items()}


def _means(
    runs: Sequence[tuple[Interval, Interval, Interval]],
) -> tuple[Interval, Interval, Interval]:
    first, second, third = (mean_over_runs(own) for own in zip(*runs, strict=True))
    return first, second, third


def _of(rows: pa.Table, by: str, value: str, part: str) -> pa.Table:
    mask = pc.field("part") == part
    if by:
        mask = mask & (pc.field(by).cast(pa.string()) == value)
    return rows.filter(mask)


def _places(rows: pa.Table, by: str, value: str) -> list[int]:
    """Numbers of the rows of a class of the test part; ``valid`` is all of the validation part."""
    own = rows.select(["part", by]).append_column("at", pa.array(range(rows.num_rows)))
    kept = _of(own, "", "", "val") if value == "valid" else _of(own, by, value, "test")
    return list(kept.column("at").to_pylist())


def _of_pairs(rows: pa.Table, what: str, score: Callable[[str, str], _T]) -> list[_T]:
    """A score of every row, each different pair of meanings scored once."""
    golds = rows.column("gold").to_pylist()
    texts = pc.fill_null(rows.column("text"), "").to_pylist()
    known: dict[tuple[str, str], _T] = {}
    started = said = time.monotonic()

    def each() -> Iterator[_T]:
        nonlocal said
        for at, pair in enumerate(zip(golds, texts, strict=True)):
            if pair not in known:
                known[pair] = score(*pair)
            yield known[pair]
            now = time.monotonic()
            if now - said > _TOLD:
                said = now
                rate = (at + 1) / (now - started)
                log.info(
                    "%s: %d of %d, %.0f/s, %.0f s left",
                    what,
                    at + 1,
                    len(golds),
                    rate,
                    (len(golds) - at - 1) / rate,
                )

    return list(each())
