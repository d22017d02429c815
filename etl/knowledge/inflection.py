"""The dictionary of inflected forms: lemminflect, without what it does for spaCy.

On import lemminflect registers extensions with spaCy where that is installed. spaCy would be
imported for that, and torch by spaCy: seconds of every process, for nothing that is used here.
"""

from __future__ import annotations

from etl.imports import hidden

with hidden("spacy"):
    from lemminflect import getAllInflections, getAllLemmas, getInflection, getLemma

__all__ = ["getAllInflections", "getAllLemmas", "getInflection", "getLemma"]
