"""Mutated and generated input for every reader (``make fuzz``, ``python -m tests.fuzz``).

A reader may take what it gets, count it as malformed, or refuse it by an error of the house. Any
other exception, and pairs that the compiled kernel counts otherwise than the reference, are faults.
"""
