"""People's ratings of adjective–noun pairs, which language models are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.training.asking import scores
from adnominal.training.asking.scores import Results
from adnominal.training.tasks import reading
from adnominal.training.tasks.dataset import Dataset, Examples, Task, strings

if TYPE_CHECKING:
    from adnominal.training.asking.settings import Settings

TABLE = "graded_pairs"


class Graded(Task):
    """Ratings of adjective–noun pairs, such as how usual or how plausible a phrase is."""

    settings: Settings

    def read(self, lake: str) -> Dataset:
        """Read the rated pairs of each part, with the rating as the target text."""
        source = reading.source(lake, TABLE, self.settings.edition, "source")
        columns = ["pair_id", "adjective", "noun", "score", "split"]
        rows = reading.rows(lake, source, columns, column="source").sort_by("pair_id")
        rows = rows.filter(pc.is_valid(rows["score"]))
        parts = {}
        for part, members in reading.parts_of(rows, "split").items():
            targets = strings(members["score"])
            parts[part] = Examples.of(members, "pair_id", ("adjective", "noun"), targets=targets)
        return Dataset(
            task=TABLE,
            edition=self.settings.edition,
            scheme="split",
            fold="",
            labels=(),
            parts=parts,
            sources=(source,),
        )

    def prompt_tally(self, rows: pa.Table, labels: Sequence[str]) -> pa.Table:
        """Return people's ratings and the model's."""
        return scores.ratings(rows, labels)

    def prompt_results(self, rows: pa.Table, labels: Sequence[str]) -> Results:
        """Return the rank correlation of people's ratings with the model's."""
        return scores.by_rating(rows)
