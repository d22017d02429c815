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

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from conf import UserError, setting
from etl.asp import CONTRADICTION, DISCARD, ENTAILMENT, NEUTRAL, NOT_ENTAILMENT
from etl.asp.lexicon import DIMENSIONS
from etl.asp.splits import ROUNDS
from etl.lake import arrow
from training import metrics
from training.tasks import reading
from training.tasks.dataset import Dataset, Examples, Predicted, Source
from training.tasks.scoring import classification, outcomes

LABELS = (ENTAILMENT, NEUTRAL, CONTRADICTION)
OUTCOMES = (ENTAILMENT, NOT_ENTAILMENT)
_OUTCOME_OF = np.array([0, 1, 1])
_TABLES = {"adjectives": "asp_entailment", "dimension": "asp_degree"}
_TRAINED = ("train", "val")
_COLUMNS = ("premise", "hypothesis", "label", "label3", "test")
# Of degree estimation alone: what is exchanged in the premise, and whether people judged as much.
_VARIANT = ("variant", "extrapolated")


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


@dataclass(frozen=True)
class Asp:
    """Entailment by degree, trained on three of eight tests (ASP)."""

    settings: Settings

    @property
    def name(self) -> str:
        return self.settings.name

    def load(self, lake: str) -> Dataset:
        """A round's rows; those of degree estimation that nobody can answer (discard) are left out.

        Raises:
            UserError: no such table, edition or round; rows of the split that the tables do not
                have; labels that are none of ours; no rows to train, to validate or to test on.
        """
        own = self.settings
        if own.scheme == "all":
            return self._all(lake)
        sources: list[Source] = []
        pieces: dict[str, list[Examples]] = {}
        for scheme, fold in own.folds().items():
            for edition, wanted in self._parts(lake, scheme, fold):
                of = reading.source(lake, _TABLES[scheme], edition)
                if of not in sources:
                    sources.append(of)
                for part, ids in wanted.items():
                    found = self._examples(lake, of, part, ids, sources.index(of))
                    pieces.setdefault(part, []).append(found)
        sources.append(reading.source(lake, "asp_splits", own.train_edition or own.edition))
        parts = {part: _joined(examples) for part, examples in pieces.items()}
        fold = "+".join(own.folds().values())
        where = f"tables of ASP, edition {own.edition}, scheme {own.scheme}, round {fold}"
        reading.require_parts(parts, (*_TRAINED, "test"), where)
        return Dataset(
            task="asp",
            edition=own.edition,
            scheme=own.scheme,
            fold=fold,
            labels=LABELS,
            outcomes=OUTCOMES,
            outcome_of=_OUTCOME_OF,
            parts=parts,
            sources=tuple(sources),
        )

    def _all(self, lake: str) -> Dataset:
        """Every row of the edition in both tables, or in the one that has it; discard left out."""
        own = self.settings
        there = [
            name
            for name in _TABLES.values()
            if arrow.version(lake, name) is not None
            and own.edition in reading.partition_values(lake, name, "edition")
        ]
        sources = [reading.source(lake, name, own.edition) for name in there or _TABLES.values()]
        pieces = []
        for number, of in enumerate(sources):
            names = ["item_id", *_COLUMNS, *(_VARIANT if of.table == "asp_degree" else ())]
            rows = reading.rows(lake, of, names).sort_by("item_id")
            rows = rows.filter(pc.not_equal(rows.column("label"), DISCARD))
            pieces.append(self._rows(of, "test", reading.strings(rows["item_id"]), rows, number))
        examples = _joined(pieces)
        reading.require_parts({"test": examples}, ("test",), f"ASP, edition {own.edition}")
        return Dataset(
            task="asp",
            edition=own.edition,
            # What is asked is another thing with every full stop written.
            scheme="all" if own.full_stops == "kept" else "all, full stops written",
            fold="",
            labels=LABELS,
            outcomes=OUTCOMES,
            outcome_of=_OUTCOME_OF,
            parts={"test": examples},
            sources=tuple(sources),
        )

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
            tested = {"test": self._of_dimension(lake, fold)}
        else:
            _, tested = reading.split_parts(lake, "asp_splits", own.edition, scheme, key, "item_id")
        return [
            (trained, {part: rows for part, rows in ids.items() if part in _TRAINED}),
            (own.edition, {part: rows for part, rows in tested.items() if part not in _TRAINED}),
        ]

    def _of_dimension(self, lake: str, dimension: str) -> pa.StringArray:
        of = reading.source(lake, "asp_degree", self.settings.edition)
        where = [("dimension", "=", dimension), ("label", "!=", DISCARD)]
        table = reading.rows(lake, of, ["item_id"], where)
        return reading.strings(table.sort_by("item_id").column("item_id"))

    def _examples(
        self, lake: str, of: Source, part: str, wanted: pa.StringArray, origin: int
    ) -> Examples:
        names = [*_COLUMNS, *(_VARIANT if of.table == "asp_degree" else ())]
        table = reading.lookup(lake, of, "item_id", wanted, names, f"{part} rows of asp_splits")
        return self._rows(of, part, wanted, table, origin)

    def _rows(
        self, of: Source, part: str, wanted: pa.StringArray, table: pa.Table, origin: int
    ) -> Examples:
        where = f"table {of.table}, edition {of.edition}"
        labels = None
        if part in _TRAINED:
            labels = reading.class_ids(table.column("label3"), LABELS, f"{where}, label3", wanted)
        kind = of.table.removeprefix("asp_")
        texts = [reading.strings(table.column(name)) for name in ("premise", "hypothesis")]
        if self.settings.full_stops == "normalised":
            texts = [with_full_stop(column) for column in texts]
        return Examples(
            item_ids=wanted,
            first=texts[0],
            second=texts[1],
            labels=labels,
            gold=reading.class_ids(table.column("label"), OUTCOMES, where, wanted),
            targets=None,
            origin=np.full(len(wanted), origin, dtype=np.int8),
            groups={
                "task": pa.array([kind] * len(wanted), pa.string()),
                "test": pc.binary_join_element_wise(
                    kind, reading.strings(table.column("test")), "."
                ),
                **_robustness(table),
            },
        )

    def evaluate(
        self,
        dataset: Dataset,
        part: str,
        predicted: Predicted,
        scores: npt.NDArray[np.float64] | None = None,
    ) -> dict[str, float]:
        """accuracy of entailment against the rest, majority, macro_f1, scores of each outcome, and
        accuracy by task, test, variant and range of numbers; ``accuracy_labels`` of three labels
        where rows have them."""
        return classification(dataset, part, predicted, ("task", "test", "variant", "numbers"))

    def together(self, dataset: Dataset, predicted: Mapping[str, Predicted]) -> dict[str, float]:
        """``all/accuracy…`` of test and leaking rows together, as the paper scores its rows."""
        if not {"test", "leaking"} <= predicted.keys():
            return {}
        pieces = [dataset.parts["test"], dataset.parts["leaking"]]
        own = np.concatenate([outcomes(dataset, predicted[p]) for p in ("test", "leaking")])
        rows = _joined(pieces)
        assert rows.gold is not None
        found = metrics.classification(rows.gold, own, dataset.outcomes)
        right = rows.gold == own
        for value, members in rows.group("test").items():
            found[f"accuracy/test.{value}"] = float(right[members].mean())
        return {f"all/{name}": score for name, score in found.items()}


def _robustness(table: pa.Table) -> dict[str, pa.StringArray]:
    """Rows by variant of their premise, and by whether their number is among those that people
    judged (appendix E); entailment inference has neither."""
    if "variant" not in table.column_names:
        return dict.fromkeys(("variant", "numbers"), pa.nulls(table.num_rows, pa.string()))
    beyond = pc.fill_null(table.column("extrapolated"), False)
    return {
        "variant": reading.strings(table.column("variant")),
        "numbers": reading.strings(pc.if_else(beyond, "extrapolated", "judged")),
    }


def with_full_stop(texts: pa.StringArray) -> pa.StringArray:
    """The texts, with a full stop where they end without (``task.full_stops=normalised``)."""
    return pc.if_else(pc.ends_with(texts, "."), texts, pc.binary_join_element_wise(texts, "", "."))


def _joined(pieces: list[Examples]) -> Examples:
    """The rows of all pieces, one after the other; labels only where every piece has them."""

    def texts(columns: list[pa.StringArray]) -> pa.StringArray:
        return pa.concat_arrays(columns)

    labels = [piece.labels for piece in pieces if piece.labels is not None]
    return Examples(
        item_ids=texts([piece.item_ids for piece in pieces]),
        first=texts([piece.first for piece in pieces]),
        second=texts([piece.second for piece in pieces]),
        labels=np.concatenate(labels) if len(labels) == len(pieces) else None,
        gold=np.concatenate([piece.gold for piece in pieces if piece.gold is not None]),
        targets=None,
        origin=np.concatenate([piece.origin for piece in pieces]),
        groups={name: texts([piece.groups[name] for piece in pieces]) for name in pieces[0].groups},
    )
