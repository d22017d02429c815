"""The lake written by Delta's connector in the JVM, beside delta-rs.

``make test`` runs this folder and the tests of `etl.lake` in a process of their own, where the jars
are (``make jars``).
"""
