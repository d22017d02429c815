"""ASP: fine-tuned on three labels, tested on two (Liu et al. 2023, "Fine-tuning on the ASP").

A round trains on ordering, dimension and argument alone, labelled entailment, neutral or
contradiction, and is tested on all eight tests, where entailment stands against the rest. Scheme
``adjectives`` (entailment inference) holds out half of the adjectives, ``dimension`` (degree
estimation) one physical dimension, ``both`` does one round of each in one training.

In the published rows of entailment inference, the part ``leaking`` has those with an adjective
that was trained on; ``test`` the others. In published ordering rows a missing full stop gives the
label away: ``full_stops=normalised`` writes every one.

``scheme=all`` takes every row of an edition to test on, its variants of premises included, and none
to train on: what models that were not trained on ASP are scored on (``training/score.py``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conf import UserError, setting
from etl.asp import CONTRADICTION, DISCARD, ENTAILMENT, NEUTRAL, NOT_ENTAILMENT
from etl.asp.lexicon import DIMENSIONS
from etl.asp.splits import ROUNDS
from etl.lake import arrow
from training.tasks import reading
from training.tasks.dataset import Dataset, Examples, Predicted, Source, Task

LABELS = (ENTAILMENT, NEUTRAL, CONTRADICTION)
OUTCOMES = (ENTAILMENT, NOT_ENTAILMENT)
_OUTCOME_OF = np.array([0, 1, 1])
_TABLES = {"adjectives": "asp_entailment", "dimension": "asp_degree"}
_TRAINED = ("train", "val")
_COLUMNS = ("item_id", "premise", "hypothesis", "label", "label3", "test")


@dataclass(frozen=True)
class Settings:
    """Settings ``task.*`` of ASP."""

    name: str = setting("asp", help="the task", choices=("asp",))
    edition: str = setting("clean", help="edition that is tested on")
    train_edition: str | None = setting(
        None,
        help="edition that is trained on; the same if not given",
        example="task.edition=published task.train_edition=published_tuning",
    )
    scheme: str = setting(
        "both",
        help="what is held out: adjectives (entailment inference), a dimension (degree "
        "estimation), or both; all: every row of the edition, to score alone",
        choices=("adjectives", "dimension", "both", "all"),
    )
    round: str = setting("0", help="round of scheme adjectives: 0 to 3, or published")
    dimension: str | None = setting(
        None,
        help="dimension held out; if not given that of the round: length, mass, …",
        choices=DIMENSIONS,
    )
    full_stops: str = setting(
        "kept",
        help="kept as the table has them, or every text given one",
        choices=("kept", "normalised"),
    )

    def __post_init__(self) -> None:
        if self.scheme == "all":
            return
        if self.scheme != "adjectives" and self.dimension is None and not self._numbered:
            raise UserError(
                f"round={self.round} scheme={self.scheme}: expected dimension= with it, one of "
                f"{', '.join(DIMENSIONS)}"
            )

    @property
    def _numbered(self) -> bool:
        return self.round in {str(number) for number in range(ROUNDS)}

    def folds(self) -> dict[str, str]:
        """The rounds to take, by scheme; none of scheme all."""
        found: dict[str, str] = {}
        if self.scheme == "all":
            return found
        if self.scheme != "dimension":
            found["adjectives"] = self.round
        if self.scheme != "adjectives":
            found["dimension"] = self.dimension or DIMENSIONS[int(self.round)]
        return found


class Asp(Task):
    """Entailment by degree, trained on three of eight tests (ASP)."""

    Settings = Settings
    groups = ("task", "test", "variant", "numbers")

    @property
    def needed(self) -> tuple[str, ...]:
        return ("test",) if self.settings.scheme == "all" else (*_TRAINED, "test")

    def read(self, lake: str) -> Dataset:
        """A round's rows; those of degree estimation that nobody can answer (discard) are left out.

        ``accuracy_labels`` is that of three labels, where rows have them.
        """
        own = self.settings
        every = own.scheme == "all"
        sources: list[Source] = []
        pieces: dict[str, list[Examples]] = {}
        for part, of, rows in self._all(lake) if every else self._rounds(lake):
            if of not in sources:
                sources.append(of)
            examples = self._examples(part, of, rows, sources.index(of))
            pieces.setdefault(part, []).append(examples)
        scheme = own.scheme
        if not every:
            sources.append(reading.source(lake, "asp_splits", own.train_edition or own.edition))
        elif own.full_stops == "normalised":
            # What is asked is another thing with every full stop written.
            scheme = "all, full stops written"
        return Dataset(
            task="asp",
            edition=own.edition,
            scheme=scheme,
            fold="+".join(own.folds().values()),
            labels=LABELS,
            outcomes=OUTCOMES,
            outcome_of=_OUTCOME_OF,
            parts={part: Examples.joined(examples) for part, examples in pieces.items()},
            sources=tuple(sources),
        )

    def _all(self, lake: str) -> Iterator[tuple[str, Source, pa.Table]]:
        """Every row of the edition in both tables, or in the one that has it; discard left out."""
        edition = self.settings.edition
        there = [
            name
            for name in _TABLES.values()
            if arrow.version(lake, name) is not None
            and edition in reading.partition_values(lake, name, "edition")
        ]
        for name in there or _TABLES.values():
            of = reading.source(lake, name, edition)
            rows = reading.rows(lake, of, _columns(of)).sort_by("item_id")
            yield "test", of, rows.filter(pc.not_equal(rows.column("label"), DISCARD))

    def _rounds(self, lake: str) -> Iterator[tuple[str, Source, pa.Table]]:
        """The rows of each part of the rounds, from each edition that is read."""
        for scheme, fold in self.settings.folds().items():
            for edition, wanted in self._parts(lake, scheme, fold):
                of = reading.source(lake, _TABLES[scheme], edition)
                for part, ids in wanted.items():
                    who = f"{part} rows of asp_splits"
                    rows = reading.lookup(lake, of, "item_id", ids, _columns(of), who)
                    yield part, of, rows

    def _parts(
        self, lake: str, scheme: str, fold: str
    ) -> list[tuple[str, dict[str, pa.StringArray]]]:
        """Item ids by part, of each edition that is read."""
        own = self.settings
        key = ("round", fold)
        trained = own.train_edition or own.edition
        _, ids = reading.split_parts(lake, "asp_splits", trained, scheme, key, "item_id")
        if trained == own.edition:
            return [(trained, ids)]
        if scheme == "dimension" and "dimension" not in reading.partition_values(
            lake, "asp_splits", "scheme", {"edition": own.edition}
        ):
            # The release tests degree estimation on all rows of the dimension held out.
            of = reading.source(lake, "asp_degree", own.edition)
            where = [("dimension", "=", fold), ("label", "!=", DISCARD)]
            rows = reading.rows(lake, of, ["item_id"], where).sort_by("item_id")
            tested = {"test": reading.strings(rows["item_id"])}
        else:
            _, tested = reading.split_parts(lake, "asp_splits", own.edition, scheme, key, "item_id")
        return [
            (trained, {part: rows for part, rows in ids.items() if part in _TRAINED}),
            (own.edition, {part: rows for part, rows in tested.items() if part not in _TRAINED}),
        ]

    def _examples(self, part: str, of: Source, rows: pa.Table, origin: int) -> Examples:
        where, ids = f"table {of.table}, edition {of.edition}", rows["item_id"]
        labels = None
        if part in _TRAINED:
            labels = reading.class_ids(rows["label3"], LABELS, f"{where}, label3", ids)
        if self.settings.full_stops == "normalised":
            for name in ("premise", "hypothesis"):
                texts = with_full_stop(reading.strings(rows[name]))
                rows = rows.set_column(rows.schema.get_field_index(name), name, texts)
        kind = of.table.removeprefix("asp_")
        test = pc.binary_join_element_wise(kind, reading.strings(rows["test"]), ".")
        rows = rows.drop_columns("test").append_column("test", test)
        rows = rows.append_column("task", pa.array([kind] * rows.num_rows, pa.string()))
        return Examples.of(
            _with_robustness(rows),
            "item_id",
            ("premise", "hypothesis"),
            self.groups,
            labels=labels,
            gold=reading.class_ids(rows["label"], OUTCOMES, where, ids),
            origin=np.full(rows.num_rows, origin, dtype=np.int8),
        )

    def together(self, dataset: Dataset, predicted: Mapping[str, Predicted]) -> dict[str, float]:
        """``all/accuracy…`` of test and leaking rows together, as the paper scores its rows."""
        if not {"test", "leaking"} <= predicted.keys():
            return {}
        names = ("test", "leaking")
        rows = Examples.joined([dataset.parts[name] for name in names])
        whole = dataclasses.replace(dataset, parts={"all": rows})
        answers = np.concatenate([np.asarray(predicted[name]) for name in names])
        figures = self.evaluate(whole, "all", answers)
        return {f"all/{name}": score for name, score in figures.items()}


def _columns(of: Source) -> list[str]:
    # Of degree estimation alone: what is exchanged in the premise, and whether people judged it.
    return [*_COLUMNS, *(("variant", "extrapolated") if of.table == "asp_degree" else ())]


def _with_robustness(rows: pa.Table) -> pa.Table:
    """Rows with the variant of their premise, and whether their number is among those that people
    judged (appendix E); entailment inference has neither."""
    numbers = pa.nulls(rows.num_rows, pa.string())
    if "variant" not in rows.column_names:
        return rows.append_column("variant", numbers).append_column("numbers", numbers)
    beyond = pc.fill_null(rows["extrapolated"], False)
    return rows.append_column("numbers", pc.if_else(beyond, "extrapolated", "judged"))


def with_full_stop(texts: pa.StringArray) -> pa.StringArray:
    """The texts, with a full stop where they end without (``task.full_stops=normalised``)."""
    return pc.if_else(pc.ends_with(texts, "."), texts, pc.binary_join_element_wise(texts, "", "."))
