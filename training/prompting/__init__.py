"""Language models asked by prompts, without training (``training/prompt.py``).

`prompts` reads what is asked (conf/prompts), `items` asks it of the rows of the lake, `scoring` has
the three kinds of model, `cache` keeps their answers, `job` brings it together.
"""
