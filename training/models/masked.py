"""Masked language models from scratch: BERT's architecture with a new vocabulary.

The model is trained only on masked words, without next-sentence prediction, which does not help
(Liu et al. 2019, section 4.2), and with one sentence per row. Only masked positions go through the
output layer, which would otherwise be most of the work of a small model.

The masked tokens are a function of only (seed, epoch, id of the text). Masks are drawn again in
each epoch ("dynamic masking", Liu et al. 2019, section 4.1). Every random number is a hash of the
text's key and the token's position, so the order of the texts, the batch and the number of
processes have no effect on the masks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import transformers
from torch import Tensor
from transformers import BertConfig

from adnominal.etl.draws import Keys, finalised_keys
from adnominal.training.batching import Ids, seed_of
from adnominal.training.models import wordpiece
from adnominal.training.models.encoders import TokenLearner, padded
from adnominal.training.models.pretrained import quiet
from adnominal.training.models.tokens import chunks, encode
from adnominal.training.pretraining import Settings
from adnominal.training.tasks import Dataset

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# Of the chosen tokens (Devlin et al. 2019, section 3.1): become the mask; become another token.
_MASKED, _OTHER = 0.8, 0.1


def keys(item_ids: list[str]) -> Keys:
    """Return a 64-bit key for each id."""
    return np.array([seed_of(item) for item in item_ids], dtype=np.uint64)


def draws(rows: Keys, width: int, stream: int) -> npt.NDArray[np.float64]:
    """Return uniform numbers in [0, 1), shape [rows, width], different for each `stream`.

    Number (i, j) depends only on key i, j and the stream.
    """
    places = np.arange(1, width + 1, dtype=np.uint64) + np.uint64(stream << 32)
    mixed = finalised_keys(finalised_keys(rows)[:, None] + _GOLDEN * places[None, :])
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


@dataclass(frozen=True)
class Masking:
    """How tokens are chosen and replaced.

    Each word (with `whole_words`; else each token) is chosen with probability `share`, and at least
    one in every text. In training, 80 % of the chosen tokens become `mask`, 10 % become a random
    non-special token and 10 % stay (Devlin et al. 2019, section 3.1). `special[t]` says whether
    token t is never chosen, `continues[t]` whether it continues a word.
    """

    share: float
    whole_words: bool
    mask: int
    special: npt.NDArray[np.bool_]
    continues: npt.NDArray[np.bool_]

    def selection(self, ids: Ids, rows: Keys) -> npt.NDArray[np.bool_]:
        """Return which tokens of a batch are masked; padding in `ids` [rows, width] is special.

        `rows` are the keys of the texts, mixed with seed and epoch.
        """
        maskable = ~self.special[ids]
        numbers = draws(rows, ids.shape[1], 0)
        if self.whole_words:
            # The number of a word is that of its first token.
            places = np.where(maskable & self.continues[ids], 0, np.arange(ids.shape[1]))
            numbers = np.take_along_axis(numbers, np.maximum.accumulate(places, axis=1), axis=1)
        numbers = np.where(maskable, numbers, 1.0)
        smallest = numbers.min(axis=1, keepdims=True)
        selected: npt.NDArray[np.bool_] = maskable & (
            (numbers < self.share) | (numbers == smallest)
        )
        return selected

    def masked(self, ids: Ids, rows: Keys, *, training: bool) -> tuple[Ids, npt.NDArray[np.bool_]]:
        """Return the masked input of a batch, and which tokens (true) are to be predicted.

        Outside of training, every chosen token becomes the mask. A token that stays is easy to
        predict, so with the masking of training, models would seem better than they are.
        """
        is_selected = self.selection(ids, rows)
        if not training:
            return np.where(is_selected, self.mask, ids), is_selected
        fates = draws(rows, ids.shape[1], 1)
        words = np.flatnonzero(~self.special)
        replacements = words[(draws(rows, ids.shape[1], 2) * len(words)).astype(np.int64)]
        changed = np.where(
            fates < _MASKED, self.mask, np.where(fates < 1 - _OTHER, replacements, ids)
        )
        return np.where(is_selected, changed, ids), is_selected


class BertForMaskedLM(transformers.BertForMaskedLM):  # type: ignore[misc]
    """The library's model, computing logits only for the requested positions."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor, places: Tensor) -> Tensor:
        """Return logits [places, vocabulary]; `places` number the batch's tokens row by row."""
        states = self.bert(input_ids, attention_mask=attention_mask).last_hidden_state
        return self.cls(states.flatten(0, 1)[places])


class MaskedLearner(TokenLearner):
    """A BERT model to be trained on the sentences of a dataset.

    Call `prepare` first: it trains the vocabulary on the training part and tokenises both parts, or
    reads them from the folder `cache`.
    """

    def __init__(self, dataset: Dataset, settings: Settings) -> None:
        super().__init__(dataset, settings.cache)
        self._settings = settings
        self.name = f"bert-{settings.layers}x{settings.hidden}-{dataset.edition}"
        self.config = BertConfig(
            vocab_size=settings.vocabulary,
            hidden_size=settings.hidden,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            intermediate_size=4 * settings.hidden,
            max_position_embeddings=settings.max_length,
            hidden_dropout_prob=settings.dropout,
            attention_probs_dropout_prob=settings.dropout,
            pad_token_id=wordpiece.SPECIAL.index("[PAD]"),
        )
        self.tokenizer: Any = None
        self._epoch = 0
        self._keys: dict[str, Keys] = {}

    def prepare(self) -> None:
        """Train the vocabulary and tokenise, or read both from the cache.

        Raises:
            UserError: the sentences do not support the size of the vocabulary.
        """
        settings = self._settings
        self.tokenizer = wordpiece.tokenizer(
            self.dataset.parts["train"].first,
            settings.vocabulary,
            lowercase=settings.lowercase,
            words=settings.words,
            limit=settings.max_length,
            cache=self.cache,
        )
        for part, examples in self.dataset.parts.items():
            self._tokens[part] = encode(
                self.tokenizer, examples.first, None, settings.max_length, self.cache
            )
            self._keys[part] = np.concatenate([keys(ids) for ids in chunks(examples.item_ids)])
        pieces = self.tokenizer.convert_ids_to_tokens(range(settings.vocabulary))
        self._masking = Masking(
            share=settings.mask,
            whole_words=settings.whole_words,
            mask=self.tokenizer.mask_token_id,
            special=np.array([piece in wordpiece.SPECIAL for piece in pieces]),
            continues=np.array([piece.startswith(wordpiece.CONTINUES) for piece in pieces]),
        )
        self._unigram = self._unigrams()

    def _unigrams(self) -> Tensor:
        """Return the tokens' log-probabilities by add-one smoothed frequency in training.

        They are the baseline of a model that does not read its text.
        """
        ids = self._tokens["train"].ids
        counts = np.zeros(self._settings.vocabulary, dtype=np.float64)
        for at in range(0, len(ids), 1 << 24):
            counts += np.bincount(ids[at : at + (1 << 24)], minlength=len(counts))
        counts = np.where(self._masking.special, 0.0, counts + 1.0)
        with np.errstate(divide="ignore"):
            return torch.from_numpy(np.log(counts / counts.sum())).float()

    def model(self, seed: int, dtype: Any = None) -> Any:
        torch.manual_seed(seed)
        model = BertForMaskedLM(self.config)
        if self._settings.gradient_checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        return model

    def parameters(self) -> int:
        with torch.device("meta"):
            model = BertForMaskedLM(self.config)
        return sum(p.numel() for p in model.parameters())

    def begin_epoch(self, epoch: int) -> None:
        """Draw new masks in each epoch."""
        self._epoch = epoch

    def _rows(self, part: str, indices: Ids) -> Keys:
        # The validation part has the same masks in every epoch and for every seed.
        draw = (self._settings.seed, self._epoch) if part == "train" else ()
        return self._keys[part][indices] ^ np.uint64(seed_of("mask", *draw))

    def collate(self, part: str, indices: Ids) -> dict[str, Any]:
        """Return input_ids, attention_mask, the `places` of masked tokens and their labels."""
        batch = padded(self.tokenizer, self._tokens[part], indices)
        ids = batch["input_ids"].numpy()
        keys_of_rows, training = self._rows(part, indices), part == "train"
        inputs, selected = self._masking.masked(ids, keys_of_rows, training=training)
        places = np.flatnonzero(selected)
        return {
            "input_ids": torch.from_numpy(inputs),
            "attention_mask": batch["attention_mask"],
            "places": torch.from_numpy(places),
            "labels": torch.from_numpy(ids.reshape(-1)[places]),
        }

    def logits(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """Return the logits of each masked token and word piece."""
        return model(batch["input_ids"], batch["attention_mask"], batch["places"])

    def sums(self, logits: Any, labels: Any) -> Mapping[str, float]:
        """Count correctly predicted masked tokens, by the model and by frequency."""
        unigram = self._unigram.to(labels.device)
        return {
            "accuracy": float((logits.argmax(dim=-1) == labels).sum()),
            "majority": float((unigram.argmax() == labels).sum()),
            "unigram_loss": -float(unigram[labels].double().sum()),
        }

    def load(self, folder: Path) -> Any:
        with quiet():
            return BertForMaskedLM.from_pretrained(folder, dtype="auto", use_safetensors=True)
