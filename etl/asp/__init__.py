"""ASP: entailment by degree, after the Adjective Scale Probe (Liu, Xiang and Ding, AAAI 2023).

Construction rules only: no Spark, no storage (`job` aside). `lexicon` reads the scales, `templates`
writes and reads sentences, `labels` holds the semantics, `entailment` and `degree` draw the rows of
the two tasks, `gold` fits thresholds to human judgements, `splits` assigns rows to fine-tuning
rounds, `audit` and `baselines` say what a model can reach without understanding.
"""

TESTS = (
    "ordering",
    "dimension",
    "argument",
    "booster",
    "diminisher",
    "negation",
    "comparative",
    "superlative",
)
# The ingredients of degree semantics: what fine-tuning trains on.
TRAINED = TESTS[:3]

ENTAILMENT = "entailment"
NOT_ENTAILMENT = "not_entailment"
DISCARD = "discard"
NEUTRAL = "neutral"
CONTRADICTION = "contradiction"
