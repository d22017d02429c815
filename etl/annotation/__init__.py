"""Annotation of ADEPT by people: export batches, import answers, build the dataset (section 4.1).

`batches` composes the questions, `forms` writes them for a platform, `answers` matches the returned
answers, `quality` and `aggregation` decide the labels, `agreement` measures how far people agree,
and `finishing` makes the rows of the table adept. `simulate` answers in place of people. `job` has
the verbs of ``etl/annotate_adept.py``.
"""
