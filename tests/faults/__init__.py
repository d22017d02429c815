"""Faults at every storage operation of the lake, one at a time (``python -m tests.faults``).

A small C library below Python, Arrow and the engines in Rust numbers their operations on files
(`interposer`). Commands on tiny lakes run once undisturbed, then once for each operation and fault
(`enumeration`), or with a second writer at each operation (`writers`). `judge` checks the result;
planted bugs show that its checks work (`planted`).
"""
