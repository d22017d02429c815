"""The table sorted by adjective has the rows of the association, in files of adjective ranges."""

import pyarrow as pa
import pyarrow.parquet as pq

from adnominal import conf
from adnominal.etl.amod import by_adjective
from adnominal.etl.amod.association import ADJECTIVES, Adjectives, association_of
from adnominal.etl.amod.job import extract
from adnominal.etl.amod.kernel import PAIRS
from adnominal.etl.amod.settings import Settings
from adnominal.etl.amod.sums import PACKED_PAIRS
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from tests.etl.amod.corpus import write_part

COUNTED = [
    ("old", "coin", 2),
    ("small", "coin", 1),
    ("false", "key", 4),
    ("old", "key", 3),
    ("small", "key", 2),
]
PAIRS_COUNTED = pa.table(list(map(list, zip(*COUNTED, strict=True))), schema=PAIRS)
ORDER = [("adjective", "ascending"), ("noun", "ascending")]


def measured_pairs() -> tuple[pa.Table, Adjectives]:
    """The rows of the association and the counts of their adjectives."""
    counts = pa.table([["small", "false", "old"], [3, 4, 5], [2, 1, 2]], schema=ADJECTIVES)
    adjectives = Adjectives.of(counts)
    rows = association_of(PAIRS_COUNTED, adjectives, "c").cast(table("amod_association").schema)
    return rows, adjectives


def test_parts_are_consecutive_ranges_of_adjectives():
    _, adjectives = measured_pairs()
    assert adjectives.words.words.to_pylist() == ["false", "old", "small"]
    assert adjectives.parts(2).tolist() == [0, 0, 1]
    assert adjectives.counts.tolist() == [4, 5, 3]


def test_rows_are_those_of_the_association_sorted_by_adjective():
    rows, adjectives = measured_pairs()
    packed = by_adjective.packed_by_adjective(PAIRS_COUNTED, adjectives, 2)
    parts = [packed.filter(pa.compute.equal(packed["part"], number)) for number in (0, 1)]
    tables = [by_adjective.association_rows(part, adjectives, "c") for part in parts]
    assert pa.concat_tables(tables).cast(rows.schema).equals(rows.sort_by(ORDER))


def test_pairs_are_packed_into_values_of_limited_size():
    count = 3 * PACKED_PAIRS
    pairs = pa.table(
        [["old"] * count, [f"n{i:06d}" for i in range(count)], [1] * count], schema=PAIRS
    )
    adjectives = Adjectives.of(pa.table([["old"], [count], [count]], schema=ADJECTIVES))
    packed = by_adjective.packed_by_adjective(pairs, adjectives)
    assert packed.num_rows == 3
    expected = association_of(pairs, adjectives, "c").cast(table("amod_by_adjective").schema)
    unpacked = by_adjective.association_rows(packed, adjectives, "c")
    assert unpacked.cast(expected.schema).equals(expected)


def test_no_pairs_give_no_values():
    _, adjectives = measured_pairs()
    assert by_adjective.packed_by_adjective(PAIRS_COUNTED.slice(0, 0), adjectives).num_rows == 0


def test_the_job_writes_the_table_and_rebuilds_it_if_it_is_missing(tmp_path):
    part = write_part(tmp_path / "a.gz", [("Red", "apple"), ("old", "key"), ("Red", "key")])
    lake = tmp_path / "lake"
    settings = conf.load(Settings, ["source=depcc", f"input={part}", f"lake={lake}"])
    extract(settings)
    expected = arrow.read(str(lake), "amod_association").sort_by(ORDER)
    assert arrow.read(str(lake), "amod_by_adjective").equals(expected)
    for path in (lake / "amod_by_adjective").rglob("*"):
        if path.is_file():
            path.unlink()
    extract(settings)
    assert arrow.read(str(lake), "amod_by_adjective").equals(expected)


def test_row_groups_are_small_enough_for_look_ups(tmp_path):
    declared = table("amod_by_adjective")
    rows, _ = measured_pairs()
    assert declared.group_rows is not None
    repeated_rows = pa.concat_tables([rows] * (declared.group_rows // len(COUNTED) + 1))
    arrow.append(
        str(tmp_path), "amod_by_adjective", repeated_rows.cast(declared.schema), job="test"
    )
    (file,) = arrow.files(str(tmp_path), "amod_by_adjective")
    metadata = pq.ParquetFile(tmp_path / "amod_by_adjective" / file.path).metadata
    assert metadata.num_row_groups == 2
    assert metadata.row_group(0).num_rows == declared.group_rows
