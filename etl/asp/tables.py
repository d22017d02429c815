"""The tables of ASP."""

import pyarrow as pa

from adnominal.etl.annotation.tables import annotations_table, batches_table
from adnominal.etl.lake.columns import COUNT, EDITION, TEXT, Table, column

_TEST = column("test", TEXT, "ordering, dimension, argument, booster, diminisher, …")
_LABEL = column("label", TEXT, "entailment, not_entailment or discard")
_LABEL3 = column("label3", TEXT, "label for fine-tuning; null in tests without training")

TABLES = (
    Table(
        "asp_entailment",
        "ASP, entailment inference: a premise and hypothesis with a gradable adjective each.",
        pa.schema(
            [
                column("item_id", TEXT, "content hash of test, premise and hypothesis"),
                _TEST,
                column("premise", TEXT, "the premise"),
                column("hypothesis", TEXT, "the hypothesis"),
                _LABEL,
                _LABEL3,
                column("adjective", TEXT, "adjective of the premise"),
                column("other_adjective", TEXT, "the hypothesis's, if it differs"),
                column("noun", TEXT, "noun of the premise"),
                column("other_noun", TEXT, "the hypothesis's, or the noun of the comparison"),
                column("modifier", TEXT, "booster or diminisher"),
                column("adjective_type", TEXT, "relative, minimum or maximum standard"),
                EDITION,
            ]
        ),
        ("edition", "test"),
        "etl/build_asp.py",
    ),
    Table(
        "asp_degree",
        "ASP, degree estimation: is a number enough for an adjective, given two others?",
        pa.schema(
            [
                column("item_id", TEXT, "content hash of test, premise and hypothesis"),
                _TEST,
                column("variant", TEXT, "base, or the exchanged part: sentences, numbers, both"),
                column("group", pa.int32(), "forty rows of one premise, numbered in their test"),
                column("dimension", TEXT, "length, mass, temperature or price"),
                column("unit", TEXT, "unit of the numbers"),
                column("adjective", TEXT, "adjective of the hypothesis"),
                column("other_adjective", TEXT, "the premise's other adjective"),
                column("noun", TEXT, "noun of the premise"),
                column("other_noun", TEXT, "the hypothesis's, if it differs"),
                column("polarity", TEXT, "positive or negative: the side of the hypothesis"),
                column("positive_value", pa.float64(), "number of the positive adjective"),
                column("negative_value", pa.float64(), "number of the negative adjective"),
                column("alpha", pa.float64(), "number of the hypothesis"),
                column("z", pa.float64(), "alpha with the premise's numbers at 120 and 80"),
                column("premise", TEXT, "the two sentences"),
                column("hypothesis", TEXT, "the hypothesis"),
                _LABEL,
                _LABEL3,
                column("gold", TEXT, "source of the label: sigmoid, empirical or rule"),
                column("extrapolated", pa.bool_(), "whether z is outside the judged range"),
                EDITION,
            ]
        ),
        ("edition", "test"),
        "etl/build_asp.py",
    ),
    Table(
        "asp_splits",
        "Which part of which round of fine-tuning a row of ASP belongs to.",
        pa.schema(
            [
                column("scheme", TEXT, "adjectives or dimension, which are held out"),
                column("round", TEXT, "number of the round, or the held-out dimension"),
                column("part", TEXT, "train, val or test"),
                column("item_id", TEXT, "id in asp_entailment or asp_degree"),
                EDITION,
            ]
        ),
        ("edition", "scheme"),
        "etl/build_asp.py",
    ),
    Table(
        "asp_human",
        "Human judgements of degree: shares of yes with the fitted curve and its threshold.",
        pa.schema(
            [
                _TEST,
                column("polarity", TEXT, "positive or negative"),
                column("z", pa.float64(), "number, with the premise's at 120 and 80"),
                column("share", pa.float64(), "share of yes"),
                column("n", COUNT, "judgements; null where only shares are known"),
                column("fit", pa.float64(), "sigmoid fitted between 60 and 138, from 0 to 1"),
                column("threshold", pa.float64(), "z where the sigmoid is one half"),
                column("standard_error", pa.float64(), "standard error of the fitted threshold"),
                column("source", TEXT, "source of the judgements"),
            ]
        ),
        ("source",),
        "etl/annotate_asp.py finish source=…",
    ),
    batches_table(
        "asp_batches",
        "asp_degree",
        ("first text shown: the premise", "second text: the hypothesis"),
        "annotate_asp",
    ),
    annotations_table(
        "asp_annotations",
        "asp_degree",
        ("People's judgements of ASP's degrees, quality checks included.", "0 no, 1 yes"),
        "annotate_asp",
    ),
)
