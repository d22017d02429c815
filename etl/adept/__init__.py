"""ADEPT: how an adjective changes the plausibility of a sentence (Emami et al., ACL 2021).

`words` selects the words, `predicates` and `phrases` turn ConceptNet's edges into sentences,
`variants` inserts adjectives, and `splits` and `baselines` work on the labelled rows. These are
independent of Spark and storage; `job` builds the tables adept_entries and adept_items with them.
"""

# The codes of the labels, 0 to 4 (the release's own note says 0 to 5; the data do not).
LABELS = ("impossible", "less likely", "equally likely", "more likely", "necessarily true")
