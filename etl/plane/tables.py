"""The tables of PLANE."""

import pyarrow as pa

from adnominal.etl.lake.columns import ADJECTIVE, CORPUS, COUNT, EDITION, NOUN, TEXT, Table, column

TABLES = (
    Table(
        "plane_items",
        "PLANE: does an adjective–noun phrase entail its noun, a hypernym, or a phrase of it?",
        pa.schema(
            [
                column("item_id", TEXT, "hash of edition, inference type and the three words"),
                column("group_id", TEXT, "hash of adjective, noun and hypernym"),
                ADJECTIVE,
                column("class", TEXT, "I intersective, S subsective, O intensional"),
                column("noun", TEXT, "the noun; as in the text for the published edition"),
                column("hypernym", TEXT, "a hypernym of the noun"),
                column("distance", pa.int32(), "steps from noun to hypernym, 1 to 3; or null"),
                column("inference_type", pa.int32(), "1: AN is N, 2: AN is h(N), 3: AN is A h(N)"),
                column("premise", TEXT, "the phrase AN"),
                column("conclusion", TEXT, "the noun phrase that it is said to be"),
                column("label", pa.int32(), "1 if the inference holds, else 0"),
                column("sentence", TEXT, "premise and conclusion as one sentence"),
                EDITION,
            ]
        ),
        ("edition", "class"),
        built_by="etl/build_plane.py",
    ),
    Table(
        "plane_splits",
        "Which part of which fold of a split scheme an item of PLANE belongs to.",
        pa.schema(
            [
                column("scheme", TEXT, "published, strict, one_it, in_distribution or two_shot"),
                column("fold", TEXT, "number of the fold, from 1"),
                column("part", TEXT, "train, val or test"),
                column("item_id", TEXT, "id in table plane_items"),
                EDITION,
            ]
        ),
        ("edition", "scheme"),
        built_by="etl/build_plane.py",
    ),
    Table(
        "plane_association",
        "PMI of the phrases of PLANE, with the class of their adjectives (appendix A).",
        pa.schema(
            [
                CORPUS,
                ADJECTIVE,
                column("class", TEXT, "I intersective, S subsective, O intensional"),
                NOUN,
                column("count", COUNT, "occurrences of the phrase"),
                column("pmi", pa.float64(), "pointwise mutual information, bits"),
                EDITION,
            ]
        ),
        ("edition",),
        built_by="etl/build_plane.py",
    ),
)
