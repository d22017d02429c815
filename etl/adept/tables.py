"""The tables of ADEPT."""

from __future__ import annotations

import pyarrow as pa

from etl.lake.columns import ADJECTIVE, COUNT, EDITION, FLAG, NOUN, TEXT, Table, column

TABLES = (
    Table(
        "adept_entries",
        "Nouns that ADEPT's items are made of, each with its adjectives.",
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
        "ADEPT before annotation: a sentence, and the same with an adjective before its noun.",
        pa.schema(
            [
                column("item_id", TEXT, "content hash of sentence, adjective and noun"),
                NOUN,
                column("relation", TEXT, "relation of the predicate, as CapableOf"),
                column("predicate", TEXT, "what is said of the noun"),
                ADJECTIVE,
                column("nonsubsective", FLAG, "whether the adjective is non-subsective"),
                column("variant", pa.int32(), "number among the variants of its sentence, from 0"),
                column("chosen", FLAG, "whether it is the variant that is annotated"),
                column("sentence", TEXT, "the sentence without the adjective"),
                column("modified_sentence", TEXT, "the sentence with it"),
                column("path", TEXT, "surface_text, or template where the edge has no text"),
                column("edge", TEXT, "URI of the edge of ConceptNet that the sentence is made of"),
                EDITION,
            ]
        ),
        ("edition",),
        built_by="etl/build_adept.py",
    ),
    Table(
        "adept_batches",
        "What annotators are shown, and the key to it, which their files do not hold.",
        pa.schema(
            [
                column("question_id", TEXT, "hash that stands for the question in the files"),
                column("batch", TEXT, "name of the batch"),
                column("page", TEXT, "page of the batch"),
                column("place", pa.int32(), "place on the page, from 1"),
                column("kind", TEXT, "item, gold or attention"),
                column("item_id", TEXT, "id in adept_items, or of the check"),
                column("expected", pa.int32(), "label that a check expects; audited label; null"),
                column("sentence1", TEXT, "first text shown: the sentence, or the noun alone"),
                column("sentence2", TEXT, "second text: the same with the adjective"),
                column("round", TEXT, "pilot, main, expert, human or audit"),
                column("condition", TEXT, "context or no_context"),
                column("platform", TEXT, "mturk, label_studio or csv"),
                EDITION,
            ]
        ),
        ("round",),
        built_by="etl/annotate_adept.py export batch=…",
    ),
    Table(
        "adept_annotations",
        "Answers of annotators to items of ADEPT, quality checks included.",
        pa.schema(
            [
                column("item_id", TEXT, "id in adept_items, or of the check"),
                column("annotator", TEXT, "keyed hash of the platform's id"),
                column(
                    "label", pa.int32(), "0 impossible to 4 necessarily true; audit: the finding"
                ),
                column("expected", pa.int32(), "label that a check expects; audited label; null"),
                column("seconds", pa.float64(), "share of the page's time, if the platform tells"),
                column("kind", TEXT, "item, gold or attention"),
                column("round", TEXT, "pilot, main, expert, human or audit"),
                column("condition", TEXT, "context or no_context"),
                column("platform", TEXT, "mturk, label_studio or csv"),
                column("batch", TEXT, "batch that it was exported in"),
                column("page", TEXT, "page of the batch that it stood on"),
            ]
        ),
        ("round",),
        built_by="etl/annotate_adept.py import batch=…",
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
