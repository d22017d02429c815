"""Make phrases from bare labels: *fly fighter aircraft*, *diamond ring*, *huge*.

An edge without surface text has labels without articles, often lemmatised (*learn many skill*).
Only label shapes that leave little doubt are turned into English phrases. Function words that a
label has lost (*come library*) cannot be restored, so a list names the verbs that take no object,
and a word in a noun's position must not be primarily a verb.
"""

from collections.abc import Sequence

from adnominal.etl.adept.words import Words, forms, lists
from adnominal.etl.knowledge.english import article, is_plural, lemmas, plural, word_set

_DETERMINERS = word_set("a an the some your my our their his her its")
_NUMBERS = word_set("two three four five six seven eight nine ten twelve many several")
_NO_NOUNS = ("rarely_nouns", "pronouns", "determiners", "names", "capitals")
_DEGREES = word_set("very quite usually often generally extremely")
# WordNet has these as verbs, but in a label they are the remains of a phrase.
_PARTICLES = word_set("down in off on out over round through up")
# Objects without a determiner.
_PRONOUNS = word_set("you it them us him me himself itself themselves something someone")


def is_noun(word: str, words: Words) -> bool:
    """Whether a word can serve as a noun: WordNet has it, and primarily as a noun."""
    if any(word in lists()[name] for name in _NO_NOUNS):
        return False
    if words.has(word, "n"):
        # The noun "cold" is rarer than the gradable adjective; the same holds for "fast".
        return not (words.has(word, "a") and forms(word, "JJR")) and not words.has(word, "r")
    return is_plural(word) and any(words.has(one, "n") for one in lemmas(word, "NOUN"))


def is_adjective(word: str, words: Words) -> bool:
    """Whether a word is primarily an adjective in WordNet: it is gradable or not also a noun."""
    if not words.has(word, "a") or word in lists()["determiners"] | lists()["rarely_predicates"]:
        return False
    return bool(forms(word, "JJR")) or not (words.has(word, "n") or words.has(word, "r"))


def is_base_verb(word: str, words: Words) -> bool:
    """Whether a word can be a verb's base form."""
    if word in _PARTICLES or not words.has(word, "v"):
        return False
    return not lemmas(word, "VERB") or word in lemmas(word, "VERB")


def is_gerund(word: str) -> bool:
    """*making*; not *spring*."""
    return word.endswith("ing") and any(one != word for one in lemmas(word, "VERB"))


def is_mass(noun: str) -> bool:
    """Whether a singular noun is used without an article: *gasoline*, *music*.

    The dictionary calls every noun with such a use invariable, which is half of them. So nouns that
    have no other plural are mass nouns (*music*), and of the others only those that are listed.
    """
    known = forms(noun, "NNS")
    if noun not in known or noun in lists()["countable"]:
        return False
    return len(known) == 1 or noun in lists()["mass"] or noun.endswith(("ness", "ism", "ics"))


def gerund(verb: str) -> str | None:
    """Return the form in *-ing*, or None if the dictionary has none."""
    return next(iter(forms(verb, "VBG")), None)


def participle(verb: str) -> str | None:
    """Return the past participle, or None if the dictionary has none."""
    return next(iter(forms(verb, "VBN")), next(iter(forms(verb, "VBD")), None))


def noun_phrase(label: Sequence[str], words: Words) -> str | None:
    """Return a label as a noun phrase with the required article, or None.

    Shapes: noun, adjective and noun, number and noun, a compound that WordNet has; each also with
    its own determiner, whose article is then corrected.
    """
    if not label:
        return None
    first, rest = label[0], list(label[1:])
    if first in _DETERMINERS and rest:
        inner = _bare_phrase(rest, words)
        if inner is None or (first in ("a", "an") and is_plural(inner)):
            return None
        return f"{article(inner) if first in ('a', 'an') else first} {inner}"
    if (first in _NUMBERS or (first.isdigit() and first not in ("0", "1"))) and rest:
        inner = _bare_phrase(rest, words)
        if inner is None or (inner in forms(inner, "NNS") and not is_plural(inner)):
            return None
        return f"{first} {plural(inner)}"
    inner = _bare_phrase(list(label), words)
    if inner is None:
        return None
    if is_plural(inner) or is_mass(inner.split()[-1]):
        return inner
    return f"{article(inner)} {inner}"


def _bare_phrase(label: list[str], words: Words) -> str | None:
    """Return a noun, adjective and noun, or a WordNet compound; None for anything else."""
    *front, noun = label
    text = " ".join(label)
    if len(label) > 3 or not is_noun(noun, words) or is_gerund(noun):
        return None
    if not front or words.has(text, "n"):
        return text
    if words.has(" ".join(label[1:]), "n") and is_adjective(front[0], words):
        return text
    if len(front) == 1 and is_adjective(front[0], words):
        return text
    return None


def adjective_phrase(label: Sequence[str], words: Words) -> str | None:
    """Return an adjective, alone or after an adverb of degree (*very small*); else None."""
    if len(label) == 2 and label[0] in _DEGREES:
        inner = adjective_phrase(label[1:], words)
        return f"{label[0]} {inner}" if inner else None
    if len(label) != 1 or not is_adjective(label[0], words):
        return None
    return label[0]


def verb_phrase(label: Sequence[str], words: Words) -> tuple[str, str] | None:
    """Return a label as a verb's base form and its object (a noun phrase or nothing), or None."""
    if not label or not is_base_verb(label[0], words):
        return None
    verb, rest = label[0], label[1:]
    if verb in ("be", "have", "do"):
        return None
    if not rest:
        return (verb, "") if verb in lists()["intransitive"] | lists()["either"] else None
    if verb in lists()["intransitive"]:
        return None
    if len(rest) == 1 and rest[0] in _PRONOUNS:
        return verb, rest[0]
    phrase = noun_phrase(rest, words)
    return (verb, phrase) if phrase else None
