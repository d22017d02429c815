"""Parsers behind one interface: plain text in, columns of parsed tokens out.

`check_parser` is called on the driver before any work, `load_parser` in the worker processes, where
the model is loaded at first use and cached. spaCy, the compiled extractor `fast` and Stanza run
in Python workers. Spark NLP runs in the JVM, on DataFrames: see `etl.parsing.sparknlp_parser`.
"""

from functools import cache

from adnominal.conf import UserError
from adnominal.etl.parsing.tokens import Parser

ENGLISH = "en"


def language_of(name: str, model: str | None = None, language: str | None = None) -> str | None:
    """The language that a parser reads (ISO 639-1); None if it cannot be known before it is loaded.

    `language` is that of Stanza's models. Raises `UserError` as `check_parser` does.
    """
    if name == "spacy":
        from adnominal.etl.parsing.spacy_parser import model_language

        return model_language(model)
    if name == "stanza":
        return (language or ENGLISH).partition("-")[0]
    return ENGLISH if name == "fast" else None


def check_parser(name: str, model: str | None = None, language: str | None = None) -> None:
    """Raise `UserError`, with the command to install what is missing, if a parser cannot work here.

    `model` is a spaCy package or folder, a file of `etl.parsing.fast.train`, a folder of Stanza's
    resources, or a folder of a Spark NLP pipeline; None is the parser's default. `language` is that
    of Stanza's models, English by default. Nothing is downloaded.
    """
    if name == "spacy":
        from adnominal.etl.parsing.spacy_parser import find_model

        find_model(model)
    elif name == "fast":
        from adnominal.etl.parsing.fast.extractor import new_extractor

        new_extractor(model)
    elif name == "stanza":
        from adnominal.etl.parsing.stanza_parser import find_model as find_resources

        find_resources(model, language or ENGLISH)
    elif name == "sparknlp":
        from adnominal.etl.parsing.sparknlp_parser import check

        check(model)
    else:
        raise UserError(f"parser={name}: expected one of spacy, fast, stanza, sparknlp")


@cache
def load_parser(name: str, model: str | None = None, language: str | None = None) -> Parser:
    """The parser, which is loaded at the first call in this process and then reused.

    Raises `UserError` as `check_parser` does, and for Spark NLP, which does not parse texts.
    """
    if name == "spacy":
        from adnominal.etl.parsing.spacy_parser import SpacyParser

        return SpacyParser(model)
    if name == "fast":
        from adnominal.etl.parsing.fast.parser import FastParser

        return FastParser(model)
    if name == "stanza":
        from adnominal.etl.parsing.stanza_parser import StanzaParser

        return StanzaParser(model, language or ENGLISH)
    raise UserError(f"parser={name}: expected one of spacy, fast, stanza as a parser of text")
