"""Which rows are entailments: the semantics of the eight tests (Liu et al. 2023, table 1)."""

from adnominal.etl.asp import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_ENTAILMENT, TRAINED
from adnominal.etl.asp.lexicon import Lexicon
from adnominal.etl.asp.templates import WORLD, Pair


def entails(pair: Pair, lexicon: Lexicon) -> bool:
    """Whether the pair's premise entails its hypothesis.

    Raises:
        ValueError: the lexicon does not relate the words of the pair, or the test is unknown.
    """
    match pair.test:
        case "ordering":
            # The stronger word of a scale entails the weaker one.
            upward = (pair.adjective, str(pair.other_adjective))
            if upward not in lexicon.weaker and upward[::-1] not in lexicon.weaker:
                raise ValueError("unknown order of adjectives")
            return upward not in lexicon.weaker
        case "dimension" | "argument":
            return False
        case "booster":
            return bool(pair.premise_mark)
        case "diminisher":
            return bool(pair.hypothesis_mark)
        case "negation":
            opposites = (pair.adjective, str(pair.other_adjective))
            if opposites not in lexicon.complementary:
                raise ValueError("unknown opposites")
            # Both contraries may be false; of two complements one is always true.
            return not pair.premise_mark or lexicon.complementary[opposites]
        case "comparative":
            standard = lexicon.standards.get(pair.adjective)
            if standard is None:
                raise ValueError("unknown standard")
            # A thing that is dirtier than another exceeds the minimum standard, so it is dirty. One
            # that is less clean does not reach the maximum standard, so it is not clean.
            return standard == ("maximum" if pair.hypothesis_mark else "minimum")
        case "superlative":
            return pair.premise_mark == WORLD
    raise ValueError(f"no test {pair.test}")


def origin(pair: Pair, lexicon: Lexicon) -> str:
    """Return what decides `entails`: ``lexicon`` (or the test's rule), ``sourced`` or ``attested``.

    Sourced pairs are decided by a reference. Attested pairs are decided by the released rows, which
    therefore agree with their own label by design.
    """
    pair_words = (pair.adjective, str(pair.other_adjective))
    match pair.test:
        case "ordering" | "negation":
            known = lexicon.origins
            return known.get(pair_words) or known.get(pair_words[::-1]) or "lexicon"
        case "comparative":
            return lexicon.origins.get(pair.adjective, "lexicon")
    return "lexicon"


def name(is_entailed: bool) -> str:
    """The label in the tables and in the published files."""
    return ENTAILMENT if is_entailed else NOT_ENTAILMENT


def label3(test: str, label: str) -> str | None:
    """The label for fine-tuning; null in the tests that are never trained on.

    In ordering, what is not entailed is a contradiction; dimension and argument are neutral (paper,
    "Fine-tuning on the ASP").
    """
    if test not in TRAINED:
        return None
    if label == NOT_ENTAILMENT:
        return CONTRADICTION if test == "ordering" else NEUTRAL
    return label
