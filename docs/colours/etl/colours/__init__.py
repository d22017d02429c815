"""Colours: does an adjective–noun phrase say what colour a thing is?"""

LABELS = ("no colour", "colour")
ADJECTIVES = frozenset(("black", "blue", "brown", "green", "grey", "red", "white", "yellow"))


def label(adjective: str) -> int:
    """The number of the label of a phrase with the adjective."""
    return LABELS.index("colour" if adjective in ADJECTIVES else "no colour")
