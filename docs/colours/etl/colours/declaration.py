"""Colours as the rest of Adnominal knows them."""

from adnominal.etl.colours import LABELS
from adnominal.etl.colours.tables import COLOURS
from adnominal.etl.declaration import (
    Dataset,
    Facts,
    ItemTable,
    Labels,
    Licence,
    Scheme,
    Splits,
    Training,
)
from adnominal.etl.licences import APACHE_2, PAIRS

_LICENCE = Licence(*APACHE_2, ("Counted pairs and a list of words.",), (PAIRS,))

DATASET = Dataset(
    name="colours",
    title="Colours",
    heading="Colours: phrases that say what colour a thing is",
    summary="Does an adjective-noun phrase say what colour a thing is?",
    schemas=(COLOURS,),
    tables=(
        ItemTable(
            "colours",
            "Colours",
            single="phrase",
            words={"adjective": "adjective", "noun": "noun"},
            facts=Facts(counted=("label",), distinct=("adjective", "noun"), texts=("phrase",)),
        ),
    ),
    splits=Splits(
        (Scheme("noun_disjoint", "no noun in two parts", disjoint="noun"),), setting="split"
    ),
    labels=Labels(LABELS, numbered=True),
    training=Training(limits="The labels come from a list of eight adjectives."),
    published=_LICENCE,
    built=_LICENCE,
    citation="None: an example.",
)
