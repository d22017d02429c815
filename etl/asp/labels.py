"""What follows from what: the semantics of the eight tests (Liu et al. 2023, table 1, appendix)."""

from __future__ import annotations

from etl.asp import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_ENTAILMENT, TRAINED
from etl.asp.lexicon import Lexicon
from etl.asp.templates import WORLD, Pair

__all__ = ["entails", "label3", "name", "origin"]


def entails(pair: Pair, words: Lexicon) -> bool:
    """Whether the pair's premise entails its hypothesis.

    Raises:
        ValueError: the lexicon does not know the words' relation.
    """
    match pair.test:
        case "ordering":
            # The stronger word of a scale entails the weaker one.
            up = (pair.adjective, str(pair.other_adjective))
            if up not in words.weaker and up[::-1] not in words.weaker:
                raise ValueError("unknown order of adjectives")
            return up not in words.weaker
        case "dimension" | "argument":
            return False
        case "booster":
            return bool(pair.premise_mark)
        case "diminisher":
            return bool(pair.hypothesis_mark)
        case "negation":
            opposites = (pair.adjective, str(pair.other_adjective))
            if opposites not in words.complementary and opposites[::-1] not in words.complementary:
                raise ValueError("unknown opposites")
            # Contraries exclude each other; only complements leave nothing between them.
            return (
                not pair.premise_mark
                or words.complementary.get(opposites, False)
                or words.complementary.get(opposites[::-1], False)
            )
        case "comparative":
            standard = words.standards.get(pair.adjective)
            if standard is None:
                raise ValueError("unknown standard")
            # More dirt is dirt: a minimum standard holds of the one that has more. What has less
            # of a maximum (cleanness) does not reach it.
            return standard == ("maximum" if pair.hypothesis_mark else "minimum")
        case "superlative":
            return pair.premise_mark == WORLD
    raise ValueError(f"no test {pair.test}")


def origin(pair: Pair, words: Lexicon) -> str:
    """What decides `entails`: the ``lexicon`` (or the test's rule), a reference (``sourced``), or
    released rows (``attested``), which agree with their own label by design."""
    both = (pair.adjective, str(pair.other_adjective))
    match pair.test:
        case "ordering" | "negation":
            known = words.origins
            return known.get(both) or known.get(both[::-1]) or "lexicon"
        case "comparative":
            return words.origins.get(pair.adjective, "lexicon")
    return "lexicon"


def name(entailed: bool) -> str:
    """The label of table columns and of the published files."""
    return ENTAILMENT if entailed else NOT_ENTAILMENT


def label3(test: str, label: str) -> str | None:
    """The label for fine-tuning; null in the tests that are never trained on.

    What ordering does not entail is trained as contradiction, and dimension and argument as
    neutral ("Fine-tuning on the ASP").
    """
    if test not in TRAINED:
        return None
    if label == NOT_ENTAILMENT:
        return CONTRADICTION if test == "ordering" else NEUTRAL
    return label
