"""The declaration of ADEPT."""

from adnominal.etl.adept import LABELS
from adnominal.etl.adept.tables import TABLES
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
)
from adnominal.etl.licences import BY_SA_4, CONCEPTNET, PAIRS, WORDNET

_SPLITS = Splits(
    (
        Scheme("random", "split over instances, as published"),
        Scheme("noun_disjoint", "no noun in two parts", disjoint="noun"),
        Scheme("adjective_disjoint", "no adjective in two parts", disjoint="adjective"),
    ),
    setting="split",
)

DATASET = Dataset(
    name="adept",
    title="ADEPT",
    heading="ADEPT: adjective-dependent plausibility",
    summary="Pairs of sentences of which the second has an additional adjective, labelled by how "
    "it changes the plausibility of the statement.",
    schemas=TABLES,
    tables=(
        ItemTable(
            "adept",
            "ADEPT",
            pair=("sentence1", "sentence2"),
            without_context=("noun", "modifier"),
            words={"adjective": "modifier", "noun": "noun"},
            facts=Facts(
                counted=("label", "agreement", *_SPLITS.columns),
                distinct=("noun", "modifier"),
                texts=("sentence1", "sentence2"),
            ),
        ),
    ),
    unlabelled=(
        ItemTable(
            "adept_items",
            "ADEPT, not annotated",
            pair=("sentence", "modified_sentence"),
            without_context=("noun", "adjective"),
            words={"adjective": "adjective", "noun": "noun"},
            facts=Facts(
                counted=("relation", "path", "nonsubsective", "chosen"),
                distinct=("noun", "adjective", "sentence"),
                texts=("sentence", "modified_sentence"),
            ),
        ),
    ),
    splits=_SPLITS,
    labels=Labels(LABELS, numbered=True, ordered=True),
    training=Training(
        limits="Labels are judgements of plausibility by the edition's annotators, which in a "
        "demonstration are simulated. Adjectives of identity (of age, colour, gender, religion) "
        "can lower the abilities that the model ascribes to a person; do not use it to judge "
        "people.",
        groups=("agreement",),
        instruction="{first}\n{second}\n"
        "Compared with the first, the second is one of: {labels}.\nAnswer:",
        max_length=128,
    ),
    prompts=Prompts("adept"),
    questions=(
        Question(
            # The annotators' question (table 3 of the paper).
            "Original: {{sentence1}}\nModified: {{sentence2}}\n"
            "Compared with the original, the modified statement is",
            {label: label for label in LABELS},
            ("item_id", "sentence1", "sentence2", "modifier", "noun"),
        ),
    ),
    report=Report(
        paper_settings={"task.split": "random", "task.context": "true", "task.classes": "5"},
        audited={
            "modifier alone": "modifier",
            "noun alone": "noun",
            "sentence without the modifier": "sentence1",
            "sentence with the modifier": "sentence2",
        },
    ),
    release=Release("release of ADEPT: the folder of its JSON files", "adept=adept/"),
    published=Licence(
        "cc-by-sa-3.0",
        "https://creativecommons.org/licenses/by-sa/3.0/",
        (
            "Published under CC BY-SA 3.0; credit the authors and share changes under the same "
            "licence.",
            "Words counted in Common Crawl are subject to its terms of use "
            "(https://commoncrawl.org/terms-of-use).",
        ),
        ("The authors' release.", CONCEPTNET, "Wikipedia and DepCC: adjective-noun pairs."),
    ),
    built=Licence(
        *BY_SA_4,
        ("Sentences are derived from ConceptNet's, so its CC BY-SA 4.0 applies to them.",),
        (CONCEPTNET, PAIRS, WORDNET),
    ),
)
