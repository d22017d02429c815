"""Checks of any dataset: what the parts of a split share, and what a single feature tells.

`splits` and its job ``etl/check_splits.py`` compare the parts of a split, `artefacts` and its job
``etl/audit_pairs.py`` look for features of the texts that predict the label by themselves.
"""
