"""The tables of SyGNS."""

import pyarrow as pa

from adnominal.etl.lake.columns import EDITION, TEXT, Table, column

_POLARITY = pa.list_(pa.struct([("word", TEXT), ("direction", TEXT)]))

TABLES = (
    Table(
        "sygns",
        "SyGNS: sentences of a small grammar with three scoped meanings each.",
        pa.schema(
            [
                column("sentence_id", TEXT, "content hash of sentence and depth"),
                column("depth", pa.int32(), "embedded clauses, from 0"),
                column("sentence", TEXT, "the sentence"),
                column("fol", TEXT, "first-order formula"),
                column("drs", TEXT, "discourse representation structure, clause form"),
                column("vf", TEXT, "variable-free formula"),
                column("polarity_fol", _POLARITY, "words of the formula, left to right"),
                column("polarity_vf", _POLARITY, "words of the variable-free formula"),
                column("phenomena", pa.list_(TEXT), "phenomena that the sentence shows"),
                EDITION,
            ]
        ),
        ("edition", "depth"),
        built_by="etl/build_sygns.py",
    ),
    Table(
        "sygns_splits",
        "Which part of which test a SyGNS sentence belongs to.",
        pa.schema(
            [
                column("scheme", TEXT, "systematicity, quantifier_negation, productivity, …"),
                column("primitive", TEXT, "primitive quantifier; empty if there is none"),
                column("part", TEXT, "train, val or test"),
                column("sentence_id", TEXT, "id in table sygns"),
                EDITION,
            ]
        ),
        ("edition", "scheme"),
        built_by="etl/build_sygns.py",
    ),
)
