"""SyGNS: English sentences with three scoped meanings each.

`fol`, `drs` and `vf` define the three forms, each with a parser and a printer; `translate`
converts between them; `polarity` derives the direction of each word; `terms` compiles lambda terms;
`grammar` reads ``conf/sygns/grammar.yaml`` and composes meanings; `generate` draws sentences;
`splits` assigns them to the tests of Yanaka et al. (Findings of ACL 2021). These modules use
neither Spark nor storage. `job` builds the tables sygns and sygns_splits.
"""
