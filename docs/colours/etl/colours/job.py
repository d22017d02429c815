"""The build of the table colours: frequent pairs, each with its label and part."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import functions as F

from adnominal.etl.building import begin_build, collect_drops, drops_by_reason, pairs_of
from adnominal.etl.colours import label
from adnominal.etl.colours.settings import Settings
from adnominal.etl.colours.tables import COLOURS
from adnominal.etl.draws import content_hash, fraction
from adnominal.etl.engine import map_arrow
from adnominal.etl.lake.frames import spark_schema


def build(settings: Settings) -> None:
    """Colours: replaces edition=NAME in the table colours."""
    run = begin_build("build_colours", settings)
    pairs = pairs_of(run.lake, settings.corpus, "corpus")
    pairs = pairs.groupBy("adjective", "noun").agg(F.sum("count").alias("count"))
    rare = F.col("count") < settings.min_count
    judged = pairs.withColumn("reason", F.when(rare, "rare phrase"))
    edition, seed = settings.name, settings.seed

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            items = [
                item(adjective, noun, seed, edition)
                for adjective, noun in zip(*batch.to_pydict().values(), strict=True)
            ]
            yield pa.RecordBatch.from_pylist(items, COLOURS.schema)

    kept = judged.where("reason IS NULL").select("adjective", "noun")
    run.replace("colours", map_arrow(kept, rows, spark_schema(COLOURS.schema)))
    sample = F.concat_ws(" ", "adjective", "noun")
    run.write_dropped(collect_drops([drops_by_reason(judged, "colours", sample)]))


def item(adjective: str, noun: str, seed: int, edition: str) -> dict[str, object]:
    """A row of the table."""
    place = fraction(seed, "noun_disjoint", noun)
    return {
        "item_id": content_hash(adjective, noun),
        "adjective": adjective,
        "noun": noun,
        "phrase": f"{adjective} {noun}",
        "label": label(adjective),
        "split_noun_disjoint": "train" if place < 0.8 else "val" if place < 0.9 else "test",
        "edition": edition,
    }
