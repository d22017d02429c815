"""Causal and encoder–decoder models in this process: the harness's HFLM, with shared contexts.

HFLM reads a context again with each of its completions. Prompts are long and completions short, so
here a causal model reads a context once, and its keys and values serve all completions. Nothing is
truncated, and of an answer that is written it is known whether it was cut off.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from lm_eval.models.huggingface import HFLM

from adnominal.conf import UserError
from adnominal.training import launch
from adnominal.training.asking.outcomes import LENGTH, STOP, Outcome
from adnominal.training.asking.settings import Settings
from adnominal.training.models.instructions import completed_texts, continuation_scores
from adnominal.training.models.pretrained import (
    Pretrained,
    check_language_head,
    load_pretrained,
    maximum_length,
)

# Completions of a batch by kind of device. On a CPU, batches of any number took 1.7 times as long.
_MOST_COMPLETIONS = {"cpu": 128, "cuda": 1024}
# A context with a completion, then the tokens of each.
_Pair: TypeAlias = tuple[tuple[str, str], list[int], list[int]]


def load_weights(name: str, pretrained: Pretrained, auto_class: str, settings: Settings) -> Any:
    """Load a model with its language-model head onto this process's GPU, all GPUs, or the CPU.

    Raises:
        UserError: the weights do not load or have no language-model head, or the GPU lacks bf16.
    """
    import torch

    cuda = torch.cuda.is_available()
    if settings.precision == "bf16" and cuda and not torch.cuda.is_bf16_supported():
        raise UserError("precision=bf16: not supported by this GPU; expected fp32")
    dtype = torch.bfloat16 if settings.precision == "bf16" else torch.float32
    device_map = "auto" if settings.split_model else None
    path, config, _ = pretrained
    model, missing = load_pretrained(path, config, dtype, None, auto_class, device_map)
    check_language_head(name, missing)
    if cuda and not settings.split_model:
        model = model.to(f"cuda:{launch.local_rank()}")
    return model.eval()


def check_lengths(name: str, lengths: Sequence[int], limit: int) -> None:
    """Raise `UserError` for texts over the model's limit: cut, one would be another question."""
    too_long = [length for length in lengths if length > limit]
    if too_long:
        raise UserError(
            f"model={name}: {len(too_long)} of {len(lengths)} prompts are longer than its {limit} "
            f"tokens, the longest has {max(lengths)}; expected shorter prompts, or a model that "
            "takes more"
        )


class Local(HFLM):  # type: ignore[misc]
    """A causal or encoder–decoder model for the harness; `name` is its name in errors."""

    def __init__(self, name: str, pretrained: Pretrained, settings: Settings) -> None:
        """Load the weights; raises as `load_weights`."""
        self.name, self._limit = name, maximum_length(pretrained)
        kind = "Seq2SeqLM" if pretrained.config.is_encoder_decoder else "CausalLM"
        super().__init__(
            pretrained=load_weights(name, pretrained, f"AutoModelFor{kind}", settings),
            tokenizer=pretrained.tokenizer,
            batch_size=settings.batch_size,
        )

    def get_model_info(self) -> dict[str, Any]:
        """Return nothing: the harness would look the model up on the hub."""
        return {}

    def loglikelihood(
        self, requests: list[Any], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """Return the log-probability of each completion; whether it is greedy is not computed."""
        results: list[tuple[float, bool]] = super().loglikelihood(requests, disable_tqdm=True)
        return results

    def _encode_pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        if self.backend == "causal":
            tokens, completion = super()._encode_pair(context, continuation)
            if not tokens or not context.strip():
                raise UserError(
                    f"model={self.name}: no text precedes the answer {continuation!r}; expected a "
                    "longer template"
                )
            return tokens, completion
        # The whole output of the model is the completion, which therefore ends.
        output = continuation.strip() + self.tokenizer.eos_token
        return self.tok_encode(context.rstrip()), self.tok_encode(output, add_special_tokens=False)

    def _loglikelihood_tokens(
        self, requests: list[_Pair], disable_tqdm: bool = False, override_bs: int | None = None
    ) -> list[tuple[float, bool]]:
        if self.backend != "causal":
            lengths = [max(len(context), len(output)) for _, context, output in requests]
            check_lengths(self.name, lengths, self._limit)
            results: list[tuple[float, bool]]
            results = super()._loglikelihood_tokens(requests, True, override_bs)
            return results
        lengths = [len(context) + len(completion) for _, context, completion in requests]
        check_lengths(self.name, lengths, self._limit)
        answers: list[tuple[float, bool]] = [(0.0, False)] * len(requests)
        for batch in self._by_context(requests):
            numbers = [number for members in batch for number in members]
            sums = self._completion_scores(requests, batch)
            for number, value in zip(numbers, sums, strict=True):
                answers[number] = (value, False)
                arguments, _, completion = requests[number]
                outcome = _outcome(value, len(completion))
                self.cache_hook.add_partial("loglikelihood", arguments, outcome)
        return answers

    def _by_context(self, requests: Sequence[_Pair]) -> Iterator[list[list[int]]]:
        """Yield batches of contexts, each as the numbers of its requests.

        Contexts with the longest completions come first, then the longest contexts, so that a batch
        has little padding and what does not fit into memory fails at once. Each completion has
        logits over the whole vocabulary, so a batch has at most `_MOST_COMPLETIONS`; a context with
        more is read again.
        """
        contexts: dict[tuple[int, ...], list[int]] = {}
        for number, (_, context, _) in enumerate(requests):
            contexts.setdefault(tuple(context), []).append(number)

        def cost(context: tuple[int, ...]) -> tuple[int, int]:
            completions = [len(requests[number][2]) for number in contexts[context]]
            return max(completions), len(context)

        most = _MOST_COMPLETIONS.get(self.device.type, 1024)
        batch: list[list[int]] = []
        completions = 0
        for shared in sorted(contexts, key=cost, reverse=True):
            numbers = contexts[shared]
            for start in range(0, len(numbers), most):
                members = numbers[start : start + most]
                full = len(batch) == int(self.batch_size)
                if batch and (full or completions + len(members) > most):
                    yield batch
                    batch, completions = [], 0
                batch.append(members)
                completions += len(members)
        if batch:
            yield batch

    def _completion_scores(
        self, requests: Sequence[_Pair], batch: Sequence[Sequence[int]]
    ) -> list[float]:
        import torch

        contexts = [requests[members[0]][1] for members in batch]
        completions = [requests[number][2] for members in batch for number in members]
        places = [place for place, members in enumerate(batch) for _ in members]
        padding = self.tokenizer.pad_token_id or 0
        inputs = completed_texts(contexts, [[] for _ in contexts], padding)
        inputs = {name: column.to(self.device) for name, column in inputs.items()}
        with torch.inference_mode():
            scores = continuation_scores(self.model, inputs, places, completions)
        sums: list[float] = scores.tolist()
        return sums

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """Return what the model writes after each context.

        The requests have the same settings: ``max_gen_toks`` and ``temperature``. The cache hook is
        told whether a text ended or was cut off.
        """
        contexts = [request.args[0] for request in requests]
        lengths = [len(self.tok_encode(context)) for context in contexts]
        room = requests[0].args[1]["max_gen_toks"] if self.backend == "causal" else 0
        check_lengths(self.name, [length + room for length in lengths], self._limit)
        order = sorted(range(len(requests)), key=lambda number: -lengths[number])
        texts = [""] * len(requests)
        size = int(self.batch_size)
        for start in range(0, len(order), size):
            numbers = order[start : start + size]
            batch = [contexts[number] for number in numbers]
            outcomes = self._answers(batch, **requests[0].args[1])
            for number, outcome in zip(numbers, outcomes, strict=True):
                texts[number] = outcome.text or ""
                self.cache_hook.add_partial("generate_until", requests[number].args, outcome)
        return texts

    def _answers(
        self, contexts: list[str], max_gen_toks: int, temperature: float, **_: Any
    ) -> list[Outcome]:
        """Return what the model writes after each of the contexts, and why it ended."""
        import torch

        ids, mask = self.tok_batch_encode(contexts)
        draws: dict[str, Any] = {"do_sample": False}
        if temperature > 0:
            draws = {"do_sample": True, "temperature": temperature}
        with torch.inference_mode():
            rows = self.model.generate(
                input_ids=ids.to(self.device),
                attention_mask=mask.to(self.device),
                max_new_tokens=max_gen_toks,
                pad_token_id=self.tokenizer.pad_token_id,
                **draws,
            ).cpu()
        if self.backend == "causal":
            rows = rows[:, ids.shape[1] :]
        ends = torch.tensor(self._end_tokens())
        outcomes = []
        for row in rows:
            finish = STOP if torch.isin(row, ends).any() else LENGTH
            text = self.tokenizer.decode(row, skip_special_tokens=True)
            outcomes.append(Outcome(text=text, finish=finish, tokens_out=len(row)))
        return outcomes

    def _end_tokens(self) -> list[int]:
        """Return the tokens with which the model ends a text; a chat model may have several."""
        ends = self.model.generation_config.eos_token_id
        if ends is None:
            ends = self.tokenizer.eos_token_id
        return ends if isinstance(ends, list) else [ends]


def _outcome(value: float, tokens: int) -> Outcome:
    if math.isnan(value):
        return Outcome(error="the model gave NaN")
    return Outcome(likelihood=(value, False), tokens_out=tokens)
