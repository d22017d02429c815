"""Datasets as others read them: Hugging Face folders, lm-evaluation-harness tasks, Croissant
metadata, SyGNS's TSV.

`content` says which rows make up a dataset's configurations and writes them, `sources` under which
licences and of what they come; `huggingface`, `croissant`, `harness` and `tsv` each add what their
readers want. ``python -m analysis.export`` (`job`) puts these together.
"""
