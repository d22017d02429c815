"""SyGNS: English sentences with three scoped meanings each.

Construction rules only (sentences and formulas in, sentences and formulas out): no Spark, no
storage. `fol`, `drs` and `vf` own the three forms, each with parser and printer; `translate` maps
between them; `grammar` reads ``conf/sygns/grammar.yaml`` and composes meanings; `generate` draws
sentences; `splits` assigns them to the tests of Yanaka et al. (Findings of ACL 2021).
"""
