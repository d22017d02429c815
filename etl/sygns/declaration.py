"""The declaration of SyGNS."""

from adnominal.etl.declaration import (
    Dataset,
    Facts,
    ItemTable,
    Licence,
    Prompts,
    Release,
    Scheme,
    Splits,
    Training,
    Whole,
)
from adnominal.etl.licences import BY_SA_4
from adnominal.etl.sygns.tables import TABLES

DATASET = Dataset(
    name="sygns",
    title="SyGNS",
    heading="SyGNS: systematic generalisation of scoped meanings",
    summary="Sentences of a small grammar, each with a first-order formula, a discourse "
    "representation structure and a variable-free formula.",
    schemas=TABLES,
    tables=(
        ItemTable(
            "sygns",
            "SyGNS",
            item="sentence_id",
            single="sentence",
            words={"sentence": "sentence", "depth": "depth", "phenomena": "phenomena"},
            facts=Facts(("depth",), ("sentence",), ("sentence",)),
            whole=Whole("sentences", "every sentence of the edition, not split"),
        ),
    ),
    splits=Splits(
        (
            Scheme(
                "systematicity",
                "tested on quantifiers with modifiers that they were not trained with",
            ),
            Scheme(
                "quantifier_negation",
                "tested on quantifiers with negation that they were not trained with",
            ),
            Scheme("productivity", "trained on depths 0 and 1, tested on deeper sentences"),
            Scheme(
                "embedded_quantifiers",
                "trained on one, two, every below depth 0, tested on a, three, all",
            ),
        ),
        table="sygns_splits",
        fold="primitive",
    ),
    training=Training(
        limits="Sentences are of a small generated grammar; other words are unknown to the model.",
        groups=("quantifier", "modifier", "depth"),
        single_instruction="{first}\nMeaning:",
    ),
    prompts=Prompts("sygns"),
    hub_task="text-generation",
    layout="tsv",
    release=Release("release of SyGNS: its repository, or a TSV file", "sygns=SyGNS/", sample=True),
    published=Licence(
        *BY_SA_4,
        ("Published under CC BY-SA 4.0; credit the authors and share alike.",),
        ("The authors' release.",),
    ),
    built=Licence(
        *BY_SA_4,
        ("Vocabulary and grammar follow the published data, which is under CC BY-SA 4.0.",),
        ("This project's grammar, after the paper's table 12.",),
    ),
)
