"""The tables of ADEPT."""

import pyarrow as pa

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
    Table(
        "adept_batches",
        "The questions for annotators, and their meaning, which is not in their files.",
        pa.schema(
            [
                column("question_id", TEXT, "hash that identifies the question in the files"),
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
