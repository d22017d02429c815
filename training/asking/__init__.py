"""Prompting of language models without training (``training/prompt.py``).

`prompts` reads the prompts (conf/prompts), `items` fills them with rows of the lake, `scoring` has
the three kinds of model, `cache` stores their answers, and `job` combines them.
"""
