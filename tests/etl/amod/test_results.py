"""Staged rows are distributed over the parts of tables."""

from collections import Counter

import pyarrow.compute as pc
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from adnominal.etl.amod import results, tasks
from adnominal.etl.amod.kernel import BUCKETS
from adnominal.etl.amod.sums import sums
from tests.etl.amod.corpus import depcc_part
from tests.etl.amod.test_tasks import SETTINGS, whole_file

PAIRS = [("false", "key"), ("old", "key"), ("old", "coin"), ("old", "key"), ("red", "ключ")]


@pytest.mark.parametrize("parts", [1, 4, 2 * BUCKETS])
def test_packed_pairs_are_distributed_by_their_noun(tmp_path, spark, parts):
    path = tmp_path / "part.conll"
    path.write_bytes(depcc_part(PAIRS))
    staged = [batch.to_pylist() for batch in tasks.count_units(whole_file(path), SETTINGS)] * 2
    frame = spark.createDataFrame(
        [row for rows in staged for row in rows], from_arrow_schema(tasks.STAGED)
    )
    distributed = results.packed_in(frame, parts, 1 << 20).toArrow()
    pair_counts: Counter[tuple[str, str]] = Counter()
    nouns: list[set[str]] = []
    for part in sorted(set(distributed["part"].to_pylist())):
        assert part in range(parts)
        rows = sums(distributed.filter(pc.equal(distributed["part"], part))).to_pylist()
        pair_counts.update({(row["adjective"], row["noun"]): row["count"] for row in rows})
        nouns.append({row["noun"] for row in rows})
    assert pair_counts == Counter(PAIRS * 2)
    assert sum(map(len, nouns)) == len(set.union(*nouns))
