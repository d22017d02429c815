"""SyGNS as sequence to sequence: from sentences to one of three meanings (Yanaka et al. 2021).

Scores here are exact match, by class of quantifier and modifier and by depth (tables 4, 5, 8).
Entailment, clause matching and polarity are for ``python -m analysis.semantics run=…``, which
reads a run's rows of the table predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from adnominal.conf import UserError, setting
from adnominal.etl.sygns.declaration import DATASET
from adnominal.etl.sygns.splits import PRIMITIVES, SCHEMES, modifier_class, quantifier_class
from adnominal.training.tasks import reading
from adnominal.training.tasks.dataset import Dataset, Examples, Task, strings, with_columns

if TYPE_CHECKING:
    from adnominal.training.asking.settings import Settings as Prompting

FORMS = ("fol", "drs", "vf")
_WITH_PRIMITIVE = SCHEMES[:2]


@dataclass(frozen=True)
class Settings:
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


class Sygns(Task):
    """Meanings of sentences with word combinations that do not occur in training (SyGNS)."""

    Settings = Settings
    dataset_spec = DATASET
    needed_parts = ("train", "val", "test")

    @classmethod
    def prompt_values(cls, settings: Prompting) -> dict[str, Any]:
        """Return the split and the form of the meanings."""
        primitive = settings.fold if settings.scheme in _WITH_PRIMITIVE else ""
        return {"scheme": settings.scheme, "primitive": primitive, "form": settings.meaning}

    def read(self, lake: str) -> Dataset:
        """Read the sentences of a test of generalisation, with their meanings in one form."""
        settings, items = self.settings, DATASET.tables[0]
        columns = ("sentence", settings.form, "depth", "phenomena")
        sources, tables = reading.by_scheme(
            lake, DATASET, settings.edition, settings.scheme, columns, settings.primitive
        )
        parts = {}
        for part, rows in tables.items():
            sentences, phenomena = rows["sentence"].to_pylist(), rows["phenomena"].to_pylist()
            rows = with_columns(
                rows,
                quantifier=pa.array([quantifier_class(s) for s in sentences], pa.string()),
                modifier=pa.array([modifier_class(p) for p in phenomena], pa.string()),
            )
            targets = strings(rows[settings.form])
            parts[part] = Examples.of(rows, items.item, ["sentence"], self.groups, targets=targets)
        return Dataset(
            task=f"sygns_{settings.form}",
            edition=settings.edition,
            scheme=settings.scheme,
            fold=settings.primitive,
            labels=(),
            parts=parts,
            sources=sources,
            splitting="formula" if settings.form == "fol" else "words",
            instruction=DATASET.training.single_instruction,
        )
