"""Read and filter plain text: units of files in, staged documents out.

Rows of Parquet and Arrow files are staged unchanged (kind ``raw``), one batch at a time, and become
documents in the tasks that parse them (`prepared_documents`), so reading costs no more than Arrow's
reader.
"""

import importlib.util
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import cycle

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import UserError
from adnominal.conf.numbers import count_of
from adnominal.conf.opening import OPENING
from adnominal.etl.amod.settings import Settings
from adnominal.etl.amod.tasks import STAGED, FileUnit, Rows, add_pairs, add_stats, recorded_faults
from adnominal.etl.corpora import columnar, contents, text, wikipedia
from adnominal.etl.corpora.columnar import Texts, WrongColumn
from adnominal.etl.corpora.conditions import Condition, WrongCondition
from adnominal.etl.corpora.documents import Document, Event, LeftOut, Rejected
from adnominal.etl.corpora.files import Unit, Unreadable, open_stored
from adnominal.etl.corpora.inputs import InputFile
from adnominal.etl.corpora.languages import check_language
from adnominal.etl.corpora.text import is_wet
from adnominal.etl.lake.schema import rows_of_schema
from adnominal.etl.parsing import language_of
from adnominal.etl.parsing.fast.counting import TextCounter

log = logging.getLogger("adnominal")

WHERE_NEEDS_COLUMNS = "where= needs columns; expected Parquet or Arrow"
RAW_ROW = "raw"  # the kind of a staged row of a Parquet or Arrow file


def read_units(units: Iterable[FileUnit], settings: Settings) -> Iterator[pa.RecordBatch]:
    """Read units of plain text into staged rows: documents, and what was not read.

    Batches of documents alternate between ascending and descending length: an engine that
    distributes rows in turn then gives every task about the same amount of text. Rows of Parquet
    and Arrow files stay in the order of the file.
    """
    orders = cycle(("ascending", "descending"))
    for file, unit in units:
        staged = StagedEvents(file)
        with recorded_faults(staged.rows, file, unit):
            for event in events(unit, settings):
                if isinstance(event, Texts):
                    yield _staged_texts(file, event)
                else:
                    staged.add(event)
                    yield from _by_length(staged.rows.take_if_full(), orders)
        yield from _by_length(staged.rest(), orders)


def _by_length(
    batches: Iterable[pa.RecordBatch], orders: Iterator[str]
) -> Iterator[pa.RecordBatch]:
    """The rows of each batch sorted by the length of their text, in the next of `orders`."""
    for batch in batches:
        length = pc.fill_null(pc.binary_length(batch.column("text")), 0)
        order = pc.array_sort_indices(length, order=next(orders))
        yield batch.take(order)


def count_text_units(units: Iterable[FileUnit], settings: Settings) -> Iterator[pa.RecordBatch]:
    """Count units of plain text with the compiled extractor while reading; yield staged rows."""
    for file, unit in units:
        staged = StagedEvents(file)
        counter = TextCounter(settings.rules, settings.parser_model)
        with recorded_faults(staged.rows, file, unit):
            for event in single_events(events(unit, settings), settings):
                staged.note(event)
                if isinstance(event, Document):
                    counter.feed(event.text)
                if counter.nbytes > settings.memory_bytes:
                    add_pairs(staged.rows, file, counter)
                yield from staged.rows.take_if_full()
        add_pairs(staged.rows, file, counter)
        # Lines are documents here, and are reported with the documents.
        add_stats(staged.rows, file, counter.stats())
        yield from staged.rest()


def with_parser(
    settings: Settings, files: Sequence[InputFile], earlier: str | None = None
) -> Settings:
    """`settings` with ``parser=auto`` resolved: by the `earlier` parser of the corpus, or by files.

    The names of all files decide, not their sizes, so that a folder gives the same parser as a
    pattern. A corpus that was begun keeps its parser, whatever is installed or added later.
    """
    if settings.source != "text" or settings.parser != "auto":
        return settings
    if earlier is not None and not settings.restart:
        name, reason = earlier, f"with which corpus {settings.name} was begun"
    else:
        name, reason = _automatic_parser(settings, files)
    log.info("parser=auto: %s (%s)", name, reason, extra=OPENING)
    return replace(settings, parser=name)


def _automatic_parser(settings: Settings, files: Sequence[InputFile]) -> tuple[str, str]:
    """The parser of a new corpus, and the reason."""
    others = [
        file.path
        for file in files
        if not is_wet(file.path) and columnar.format_of(file.path, b"") is None
    ]
    if settings.dependent != "adjective":
        return "spacy", f"dependent={settings.dependent}"
    if not others:
        return "fast", "every file is Parquet, Arrow or WET"
    if importlib.util.find_spec("spacy") is None:
        return "fast", "spaCy is not installed: pip install 'adnominal[spacy]'"
    return "spacy", f"{others[0]} is neither Parquet, Arrow nor WET"


def without_companions(files: Sequence[InputFile], settings: Settings) -> list[InputFile]:
    """The files of a treebank's folder without its README, licence and statistics.

    They are left out of each folder in ``input=`` that has files with .conllu in their names.
    """
    if settings.source != "conllu":
        return list(files)
    treebanks = []
    for pattern in settings.input:
        folder = os.path.join(os.path.abspath(os.path.expanduser(pattern)), "")
        in_folder = [file for file in files if file.path.startswith(folder)]
        if os.path.isdir(folder) and any(_is_conllu(file.path) for file in in_folder):
            treebanks.append(folder)
    kept_files: list[InputFile] = []
    companions: list[InputFile] = []
    for file in files:
        is_companion = file.path.startswith(tuple(treebanks)) and not _is_conllu(file.path)
        (companions if is_companion else kept_files).append(file)
    if companions:
        log.info(
            "%s without .conllu in the name left out, such as %s",
            count_of(len(companions), "file"),
            companions[0].path,
            extra=OPENING,
        )
    return kept_files


def _is_conllu(path: str) -> bool:
    return ".conllu" in os.path.basename(path).lower()


def check_input(files: Sequence[InputFile], settings: Settings) -> None:
    """Raise `UserError` before work starts if the files cannot be read with these settings.

    The first Parquet or Arrow file that can be opened must have the named columns, and the first
    other file must not be a parsed corpus, which would be read as prose; with `where` there must be
    no other file before it. Later files, and files that cannot be opened, fail individually when
    they are read.
    """
    check_language(settings.language)
    _check_parser_language(settings)
    condition = Condition(settings.where) if settings.where else None
    is_text_looked_at = False
    for file in files if settings.source == "text" else ():
        if is_wet(file.path):
            if condition is not None:
                raise UserError(f"input {file.path}: {WHERE_NEEDS_COLUMNS}")
            if importlib.util.find_spec("warcio") is None:
                raise UserError(
                    f"{file.path} needs warcio, which is not installed: "
                    "pip install 'adnominal[corpora]'"
                )
            continue
        try:
            if columnar.format_of(file.path, b"" if is_text_looked_at else _head(file.path)):
                names = (settings.text_field, settings.id_field)
                columnar.check_columns(file.path, *names, condition)
                return
            if condition is not None:
                raise WrongCondition(file.path, WHERE_NEEDS_COLUMNS)
            if not is_text_looked_at:
                _refuse_other_content(file.path)
                is_text_looked_at = True
        except WrongColumn as error:
            raise UserError(f"input {error}; give text_field= and id_field=") from error
        except (ParsedAsText, WrongCondition) as error:
            raise UserError(f"input {error}") from error
        except Unreadable:
            pass  # it fails when it is read


def _check_parser_language(settings: Settings) -> None:
    """Raise `UserError` if the parser does not read the language of the documents.

    Its relations would be wrong or, as with an English parser on French, none.
    """
    if settings.language is None:
        return
    of_parser = language_of(settings.text_parser, settings.parser_model, settings.parser_language)
    if of_parser is not None and of_parser != settings.language:
        raise UserError(
            f"language={settings.language}: parser={settings.text_parser} reads {of_parser}; "
            "expected parser_model= with a model of spaCy for that language, parser=stanza with "
            f"parser_language={settings.language}, or language={of_parser}"
        )


def _head(path: str) -> bytes:
    """The first bytes of a file, which tell its format; none if it cannot be opened."""
    try:
        with open_stored(path) as stored:
            return stored.read(8)
    except Unreadable:
        return b""


class ParsedAsText(Unreadable):
    """A parsed corpus, a dump or a table where text is expected: it would be read as prose."""


def _refuse_other_content(path: str) -> None:
    """Raise `ParsedAsText` for a file whose content is not read as text."""
    refusal = contents.refusal_of(contents.head_of(path))
    if refusal:
        raise ParsedAsText(path, refusal)


def events(unit: Unit, settings: Settings) -> Iterator[Event | Texts]:
    """The events of a unit: documents, dropped or malformed ones, or unchanged rows.

    Raises:
        Unreadable: the file is damaged, does not match its name, or is a parsed corpus.
    """
    if settings.source == "wikipedia":
        return wikipedia.read_unit(unit, settings.document_filter)
    with open_stored(unit.path) as stored:
        kind = columnar.format_of(unit.path, stored.read(8))
    if kind and not is_wet(unit.path):
        condition = Condition(settings.where) if settings.where else None
        return columnar.read_unit(unit, settings.text_field, settings.id_field, condition)
    if settings.where:
        raise WrongCondition(unit.path, WHERE_NEEDS_COLUMNS)
    if is_wet(unit.path) or contents.form_of(contents.head_of(unit.path)) == contents.WARC:
        from adnominal.etl.corpora import wet  # needs warcio, an extra, only for these files

        return wet.read_unit(unit, settings.document_filter)
    if unit.start == 0:
        _refuse_other_content(unit.path)
    return text.read_unit(unit, settings.text_field, settings.id_field, settings.document_filter)


def prepared_documents(
    batches: Iterable[pa.RecordBatch], settings: Settings
) -> Iterator[pa.RecordBatch]:
    """Staged rows with raw rows replaced by their documents or by what was dropped."""
    for batch in batches:
        is_raw = pc.equal(batch.column("kind"), RAW_ROW)
        rest = batch.filter(pc.invert(is_raw))
        if rest.num_rows:
            yield rest
        raw = batch.filter(is_raw)
        for file in pc.unique(raw.column("file")).to_pylist():
            staged = StagedEvents(file)
            texts = _texts(raw.filter(pc.equal(raw.column("file"), file)))
            for event in single_events([texts], settings):
                staged.add(event)
                yield from staged.rows.take_if_full()
            yield from staged.rest()


def single_events(events: Iterable[Event | Texts], settings: Settings) -> Iterator[Event]:
    """`events`, with rows of Parquet and Arrow files replaced by their filtered documents."""
    for event in events:
        if isinstance(event, Texts):
            yield from columnar.documents_of(event, settings.document_filter)
        else:
            yield event


def _staged_texts(file: int, texts: Texts) -> pa.RecordBatch:
    # Texts are stored as bytes, so no engine checks that they are UTF-8: `valid_rows` does that
    # later.
    columns = _raw_columns(file, texts.path, len(texts.texts)) | {
        "document": texts.ids,
        "place": texts.rows,
        "packed": texts.texts.view(pa.binary()),
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=STAGED)


@lru_cache(maxsize=4)  # nearly all batches of a file have the same size
def _raw_columns(file: int, path: str, size: int) -> dict[str, pa.Array]:
    """The constant columns of the staged rows of a file."""
    rows = rows_of_schema(STAGED, size, {"kind": RAW_ROW, "file": file, "text": path})
    return dict(zip(STAGED.names, rows.combine_chunks().to_batches()[0].columns, strict=True))


def _texts(raw: pa.RecordBatch) -> Texts:
    """The rows of one file that `_staged_texts` has staged."""
    texts = raw.column("packed").view(pa.string())
    return Texts(raw.column("text")[0].as_py(), raw.column("document"), texts, raw.column("place"))


class StagedEvents:
    """Collects the events of a file as staged rows, and counts its `documents`."""

    def __init__(self, file: int) -> None:
        self.rows = Rows()
        self.documents = 0
        self._file = file
        self._left_out: dict[str, tuple[int, str]] = {}
        self._others = 0

    def add(self, event: Event | Texts) -> None:
        self.note(event)
        if isinstance(event, Document):
            self.rows.add("document", self._file, document=event.id, text=event.text)

    def note(self, event: Event | Texts) -> None:
        """Count an event of the reader by its kind.

        A rejected document or line is staged with its sample; documents that were left out are
        added up by reason, for `rest`, with the least of their samples, so that the result does not
        depend on their order. Texts (`Texts`) are counted elsewhere.
        """
        if isinstance(event, Document):
            self.documents += 1
        elif isinstance(event, Rejected):
            self._others += 1
            sample = event.sample
            if event.line is None and event.offset is not None:
                sample = f"byte {event.offset}: {sample}"
            values = {"reason": event.reason, "place": event.line, "text": sample}
            self.rows.add("rejected", self._file, count=1, **values)
        elif isinstance(event, LeftOut):
            self._others += event.count
            number, sample = self._left_out.get(event.reason, (0, event.sample))
            self._left_out[event.reason] = (number + event.count, min(sample, event.sample))

    def rest(self) -> Iterator[pa.RecordBatch]:
        """The remaining rows and the statistics of the file."""
        for reason, (number, sample) in self._left_out.items():
            self.rows.add("left_out", self._file, reason=reason, count=number, text=sample)
        self.rows.add("stat", self._file, reason="documents", count=self.documents)
        self.rows.add("stat", self._file, reason="lines", count=self.documents + self._others)
        yield from self.rows.take()
