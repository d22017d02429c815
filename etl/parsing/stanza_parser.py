"""Parsing with Stanza (Qi et al. 2020), the parser of ADEPT's corpus.

On a CPU it is slower than spaCy by one to two orders of magnitude; it suits small corpora and GPUs.
torch is imported only when this parser is used. Workers never download models: `find_model` names
the command.

The pipeline itself has not been run, because its models are not on the Python package index. The
converter is tested on Stanza's own `Document`. Stanza pads the sentences of a batch together, so
the last digits of its scores may depend on the neighbours of a sentence; except for ties, the parse
does not.
"""

import importlib.util
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from adnominal.conf import UserError
from adnominal.etl.lake.schema import batch_of
from adnominal.etl.parsing.tokens import SENTENCES, TOKENS, Parsed, paragraph_batches

PROCESSORS = ("tokenize", "pos", "lemma", "depparse")
# Characters parsed before a batch of columns is yielded.
BATCH_CHARACTERS = 50_000


def find_model(model: str | None, language: str = "en") -> str:
    """The folder of Stanza's resources: `model`, else Stanza's own default.

    Raises:
        UserError: Stanza is missing or does not know the language, or the folder lacks its models.
    """
    if importlib.util.find_spec("stanza") is None:
        raise UserError("parser=stanza: Stanza is not installed; pip install stanza")
    from stanza.models.common.constant import lcode2lang
    from stanza.resources.common import DEFAULT_MODEL_DIR

    if language not in lcode2lang:
        raise UserError(
            f"parser_language={language}: not a language of Stanza; expected its code, such as fr "
            "or zh-hans"
        )
    folder = Path(model or DEFAULT_MODEL_DIR)
    required = ["resources.json", *(f"{language}/{processor}" for processor in PROCESSORS)]
    missing = [name for name in required if not (folder / name).exists()]
    if missing:
        where = f", model_dir={os.fspath(folder)!r}" if model else ""
        raise UserError(
            f"parser=stanza: {folder} has no {', '.join(missing)}; get the models with "
            f'''python -c "import stanza; stanza.download({language!r}{where})"'''
        )
    return os.fspath(folder)


class StanzaParser:
    """Stanza as a `Parser`, on the GPU if there is one. Raises `UserError` as `find_model` does.

    The tags are Penn's for English, else the universal ones: treebanks of other languages have tag
    sets of their own.
    """

    def __init__(self, model: str | None = None, language: str = "en") -> None:
        folder = find_model(model, language)
        self._has_penn_tags = language == "en"
        import stanza
        import torch

        # One thread per process, because tasks share the cores.
        torch.set_num_threads(1)
        self._pipeline = stanza.Pipeline(
            language,
            dir=folder,
            processors=",".join(PROCESSORS),
            download_method=None,
            verbose=False,
        )

    def parse(self, texts: Iterable[str]) -> Iterator[Parsed]:
        """See `etl.parsing.tokens.Parser`; batches hold about 50,000 characters."""
        last_position = (-1, 0)  # the last document, and its number of sentences so far
        for pieces in paragraph_batches(texts, BATCH_CHARACTERS):
            documents = self._pipeline.bulk_process([text for _, text in pieces])
            ordinals = [document for document, _ in pieces]
            parsed = columns(
                zip(ordinals, documents, strict=True), last_position, self._has_penn_tags
            )
            if parsed.sentences.num_rows:
                last = parsed.sentences.slice(parsed.sentences.num_rows - 1).to_pylist()[0]
                last_position = (last["document"], last["sentence"] + 1)
            yield parsed


def columns(
    documents: Iterable[tuple[int, Any]],
    last_position: tuple[int, int] = (-1, 0),
    has_penn_tags: bool = True,
) -> Parsed:
    """Stanza documents, each with the ordinal of its text, as columns.

    Several documents with the same ordinal are paragraphs of one text; `last_position` is the
    ordinal of the previous text and its number of sentences. Tags are the universal ones unless
    `has_penn_tags`. No white space is between the words of a multi-word token ("don't").
    """
    tokens: list[tuple[Any, ...]] = []
    sentences: list[tuple[int, int, str]] = []
    ordinal, number = last_position
    for document, parsed in documents:
        if document != ordinal:
            ordinal, number = document, 0
        for sentence in parsed.sentences:
            for token in sentence.tokens:
                for word in token.words:
                    space_after = word is token.words[-1] and token.spaces_after != ""
                    tag = word.xpos if has_penn_tags else word.upos
                    written = (word.id, word.text, word.lemma, tag or "")
                    tokens.append((document, number, *written, word.head, word.deprel, space_after))
            spaced = "".join(token.text + token.spaces_after for token in sentence.tokens)
            sentences.append((document, number, sentence.text or spaced.rstrip()))
            number += 1
        if parsed.sentences:
            tokens[-1] = (*tokens[-1][:-1], True)
    return Parsed(batch_of(tokens, TOKENS), batch_of(sentences, SENTENCES))
