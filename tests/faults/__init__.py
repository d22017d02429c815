"""Every storage operation of the lake made to fail, one at a time (``python -m tests.faults``).

A small library in C stands below Python, Arrow and the engines written in Rust and numbers what
they do to files (`interposer`); commands on tiny lakes are run once in peace and then once for
each operation and fault (`enumeration`), or with a second writer at each operation (`writers`).
What must hold afterwards is in `judge`; that these checks see bugs is shown by planting some
(`planted`).
"""
