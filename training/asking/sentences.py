"""Log-probabilities of whole texts by language models, token by token, in nats.

*Causal* models give each token a probability after those before it. *Encoder–decoder* models write
the text as the output for an empty input. *Masked* models have no probability of a text; its
pseudo-log-likelihood (Salazar et al. 2020) adds up the log-probability of each token with a mask in
its place. The other tokens of a rare word betray each of them, so that rare words get too much;
``masking="word"`` therefore masks the later tokens of the same word as well (PLL-word-l2r of Kauf
and Ivanova 2023).

Special tokens are read, but never counted. A causal model reads its beginning-of-text token before
the text, or its end-of-text token if it has no other; without both, the first token is not counted.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from adnominal.conf import JobFailed, UserError
from adnominal.training import launch
from adnominal.training.batching import evaluation_batches, pad_rows
from adnominal.training.evaluation import Evaluation
from adnominal.training.models.learner import IGNORED
from adnominal.training.models.loading import ModelSource
from adnominal.training.models.masks import logits_of_masks
from adnominal.training.models.pretrained import (
    Pretrained,
    check_language_head,
    find,
    language_model_kind,
    load_pretrained,
    maximum_length,
)
from adnominal.training.tasks import Examples

# A batch of longer texts has fewer rows: logits of all its tokens are in memory at once.
_TOKENS_PER_ROW = 64

# The log-probability of each counted token of a text.
Logs = list[float]
_Tokens = TypeVar("_Tokens", "Sentence", "_MaskedRow")


class Sentence(NamedTuple):
    """A text as tokens.

    Attributes:
        ids: all token ids in order, special ones included.
        places: the places in `ids` of the counted tokens.
        spans: start and end of each counted token in the text.
        words: the number of the word that each counted token belongs to.
    """

    ids: list[int]
    places: list[int]
    spans: list[tuple[int, int]]
    words: list[int | None]


class _MaskedRow(NamedTuple):
    """A text with masks: `answer` is the token id that the one at `place` hides."""

    ids: list[int]
    place: int
    answer: int


class SentenceModel(ABC):
    """A language model that scores texts; `load` reads its weights. `name` is for messages."""

    kind: str
    auto_class: str

    def __init__(self, name: str, pretrained: Pretrained) -> None:
        self.name = name
        self.path, self.config, self.tokenizer = pretrained
        self.limit = maximum_length(pretrained)
        self._model: Any = None

    @abstractmethod
    def score(self, sentences: Sequence[Sentence], rows: int) -> list[Logs]:
        """Return the log-probabilities of texts, computed in batches of about `rows` rows."""

    def load(self, precision: str) -> None:
        """Load the weights onto this process's device.

        Raises:
            UserError: the weights do not load or lack the language-model head.
        """
        import torch

        kinds = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
        dtype = kinds.get(precision, "auto")
        model, missing = load_pretrained(self.path, self.config, dtype, None, self.auto_class)
        check_language_head(self.name, missing)
        if torch.cuda.is_available():
            model = model.cuda()
        self._model = model.eval()

    def free(self) -> None:
        """Free the memory of the weights."""
        self._model = None

    def encode(self, texts: Sequence[str]) -> list[Sentence]:
        """Return texts as tokens."""
        if not texts:
            return []
        batch = self.tokenizer(
            list(texts), return_offsets_mapping=True, return_special_tokens_mask=True
        )
        sentences = []
        for number, ids in enumerate(batch["input_ids"]):
            is_special = batch["special_tokens_mask"][number]
            places = [place for place in range(len(ids)) if not is_special[place]]
            spans = [batch["offset_mapping"][number][place] for place in places]
            words = batch.word_ids(number)
            sentences.append(Sentence(ids, places, spans, [words[place] for place in places]))
        return sentences

    def _padded(self, rows: Sequence[Sequence[int]], value: int) -> Any:
        """Return rows of ids as a matrix on the model's device, padded on the right."""
        return pad_rows(rows, value).to(self._model.device)

    def _mask(self, rows: Sequence[Sequence[int]]) -> Any:
        return self._padded([[1] * len(row) for row in rows], 0)


class Causal(SentenceModel):
    """Each token is predicted from those before it."""

    kind, auto_class = "causal", "AutoModelForCausalLM"

    def encode(self, texts: Sequence[str]) -> list[Sentence]:
        return [self._with_start(sentence) for sentence in super().encode(texts)]

    def _with_start(self, sentence: Sentence) -> Sentence:
        """Return the text after a start token, without special tokens at its end."""
        ids, places, spans, words = sentence
        if not places:
            return sentence
        ids = ids[: places[-1] + 1]
        start = self.tokenizer.bos_token_id
        if start is None:
            start = self.tokenizer.eos_token_id
        if places[0] > 0:
            return Sentence(ids, places, spans, words)
        if start is None:
            return Sentence(ids, places[1:], spans[1:], words[1:])
        return Sentence([start, *ids], [place + 1 for place in places], spans, words)

    def score(self, sentences: Sequence[Sentence], rows: int) -> list[Logs]:
        logs: list[Logs] = []
        for piece in _pieces(sentences, rows):
            all_ids = [sentence.ids for sentence in piece]
            ids = self._padded(all_ids, self.tokenizer.pad_token_id or 0)
            # Logits of a place predict the token of the next one.
            logits = self._model(input_ids=ids, attention_mask=self._mask(all_ids)).logits[:, :-1]
            before = [[place - 1 for place in sentence.places] for sentence in piece]
            logs += _counted_logs(logits, ids[:, 1:], before)
        return logs


class EncoderDecoder(SentenceModel):
    """The text is the output for an empty input."""

    kind, auto_class = "encoder-decoder", "AutoModelForSeq2SeqLM"

    def score(self, sentences: Sequence[Sentence], rows: int) -> list[Logs]:
        source = self.tokenizer("")["input_ids"] or [self.tokenizer.eos_token_id]
        logs: list[Logs] = []
        for piece in _pieces(sentences, rows):
            sources = [source] * len(piece)
            labels = self._padded([sentence.ids for sentence in piece], IGNORED)
            logits = self._model(
                input_ids=self._padded(sources, 0),
                attention_mask=self._mask(sources),
                labels=labels,
            ).logits
            logs += _counted_logs(logits, labels, [sentence.places for sentence in piece])
        return logs


class Masked(SentenceModel):
    """Each token is predicted from all others, or from all but the later ones of its word."""

    kind, auto_class = "masked", "AutoModelForMaskedLM"

    def __init__(self, name: str, pretrained: Pretrained, masking: str) -> None:
        super().__init__(name, pretrained)
        self._masking = masking
        if self.tokenizer.mask_token_id is None:
            raise UserError(
                f"model={name}: its tokenizer has no mask token, which a masked language model "
                "needs; expected a masked, causal or encoder-decoder language model"
            )

    def score(self, sentences: Sequence[Sentence], rows: int) -> list[Logs]:
        masked_rows = []
        for sentence in sentences:
            masked_rows += [self._masked_row(sentence, at) for at in range(len(sentence.places))]
        flat: Logs = []
        for piece in _pieces(masked_rows, rows):
            flat += self._logs_of_masks(piece)
        flat_logs = iter(flat)
        return [[next(flat_logs) for _ in sentence.places] for sentence in sentences]

    def _masked_row(self, sentence: Sentence, at: int) -> _MaskedRow:
        """Return the text with a mask in place of a token, which alone is counted."""
        place = sentence.places[at]
        hidden = [place]
        word = sentence.words[at]
        if self._masking == "word" and word is not None:
            later = zip(sentence.places[at + 1 :], sentence.words[at + 1 :], strict=True)
            hidden += [other_place for other_place, other in later if other == word]
        ids = list(sentence.ids)
        for hidden_place in hidden:
            ids[hidden_place] = self.tokenizer.mask_token_id
        return _MaskedRow(ids, place, sentence.ids[place])

    def _logs_of_masks(self, rows: Sequence[_MaskedRow]) -> Logs:
        """Return the log-probability of the one counted token of each row."""
        import torch

        all_ids = [row.ids for row in rows]
        ids = self._padded(all_ids, self.tokenizer.pad_token_id or 0)
        numbers = torch.arange(len(rows), device=ids.device)
        places = torch.tensor([row.place for row in rows], device=ids.device)
        answers = torch.tensor([row.answer for row in rows], device=ids.device)

        mask = self._mask(all_ids)
        logits = logits_of_masks(self._model, ids, mask, places)
        logs: Logs = logits.float().log_softmax(dim=-1)[numbers, answers].tolist()
        return logs


def _pieces(sentences: Sequence[_Tokens], rows: int) -> Iterator[Sequence[_Tokens]]:
    """Yield runs of texts: `rows` of up to 64 tokens, fewer of longer ones."""
    longest_text = max((len(sentence.ids) for sentence in sentences), default=1)
    size = max(1, min(rows, rows * _TOKENS_PER_ROW // longest_text))
    for start in range(0, len(sentences), size):
        yield sentences[start : start + size]


def _counted_logs(logits: Any, ids: Any, places: Sequence[Sequence[int]]) -> list[Logs]:
    """Return the log-probabilities of the ids at the places of each row.

    `logits` [rows, width, vocabulary] predict `ids` [rows, width].
    """
    logits = logits.float()
    answers = logits.gather(2, ids.clamp(min=0)[:, :, None])[:, :, 0]
    logs = (answers - logits.logsumexp(dim=-1)).tolist()
    return [[row[place] for place in own] for row, own in zip(logs, places, strict=True)]


def sentence_model(source: ModelSource, masking: str = "word") -> SentenceModel:
    """Return the language model of a configuration, without weights.

    Raises:
        UserError: it has no language-model head, or no mask token.
    """
    pretrained = find(source.path)
    kind = language_model_kind(source.name, pretrained.config)
    if kind == "encoder-decoder":
        return EncoderDecoder(source.name, pretrained)
    if kind == "causal":
        return Causal(source.name, pretrained)
    return Masked(source.name, pretrained, masking)


@dataclass(frozen=True)
class EncodedTexts:
    """The texts of rows with `columns` texts each, row by row; None if a model cannot take one."""

    texts: list[str]
    sentences: list[Sentence | None]
    columns: int

    def truncated(self) -> dict[str, int]:
        """Return the number of texts that get no score; none are cut."""
        return {"texts": sum(sentence is None for sentence in self.sentences)}


@dataclass(frozen=True)
class SentenceScorer:
    """A language model in the role of `answering.classifier.Classifier`: it answers rows."""

    source: ModelSource
    model: SentenceModel

    def encode(self, examples: Examples, limit: int | None = None) -> EncodedTexts:
        """Tokenise the one or two texts of each row."""
        columns = [examples.first.to_pylist()]
        if examples.second is not None:
            columns.append(examples.second.to_pylist())
        texts = [text for row in zip(*columns, strict=True) for text in row]
        sentences: list[Sentence | None] = []
        for sentence in self.model.encode(texts):
            is_scored = sentence.places and len(sentence.ids) <= self.model.limit
            sentences.append(sentence if is_scored else None)
        return EncodedTexts(texts, sentences, len(columns))

    def answer(
        self,
        encoded: EncodedTexts,
        batch_size: int,
        advance: Callable[[int], None] = lambda rows: None,
    ) -> Evaluation:
        """Return the log-probability of each text, [rows, columns], and its tokens as JSON.

        A row's JSON has a list for each text, with ``[token, start, log-probability]`` for each of
        its counted tokens; `start` is the token's place in the text. Texts that are empty or longer
        than the model takes have NaN and null.

        Raises:
            JobFailed: the model gave NaN.
        """
        import torch

        scored = [number for number, text in enumerate(encoded.sentences) if text is not None]
        sentences = [text for text in encoded.sentences if text is not None]
        lengths = np.array([len(sentence.ids) for sentence in sentences], dtype=np.int64)
        batches = evaluation_batches(lengths, batch_size, launch.rank(), launch.world_size())
        local: dict[int, Logs] = {}
        with torch.inference_mode():
            for batch in batches:
                of_batch = self.model.score([sentences[at] for at in batch], batch_size)
                local |= {scored[at]: logs for at, logs in zip(batch, of_batch, strict=True)}
                advance(len(batch) // encoded.columns)
        logs: list[Logs | None] = [None] * len(encoded.texts)
        for share in launch.gather(local):
            for number, token_logs in share.items():
                logs[number] = token_logs
        sums = np.array([math.nan if row is None else math.fsum(row) for row in logs])
        broken = int(np.isnan(sums[scored]).sum())
        if broken:
            raise JobFailed(
                f"model={self.source.name}: NaN for {broken:,} of {len(scored):,} texts; expected "
                "numbers; try precision=fp32, or a model whose weights are finite"
            )
        answered = zip(encoded.texts, encoded.sentences, logs, strict=True)
        described = [_tokens(text, sentence, row) for text, sentence, row in answered]
        size = encoded.columns
        rows = [described[at : at + size] for at in range(0, len(described), size)]
        scores: npt.NDArray[np.float64] = sums.reshape(-1, size)
        return Evaluation([json.dumps(row, ensure_ascii=False) for row in rows], scores, None)


def _tokens(text: str, sentence: Sentence | None, logs: Logs | None) -> list[Any] | None:
    """Return the counted tokens of a text, each with its start and its log-probability."""
    if sentence is None or logs is None:
        return None
    pairs = zip(sentence.spans, logs, strict=True)
    return [[text[start:end], start, round(log, 6)] for (start, end), log in pairs]
