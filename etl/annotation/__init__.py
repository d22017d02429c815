"""Annotation of ADEPT by people: batches out, answers in, the labelled dataset (section 4.1).

`batches` composes the questions, `forms` writes them for a platform, `answers` matches what comes
back, `quality` and `aggregation` decide the labels, `agreement` measures how far people agree, and
`finishing` makes the rows of the table adept. `simulate` answers in the place of people. `job` has
the verbs of ``etl/annotate_adept.py``.
"""
