"""The tables of ADEPT."""

import pyarrow as pa

from adnominal.etl.annotation.tables import annotations_table, batches_table
from adnominal.etl.lake.columns import ADJECTIVE, COUNT, EDITION, FLAG, NOUN, TEXT, Table, column

TABLES = (
    Table(
        "adept_entries",
        "The nouns of ADEPT's items, each with its adjectives.",
        pa.schema(
            [
                NOUN,
                column(
                    "adjectives",
                    pa.list_(
                        pa.struct([("adjective", TEXT), ("count", COUNT), ("nonsubsective", FLAG)])
                    ),
                    "adjectives of the noun, most frequent first",
                ),
                EDITION,
            ]
        ),
        ("edition",),
        built_by="etl/build_adept.py",
    ),
    Table(
        "adept_items",
        "ADEPT before annotation: a sentence without and with an adjective before its noun.",
        pa.schema(
            [
                column("item_id", TEXT, "content hash of sentence, adjective and noun"),
                NOUN,
                column("relation", TEXT, "relation of the predicate, as CapableOf"),
                column("predicate", TEXT, "the predicate about the noun"),
                ADJECTIVE,
                column("nonsubsective", FLAG, "whether the adjective is non-subsective"),
                column("variant", pa.int32(), "number among the variants of its sentence, from 0"),
                column("chosen", FLAG, "whether it is the variant that is annotated"),
                column("sentence", TEXT, "the sentence without the adjective"),
                column("modified_sentence", TEXT, "the sentence with it"),
                column("path", TEXT, "surface_text, or template if the edge has no text"),
                column("edge", TEXT, "URI of the ConceptNet edge behind the sentence"),
                EDITION,
            ]
        ),
        ("edition",),
        built_by="etl/build_adept.py",
    ),
    batches_table(
        "adept_batches",
        "adept_items",
        (
            "first text shown: the sentence, or the noun alone",
            "second text: the same with the adjective",
        ),
        "annotate_adept",
    ),
    annotations_table(
        "adept_annotations",
        "adept_items",
        (
            "Answers of annotators to items of ADEPT, quality checks included.",
            "0 impossible to 4 necessarily true; audit: the finding",
        ),
        "annotate_adept",
    ),
    Table(
        "adept",
        "ADEPT: how an adjective changes the plausibility of a sentence.",
        pa.schema(
            [
                column("item_id", TEXT, "content hash of sentence, adjective and noun"),
                column("sentence1", TEXT, "the sentence without the adjective"),
                column("sentence2", TEXT, "the sentence with it"),
                column("modifier", TEXT, "the adjective"),
                NOUN,
                column("label", pa.int32(), "0 impossible to 4 necessarily true"),
                column("agreement", TEXT, "unanimous or majority; null where not published"),
                column("split_random", TEXT, "train, val or test, over instances"),
                column("split_noun_disjoint", TEXT, "the same, no noun in two parts"),
                column("split_adjective_disjoint", TEXT, "the same, no adjective in two parts"),
                EDITION,
            ]
        ),
        ("edition",),
        built_by="etl/annotate_adept.py finish",
    ),
)
