"""Checks of any dataset: overlap between the parts of a split, and single-feature artefacts.

`splits` and its job ``etl/check_splits.py`` compare the parts of a split. `artefacts` and its job
``etl/audit_pairs.py`` look for features of the text that predict the label by themselves.
"""
