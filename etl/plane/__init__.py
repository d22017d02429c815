"""PLANE: phrase-level adjective–noun entailment, after Bertolini, Weeds and Weir (COLING 2022).

`rules` defines what a phrase entails and how it is written, `items` builds the items from pairs,
and `pool` and `splits` choose the training and test items.
"""

CLASSES = ("I", "S", "O")
"""Intersective, subsective and intensional adjectives (section 3.1)."""

TYPES = (1, 2, 3)
"""Inference types: AN entails N, AN entails h(N), AN entails A h(N)."""

SCHEMES = ("published", "strict", "one_it", "in_distribution", "two_shot")
