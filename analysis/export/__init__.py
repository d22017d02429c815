"""Export of datasets: Hugging Face folders, lm-evaluation-harness tasks, Croissant metadata, and
SyGNS's TSV.

`content` selects the rows of a dataset's configurations and writes them, `provenance` has licences
and sources, `facts` the figures of the card; `huggingface`, `croissant`, `harness` and `tsv` each
add the files of their format. ``python -m analysis.export`` (`job`) combines these.
"""
