"""Trained models on rows with or without labels: predictions, and scores where there is gold.

`training/score.py` asks for the labelled rows of tasks (`targets`), `training/predict.py` for the
rows of a table (`table_rows`). Both go the same way: a model (`classifier`) answers the rows chunk
by chunk (`answers`), and a run that was killed continues with the chunks that are missing. `job`
has the two commands; `readings` and `label_map` say what a model's labels mean to a task, `matrix`
and `report` score the answers.
"""
