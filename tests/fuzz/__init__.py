"""Mutated and generated input for every reader (``make fuzz``, ``python -m tests.fuzz``).

A reader may read its input, count it as malformed, or refuse it with one of our errors. Any other
exception is a fault, and so are pairs that the compiled kernel and the reference count differently.
"""
