"""Log-probabilities, by a language model, of the words that may fill a gap.

*Masked* models see one mask token in the gap. The text is tokenised with a word in the gap and the
word's token is then masked, so that the preceding space belongs to the token if the vocabulary does
it so (byte-level BPE). *Causal* models score each word with all text after it, given the text
before; a word in the middle of a template is thus judged by the end as well. *Encoder-decoder*
models read the text before the gap and score the rest as their whole output.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adnominal.conf import UserError
from adnominal.training import launch
from adnominal.training.batching import Ids
from adnominal.training.models.instructions import completed_texts, continuation_scores
from adnominal.training.models.pretrained import Pretrained, load_pretrained, longest
from adnominal.training.prompting.cache import Answer
from adnominal.training.prompting.items import Question
from adnominal.training.prompting.prompts import Cloze

_CHUNK = 1024


class Encoded(NamedTuple):
    """A gap as token ids.

    Attributes:
        inputs: the model's input: one sequence or, for a causal model, one for each word.
        answers: the tokens to predict, a sequence for each word: the end of that word's input
            (causal), or the whole output (encoder-decoder). For a masked model it is one sequence
            with the token of each word, or -1.
        mask_position: the position of the mask.
    """

    inputs: tuple[npt.NDArray[np.int32], ...]
    answers: tuple[npt.NDArray[np.int32], ...]
    mask_position: int = 0

    @property
    def length(self) -> int:
        """The number of tokens of the longest input."""
        return max(len(ids) for ids in self.inputs)


class LanguageModel(ABC):
    """A model with configuration and tokenizer; `load` reads the weights.

    `name` is its name in errors.
    """

    kind: str
    auto_class: str

    def __init__(self, name: str, pretrained: Pretrained) -> None:
        self.name = name
        self.path, self.config, self.tokenizer = pretrained
        self._limit = longest(pretrained)
        self._model: Any = None

    @abstractmethod
    def encode(self, clozes: Sequence[Cloze]) -> list[Encoded]:
        """Encode the texts as tokens."""

    @abstractmethod
    def answers(self, encoded: Sequence[Encoded]) -> list[Answer]:
        """Return the answers to a batch."""

    def check(self, questions: Sequence[Question]) -> dict[str, list[str]]:
        """Reject questions that the model cannot answer, before work starts.

        Returns:
            Words that are ignored, by prompt and verbaliser.

        Raises:
            UserError: the model cannot write any word of a label, or two labels share a word.
        """
        return {}

    def lengths(self, encoded: Sequence[Encoded]) -> Ids:
        """Return the number of tokens of each.

        Raises:
            UserError: a text exceeds the model's limit; truncation would change the question.
        """
        lengths = np.array([gap.length for gap in encoded], dtype=np.int64)
        if len(lengths) and lengths.max() > self._limit:
            raise UserError(
                f"model={self.name}: {int((lengths > self._limit).sum())} of {len(lengths)} "
                f"prompts are longer than its {self._limit} tokens, the longest has "
                f"{lengths.max()}; expected shorter prompts, or a model that takes more"
            )
        return lengths

    def load(self, precision: str, split: bool) -> None:
        """Load the weights onto this process's GPU or the CPU; with `split` onto all GPUs.

        Raises:
            UserError: the weights do not load or have no language-model head, or the GPU lacks
                bf16.
        """
        import torch

        cuda = torch.cuda.is_available()
        if precision == "bf16" and cuda and not torch.cuda.is_bf16_supported():
            raise UserError("precision=bf16: not supported by this GPU; expected fp32")
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        model, missing = load_pretrained(
            self.path,
            self.config,
            dtype,
            None,
            self.auto_class,
            device_map="auto" if split else None,
        )
        if missing:
            raise UserError(
                f"model={self.name}: its weights lack {', '.join(sorted(missing)[:3])}, which a "
                f"{self.kind} language model needs; they would be random. Expected a model with "
                "its language-model head, not only an encoder or a classifier"
            )
        if cuda and not split:
            model = model.to(f"cuda:{launch.local_rank()}")
        self._model = model.eval()

    def score(self, encoded: Sequence[Encoded]) -> list[Answer]:
        """Return the answers to a batch; call `load` first."""
        import torch

        with torch.inference_mode():
            return self.answers(encoded)

    def _texts(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[tuple[int, int]]]]:
        """Yield token ids and their positions in the text, including special tokens."""
        for start in range(0, len(texts), _CHUNK):
            batch = self.tokenizer(list(texts[start : start + _CHUNK]), return_offsets_mapping=True)
            yield from zip(batch["input_ids"], batch["offset_mapping"], strict=True)

    def _batch(self, rows: Sequence[npt.NDArray[np.int32]]) -> tuple[Any, Any]:
        """Return ids and attention mask of padded sequences on the model's device."""
        import torch
        from torch.nn.utils.rnn import pad_sequence

        tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
        ids = pad_sequence(tensors, batch_first=True, padding_value=self.tokenizer.pad_token_id)
        mask = pad_sequence([torch.ones_like(row) for row in tensors], batch_first=True)
        return ids.to(self._model.device), mask.to(self._model.device)


class Masked(LanguageModel):
    """A masked language model: one token in the gap."""

    kind = "masked"
    auto_class = "AutoModelForMaskedLM"

    def __init__(self, name: str, pretrained: Pretrained) -> None:
        super().__init__(name, pretrained)
        if self.tokenizer.mask_token_id is None:
            raise UserError(
                f"model={name}: its tokenizer has no mask token, which a masked language model "
                "fills; expected a model with one, such as bert-base-cased"
            )
        self._ids: dict[tuple[str, str, tuple[str, ...]], tuple[int | None, ...]] = {}

    def _words(self, cloze: Cloze) -> tuple[int | None, ...]:
        """Return each word's token in context; None if it is several tokens or unknown."""
        key = (cloze.prefix[-1:], cloze.suffix[:1], cloze.words)
        if key not in self._ids:
            texts = [f"{cloze.prefix}{word}{cloze.suffix}" for word in cloze.words]
            word_ids = []
            for word, (ids, places) in zip(cloze.words, self._texts(texts), strict=True):
                token = _single_token(places, len(cloze.prefix), len(word))
                word_id = None if token is None else ids[token]
                word_ids.append(None if word_id == self.tokenizer.unk_token_id else word_id)
            self._ids[key] = tuple(word_ids)
        return self._ids[key]

    def check(self, questions: Sequence[Question]) -> dict[str, list[str]]:
        left_out: dict[str, list[str]] = {}
        probes: dict[str, Question] = {}
        for question in questions:
            probes.setdefault(f"{question.prompt.name}, {question.verbaliser.name}", question)
        for name, probe in probes.items():
            tokens = dict(zip(probe.cloze.words, self._words(probe.cloze), strict=True))
            for words in probe.verbaliser.words:
                lacking = [word for word in words if tokens[word] is None]
                if len(lacking) == len(words):
                    raise UserError(self._refusal(name, words, probe.cloze))
                if lacking:
                    left_out.setdefault(name, []).extend(lacking)
            for token, count in Counter(tokens.values()).items():
                if token is not None and count > 1:
                    words_alike = [word for word in tokens if tokens[word] == token]
                    raise UserError(
                        f"model={self.name}: {' and '.join(words_alike)} of {name} are the same "
                        "token; expected words with different tokens (verbalisers=)"
                    )
        return left_out

    def _refusal(self, name: str, words: Sequence[str], cloze: Cloze) -> str:
        reasons = []
        for word in words:
            ((ids, places),) = self._texts([f"{cloze.prefix}{word}{cloze.suffix}"])
            word_places = _within(places, len(cloze.prefix), len(word))
            pieces = self.tokenizer.convert_ids_to_tokens([ids[token] for token in word_places])
            why = "unknown to it" if len(word_places) < 2 else f"{len(word_places)} tokens of it"
            reasons.append(f"{word!r} is {why} ({' '.join(pieces)})")
        return (
            f"model={self.name}: {'; '.join(reasons)} in {name}: a masked language model fills a "
            "gap with one token; expected words that are in its vocabulary (verbalisers=, or your "
            "own file with prompts=)"
        )

    def encode(self, clozes: Sequence[Cloze]) -> list[Encoded]:
        fillers = []
        for cloze in clozes:
            number = next((n for n, token in enumerate(self._words(cloze)) if token is not None), 0)
            fillers.append(cloze.words[number])
        texts = [f"{c.prefix}{word}{c.suffix}" for c, word in zip(clozes, fillers, strict=True)]
        encoded: list[Encoded] = []
        for cloze, word, (ids, places) in zip(clozes, fillers, self._texts(texts), strict=True):
            place = _single_token(places, len(cloze.prefix), len(word))
            if place is None or ids[place] not in self._words(cloze):
                raise UserError(
                    f"model={self.name}: {word!r} is not one token in {texts[len(encoded)]!r}, "
                    "though it is elsewhere; expected a template in which it always is"
                )
            row = np.array(ids, dtype=np.int32)
            row[place] = self.tokenizer.mask_token_id
            words = np.array(
                [-1 if token is None else token for token in self._words(cloze)], np.int32
            )
            encoded.append(Encoded((row,), (words,), place))
        return encoded

    def answers(self, encoded: Sequence[Encoded]) -> list[Answer]:
        import torch

        ids, mask = self._batch([gap.inputs[0] for gap in encoded])
        mask_position = torch.tensor([gap.mask_position for gap in encoded], device=ids.device)
        rows = torch.arange(len(encoded), device=ids.device)

        def gather(_module: Any, _inputs: Any, output: Any) -> None:
            # The head is a product with the vocabulary, which only the masks need.
            hidden = output.last_hidden_state
            output.last_hidden_state = hidden[
                rows.to(hidden.device), mask_position.to(hidden.device)
            ][:, None]

        body = self._model.base_model
        hook = body.register_forward_hook(gather) if body is not self._model else None
        try:
            logits = self._model(input_ids=ids, attention_mask=mask).logits
        finally:
            if hook is not None:
                hook.remove()
        logits = logits[:, 0] if logits.shape[1] == 1 else logits[rows, mask_position]
        logs = torch.log_softmax(logits.float(), dim=-1).cpu().numpy()
        answers = []
        for row, gap in zip(logs, encoded, strict=True):
            words = gap.answers[0]
            best = int(row.argmax())
            (places,) = np.nonzero(words == best)
            answers.append(
                Answer(
                    tuple(float(row[token]) if token >= 0 else math.nan for token in words),
                    tuple(int(token >= 0) for token in words),
                    self.tokenizer.decode([best]).strip(),
                    int(places[0]) if len(places) else -1,
                )
            )
        return answers


class Causal(LanguageModel):
    """A causal language model: scores a word with the text after it, given the text before."""

    kind = "causal"
    auto_class = "AutoModelForCausalLM"

    def encode(self, clozes: Sequence[Cloze]) -> list[Encoded]:
        texts = [f"{c.prefix}{word}{c.suffix}" for c in clozes for word in c.words]
        rows = self._texts(texts)
        encoded = []
        for cloze in clozes:
            # The space before the word belongs to the word.
            start = len(cloze.prefix.rstrip())
            inputs, answers = [], []
            for _, (ids, places) in zip(cloze.words, rows, strict=False):
                answer_places = [number for number, (_, end) in enumerate(places) if end > start]
                if answer_places[0] == 0:
                    raise UserError(
                        f"model={self.name}: {cloze.prefix!r} is not a separate token, so that no "
                        "text precedes the answer; expected a longer template"
                    )
                row = np.array(ids[: answer_places[-1] + 1], dtype=np.int32)
                inputs.append(row)
                answers.append(row[answer_places[0] :])
            encoded.append(Encoded(tuple(inputs), tuple(answers)))
        return encoded

    def lengths(self, encoded: Sequence[Encoded]) -> Ids:
        """Return the sort key: tokens of the longest answer, then of the longest input."""
        tokens = super().lengths(encoded)
        answers = [max(map(len, gap.answers)) for gap in encoded]
        return np.array(answers, dtype=np.int64) * (self._limit + 1) + tokens

    def answers(self, encoded: Sequence[Encoded]) -> list[Answer]:
        prompts: dict[bytes, list[int]] = {}
        before, answers = [], []
        for gap in encoded:
            for row, answer in zip(gap.inputs, gap.answers, strict=True):
                prompt = row[: len(row) - len(answer)]
                prompts.setdefault(prompt.tobytes(), prompt.tolist())
                before.append(prompt.tobytes())
                answers.append(answer.tolist())
        place = {prompt: number for number, prompt in enumerate(prompts)}
        padding = self.tokenizer.pad_token_id or 0
        batch = completed_texts([*prompts.values()], [[] for _ in prompts], padding)
        batch = {name: column.to(self._model.device) for name, column in batch.items()}
        places = [place[prompt] for prompt in before]
        sums = continuation_scores(self._model, batch, places, answers)
        return _answers_of_gaps(encoded, sums.tolist())


class EncoderDecoder(LanguageModel):
    """An encoder-decoder model: scores the answer and the text after it as its output."""

    kind = "encoder-decoder"
    auto_class = "AutoModelForSeq2SeqLM"

    def encode(self, clozes: Sequence[Cloze]) -> list[Encoded]:
        sources = self._texts([cloze.prefix.rstrip() for cloze in clozes])
        texts = [f"{word}{c.suffix}".strip() for c in clozes for word in c.words]
        targets = iter(
            ids
            for start in range(0, len(texts), _CHUNK)
            for ids in self.tokenizer(text_target=texts[start : start + _CHUNK])["input_ids"]
        )
        return [
            Encoded(
                (np.array(ids, dtype=np.int32),),
                tuple(np.array(next(targets), dtype=np.int32) for _ in cloze.words),
            )
            for cloze, (ids, _) in zip(clozes, sources, strict=True)
        ]

    def answers(self, encoded: Sequence[Encoded]) -> list[Answer]:
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        ids, mask = self._batch([gap.inputs[0] for gap in encoded])
        targets, target_mask = self._batch([row for gap in encoded for row in gap.answers])
        # The text is read once for all words.
        encoder_states = self._model.get_encoder()(
            input_ids=ids, attention_mask=mask
        ).last_hidden_state
        word_counts = torch.tensor(
            [len(gap.answers) for gap in encoded], device=encoder_states.device
        )
        labels = targets.masked_fill(target_mask == 0, -100)
        logits = self._model(
            encoder_outputs=BaseModelOutput(encoder_states.repeat_interleave(word_counts, dim=0)),
            attention_mask=mask.repeat_interleave(word_counts.to(mask.device), dim=0),
            labels=labels,
        ).logits
        logs = torch.log_softmax(logits.float(), dim=-1)
        targets, target_mask = targets.to(logs.device), target_mask.to(logs.device)
        token_logs = logs.gather(2, targets[:, :, None])[:, :, 0].double()
        sums = (token_logs * target_mask).sum(dim=1).cpu().tolist()
        return _answers_of_gaps(encoded, sums)


def _answers_of_gaps(encoded: Sequence[Encoded], sums: Sequence[float]) -> list[Answer]:
    """Return an answer for each gap from the log-probabilities of all words of all gaps."""
    left = iter(sums)
    return [
        Answer(tuple(islice(left, len(gap.answers))), tuple(map(len, gap.answers)))
        for gap in encoded
    ]


def _within(places: Sequence[tuple[int, int]], start: int, length: int) -> list[int]:
    """Return the tokens that overlap with text[start : start + length]."""
    return [
        number for number, (a, b) in enumerate(places) if a < start + length and b > start and a < b
    ]


def _single_token(places: Sequence[tuple[int, int]], start: int, length: int) -> int | None:
    """Return the single token for text[start : start + length], maybe with a preceding space."""
    word_places = _within(places, start, length)
    if len(word_places) != 1:
        return None
    a, b = places[word_places[0]]
    return word_places[0] if a >= start - 1 and b <= start + length else None


def language_model(name: str, pretrained: Pretrained) -> LanguageModel:
    """Return the kind of language model that a configuration describes.

    Raises:
        UserError: a masked language model has no mask token, or the model is of another kind.
    """
    if getattr(pretrained.config, "is_encoder_decoder", False):
        return EncoderDecoder(name, pretrained)
    for architecture in pretrained.config.architectures or []:
        if architecture.endswith(("ForCausalLM", "LMHeadModel")):
            return Causal(name, pretrained)
        if architecture.endswith(("Classification", "Answering")):
            raise UserError(
                f"model={name}: {architecture}, which has no language-model head; expected a "
                "masked, causal or encoder-decoder language model"
            )
    return Masked(name, pretrained)
