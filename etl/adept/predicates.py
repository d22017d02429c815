"""Turn ConceptNet's edges into sentences (section 4.1, step 2): by surface text or a template.

The surface text loses its brackets, modals are replaced (*A dog can bark* becomes *A dog barks*),
the first letter is a capital and a full stop ends it. ``paper`` does that as in the release: every
subject takes a singular verb (*Friends makes a promise*), and edges without surface text are
dropped. ``clean`` makes verbs agree with subjects, corrects articles, drops edges that do not fit
their frame, and makes sentences from edges without surface text if their labels allow it.

A reason to drop an edge is the message of `Unfit`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from adnominal.etl.adept import phrases
from adnominal.etl.adept.variants import place_of
from adnominal.etl.adept.words import Words, forms, lists
from adnominal.etl.knowledge.english import (
    article,
    is_plural,
    lemmas,
    singular,
    third_person,
    word_set,
)
from adnominal.etl.knowledge.lexicons import relation_templates

DEFAULT_RELATIONS = ("CapableOf", "HasProperty", "ReceivesAction", "HasA", "UsedFor")
# The release has about five hundred sentences of the last two.
RELATIONS = (*DEFAULT_RELATIONS, "Causes", "HasSubevent")
LONGEST = 20  # words; the release's longest sentence has 17

# An argument in surface text: "[[A dog]] can [[bark]]" has two.
_GROUP = re.compile(r"\[\[(.*?)\]\]")
_SUBJECT = re.compile(
    r"(?:(?P<determiner>an?|the|some|many|most|all|every|each|any|one|this|that|these|those|your|my"
    r"|our|their|his|her)\s+)?(?P<noun>[a-z][a-z-]*)",
    re.IGNORECASE,
)
_MODAL = r"(?:can|could|may|might|will|would)"
_ADVERB = r"(?:also|often|sometimes|usually|always|generally|typically|normally|frequently)"
# The frames of surface text: what stands before the subject, or between it and the predicate.
_YOU_USE = re.compile(rf"(?:you|people|one) (?:{_MODAL} )?(?:also )?use", re.IGNORECASE)
_USED = re.compile(rf"{_MODAL} (?:{_ADVERB} )?be used (to|for)")
_BE = re.compile(rf"{_MODAL} ((?:{_ADVERB} )?)be\b(.*)")
_DO = re.compile(rf"{_MODAL}((?: {_ADVERB})?)")
_HAVE = re.compile(rf"{_MODAL} ((?:{_ADVERB} )?(?:have|cause|contain|need)\b.*)")
# "Something [[a dog]] can do is [[bark]]" becomes "A dog barks".
_ACTIVITY = re.compile(r"(?:an activity|something|one thing|a thing)", re.IGNORECASE)
_CAN_DO_IS = re.compile(rf"{_MODAL} do is")
_WORDS = r"[a-z0-9'’-]+"
_NEGATION = re.compile(
    r"\b(?:not|cannot|never|no|none|nobody|nothing|hardly|rarely|seldom|\w+n['’]t"
    r"|(?:ca|do|does|did|is|are|wo)nt)\b",
    re.IGNORECASE,
)
# The characters of a readable sentence, and marks within one that show that it was cut or spoilt.
_TEXT = re.compile(r"[A-Za-z0-9 ,;:'’&$%/()\"!?.-]+")
_MARKS = re.compile(r"[.!?;:/()\"&]|--|,,|\s'|'\s|^'|'$")
_SINGULAR_DETERMINERS = word_set("a an every each one this that")
_ARTICLES = word_set("a an the")
_PLURAL_DETERMINERS = word_set("these those many")
_PLURAL_OF = {"is": "are", "has": "have", "was": "were", "causes": "cause", "needs": "need"}
_SINGULAR_OF = {many: one for one, many in _PLURAL_OF.items()}
_BEFORE_GERUND = word_set("for of by while")
# Words that begin a clause rather than a noun phrase.
_CLAUSE = word_set("you he she it they we i someone somebody people everyone everybody there")
# Words that begin a noun phrase or an adjunct after "for", "has" or "is".
_OPENERS = word_set(
    "a an the some any many most all every each one two three four five six seven eight nine ten "
    "your my our their his her its this that these those more less several various other"
)
_PREPOSITIONS = word_set("in to by for with on at from as")


class Unfit(ValueError):
    """No sentence can be made from an edge; the message is the reason."""


@dataclass(frozen=True)
class Edge:
    """An edge of the table ``conceptnet_edges``, with the columns that are used here."""

    relation: str
    start_label: str
    end_label: str
    surface_text: str | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class Statement:
    """The statement that an edge makes about a noun.

    noun       lemma of the noun
    form       its form in the sentence, lower-cased
    predicate  the predicate of the edge
    path       surface_text or template
    """

    noun: str
    form: str
    predicate: str
    sentence: str
    path: str


@dataclass(frozen=True)
class _Subject:
    determiner: str
    form: str
    noun: str
    plural: bool


def statement(
    edge: Edge, words: Words, *, rules: str = "clean", templates: bool = True
) -> Statement:
    """Return the sentence for an edge.

    Args:
        rules: ``clean`` or ``paper``.
        templates: whether to make sentences from edges without surface text.

    Raises:
        Unfit: it gives none.
    """
    if edge.weight < 0:
        raise Unfit("negated")
    if not edge.surface_text and not templates:
        raise Unfit("no surface text")
    if edge.surface_text:
        result = _from_surface(edge, edge.surface_text, words, rules)
    else:
        result = _from_labels(edge, words)
    _check(result, words, rules)
    return result


def _subject(text: str, words: Words) -> _Subject:
    """Return determiner and noun of a label of one word, apart from an article."""
    match = _SUBJECT.fullmatch(text.strip())
    if not match:
        raise Unfit("subject is not one word")
    determiner, form = (match["determiner"] or "").lower(), match["noun"].lower()
    plural = determiner not in _SINGULAR_DETERMINERS and (
        determiner in _PLURAL_DETERMINERS or is_plural(form)
    )
    noun = form if words.has(form, "n") and not plural else singular(form)
    if not words.has(noun, "n"):
        noun = form  # jeans and other nouns without a singular
    return _Subject(determiner, form, noun, plural)


def gist(statement: Statement, rules: str = "clean") -> str:
    """Return the key that distinguishes the predicates of a noun.

    In ``clean`` it is the same for every frame and form: *make music*, *making music*, *is used for
    making music*. In ``paper`` it is the sentence.
    """
    if rules == "paper":
        return statement.sentence
    tokens = [t for t in re.findall(_WORDS, statement.predicate.lower()) if t not in _ARTICLES]
    if tokens:
        tokens[0] = min(lemmas(tokens[0], "VERB"), default=tokens[0])
    return " ".join(tokens)


# ----------------------------------------------------------------------------------- surface text


def _from_surface(edge: Edge, text: str, words: Words, rules: str) -> Statement:
    """The statement of an edge with surface text, ``[[A dog]] can [[bark]]``.

    The text is taken apart (before the first argument, between the two, after the second),
    corrected by `rules` and put together again. Where the start node is the second argument
    (``[[Barking]] is something that [[a dog]] does``), the words between stay as they are.
    """
    text = " ".join(text.split()).lstrip("* ")
    groups = list(_GROUP.finditer(text))
    if len(groups) != 2:
        raise Unfit("surface text without two arguments")
    one, two = (group[1].strip() for group in groups)
    is_reversed = _is_same_text(two, edge.start_label) and not _is_same_text(one, edge.start_label)
    before = text[: groups[0].start()].strip()
    middle = text[groups[0].end() : groups[1].start()].strip()
    after = text[groups[1].end() :].strip(" .")
    subject = _subject(two if is_reversed else one, words)
    predicate = (one if is_reversed else two).strip(" .")
    if not predicate:
        raise Unfit("no predicate")
    if is_reversed:
        parts = [before, predicate, middle, two, after]
    elif rules == "paper":
        parts = _paper_frame(before, one, middle, predicate, after)
    else:
        frame = (before, middle, predicate)
        parts = [*_clean_frame(edge.relation, frame, subject, words), after]
    sentence = " ".join(part for part in parts if part)
    sentence = re.sub(r"\s+([,;])", r"\1", sentence).strip(" .,;")
    sentence = sentence[:1].upper() + sentence[1:] + "."
    return Statement(subject.noun, subject.form, predicate, sentence, "surface_text")


def _is_same_text(text: str, label: str) -> bool:
    return text.strip().lower() == label.strip().lower()


def _paper_frame(before: str, subject: str, middle: str, predicate: str, after: str) -> list[str]:
    """The published rules: only *can* is replaced, and verbs are always singular."""
    if _YOU_USE.fullmatch(before):
        before = "you use"
    if used := _USED.fullmatch(middle):
        middle = f"is used {used[1]}"
    elif be := _BE.fullmatch(middle):
        middle = f"{be[1]}is{be[2]}"
    elif middle == "can":
        middle, predicate = "", third_person(predicate)
    return [before, subject, middle, predicate, after]


def _clean_frame(
    relation: str, frame: tuple[str, str, str], subject: _Subject, words: Words
) -> tuple[str, str, str, str]:
    """Replace modals, correct verb and article; raise `Unfit` if the predicate does not fit.

    `frame` has the text before the subject, the text between subject and predicate, and the
    predicate; the result has the subject as well, in its position.
    """
    before, middle, predicate = frame
    start = _with_article(subject)

    # First the modal is replaced: *can be used to* by *is used to*, *can be* by *is*, *can have* by
    # *has*; any other *can* is omitted, and the predicate becomes the verb of the sentence.
    be = "are" if subject.plural else "is"
    middle = middle.lower()
    first = predicate.split()[0].lower()
    if _ACTIVITY.fullmatch(before) and _CAN_DO_IS.fullmatch(middle):
        before, middle = "", "can"
    if _YOU_USE.fullmatch(before):
        before = "you use"
    if used := _USED.fullmatch(middle):
        middle = f"{be} used {used[1]}"
    elif match := _BE.fullmatch(middle):
        middle = " ".join(f"{be} {match[1]}{match[2]}".split())
    elif match := _DO.fullmatch(middle):
        _want_base_verb(predicate, words)
        _check_fit(first != "be")
        middle = match[1].strip()
        predicate = predicate if subject.plural else third_person(predicate)
        return before, start, middle, predicate
    elif match := _HAVE.fullmatch(middle):
        middle = match[1] if subject.plural else third_person(match[1])
    if not before or before.lower() in ("sometimes", "often", "usually"):
        middle = _agreeing_verb(middle, subject)
    if before.endswith(" while") and not phrases.is_gerund(subject.form):
        raise Unfit("subject does not fit its frame")

    # Then the last word before the predicate tells which form the predicate must have.
    last = middle.split()[-1] if middle else ""
    if last == "to":
        _want_base_verb(predicate, words)
    elif last in _BEFORE_GERUND:
        _check_fit(phrases.is_gerund(first) or _opens_noun(predicate, words))
    elif last == "is" and relation in ("Causes", "HasSubevent") and first in _CLAUSE:
        middle = f"{middle} that"
    elif last in ("has", "have", "a", "an"):
        _check_fit(_opens_noun(predicate, words))
    elif last in ("is", "are") and relation in ("HasProperty", "ReceivesAction"):
        _check_fit(_is_property(predicate, words, relation))
    elif not middle:
        raise Unfit("no verb")
    return before, start, middle, predicate


def _with_article(subject: _Subject) -> str:
    """Return the subject with a missing article added or its own corrected."""
    if subject.determiner in _PLURAL_DETERMINERS and not is_plural(subject.form):
        raise Unfit("plural determiner before a singular")
    if subject.determiner in ("a", "an", ""):
        if subject.determiner and is_plural(subject.form):
            raise Unfit("article before a plural")
        # *sleeping*, *training*; not *building*, which has a plural.
        is_activity = phrases.is_gerund(subject.form) and not forms(subject.form, "NNS")
        bare = subject.plural or phrases.is_mass(subject.form) or is_activity
        if not subject.determiner and bare:
            return subject.form
        return f"{article(subject.form)} {subject.form}"
    return f"{subject.determiner} {subject.form}"


def _agreeing_verb(middle: str, subject: _Subject) -> str:
    """Return the frame's own verb in the number of the subject."""
    first, space, rest = middle.partition(" ")
    first = (_PLURAL_OF if subject.plural else _SINGULAR_OF).get(first, first)
    return first + space + rest


def _want_base_verb(predicate: str, words: Words) -> None:
    tokens = predicate.lower().split()
    verb = next((one for one in tokens if not _is_adverb(one, words)), "")
    if not phrases.is_base_verb(verb, words):
        raise Unfit("predicate does not begin with a verb")


def _is_adverb(word: str, words: Words) -> bool:
    """Whether a word can precede a verb: *often*, *slowly*; not *fly*."""
    if re.fullmatch(_ADVERB, word):
        return True
    return word.endswith("ly") and not words.has(word, "v")


def _check_fit(fits: bool) -> None:
    if not fits:
        raise Unfit("predicate does not fit its frame")


def _opens_noun(predicate: str, words: Words) -> bool:
    """Whether the predicate begins as a noun phrase, with an article if it is one word."""
    tokens = predicate.lower().split()
    first = tokens[0].strip(",")
    if first in _OPENERS or first.isdigit():
        return True
    if len(tokens) == 1:
        return phrases.is_mass(first) or (is_plural(first) and bool(lemmas(first, "NOUN")))
    is_only_participle = _is_participle(first) and first not in lemmas(first, "VERB")
    if tokens[1] in _PREPOSITIONS and is_only_participle:
        return False  # *used in war*, *given to people*; not *cut in the skin*, where it is a noun
    return words.has(first, "a") or phrases.is_noun(first, words) or words.has(first, "n")


def _is_property(predicate: str, words: Words, relation: str) -> bool:
    """Whether the predicate can follow *is* under a relation of properties."""
    first = predicate.lower().split()[0]
    if first in ("is", "are", "has", "have", "be", "can", "do", "does"):
        return False
    if predicate.split() == [predicate] and not words.has(first, "a") and not _is_participle(first):
        return False
    return relation != "ReceivesAction" or _is_participle(first) or first.endswith("ly")


def _is_participle(word: str) -> bool:
    return any(word in (phrases.participle(verb), f"{verb}ed") for verb in lemmas(word, "VERB"))


# -------------------------------------------------------------------------------------- templates


def _from_labels(edge: Edge, words: Words) -> Statement:
    """Use the relation's first template whose form fits the words of the end node."""
    start = edge.start_label.replace("_", " ").strip().lower()
    label = edge.end_label.replace("_", " ").lower().split()
    subject = _subject(start, words)
    if subject.determiner not in ("", "a", "an", "the"):
        raise Unfit("subject is not one word")
    if not (phrases.is_noun(subject.form, words) or phrases.is_gerund(subject.form)):
        raise Unfit("subject is no noun first")
    for template in relation_templates().get(edge.relation, ()):
        end = _in_form(label, template.end, edge.relation, words) if label else None
        if end:
            from_template = _from_surface(edge, template.fill(start, end), words, "clean")
            return replace(from_template, predicate=" ".join(label), path="template")
    raise Unfit("labels give no sentence")


def _in_form(label: Sequence[str], form: str, relation: str, words: Words) -> str | None:
    """Return the words of a label in the form that a template needs, or None."""
    if form == "adjective":
        return phrases.adjective_phrase(label, words)
    if form == "participle":
        return _participle_of(label[0], words) if len(label) == 1 else None
    verb = phrases.verb_phrase(label, words)
    if form == "verb":
        # A purpose without object reads better as "for cutting" than as "to cut".
        if verb is None or (relation == "UsedFor" and not verb[1]):
            return None
        return f"{verb[0]} {verb[1]}".strip()
    if phrases.is_gerund(label[0]):
        object_phrase = phrases.noun_phrase(label[1:], words) if label[1:] else ""
        return None if object_phrase is None else f"{label[0]} {object_phrase}".strip()
    if form == "any":
        gerund = verb and phrases.gerund(verb[0])
        return f"{gerund} {verb[1]}".strip() if verb and gerund else None
    if relation == "UsedFor" and len(label) == 1 and phrases.is_base_verb(label[0], words):
        return phrases.gerund(label[0])
    return phrases.noun_phrase(label, words)


def _participle_of(verb: str, words: Words) -> str | None:
    """Return the past participle; None for verbs without an object, which have no passive."""
    if not phrases.is_base_verb(verb, words):
        return verb if _is_participle(verb) else None
    return None if verb in lists()["intransitive"] else phrases.participle(verb)


# ------------------------------------------------------------------------------------------ checks


def _check(result: Statement, words: Words, rules: str) -> None:
    """Raise `Unfit` unless the sentence can be shown to annotators."""
    sentence = result.sentence
    tokens = re.findall(_WORDS, sentence.lower())
    if any(_is_offensive(token, words) for token in tokens):
        raise Unfit("explicit")
    if not _TEXT.fullmatch(sentence) or "[[" in sentence or "]]" in sentence:
        raise Unfit("unreadable")
    if _NEGATION.search(sentence):
        raise Unfit("negated")
    if len(tokens) > LONGEST:
        raise Unfit("long")
    if place_of(sentence, result.form) is None:
        raise Unfit("subject is no token of the sentence")
    if rules == "paper":
        return
    if _MARKS.search(sentence[:-1]):
        raise Unfit("unreadable")
    if any(one == two for one, two in pairwise(tokens)):
        raise Unfit("a word twice in a row")


def _is_offensive(token: str, words: Words) -> bool:
    """Whether a token or its lemma is on the list of offensive words."""
    known = (token, *lemmas(token, "VERB"), *lemmas(token, "NOUN"))
    return any(words.is_offensive(one) for one in known)
