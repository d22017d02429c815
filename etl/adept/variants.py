"""Insert adjectives into sentences: which adjectives, and where (section 4.1, step 3).

The adjective goes directly before the noun's first token, and an indefinite article before it is
corrected. The release uses only the adjective's first letter (*an useful*, *a hour*), as does
``rule="letter"``; ``rule="sound"`` follows the pronunciation.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from adnominal.etl.adept.words import as_written
from adnominal.etl.draws import choose, content_hash, rank
from adnominal.etl.knowledge.english import ArticleRule, article

# A word includes its internal hyphens, so "beam" is not a token of "i-beam". Every other sign, even
# an apostrophe, ends the word.
_TOKEN = re.compile(r"[^\W_]+(?:[-_][^\W_]+)*")
_SPACED = re.compile(r"\S+")
_ARTICLE = re.compile(r"\b(an?)(\s+)$", re.IGNORECASE)


def item_id(sentence: str, adjective: str, noun: str, occurrence: int = 0) -> str:
    """Return the content hash of an item; `occurrence` distinguishes equal rows of a release."""
    return content_hash(sentence, adjective, noun, occurrence=occurrence)


def place_of(sentence: str, noun: str) -> tuple[int, int] | None:
    """Return the position of the noun's first token, in any case; None if it is not a token.

    A noun with a sign that ends words (the release has *ballerina`*) is found between spaces.
    """
    noun_form = noun.lower()
    tokens = _TOKEN if _TOKEN.fullmatch(noun_form) else _SPACED
    for match in tokens.finditer(sentence):
        if match[0].lower() == noun_form:
            return match.span()
    return None


def insert(sentence: str, adjective: str, noun: str, rule: ArticleRule = "sound") -> str | None:
    """Insert the adjective before the noun; return None if the noun is not a token.

    At the beginning of the sentence, the capital letter moves from the noun to the adjective.
    """
    place = place_of(sentence, noun)
    if place is None:
        return None
    start, end = sentence[: place[0]], sentence[place[0] :]
    match = _ARTICLE.search(start)
    if match:
        fitting = article(adjective, rule)
        fitting = fitting.capitalize() if match[1][0] == "A" else fitting
        start = start[: match.start()] + fitting + match[2]
    elif not start.strip("\"'“‘ "):
        adjective = adjective[:1].upper() + adjective[1:]
        end = end[:1].lower() + end[1:]
    return f"{start}{adjective} {end}"


@dataclass(frozen=True)
class Variant:
    """A modified sentence: its adjective, whether that is non-subsective, and if it is chosen."""

    number: int
    adjective: str
    nonsubsective: bool
    chosen: bool
    sentence: str


@dataclass(frozen=True)
class VariantRules:
    """How the variants of a sentence are made.

    Attributes:
        seed: the draws depend only on it, the noun and the sentence.
        size: maximum number of variants of a sentence.
        most_nonsubsective: maximum number of non-subsective adjectives among them.
        article: how *a* and *an* are chosen.
        names: whether adjectives from names are capitalised (*American*).
    """

    seed: int
    size: int = 4
    most_nonsubsective: int = 2
    article: ArticleRule = "sound"
    names: bool = True


def variants(
    sentence: str,
    noun: str,
    form: str,
    subsective: Sequence[str],
    nonsubsective: Sequence[str],
    rules: VariantRules,
) -> list[Variant]:
    """Return the sentence with adjectives of its noun.

    Args:
        noun: lemma of the noun.
        form: the noun's form in the sentence.
        subsective: the noun's other adjectives, in an order that does not depend on the run.
        nonsubsective: the non-subsective ones, which are used up to the limit of the rules.

    Returns:
        The variants in random order, one of them `chosen` for annotation; fewer than `rules.size`
        if the noun has too few adjectives, and none if the noun is not a token of the sentence.
    """
    key = (noun, sentence)
    seed, most = rules.seed, min(rules.size, rules.most_nonsubsective)
    special = choose(seed, len(nonsubsective), most, "non-subsective", *key)
    ordinary = choose(seed, len(subsective), rules.size - len(special), "subsective", *key)
    adjectives = [(nonsubsective[i], True) for i in special] + [
        (subsective[i], False) for i in ordinary
    ]
    chosen_number = rank(seed, "chosen", *key) % max(1, len(adjectives))
    result = []
    for number, index in enumerate(choose(seed, len(adjectives), len(adjectives), "order", *key)):
        adjective, flag = adjectives[index]
        written = as_written(adjective) if rules.names else adjective
        modified = insert(sentence, written, form, rules.article)
        if modified is None:
            return []
        result.append(Variant(number, adjective, flag, number == chosen_number, modified))
    return result
