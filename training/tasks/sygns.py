"""SyGNS as sequence to sequence: from sentences to one of three meanings (Yanaka et al. 2021).

Scores here are exact match, by class of quantifier and modifier and by depth (tables 4, 5, 8).
Entailment, clause matching and polarity are for ``python -m analysis.semantics run=…``, which
reads a run's rows of the table predictions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from conf import UserError, setting
from etl.sygns.splits import PRIMITIVES, SCHEMES, modifier_class, quantifier_class
from training import metrics
from training.tasks import reading
from training.tasks.dataset import Dataset, Examples, Predicted, Source

FORMS = ("fol", "drs", "vf")
_WITH_PRIMITIVE = SCHEMES[:2]


@dataclass(frozen=True)
class Settings:
    """Settings ``task.*`` of SyGNS."""

    name: str = setting("sygns", help="the task", choices=("sygns",))
    edition: str = setting("paper", help="edition of the tables sygns and sygns_splits")
    scheme: str = setting("systematicity", help="test of generalisation", choices=SCHEMES)
    primitive: str = setting(
        "one",
        help="primitive quantifier of systematicity and quantifier_negation: one, two, every, or "
        "one,two,every; the other schemes have none",
        choices=("", *PRIMITIVES),
    )
    form: str = setting("fol", help="form of the meanings", choices=FORMS)

    def __post_init__(self) -> None:
        if (self.scheme in _WITH_PRIMITIVE) != bool(self.primitive):
            expected = " or ".join(PRIMITIVES) if self.scheme in _WITH_PRIMITIVE else "primitive="
            raise UserError(f"scheme={self.scheme} primitive={self.primitive}: expected {expected}")


@dataclass(frozen=True)
class Sygns:
    """Meanings of sentences whose combinations of words were not trained on (SyGNS)."""

    settings: Settings

    @property
    def name(self) -> str:
        return self.settings.name

    def load(self, lake: str) -> Dataset:
        """The sentences of a test of generalisation, with their meanings in one form.

        Raises:
            UserError: no such table, edition, scheme or primitive; sentences of the split that the
                table does not have; no rows to train, to validate or to test on.
        """
        own = self.settings
        splits, ids = reading.split_parts(
            lake,
            "sygns_splits",
            own.edition,
            own.scheme,
            ("primitive", own.primitive),
            "sentence_id",
        )
        of = reading.source(lake, "sygns", own.edition)
        parts = {part: self._examples(lake, of, part, wanted) for part, wanted in ids.items()}
        where = (
            f"table sygns_splits, edition {own.edition}, scheme {own.scheme}, primitive "
            f"{own.primitive or 'none'}"
        )
        reading.require_parts(parts, ("train", "val", "test"), where)
        return Dataset(
            task=f"sygns_{own.form}",
            edition=own.edition,
            scheme=own.scheme,
            fold=own.primitive,
            labels=(),
            outcomes=(),
            outcome_of=np.arange(0),
            parts=parts,
            sources=(of, splits),
            splitting="formula" if own.form == "fol" else "words",
            instruction="{first}\nMeaning:",
        )

    def _examples(self, lake: str, of: Source, part: str, wanted: pa.StringArray) -> Examples:
        form = self.settings.form
        names = ["sentence", form, "depth", "phenomena"]
        who = f"{part} rows of sygns_splits"
        table = reading.lookup(lake, of, "sentence_id", wanted, names, who)
        sentences = table.column("sentence").to_pylist()
        phenomena = table.column("phenomena").to_pylist()
        return Examples(
            item_ids=wanted,
            first=reading.strings(table.column("sentence")),
            second=None,
            labels=None,
            gold=None,
            targets=reading.strings(table.column(form)),
            origin=np.zeros(len(wanted), dtype=np.int8),
            groups={
                "quantifier": pa.array([quantifier_class(s) for s in sentences], pa.string()),
                "modifier": pa.array([modifier_class(p) for p in phenomena], pa.string()),
                "depth": reading.strings(table.column("depth")),
            },
        )

    def evaluate(
        self,
        dataset: Dataset,
        part: str,
        predicted: Predicted,
        scores: npt.NDArray[np.float64] | None = None,
    ) -> dict[str, float]:
        """accuracy, the share of exact matches; and that of each class of sentences."""
        examples = dataset.parts[part]
        right = metrics.exact_match(examples.targets, cast(Sequence[str], predicted))
        found = {"accuracy": float(right.mean())}
        for name in examples.groups:
            for value, members in examples.group(name).items():
                key = f"accuracy/{name}.{metrics.metric_name(value)}"
                found[key] = float(right[members].mean())
        return found

    def together(self, dataset: Dataset, predicted: Mapping[str, Predicted]) -> dict[str, float]:
        return {}
