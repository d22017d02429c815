"""The table of colours."""

import pyarrow as pa

from adnominal.etl.lake.columns import ADJECTIVE, EDITION, NOUN, TEXT, Table, column

COLOURS = Table(
    "colours",
    "Colours: does an adjective–noun phrase say what colour a thing is?",
    pa.schema(
        [
            column("item_id", TEXT, "content hash of adjective and noun"),
            ADJECTIVE,
            NOUN,
            column("phrase", TEXT, "the phrase"),
            column("label", pa.int32(), "1 where the phrase says what colour, else 0"),
            column("split_noun_disjoint", TEXT, "train, val or test, no noun in two parts"),
            EDITION,
        ]
    ),
    ("edition",),
    built_by="etl/build_colours.py",
)
