"""ASP: fine-tuned on three labels, tested on two (Liu et al. 2023, "Fine-tuning on the ASP").

A round trains only on ordering, dimension and argument, labelled entailment, neutral or
contradiction, and is tested on all eight tests, with entailment against the rest. Scheme
``adjectives`` (entailment inference) holds out half of the adjectives, ``dimension`` (degree
estimation) one physical dimension, ``both`` combines one round of each in one training.

In the published rows of entailment inference, the part ``leaking`` has rows with an adjective that
occurs in training; ``test`` has the others. In published ordering rows, a missing full stop reveals
the label; ``full_stops=normalised`` adds them.

``scheme=all`` takes every row of an edition, including variants of premises, for testing and none
for training: it is for scoring models that were not trained on ASP (``training/score.py``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import UserError, setting
from adnominal.etl.asp import DISCARD
from adnominal.etl.asp.declaration import DATASET
from adnominal.etl.asp.lexicon import DIMENSIONS
from adnominal.etl.asp.splits import ROUNDS
from adnominal.etl.lake import arrow
from adnominal.training.asking import scores
from adnominal.training.asking.scores import Results
from adnominal.training.tasks import reading
from adnominal.training.tasks.dataset import (
    Dataset,
    Examples,
    Predicted,
    Source,
    Task,
    strings,
    with_columns,
    with_full_stop,
)

if TYPE_CHECKING:
    from adnominal.training.asking.settings import Settings as Prompting

_OUTCOME_OF = np.array([0, 1, 1])
# The table of each scheme's rows.
_TABLES = {scheme.name: DATASET.table_of(scheme).name for scheme in DATASET.splits.schemes}
_TRAINED = ("train", "val")
_COLUMNS = ("item_id", "premise", "hypothesis", "label", "label3", "test")


@dataclass(frozen=True)
class Settings:
    name: str = setting("asp", help="the task", choices=("asp",))
    edition: str = setting("clean", help="edition for testing")
    train_edition: str | None = setting(
        None,
        help="edition for training; by default the same",
        example="task.edition=published task.train_edition=published_tuning",
    )
    scheme: str = setting(
        "both",
        help="what is held out: adjectives (entailment inference), a dimension (degree "
        "estimation), or both; all: every row of the edition, only for scoring",
        choices=("adjectives", "dimension", "both", "all"),
    )
    round: str = setting("0", help="round of scheme adjectives: 0 to 3, or published")
    dimension: str | None = setting(
        None,
        help="dimension held out; by default that of the round: length, mass, …",
        choices=DIMENSIONS,
    )
    full_stops: str = setting(
        "kept",
        help="kept as in the table, or added to every text",
        choices=("kept", "normalised"),
    )

    def __post_init__(self) -> None:
        if self.scheme == "all":
            return
        if self.scheme != "adjectives" and self.dimension is None and not self._is_numbered_round:
            raise UserError(
                f"round={self.round} scheme={self.scheme}: expected dimension= with it, one of "
                f"{', '.join(DIMENSIONS)}"
            )

    @property
    def _is_numbered_round(self) -> bool:
        return self.round in {str(number) for number in range(ROUNDS)}

    def folds(self) -> dict[str, str]:
        """The rounds by scheme; none for the scheme all."""
        rounds: dict[str, str] = {}
        if self.scheme == "all":
            return rounds
        if self.scheme != "dimension":
            rounds["adjectives"] = self.round
        if self.scheme != "adjectives":
            rounds["dimension"] = self.dimension or DIMENSIONS[int(self.round)]
        return rounds


class Asp(Task):
    """Entailment by degree, trained on three of eight tests (ASP)."""

    Settings = Settings
    dataset_spec = DATASET
    groups = ("task", *DATASET.training.groups)

    @property
    def needed_parts(self) -> tuple[str, ...]:
        return ("test",) if self.settings.scheme == "all" else (*_TRAINED, "test")

    def read(self, lake: str) -> Dataset:
        """Read a round's rows, without unanswerable ones of degree estimation (discard).

        ``accuracy_labels`` is the accuracy on three labels, if rows have them.
        """
        assert DATASET.labels is not None and DATASET.trained_labels is not None
        settings = self.settings
        all_rows = settings.scheme == "all"
        sources: list[Source] = []
        pieces: dict[str, list[Examples]] = {}
        for part, source, rows in self._rows_of_tables(lake) if all_rows else self._rounds(lake):
            if source not in sources:
                sources.append(source)
            examples = self._examples(part, source, rows, sources.index(source))
            pieces.setdefault(part, []).append(examples)
        scheme = settings.scheme
        if not all_rows:
            edition = settings.train_edition or settings.edition
            sources.append(reading.source(lake, "asp_splits", edition))
        elif settings.full_stops == "normalised":
            # Texts with added full stops are different questions.
            scheme = "all, full stops written"
        return Dataset(
            task="asp",
            edition=settings.edition,
            scheme=scheme,
            fold="+".join(settings.folds().values()),
            labels=DATASET.trained_labels.names,
            outcomes=DATASET.label_names,
            outcome_of=_OUTCOME_OF,
            parts={part: Examples.concatenate(examples) for part, examples in pieces.items()},
            sources=tuple(sources),
            instruction=DATASET.training.instruction,
        )

    def _rows_of_tables(self, lake: str) -> Iterator[tuple[str, Source, pa.Table]]:
        """Yield every row of the edition in the tables that have it, without discard."""
        edition = self.settings.edition
        tables = [
            name
            for name in _TABLES.values()
            if arrow.version(lake, name) is not None
            and edition in arrow.partition_values(lake, name, "edition")
        ]
        for name in tables or _TABLES.values():
            source = reading.source(lake, name, edition)
            rows = reading.rows(lake, source, _columns(source)).sort_by("item_id")
            yield "test", source, rows.filter(pc.not_equal(rows.column("label"), DISCARD))

    def _rounds(self, lake: str) -> Iterator[tuple[str, Source, pa.Table]]:
        """Yield the rows of each part of the rounds, from each edition that is read."""
        for scheme, fold in self.settings.folds().items():
            for edition, ids_by_part in self._parts(lake, scheme, fold):
                source = reading.source(lake, _TABLES[scheme], edition)
                for part, ids in ids_by_part.items():
                    who = f"{part} rows of asp_splits"
                    rows = reading.lookup(lake, source, "item_id", ids, _columns(source), who)
                    yield part, source, rows

    def _parts(
        self, lake: str, scheme: str, fold: str
    ) -> list[tuple[str, dict[str, pa.StringArray]]]:
        """Return item ids by part, for each edition that is read."""
        edition = self.settings.edition
        key = ("round", fold)
        train_edition = self.settings.train_edition or edition
        _, ids = reading.split_parts(lake, "asp_splits", train_edition, scheme, key, "item_id")
        if train_edition == edition:
            return [(train_edition, ids)]
        if scheme == "dimension" and "dimension" not in arrow.partition_values(
            lake, "asp_splits", "scheme", {"edition": edition}
        ):
            # The release tests degree estimation on all rows of the held-out dimension.
            source = reading.source(lake, "asp_degree", edition)
            where = [("dimension", "=", fold), ("label", "!=", DISCARD)]
            rows = reading.rows(lake, source, ["item_id"], where).sort_by("item_id")
            tested = {"test": strings(rows["item_id"])}
        else:
            _, tested = reading.split_parts(lake, "asp_splits", edition, scheme, key, "item_id")
        return [
            (train_edition, {part: rows for part, rows in ids.items() if part in _TRAINED}),
            (edition, {part: rows for part, rows in tested.items() if part not in _TRAINED}),
        ]

    def _examples(self, part: str, source: Source, rows: pa.Table, origin: int) -> Examples:
        """The examples of a part from the rows of one table; `origin` is that table's number."""
        assert DATASET.labels is not None and DATASET.trained_labels is not None
        labels = None
        if part in _TRAINED:
            labels = reading.label_ids(rows, DATASET.trained_labels, source, "item_id")
        gold = reading.label_ids(rows, DATASET.labels, source, "item_id")
        if self.settings.full_stops == "normalised":
            names = ("premise", "hypothesis")
            rows = with_columns(rows, **{n: with_full_stop(strings(rows[n])) for n in names})
        kind = source.table.removeprefix("asp_")
        test = pc.binary_join_element_wise(kind, strings(rows["test"]), ".")
        rows = with_columns(rows, test=test, task=pa.array([kind] * rows.num_rows, pa.string()))
        return Examples.of(
            _with_robustness(rows),
            "item_id",
            ("premise", "hypothesis"),
            self.groups,
            labels=labels,
            gold=gold,
            origin=np.full(rows.num_rows, origin, dtype=np.int8),
        )

    @classmethod
    def prompt_values(cls, settings: Prompting) -> dict[str, Any]:
        if settings.shots:
            # Examples are of the training part of a round, and items of its test part.
            return {"scheme": "both", "round": settings.fold}
        return {"scheme": "all"}

    def with_prompt_columns(self, rows: pa.Table, settings: Prompting) -> pa.Table:
        """Return the rows of the selected tables and variant, with the table as their fold."""
        tests = pc.replace_substring_regex(rows["test"], r"^[^.]*\.", "")
        rows = with_columns(rows, fold=rows["task"], test=tests)
        of_variant = pc.or_kleene(
            pc.equal(rows["fold"], "entailment"), pc.equal(rows["variant"], settings.variant)
        )
        of_table = pc.is_in(rows["fold"], value_set=pa.array(settings.tables))
        rows = rows.filter(pc.and_kleene(of_table, of_variant))
        for name in settings.tables:
            if name not in rows["fold"].to_pylist():
                raise UserError(
                    f"variant={settings.variant}: no rows in the table asp_{name}, edition "
                    f"{settings.edition}"
                )
        return rows

    def prompt_results(self, rows: pa.Table, labels: Sequence[str]) -> Results:
        return scores.by_test(rows)

    def combined_metrics(
        self, dataset: Dataset, predicted: Mapping[str, Predicted]
    ) -> dict[str, float]:
        """Return ``all/accuracy…`` of test and leaking rows together, as in the paper."""
        if not {"test", "leaking"} <= predicted.keys():
            return {}
        names = ("test", "leaking")
        rows = Examples.concatenate([dataset.parts[name] for name in names])
        joined = dataclasses.replace(dataset, parts={"all": rows})
        answers = np.concatenate([np.asarray(predicted[name]) for name in names])
        figures = self.evaluate(joined, "all", answers)
        return {f"all/{name}": score for name, score in figures.items()}


def _columns(source: Source) -> list[str]:
    # Degree estimation also has the exchanged part of the premise, and whether people judged it.
    return [*_COLUMNS, *(("variant", "extrapolated") if source.table == "asp_degree" else ())]


def _with_robustness(rows: pa.Table) -> pa.Table:
    """Add the premise variant, and whether people judged the number (appendix E), to the rows."""
    numbers = pa.nulls(rows.num_rows, pa.string())
    if "variant" not in rows.column_names:
        return with_columns(rows, variant=numbers, numbers=numbers)
    beyond = pc.fill_null(rows["extrapolated"], False)
    return rows.append_column("numbers", pc.if_else(beyond, "extrapolated", "judged"))
