"""The declaration of ASP."""

from adnominal.etl.asp import CONTRADICTION, DISCARD, ENTAILMENT, NEUTRAL, NOT_ENTAILMENT, TESTS
from adnominal.etl.asp.tables import TABLES
from adnominal.etl.declaration import (
    Dataset,
    Facts,
    ItemTable,
    Labels,
    Licence,
    Prompts,
    Question,
    Release,
    Report,
    Scheme,
    Splits,
    Training,
    Whole,
)
from adnominal.etl.licences import APACHE_2, UNKNOWN

_WORDS = {"adjective": "adjective", "noun": "noun", "test": "test"}
_TEXTS = ("premise", "hypothesis")

DATASET = Dataset(
    name="asp",
    title="ASP",
    heading="ASP: the Adjective Scale Probe",
    summary="Entailment by degree: eight tests of what gradable adjectives entail, with only words "
    "and with numbers.",
    schemas=TABLES,
    tables=(
        ItemTable(
            "asp_entailment",
            "ASP",
            pair=_TEXTS,
            words=_WORDS,
            facts=Facts(("test", "label"), ("adjective", "noun"), _TEXTS),
            whole=Whole("entailment", "every row of the edition, not split"),
        ),
        ItemTable(
            "asp_degree",
            "ASP degrees",
            pair=_TEXTS,
            words={**_WORDS, "polarity": "polarity", "z": "z", "group": "group"},
            facts=Facts(("test", "variant", "label", "gold"), ("adjective", "noun"), _TEXTS),
            whole=Whole("degree", "every row of the edition, not split"),
        ),
    ),
    splits=Splits(
        (
            Scheme(
                "adjectives",
                "entailment inference; half of the adjectives held out",
                table="asp_entailment",
            ),
            Scheme(
                "dimension",
                "degree estimation; one physical dimension held out",
                table="asp_degree",
            ),
        ),
        table="asp_splits",
        fold="round",
    ),
    labels=Labels((ENTAILMENT, NOT_ENTAILMENT), unanswerable=(DISCARD,)),
    trained_labels=Labels((ENTAILMENT, NEUTRAL, CONTRADICTION), column="label3"),
    training=Training(
        limits="Hypotheses are templates; scores there say little about free text.",
        groups=("test", "variant", "numbers"),
    ),
    prompts=Prompts("asp", group="test"),
    questions=(
        Question(
            '{{premise}}\nQuestion: Does this entail that "{{hypothesis}}"? Yes or no?\nAnswer:',
            {NOT_ENTAILMENT: "No", ENTAILMENT: "Yes"},
            ("item_id", *_TEXTS),
            by="test",
            values=TESTS,
            where={"variant": "base"},
            whole=True,
        ),
    ),
    report=Report(
        run_settings=("task.round", "train_examples"),
        strata=("test",),
        audited={"premise alone": "premise", "hypothesis alone": "hypothesis"},
    ),
    release=Release(
        "release of ASP: its repository, or the folder data/ in it", "asp=AdjectiveScaleProbe/"
    ),
    published=Licence(*UNKNOWN, ("The authors' release.",)),
    built=Licence(
        *APACHE_2,
        ("Generated from this project's lexicon of scales.",),
        (
            "This project's lexicon of scales (Apache-2.0).",
            "Thresholds of degree estimation: human judgements from the source with which the "
            "table asp_degree was built; by default those published with the paper.",
        ),
    ),
)
