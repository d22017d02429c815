"""Asking language models without training them (``training/prompt.py``).

`prompts` reads the prompts (conf/prompts) and `questions` fills them with the `items` of the lake.
`engine` has lm-evaluation-harness ask a model of `backends` (`local` and `masked` in this process,
`servers` elsewhere), and `answers` makes rows of predictions of what it says (`replies`). `job`
combines them, and `scores` has the papers' tables. `sentences` has the log-probabilities that a
model gives texts (``training/score.py method=logprob``).
"""
