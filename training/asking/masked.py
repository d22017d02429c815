"""Masked language models, which lm-evaluation-harness lacks: one token fills a gap.

The text is tokenised with a word in the gap and the word's token is then masked, so that the
preceding space belongs to the token if the vocabulary does it so (byte-level BPE).
"""

import logging
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from lm_eval.api.model import LM

from adnominal.conf import UserError
from adnominal.etl.prompts.files import Prompts, Verbaliser
from adnominal.training import launch
from adnominal.training.asking.local import check_lengths, load_weights
from adnominal.training.asking.outcomes import Outcome
from adnominal.training.asking.settings import Settings
from adnominal.training.batching import pad_rows
from adnominal.training.models.masks import logits_of_masks
from adnominal.training.models.pretrained import Pretrained, maximum_length

_CHUNK = 1024
log = logging.getLogger("adnominal")


class Gap(NamedTuple):
    """A text with a gap, and the words that may fill it."""

    prefix: str
    suffix: str
    words: tuple[str, ...]


class Encoded(NamedTuple):
    """A gap as tokens: the text with a mask, its position, and the token of each word."""

    ids: list[int]
    position: int
    words: list[int]


class Words:
    """The tokens of words in gaps: checked before the weights are read."""

    def __init__(self, name: str, pretrained: Pretrained) -> None:
        """Raise `UserError` for a tokenizer without a mask token."""
        self.name, self.tokenizer = name, pretrained.tokenizer
        self._limit = maximum_length(pretrained)
        self._tokens: dict[tuple[str, str, tuple[str, ...]], tuple[int | None, ...]] = {}
        if self.tokenizer.mask_token_id is None:
            raise UserError(
                f"model={name}: its tokenizer has no mask token, which a masked language model "
                "fills; expected a model with one, such as bert-base-cased"
            )

    def usable(self, prompts: Prompts, fields: Mapping[str, str]) -> Prompts:
        """Return the prompts with only the words that are one token of the model.

        `fields` are those of an item, in whose texts the words are looked at.

        Raises:
            UserError: the model cannot write any word of a label, or two labels share a token.
        """
        templates = []
        for template in prompts.prompts:
            before, after = template.text_around_gap(fields)
            verbalisers = []
            for verbaliser in template.verbalisers:
                name = f"{template.name}, {verbaliser.name}"
                gap = Gap(before, after, verbaliser.all)
                verbalisers.append(self._usable(name, verbaliser, gap))
            templates.append(replace(template, verbalisers=tuple(verbalisers)))
        return replace(prompts, prompts=tuple(templates))

    def _usable(self, name: str, verbaliser: Verbaliser, gap: Gap) -> Verbaliser:
        tokens = dict(zip(gap.words, self.tokens(gap), strict=True))
        usable_words = []
        for words in verbaliser.words:
            usable_words.append(tuple(word for word in words if tokens[word] is not None))
            if not usable_words[-1]:
                raise UserError(self._refusal(name, words, gap))
        for token, count in Counter(tokens.values()).items():
            if token is not None and count > 1:
                alike = [word for word in tokens if tokens[word] == token]
                raise UserError(
                    f"model={self.name}: {' and '.join(alike)} of {name} are the same token; "
                    "expected words with different tokens (verbalisers=)"
                )
        lacking = [word for word, token in tokens.items() if token is None]
        if lacking and launch.rank() == 0:
            log.warning(
                "%s: %d words that are not one token of the model are ignored: %s",
                name,
                len(lacking),
                " ".join(lacking),
            )
        return replace(verbaliser, words=tuple(usable_words))

    def tokens(self, gap: Gap) -> tuple[int | None, ...]:
        """Return each word's token in context; None if it is several tokens or unknown."""
        key = (gap.prefix[-1:], gap.suffix[:1], gap.words)
        if key not in self._tokens:
            texts = [f"{gap.prefix}{word}{gap.suffix}" for word in gap.words]
            word_ids = []
            for word, (ids, places) in zip(gap.words, self._texts(texts), strict=True):
                token = _single_token(places, len(gap.prefix), len(word))
                word_id = None if token is None else ids[token]
                word_ids.append(None if word_id == self.tokenizer.unk_token_id else word_id)
            self._tokens[key] = tuple(word_ids)
        return self._tokens[key]

    def encode(self, gaps: Sequence[Gap]) -> list[Encoded]:
        """Encode gaps whose words are all one token.

        Raises:
            UserError: a word is not one token in its text, or a text exceeds the model's limit.
        """
        texts = [f"{gap.prefix}{gap.words[0]}{gap.suffix}" for gap in gaps]
        encoded = []
        for gap, text, (ids, places) in zip(gaps, texts, self._texts(texts), strict=True):
            position = _single_token(places, len(gap.prefix), len(gap.words[0]))
            words = [token for token in self.tokens(gap) if token is not None]
            if position is None or ids[position] != words[0] or len(words) < len(gap.words):
                raise UserError(
                    f"model={self.name}: {gap.words[0]!r} is not one token in {text!r}, though it "
                    "is elsewhere; expected a template in which it always is"
                )
            ids[position] = self.tokenizer.mask_token_id
            encoded.append(Encoded(ids, position, words))
        check_lengths(self.name, [len(gap.ids) for gap in encoded], self._limit)
        return encoded

    def _texts(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[tuple[int, int]]]]:
        """Yield token ids and their positions in the text, including special tokens."""
        for start in range(0, len(texts), _CHUNK):
            batch = self.tokenizer(list(texts[start : start + _CHUNK]), return_offsets_mapping=True)
            yield from zip(batch["input_ids"], batch["offset_mapping"], strict=True)

    def _refusal(self, name: str, words: Sequence[str], gap: Gap) -> str:
        reasons = []
        for word in words:
            ((ids, places),) = self._texts([f"{gap.prefix}{word}{gap.suffix}"])
            word_places = _places_within(places, len(gap.prefix), len(word))
            pieces = self.tokenizer.convert_ids_to_tokens([ids[token] for token in word_places])
            why = "unknown to it" if len(word_places) < 2 else f"{len(word_places)} tokens of it"
            reasons.append(f"{word!r} is {why} ({' '.join(pieces)})")
        return (
            f"model={self.name}: {'; '.join(reasons)} in {name}: a masked language model fills a "
            "gap with one token; expected words that are in its vocabulary (verbalisers=, or your "
            "own file with prompts=)"
        )


class Masked(LM):  # type: ignore[misc]
    """A masked language model for the harness.

    The outcome of a word has its log-probability, whether it is the first token, and as text the
    first token: the most probable one of the whole vocabulary.
    """

    def __init__(self, words: Words, pretrained: Pretrained, settings: Settings) -> None:
        """Load the weights; raises as `load_weights`."""
        super().__init__()
        self.words = words
        self._size = settings.batch_size
        self._model = load_weights(words.name, pretrained, "AutoModelForMaskedLM", settings)

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        """Return the log-probability of each word in its gap, and whether it is the first token.

        The cache hook receives the outcomes. The words of a gap are answered at once.
        """
        members: dict[Gap, list[Any]] = {}
        for number, request in enumerate(requests):
            prefix, completion = request.args
            suffix = request.doc["suffix"]
            word = completion.removesuffix(suffix) if suffix else completion
            gap = Gap(prefix, suffix, tuple(request.doc["words"]))
            members.setdefault(gap, []).append((number, gap.words.index(word)))
        gaps = list(members)
        encoded = self.words.encode(gaps)
        order = sorted(range(len(gaps)), key=lambda at: -len(encoded[at].ids))
        results: list[Any] = [None] * len(requests)
        for start in range(0, len(order), self._size):
            batch = order[start : start + self._size]
            answers = self._answers([encoded[at] for at in batch])
            for at, answer in zip(batch, answers, strict=True):
                for number, place in members[gaps[at]]:
                    arguments, outcome = requests[number].args, answer[place]
                    results[number] = outcome.likelihood or (math.nan, False)
                    self.cache_hook.add_partial("loglikelihood", arguments, outcome)
        return results

    def _answers(self, encoded: Sequence[Encoded]) -> Iterator[list[Outcome]]:
        """Yield the outcomes of the words of each gap."""
        import torch

        device, padding = self._model.device, self.words.tokenizer.pad_token_id
        ids = pad_rows([gap.ids for gap in encoded], padding).to(device)
        mask = pad_rows([[1] * len(gap.ids) for gap in encoded], 0).to(device)
        positions = torch.tensor([gap.position for gap in encoded], device=device)
        with torch.inference_mode():
            logits = logits_of_masks(self._model, ids, mask, positions)
        logs = torch.log_softmax(logits.float(), dim=-1).cpu().numpy()
        for row, gap in zip(logs, encoded, strict=True):
            best = int(row.argmax())
            first = self.words.tokenizer.decode([best]).strip()
            yield [_outcome(first, float(row[token]), token == best) for token in gap.words]

    def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
        """Not asked of masked models here."""
        raise NotImplementedError

    def generate_until(self, requests: list[Any]) -> list[str]:
        """A masked model writes no text."""
        raise NotImplementedError


def _outcome(first: str, value: float, is_first: bool) -> Outcome:
    if math.isnan(value):
        return Outcome(error="the model gave NaN")
    return Outcome(text=first, likelihood=(value, is_first), tokens_out=1)


def _places_within(places: Sequence[tuple[int, int]], start: int, length: int) -> list[int]:
    """Return the tokens that overlap with text[start : start + length]."""
    end = start + length
    return [number for number, (a, b) in enumerate(places) if a < end and b > start and a < b]


def _single_token(places: Sequence[tuple[int, int]], start: int, length: int) -> int | None:
    """Return the single token for text[start : start + length], maybe with a preceding space."""
    word_places = _places_within(places, start, length)
    if len(word_places) != 1:
        return None
    a, b = places[word_places[0]]
    return word_places[0] if a >= start - 1 and b <= start + length else None
