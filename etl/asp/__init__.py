"""ASP: entailment by degree, after the Adjective Scale Probe (Liu, Xiang and Ding, AAAI 2023).

`lexicon` reads the scales of adjectives, `templates` writes and parses sentences, `labels` has the
semantics, `entailment` and `degree` draw the rows of the two tasks, `controls` their control rows,
`gold` fits thresholds to human judgements (`judgements`), `splits` and `rounds` make the rounds of
fine-tuning, `baselines` measures what a model can reach without understanding. These modules use
neither Spark nor the lake. `job` is the job of ``etl/build_asp.py``; people judge degrees through
`etl.annotation`, asked as in `annotation_task`.
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
# The ingredients of degree semantics; fine-tuning trains on these tests.
TRAINED = TESTS[:3]

ENTAILMENT = "entailment"
NOT_ENTAILMENT = "not_entailment"
DISCARD = "discard"
NEUTRAL = "neutral"
CONTRADICTION = "contradiction"
