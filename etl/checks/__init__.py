"""Checks of any split: what its parts share, and what one part tells about another.

`split_rows` reads the rows of a split, and `splits` compares its parts (``etl/check_splits.py``).
"""
