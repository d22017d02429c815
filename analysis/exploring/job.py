"""``adnominal explore``: the page, its static copy, or the rows of one view on standard output."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from adnominal.analysis.exploring.queries import CLASSES, MEASURES, Query
from adnominal.analysis.exploring.sketches import (
    Sketches,
    check_corpora,
    missing_word,
    rows_by_corpus,
    tsv,
)
from adnominal.analysis.exploring.static import write
from adnominal.analysis.exploring.words import CACHE
from adnominal.conf import JobFailed, UserError, setting
from adnominal.conf.checks import check_default

_NOT_FOR_SIMILAR = (
    "other",
    "other_corpus",
    "measure",
    "sort_corpus",
    "floor",
    "classes",
    "hide_determiners",
    "fold",
)
_OF_ONE_WORD = ("similar", "corpus", "limit", *_NOT_FOR_SIMILAR)

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings:
    FIRST: ClassVar[Sequence[str]] = (
        "lake",
        "port",
        "export",
        "min_count",
        "noun",
        "adjective",
        "other",
        "measure",
        "floor",
        "limit",
    )

    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")
    port: int = setting(8000, help="port on 127.0.0.1; 0 for any that is free", example="port=8080")
    export: str | None = setting(
        None,
        help="write the page with its data to this folder instead of serving it; the copy works "
        "from disk and from any web server; the folder must not exist",
        example="export=sketches",
    )
    min_count: int = setting(5, help="minimum count of a pair in export=")
    noun: str | None = setting(
        None,
        help="print this noun's adjectives as TSV instead of serving",
        example="noun=key",
        free_text=True,
    )
    adjective: str | None = setting(
        None,
        help="print this adjective's nouns as TSV",
        example="adjective=false",
        free_text=True,
    )
    other: str | None = setting(
        None,
        help="second word: print how the two differ",
        example="other=door",
        free_text=True,
    )
    similar: bool = setting(
        False, help="print the words whose collocates are most similar to the word's"
    )
    corpus: str | None = setting(None, help="corpus to look up; all if not given", free_text=True)
    other_corpus: str | None = setting(
        None, help="second corpus: print how the word differs between the two", free_text=True
    )
    measure: str = setting("log_dice", help="measure to sort rows by", choices=MEASURES)
    sort_corpus: str | None = setting(
        None, help="of all corpora, the one by whose measure rows are sorted", free_text=True
    )
    floor: int | None = setting(
        None,
        help="minimum count of a printed pair; 3 if not given, or 1 if fewer than ten collocates "
        "reach it",
        example="floor=5",
    )
    classes: list[str] = setting(
        [],
        help="classes of the adjectives: I intersective, S subsective, O intensional, none",
        choices=CLASSES,
        example="classes=I,S",
    )
    hide_determiners: bool = setting(
        False, help="leave out adjectives that act as determiners: same, other, many"
    )
    fold: bool = setting(
        False, help="count comparatives and superlatives as their positive form: older as old"
    )
    limit: int = setting(
        100, help="rows printed, with other= or other_corpus= in each block; 0 for all"
    )
    cache: str = setting(CACHE, help="folder for the lists of words", identity=False)

    def __post_init__(self) -> None:
        if self.noun is not None and self.adjective is not None:
            raise UserError("noun= and adjective=: expected only one; the other role is listed")
        if self.min_count < 1:
            raise UserError(f"min_count={self.min_count}: expected 1 or more")
        if self.export is not None and Path(self.export).exists():
            raise UserError(
                f"export={self.export} is there already; choose another name or remove it"
            )
        self._check_together()
        self.query()

    def _check_together(self) -> None:
        """Raise an error for settings that would have no effect."""
        word = "noun=" if self.noun is not None else "adjective="
        has_word = self.noun is not None or self.adjective is not None
        if has_word and self.export is not None:
            raise UserError(
                f"{word} prints the rows of one word and export= writes all rows; give only one"
            )
        if not has_word:
            check_default(
                self, _OF_ONE_WORD, "needs noun= or adjective=; give one of them, or omit it"
            )
        if self.export is None:
            check_default(
                self, ("min_count",), "needs export=; the minimum count of printed rows is floor="
            )
        if self.similar:
            check_default(
                self, _NOT_FOR_SIMILAR, "has no effect on similar=true; omit one of the two"
            )
        if has_word or self.export is not None:
            check_default(
                self, ("port",), "is for serving the page; nothing is served here, so omit it"
            )

    def query(self) -> Query | None:
        """The query whose rows are printed; None to serve or write the page."""
        word = self.noun if self.noun is not None else self.adjective
        if word is None:
            return None
        return Query(
            role="noun" if self.noun is not None else "adjective",
            word=word,
            other=self.other or "",
            corpus=self.corpus or "",
            other_corpus=self.other_corpus or "",
            measure=self.measure,
            floor=self.floor,
            classes=tuple(self.classes),
            limit=self.limit,
            sort_corpus=self.sort_corpus or "",
            hide_determiners=self.hide_determiners,
            fold=self.fold,
        )


def explore(settings: Settings) -> None:
    """Word sketches in a browser: a noun's adjectives, an adjective's nouns, differences, pairs.

    Serves a page on loopback until interrupted. With export= the page and its data are written to a
    folder; with noun= or adjective= the rows of one view are printed to standard output.
    """
    query = settings.query()
    if query is None and settings.export is None:
        # Check the port before the words are read, so that a port in use is reported at once.
        from adnominal.analysis.exploring.server import bound, give_memory_back

        bound(settings.port).close()
        give_memory_back()
    if query is not None:
        # The words are read after this, which takes a while.
        check_corpora(query, rows_by_corpus(settings.lake))
    sketches = Sketches(settings.lake, Path(settings.cache).expanduser())
    if query is not None and settings.similar:
        _print_similar(sketches, query)
    elif query is not None:
        _print(sketches, query)
    elif settings.export is not None:
        write(sketches, Path(settings.export), settings.min_count)
        log.info(
            "open %s/index.html in a browser, or put the folder on a web server", settings.export
        )
    else:
        from adnominal.analysis.exploring.server import serve

        serve(sketches, settings.port, partial(log.info, "word sketches on %s (Ctrl-C ends)"))


def _print(sketches: Sketches, query: Query) -> None:
    """Print the rows of a view; `JobFailed` says why there are none."""
    answer = sketches.view(query)
    message = missing_word(query, answer)
    if message is not None:
        raise JobFailed(message)
    if not answer["rows"]:
        raise JobFailed(
            f"no pairs of the {query.role} {query.word!r} with these filters; a lower floor= or "
            "other classes= may help"
        )
    print(tsv(answer["rows"]), end="")


def _print_similar(sketches: Sketches, query: Query) -> None:
    """Print the words with similar collocates; `JobFailed` says why there are none."""
    from adnominal.analysis.exploring.thesaurus import similar_words

    answer = similar_words(sketches, query.role, query.word, query.corpus, query.limit)
    message = missing_word(query, answer)
    if message is not None:
        raise JobFailed(message)
    if not answer["rows"]:
        raise JobFailed(f"no {query.role} shares a collocate with {query.word!r}")
    print(tsv(answer["rows"]), end="")
