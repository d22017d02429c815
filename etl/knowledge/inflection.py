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
# endings of further ones (*hyphae*, *chateaux*, *stomata*). _fast.c has the same, but not
# *bacteria* and *ganglia*, which the dictionary has as singulars, too.
_PLURALS = {
    "alveoli": "alveolus",
    "bacteria": "bacterium",
    "calyces": "calyx",
    "cherubim": "cherub",
    "denarii": "denarius",
    "elytra": "elytron",
    "emboli": "embolus",
    "epithelia": "epithelium",
    "extrema": "extremum",
    "foramina": "foramen",
    "ganglia": "ganglion",
    "gyri": "gyrus",
    "hippocampi": "hippocampus",
    "homunculi": "homunculus",
    "lumina": "lumen",
    "menisci": "meniscus",
    "millennia": "millennium",
    "mitochondria": "mitochondrion",
    "noumena": "noumenon",
    "nucleoli": "nucleolus",
    "oxen": "ox",
    "paparazzi": "paparazzo",
    "seraphim": "seraph",
    "simulacra": "simulacrum",
    "sulci": "sulcus",
    "taxa": "taxon",
    "thrombi": "thrombus",
    "tumuli": "tumulus",
    "villi": "villus",
}
_FOREIGN_ENDING = re.compile(r"(?<=ma)ta$|(?<=..[^g]a)e$|(?<=teau)x$")


@lru_cache(maxsize=1 << 16)
def noun_lemma(form: str, lemma: str) -> str:
    """The lemma of a noun where a parser's rules do not know the word; else `lemma` itself.

    Rules make "speciman" of *specimen* and "specie" of *species*, and leave plurals of Latin and
    Greek as they are where the tagger takes them for singulars (*larvae*, *stigmata*); the
    dictionary has all of them. `form` is in lower case.
    """
    if form.endswith("men") and lemma == f"{form[:-3]}man":
        return lemma if _is_of_men(form) else form
    nouns = getAllLemmas(form, upos="NOUN").get("NOUN", ())
    if lemma != form:
        is_singular = form == f"{lemma}s" and nouns[:1] == (form,)
        return form if is_singular else lemma
    if form in _PLURALS:
        return _PLURALS[form]
    if not getAllLemmas(form):
        return _FOREIGN_ENDING.sub("", form)
    return nouns[0].lower() if nouns and form not in nouns else lemma


def _is_of_men(form: str) -> bool:
    """Whether a word in -men is the plural of one in -man: a word, or a compound with one."""
    if form.endswith("women"):
        return True
    if form in getAllLemmas(form, upos="NOUN").get("NOUN", ()):
        return False
    man, stem = f"{form[:-3]}man", form[:-3]
    is_word = man in getAllLemmas(man, upos="NOUN").get("NOUN", ())
    is_compound = len(stem) >= 4 and any(stem in lemmas for lemmas in getAllLemmas(stem).values())
    return is_word or is_compound
