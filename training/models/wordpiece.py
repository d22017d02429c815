"""A WordPiece vocabulary trained on given texts, and BERT's tokenizer with it.

The trainer of the library numbers the letters inside words in the order of a hash table and breaks
ties by these numbers, so two trainings on the same texts differ. Here the letters are counted,
sorted and numbered first, so that a vocabulary depends only on the texts.
"""

import hashlib
import json
import logging
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from adnominal.conf import UserError
from adnominal.training.models.tokens import chunks, key

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONTINUES = "##"
# A vocabulary has only the most frequent letters; words with others are unknown. English text has
# some letters of every script, and each costs two pieces, so letters may take a sixteenth of the
# vocabulary, within these bounds.
_LETTERS = (100, 256)
_FEWEST = 2  # minimum occurrences of a piece
_VERSION = 1
log = logging.getLogger("adnominal")


def bert_tokenizer(pieces: Sequence[str], *, lowercase: bool, limit: int | None = None) -> Any:
    """Return BERT's tokenizer with a vocabulary that begins with `SPECIAL`, for `limit` tokens."""
    from transformers import BertTokenizer

    ids = {piece: number for number, piece in enumerate(pieces)}
    return BertTokenizer(ids, do_lower_case=lowercase, model_max_length=limit)


def vocabulary(
    texts: pa.LargeStringArray, size: int, *, lowercase: bool, words: Sequence[str] = ()
) -> list[str]:
    """Return the pieces of a vocabulary of exactly `size`, special ones first.

    `words` are always included whole, replacing the last pieces if necessary. Memory holds the
    distinct words of the texts, not the texts.

    Raises:
        UserError: `size` exceeds the pieces that occur at least twice or is too small for letters
            and `words`, or a member of `words` is not a single word.
    """
    from tokenizers.trainers import WordPieceTrainer

    backend = bert_tokenizer(SPECIAL, lowercase=lowercase).backend_tokenizer
    letters = _letters(backend, texts, min(max(size // 16, _LETTERS[0]), _LETTERS[1]))
    inside = [c for c in letters if len(backend.pre_tokenizer.pre_tokenize_str(f"a{c}")) == 1]
    first = [*SPECIAL, *letters, *(f"{CONTINUES}{c}" for c in inside)]
    required_words = [_normalised_word(backend, word) for word in words]
    smallest_size = len(set(first) | set(required_words))
    if size < smallest_size:
        raise UserError(
            f"vocabulary={size}: expected {smallest_size} or more: special tokens, letters and "
            "words="
        )
    trainer = WordPieceTrainer(
        vocab_size=size,
        min_frequency=_FEWEST,
        # Numbered first; below, they are no longer marked as special.
        special_tokens=first,
        initial_alphabet=letters,
        limit_alphabet=len(letters),
        continuing_subword_prefix=CONTINUES,
        show_progress=False,
    )
    backend.train_from_iterator(chunks(texts), trainer=trainer)
    ids: dict[str, int] = backend.get_vocab(with_added_tokens=True)
    pieces = sorted(ids, key=ids.__getitem__)
    if len(pieces) < size:
        raise UserError(
            f"vocabulary={size}: {len(texts):,} sentences have {len(pieces):,} pieces that occur "
            f"{_FEWEST} times or more; expected at most that, or a larger corpus"
        )
    missing = [word for word in dict.fromkeys(required_words) if word not in ids]
    needed = {*first, *required_words}
    for word in missing:
        last = max(at for at, piece in enumerate(pieces) if piece not in needed)
        del pieces[last]
        pieces.append(word)
    return pieces


def _letters(backend: Any, texts: pa.LargeStringArray, limit: int) -> list[str]:
    """Return the `limit` most frequent characters after normalisation, sorted."""
    counts = np.zeros(0x110000, dtype=np.int64)
    for batch in chunks(texts):
        text = backend.normalizer.normalize_str("\n".join(batch))
        codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
        counts += np.bincount(codes, minlength=len(counts))
    codes_in_texts = [int(code) for code in np.flatnonzero(counts) if not chr(code).isspace()]
    # Ties are broken by code point.
    most_frequent = sorted(codes_in_texts, key=lambda code: (-int(counts[code]), code))[:limit]
    return [chr(code) for code in sorted(most_frequent)]


def _normalised_word(backend: Any, word: str) -> str:
    """Return a word as the tokenizer normalises it."""
    pieces = backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(word))
    if len(pieces) != 1:
        raise UserError(f"words={word}: expected single words, without spaces and hyphens")
    return str(pieces[0][0])


def tokenizer(
    texts: pa.LargeStringArray,
    size: int,
    *,
    lowercase: bool,
    words: Sequence[str],
    limit: int,
    cache: Path | None,
) -> Any:
    """Return a transformers tokenizer with `vocabulary`, cached in `cache`.

    `limit` is the maximum number of tokens that its model reads.

    Raises:
        UserError: as `vocabulary`.
    """
    cached = None
    if cache is not None:
        identity = json.dumps([_VERSION, size, lowercase, list(words)])
        identity_hash = hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()
        cached = cache / f"vocabulary-{key(identity_hash, texts, None, 0)}.txt"
    pieces = []
    if cached is not None and cached.exists():
        pieces = cached.read_text(encoding="utf-8", errors="replace").split("\n")
        if len(pieces) != size:
            log.warning("%s: %d of %d pieces; it is trained again", cached, len(pieces), size)
    if len(pieces) != size:
        pieces = vocabulary(texts, size, lowercase=lowercase, words=words)
        if cached is not None:
            cached.parent.mkdir(parents=True, exist_ok=True)
            # If two processes write the same, the last wins.
            fresh = cached.with_name(f"{cached.name}.{uuid.uuid4().hex}.new")
            fresh.write_text("\n".join(pieces), encoding="utf-8")
            os.replace(fresh, cached)
    return bert_tokenizer(pieces, lowercase=lowercase, limit=limit)
