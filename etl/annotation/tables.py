"""The two tables of an annotated dataset: the questions that were asked, and their answers."""

import pyarrow as pa

from adnominal.etl.lake.columns import EDITION, TEXT, Table, column


def batches_table(name: str, items: str, texts: tuple[str, str], job: str) -> Table:
    """The table of questions; `items` is the table of the items, `texts` says what is shown."""
    return Table(
        name,
        "The questions for annotators, and their meaning, which is not in their files.",
        pa.schema(
            [
                column("question_id", TEXT, "hash that identifies the question in the files"),
                column("batch", TEXT, "name of the batch"),
                column("page", TEXT, "page of the batch"),
                column("place", pa.int32(), "place on the page, from 1"),
                column("kind", TEXT, "item, gold or attention"),
                column("item_id", TEXT, f"id in {items}, or of the check"),
                column("expected", pa.int32(), "label that a check expects; audited label; null"),
                column("sentence1", TEXT, texts[0]),
                column("sentence2", TEXT, texts[1]),
                column("round", TEXT, "pilot, main, expert, human or audit"),
                column("condition", TEXT, "context or no_context"),
                column("platform", TEXT, "mturk, label_studio or csv"),
                EDITION,
            ]
        ),
        ("round",),
        built_by=f"etl/{job}.py export batch=…",
    )


def annotations_table(name: str, items: str, about: tuple[str, str], job: str) -> Table:
    """The table of answers; `about` describes the table and its labels."""
    return Table(
        name,
        about[0],
        pa.schema(
            [
                column("item_id", TEXT, f"id in {items}, or of the check"),
                column("annotator", TEXT, "keyed hash of the platform's id"),
                column("label", pa.int32(), about[1]),
                column("expected", pa.int32(), "label that a check expects; audited label; null"),
                column("seconds", pa.float64(), "share of the page's time, if reported"),
                column("kind", TEXT, "item, gold or attention"),
                column("round", TEXT, "pilot, main, expert, human or audit"),
                column("condition", TEXT, "context or no_context"),
                column("platform", TEXT, "mturk, label_studio or csv"),
                column("batch", TEXT, "batch of the question"),
                column("page", TEXT, "page of the batch"),
            ]
        ),
        ("round",),
        built_by=f"etl/{job}.py import batch=…",
    )
