"""A logged model for MLflow: texts in; labels or generated texts out.

MLflow copies this file into the model, so it does not import this package for a transformers model;
sequence-to-sequence models and adapters need the package installed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel

_BATCH = 64


class ServedModel(PythonModel):  # type: ignore[misc]
    """Takes columns `first` and, for pairs, `second`; returns label and score, or text.

    For a language model, `first` is the prompt and the text is its continuation.
    """

    def load_context(self, context: Any) -> None:
        """Load the weights once."""
        self._model: Any
        folder = Path(context.artifacts["weights"])
        self._generates = (folder / "vocabulary.json").exists()
        if self._generates:
            from adnominal.training.models import seq2seq

            self._model, self._vocabularies = seq2seq.load(folder)
        else:
            import transformers

            config = transformers.AutoConfig.from_pretrained(folder)
            (kind,) = config.architectures
            if not hasattr(transformers, kind):
                from adnominal.training.models.decoders import text_decoder

                text_decoder(config)
            self._writes = kind.endswith(("ForCausalLM", "LMHeadModel"))
            head = "CausalLM" if self._writes else "SequenceClassification"
            name = f"AutoModelFor{head}"
            if (folder / "adapter_config.json").exists():
                from adnominal.training.models.pretrained import load_pretrained

                self._model, _ = load_pretrained(str(folder), config, "auto", None, name)
            else:
                self._model = getattr(transformers, name).from_pretrained(folder)
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        trained = json.loads((folder / "adnominal.json").read_text(encoding="utf-8"))
        # Texts are read as in training: with its token limit and its added full stops.
        self._limit = trained["max_length"]
        self._longest_answer = trained["longest_answer"]
        self._ends = trained["task"].get("full_stops") == "normalised"
        self._model.eval()

    # Untyped: MLflow would take type hints for a schema, but the model has a signature.
    def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def]
        """Return one row for each row of `model_input`."""
        parts = [
            self._batch(model_input.iloc[at : at + _BATCH])
            for at in range(0, len(model_input), _BATCH)
        ]
        return pd.concat(parts, ignore_index=True)

    def _batch(self, rows: Any) -> pd.DataFrame:
        """The answers to some rows: a text each, or a label with its score."""
        first = rows["first"].tolist()
        with torch.no_grad():
            if self._generates:
                from adnominal.training.models import seq2seq

                return pd.DataFrame(
                    {"text": seq2seq.answer(self._model, self._vocabularies, first)}
                )
            if self._writes:
                return pd.DataFrame({"text": self._generated_texts(first)})
            second = rows["second"].tolist() if "second" in rows else None
            if self._ends:
                first, second = map(_with_full_stops, (first, second))
            how = {"truncation": True, "max_length": self._limit}
            batch = self._tokenizer(first, second, padding=True, return_tensors="pt", **how)
            logits = self._model(**batch).logits.float()
        best = logits.softmax(-1).max(-1)
        labels = [self._model.config.id2label[at] for at in best.indices.tolist()]
        return pd.DataFrame({"label": labels, "score": best.values.tolist()})

    def _generated_texts(self, prompts: list[str]) -> list[str]:
        """Generate continuations of prompts greedily; prompts are cut as in training."""
        rows = self._tokenizer(prompts)["input_ids"]
        count = 256
        if self._longest_answer is not None:
            count = self._longest_answer + 8
            room = self._limit - self._longest_answer
            rows = [r if len(r) <= room else [r[0], *r[len(r) - room + 1 :]] for r in rows]
        batch = self._tokenizer.pad({"input_ids": rows}, padding_side="left", return_tensors="pt")
        positions = getattr(self._model.config, "max_position_embeddings", None)
        if positions is not None:
            count = min(count, positions - batch["input_ids"].shape[1])
        ids = self._model.generate(**batch, max_new_tokens=count, do_sample=False)
        written = ids[:, batch["input_ids"].shape[1] :]
        texts = self._tokenizer.batch_decode(written, skip_special_tokens=True)
        return [text.strip() for text in texts]


def _with_full_stops(texts: list[str] | None) -> list[str] | None:
    return texts and [text if text.endswith(".") else f"{text}." for text in texts]


set_model(ServedModel())
