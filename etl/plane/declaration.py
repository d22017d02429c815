"""The declaration of PLANE."""

from adnominal.etl.declaration import (
    Dataset,
    Facts,
    ItemTable,
    Labels,
    Licence,
    Prompts,
    Release,
    Report,
    Scheme,
    Splits,
    Training,
    Whole,
)
from adnominal.etl.licences import PAIRS, UNKNOWN, WORDNET
from adnominal.etl.plane.questions import questions
from adnominal.etl.plane.tables import TABLES

DATASET = Dataset(
    name="plane",
    title="PLANE",
    heading="PLANE: phrase-level adjective-noun entailment",
    summary="Does an adjective-noun phrase entail its noun, a hypernym of it, or the adjective "
    "with the hypernym? By class of the adjective: intersective, subsective, intensional.",
    schemas=TABLES,
    tables=(
        ItemTable(
            "plane_items",
            "PLANE",
            pair=("premise", "conclusion"),
            single="sentence",
            words={
                "adjective": "adjective",
                "noun": "noun",
                "hypernym": "hypernym",
                "class": "class",
                "inference_type": "inference_type",
                "group": "group_id",
            },
            facts=Facts(
                counted=("class", "inference_type", "label", "distance"),
                distinct=("adjective", "noun", "hypernym"),
                texts=("sentence",),
            ),
            whole=Whole("items", first=False),
        ),
    ),
    splits=Splits(
        (
            Scheme(
                "published",
                "adjectives and nouns of the test are in no training row (as released)",
            ),
            Scheme(
                "strict",
                "adjectives, nouns and hypernyms of the test are in no training row",
                disjoint="adjective",
            ),
            Scheme("one_it", "the same, with only inference type 3"),
            Scheme(
                "in_distribution", "words of the test occur in training, their combinations do not"
            ),
            Scheme("two_shot", "items of the prompting experiments"),
        ),
        table="plane_splits",
        fold="fold",
    ),
    labels=Labels(("not entailed", "entailed"), numbered=True),
    training=Training(
        limits="Items come from rules over classes of adjectives, not from judgements.",
        groups=("class", "inference_type"),
        instruction="{first}\n{second}\nThe second is one of: {labels}.\nAnswer:",
        single_instruction="{first}\nThe inference is one of: {labels}.\nAnswer:",
        max_length=12,
        measure="f1",
    ),
    prompts=Prompts("plane", zero_shot="plane_zero_shot", group="class", number="inference_type"),
    questions=questions(),
    report=Report(
        paper_settings={"task.scheme": "published"},
        run_settings=("task.fold", "train_examples"),
        strata=("class", "inference_type"),
        audited={
            "adjective alone": "adjective",
            "phrase alone": "premise",
            "conclusion alone": "conclusion",
        },
    ),
    release=Release(
        "release of PLANE: its repository, or the folder of its splits", "plane=PLANE/"
    ),
    published=Licence(
        *UNKNOWN, ("The authors' release.", WORDNET, "Wikipedia: adjective-noun pairs.")
    ),
    built=Licence(
        "other",
        "https://wordnet.princeton.edu/license-and-commercial-use",
        ("Hypernyms are WordNet's: every copy must include its licence notice.",),
        (WORDNET, PAIRS, "This project's list of adjective classes (Apache-2.0)."),
    ),
)
