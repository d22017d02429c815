"""Generative fine-tuning: a decoder learns to write a task's answer after a prompt.

The prompt is the dataset's declaration (`Dataset.instruction`) filled in; the completion is a class
name or the target text. Only the completion counts in the loss. Classes are predicted by restricted
choice (the class whose name is the most probable completion), texts by greedy generation.
"""

import inspect
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from adnominal.conf import UserError
from adnominal.training import launch
from adnominal.training.batching import Ids, pad_rows
from adnominal.training.models.encoders import PairLearner
from adnominal.training.models.learner import IGNORED
from adnominal.training.models.pretrained import base_model, maximum_length
from adnominal.training.tasks import Examples

# Token ids, one list per row.
Rows: TypeAlias = list[list[int]]
# The least that is left of a prompt.
_LEAST_PROMPT = 8


class InstructionLearner(PairLearner):
    """A causal language model, and a dataset of classes or target texts.

    If a prompt and the longest completion exceed max_length= or the model's own limit, the prompt
    is cut on the left, because the question is at its end.
    """

    auto_class, task_type = "AutoModelForCausalLM", "CAUSAL_LM"
    instructed = True
    longest_answer: int

    def _configure(self, config: Any, tokenizer: Any) -> None:
        """Check that the model is a decoder, and pad on the left, where prompts begin."""
        kinds = config.architectures or []
        if not any(kind.endswith(("ForCausalLM", "LMHeadModel")) for kind in kinds):
            raise UserError(
                f"model={self.name} instructions=true: {', '.join(kinds) or 'nothing known'}; "
                "expected a decoder, such as LlamaForCausalLM"
            )
        if tokenizer.eos_token is None:
            raise UserError(
                f"model={self.name} instructions=true: its tokenizer has no end-of-text token, "
                "with which an answer ends; expected eos_token in its tokenizer_config.json"
            )
        self._keep_head = True
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        config.pad_token_id = tokenizer.pad_token_id
        # Completions are at the right edge, and only there are logits computed.
        tokenizer.padding_side = "left"

    def _limit(self) -> int:
        longest_input = maximum_length(self)
        limit = self._settings.max_length or longest_input
        if not 16 <= limit <= longest_input:
            raise UserError(f"max_length={limit}: expected 16 to {longest_input} for {self.name}")
        return limit

    def prepare(self) -> None:
        """Tokenise prompts and completions.

        Raises:
            UserError: a completion that leaves no room for a prompt.
        """
        self._choices = completions(self.tokenizer, self.dataset.labels)
        self._prompts: dict[str, Rows] = {}
        self._answers = {part: self._gold(rows) for part, rows in self.dataset.parts.items()}
        answers = [*self._choices, *chain.from_iterable(self._answers.values())]
        self.longest_answer = max(map(len, answers), default=1)
        # Known before the answer is: the same in training and when the model is asked.
        longest_prompt = self.limit - self.longest_answer
        if longest_prompt < _LEAST_PROMPT:
            raise UserError(
                f"max_length={self.limit}: the longest answer has {self.longest_answer} tokens; "
                f"expected {self.longest_answer + _LEAST_PROMPT} or more, so that there is room "
                f"for a prompt, and a model that takes as many "
                f"({self.name}: {maximum_length(self)})"
            )
        self._cut = {}
        for part, examples in self.dataset.parts.items():
            texts = prompts_of(
                self.dataset.instruction, self.dataset.labels, examples.first, examples.second
            )
            prompts = self.tokenizer(texts)["input_ids"] if texts else []
            self._cut[part] = sum(len(prompt) > longest_prompt for prompt in prompts)
            self._prompts[part] = [cut_prompt(prompt, longest_prompt) for prompt in prompts]

    def _gold(self, examples: Examples) -> Rows:
        """Return the completion of each example; empty if it has no label."""
        if examples.targets is not None:
            return completions(self.tokenizer, examples.targets.to_pylist())
        if examples.labels is None:
            return [[] for _ in range(len(examples))]
        return [self._choices[label] for label in examples.labels]

    def lengths(self, part: str) -> Ids:
        """Return the number of tokens of prompt and completion."""
        pairs = zip(self._prompts[part], self._answers[part], strict=True)
        return np.array([len(prompt) + len(answer) for prompt, answer in pairs], dtype=np.int64)

    def collate(self, part: str, indices: Ids) -> dict[str, Any]:
        """Return input_ids, attention_mask, position_ids, and shifted labels of the last positions.

        Outside of training, also return the same for only the prompts, prefixed with ``prompt_``.
        """
        prompts = [self._prompts[part][at] for at in indices]
        answers = [self._answers[part][at] for at in indices]
        if part == "train" and self._settings.packed:
            return packed_rows(prompts, answers)
        padding = self.tokenizer.pad_token_id
        batch = completed_texts(prompts, answers, padding)
        if part == "train":
            return batch
        alone = completed_texts(prompts, [[] for _ in prompts], padding)
        return batch | {f"prompt_{name}": value for name, value in alone.items()}

    def tokens(self, batch: Mapping[str, Any]) -> tuple[int, int]:
        if "places" in batch:
            return batch["input_ids"].numel(), batch["input_ids"].numel()
        return super().tokens(batch)

    def logits(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """Return the logits of each position of the completions and token of the vocabulary."""
        return completion_logits(model, batch)

    def scores(self, model: Any, batch: Mapping[str, Any], logits: Any) -> Any:
        """Return the log-probability of each class name as the completion."""
        prefix = "prompt_"
        prompts = {k.removeprefix(prefix): v for k, v in batch.items() if k.startswith(prefix)}
        size, choices = len(prompts["input_ids"]), self._choices
        numbers = [number for number in range(size) for _ in choices]
        return continuation_scores(model, prompts, numbers, [*choices] * size).view(size, -1)

    def texts(self, model: Any, batch: Mapping[str, Any]) -> list[str]:
        """Generate texts after the prompts greedily."""
        module = getattr(model, "module", model)
        prompts = batch["prompt_input_ids"]
        ids = module.generate(
            input_ids=prompts,
            attention_mask=batch["prompt_attention_mask"],
            max_new_tokens=min(self.longest_answer + 8, maximum_length(self) - prompts.shape[1]),
            do_sample=False,
            pad_token_id=self.tokenizer.pad_token_id,
            eos_token_id=self.tokenizer.eos_token_id,
            synced_gpus=launch.world_size() > 1,
        )
        written = self.tokenizer.batch_decode(ids[:, prompts.shape[1] :], skip_special_tokens=True)
        return [text.strip() for text in written]


def prompts_of(
    instruction: str, labels: Sequence[str], first: pa.StringArray, second: pa.StringArray | None
) -> list[str]:
    """Return the prompts of texts: the instruction, filled in."""
    seconds = (second if second is not None else pa.nulls(len(first), pa.string())).to_pylist()
    pairs = zip(first.to_pylist(), seconds, strict=True)
    named = ", ".join(labels)
    return [instruction.format(first=a, second=b, labels=named) for a, b in pairs]


def completions(tokenizer: Any, texts: Sequence[str]) -> Rows:
    """Return the tokens of completions, including the end of the text."""
    if not texts:
        return []
    rows = tokenizer([f" {text}" for text in texts], add_special_tokens=False)["input_ids"]
    return [[*row, tokenizer.eos_token_id] for row in rows]


def cut_prompt(prompt: list[int], limit: int) -> list[int]:
    """Cut a prompt to `limit` tokens: its first one and its end."""
    return prompt if len(prompt) <= limit else [prompt[0], *prompt[len(prompt) - limit + 1 :]]


def completed_texts(prompts: Rows, answers: Rows, padding: int) -> dict[str, Any]:
    """Return prompts with completions as a batch, padded on the left, as tensors on the CPU.

    It has input_ids, attention_mask and position_ids [rows, width]; labels [rows, longest
    completion] are the completions' tokens and are missing if all completions are empty.
    """
    rows = [[*prompt, *answer] for prompt, answer in zip(prompts, answers, strict=True)]
    mask = pad_rows([[1] * len(row) for row in rows], 0, "left")
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    batch = {
        "input_ids": pad_rows(rows, padding, "left"),
        "attention_mask": mask,
        "position_ids": positions,
    }
    return batch | {"labels": pad_rows(answers, IGNORED, "left")} if any(answers) else batch


def packed_rows(prompts: Rows, answers: Rows) -> dict[str, Any]:
    """Pack prompts with completions into one row, as tensors on the CPU.

    Positions restart with each example in input_ids and position_ids [1, tokens], which delimits
    attention. labels are [1, tokens of completions]; `places` [tokens of completions] are the
    positions whose logits predict them.
    """
    import torch

    ids: list[int] = []
    positions: list[int] = []
    places: list[int] = []
    for prompt, answer in zip(prompts, answers, strict=True):
        # The logits of a position predict the next token.
        first = len(ids) + len(prompt) - 1
        places += range(first, first + len(answer))
        ids += [*prompt, *answer]
        positions += range(len(prompt) + len(answer))
    labels = [token for answer in answers for token in answer]
    return {
        "input_ids": torch.tensor([ids]),
        "position_ids": torch.tensor([positions]),
        "places": torch.tensor(places),
        "labels": torch.tensor([labels]),
    }


def completion_logits(model: Any, batch: Mapping[str, Any]) -> Any:
    """Return the logits of the completions' tokens, [rows, longest completion, vocabulary].

    For a packed batch, the shape is [1, tokens of completions, vocabulary].
    """
    if "places" in batch:
        # No attention mask: with one, the examples would attend to each other.
        return model(
            input_ids=batch["input_ids"],
            position_ids=batch["position_ids"],
            use_cache=False,
            logits_to_keep=batch["places"],
        ).logits
    longest_answer = batch["labels"].shape[1] if "labels" in batch else 1
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    optional = {
        "position_ids": batch["position_ids"],
        "use_cache": False,
        "logits_to_keep": longest_answer + 1,
    }
    # The logits of a position predict the next token.
    return model(**_accepted_inputs(model, inputs | optional)).logits[:, -longest_answer - 1 : -1]


def _accepted_inputs(model: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return those inputs for which the model's forward pass has a parameter."""
    module = getattr(model, "module", model)
    module = getattr(module, "_orig_mod", module)
    taken = inspect.signature(type(base_model(module)).forward).parameters
    return {name: value for name, value in inputs.items() if name in taken}


def continuation_scores(
    model: Any, prompts: Mapping[str, Any], prompt_numbers: Sequence[int], answers: Rows
) -> Any:
    """Return the log-probability of each answer after its prompt, [answers].

    `prompts` come from `completed_texts`, without completions and on the model's device. Each
    prompt is read once, and its keys and values serve all its answers. A model with another kind of
    memory, such as recurrent states, reads the prompt with each answer.
    """
    import torch
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    device = prompts["input_ids"].device
    prefixes = model(**_accepted_inputs(model, {**prompts, "use_cache": True, "logits_to_keep": 1}))
    states: Any = getattr(prefixes, "past_key_values", None)
    layers = {type(layer) for layer in getattr(states, "layers", [states])}
    if layers - {DynamicLayer, DynamicSlidingWindowLayer}:
        return _whole_scores(model, prompts, prompt_numbers, answers)
    # On the CPU, because a model's layers and their caches may be on several GPUs.
    numbers = torch.tensor(prompt_numbers)
    labels = pad_rows(answers, IGNORED).to(device)
    first_logs = prefixes.logits[:, -1].float().log_softmax(dim=-1)
    scores = first_logs[numbers].gather(1, labels[:, :1])[:, 0]
    inputs, rest = labels[:, :-1], labels[:, 1:]
    if not inputs.shape[1]:
        return scores
    states.batch_select_indices(numbers)
    mask = prompts["attention_mask"][numbers]
    continued = {
        "input_ids": inputs.clamp(min=0),
        "attention_mask": torch.cat([mask, (inputs != IGNORED).long()], dim=1),
        "position_ids": mask.sum(dim=1, keepdim=True)
        + torch.arange(inputs.shape[1], device=device),
        "past_key_values": states,
        "use_cache": True,
    }
    return scores + _label_logs(model(**_accepted_inputs(model, continued)).logits, rest)


def _whole_scores(
    model: Any, prompts: Mapping[str, Any], prompt_numbers: Sequence[int], answers: Rows
) -> Any:
    """Compute `continuation_scores` for a model that reads the prompt with each answer."""
    masked = zip(prompts["input_ids"], prompts["attention_mask"].bool(), strict=True)
    rows = [ids[mask].tolist() for ids, mask in masked]
    batch = completed_texts([rows[number] for number in prompt_numbers], answers, 0)
    batch = {name: column.to(prompts["input_ids"].device) for name, column in batch.items()}
    return _label_logs(completion_logits(model, batch), batch["labels"])


def _label_logs(logits: Any, labels: Any) -> Any:
    """Return the log-probability of the labels of each row that are not IGNORED, [rows]."""
    logits = logits.float()
    logs = logits.gather(2, labels.clamp(min=0)[:, :, None])[:, :, 0] - logits.logsumexp(dim=-1)
    return logs.masked_fill(labels == IGNORED, 0.0).sum(dim=1)
