"""The dictionary of inflected forms: lemminflect without its extensions for spaCy.

On import lemminflect registers extensions with spaCy if it is installed. This would import spaCy,
and spaCy would import torch: seconds of every process for something that is not used here.
"""

import re
from functools import lru_cache

from adnominal.etl.optional_imports import hide_modules

with hide_modules("spacy"):
    from lemminflect import getAllInflections, getAllLemmas, getInflection, getLemma

__all__ = ["getAllInflections", "getAllLemmas", "getInflection", "getLemma", "noun_lemma"]

# Plurals of Latin and other languages that the dictionary lacks, with their singulars, and the
# endings of further ones (*hyphae*, *chateaux*, *stomata*, *wikis*). _fast.c has the same, but not
# *bacteria* and *ganglia*, which the dictionary has as singulars, too. Of two that the dictionary
# has, it would take *regale* and *leave*.
_PLURALS = {
    "alveoli": "alveolus",
    "annuli": "annulus",
    "bacteria": "bacterium",
    "calyces": "calyx",
    "cherubim": "cherub",
    "denarii": "denarius",
    "elytra": "elytron",
    "emboli": "embolus",
    "ephemerides": "ephemeris",
    "epithelia": "epithelium",
    "extrema": "extremum",
    "foramina": "foramen",
    "ganglia": "ganglion",
    "gyri": "gyrus",
    "hippocampi": "hippocampus",
    "homunculi": "homunculus",
    "leaves": "leaf",
    "lumina": "lumen",
    "magi": "magus",
    "meninges": "meninx",
    "menisci": "meniscus",
    "millennia": "millennium",
    "mitochondria": "mitochondrion",
    "mycelia": "mycelium",
    "noumena": "noumenon",
    "nucleoli": "nucleolus",
    "oxen": "ox",
    "paparazzi": "paparazzo",
    "prolegomena": "prolegomenon",
    "regalia": "regalia",
    "seraphim": "seraph",
    "simulacra": "simulacrum",
    "sporangia": "sporangium",
    "subspecies": "subspecies",
    "sulci": "sulcus",
    "superheroes": "superhero",
    "taxa": "taxon",
    "thrombi": "thrombus",
    "topoi": "topos",
    "tumuli": "tumulus",
    "villi": "villus",
    "vivaria": "vivarium",
}
# Nouns in -ie that the dictionary lacks; others in -ies that it lacks are plurals of nouns in -y.
_IE_WORDS = (
    "aggie auntie aussie baddie beanie bestie biggie bikie boogie bowtie brasserie calorie "
    "charcuterie commie cowrie cutie doobie druggie folkie foodie gillie girlie groupie homie "
    "hoodie hottie indie kelpie kewpie kiddie kilocalorie laddie lassie meanie mudpie newbie "
    "newsie onesie patisserie postie potpie preemie quickie roadie roomie rotisserie rudie "
    "selfie sharpie shortie smartie smoothie softie sweetie talkie techie tootsie townie "
    "trekkie undie veggie wedgie weenie wheelie woodie "
)
_IE_NOUNS = frozenset(_IE_WORDS.split())
_FOREIGN_ENDING = re.compile(r"(?<=ma)ta$|(?<=..[^g]a)e$|(?<=teau)x$|(?<=[jkw]i)s$")


@lru_cache(maxsize=1 << 16)
def noun_lemma(form: str, lemma: str) -> str:
    """The lemma of a noun where a parser's rules do not know the word; else `lemma` itself.

    Rules make "speciman" of *specimen*, "specie" of *species*, "cooky" of *cookies* and
    "checkboxe" of *checkboxes*, and leave plurals of Latin and Greek as they are where the tagger
    takes them for singulars (*larvae*, *stigmata*); the dictionary has nearly all of
    them. `form` is in lower case.
    """
    if form.endswith("men") and lemma == f"{form[:-3]}man":
        return lemma if _is_of_men(form) else form
    if form in _PLURALS:
        return _PLURALS[form]
    nouns = getAllLemmas(form, upos="NOUN").get("NOUN", ())
    if lemma != form:
        is_singular = form == f"{lemma}s" and nouns[:1] == (form,)
        is_of_ie = lemma == f"{form[:-3]}y" and nouns[:1] == (form[:-1],)
        if is_singular or is_of_ie:
            return str(nouns[0])
        return lemma if nouns else _singular_of_unknown(form, lemma)
    if not getAllLemmas(form):
        return _FOREIGN_ENDING.sub("", form)
    return nouns[0].lower() if nouns and form not in nouns else lemma


def _singular_of_unknown(form: str, lemma: str) -> str:
    """The lemma of a plural that the dictionary lacks, where spaCy's rules only cut its *s*."""
    if form[:-1] in _IE_NOUNS:
        return form[:-1]
    if lemma != form[:-1]:
        return lemma
    if form.endswith("ies"):  # "cryptocurrencies"
        return f"{form[:-3]}y"
    return form[:-2] if form.endswith(("sses", "xes", "zzes", "ches", "shes")) else lemma


def _is_of_men(form: str) -> bool:
    """Whether a word in -men is the plural of one in -man: a word, or a compound with one."""
    if form.endswith(("women", "smen", "chmen", "shmen")):  # "Scotsmen", "Frenchmen"
        return True
    if form in getAllLemmas(form, upos="NOUN").get("NOUN", ()):
        return False
    man, stem = f"{form[:-3]}man", form[:-3]
    is_word = man in getAllLemmas(man, upos="NOUN").get("NOUN", ())
    is_compound = len(stem) >= 4 and any(stem in lemmas for lemmas in getAllLemmas(stem).values())
    return is_word or is_compound
