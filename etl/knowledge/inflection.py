"""The dictionary of inflected forms: lemminflect without its extensions for spaCy.

On import lemminflect registers extensions with spaCy if it is installed. This would import spaCy,
and spaCy would import torch: seconds of every process for something that is not used here.
"""

from adnominal.etl.imports import hidden

with hidden("spacy"):
    from lemminflect import getAllInflections, getAllLemmas, getInflection, getLemma

__all__ = ["getAllInflections", "getAllLemmas", "getInflection", "getLemma"]
