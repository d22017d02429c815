"""The packages behind the extras of setup.py, for the error about one that is missing."""

from collections.abc import Mapping

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "train": (
        "torch",
        "transformers",
        "accelerate",
        "deepspeed",
        "peft",
        "safetensors",
        "tokenizers",
        "sentencepiece",
        "huggingface_hub",
        "lm_eval",
        "aiohttp",
        "tqdm",
    ),
    "analysis": ("mlflow", "matplotlib", "scipy", "statsmodels", "sklearn", "jinja2"),
    "spacy": ("spacy",),
    "stanza": ("stanza",),
    "sparknlp": ("sparknlp",),
    "semantics": ("cvc5",),
    "notebooks": ("IPython",),
    "exports": ("datasets",),
    "annotation": ("crowdkit",),
}
"""Packages that the core does not need, by the extra of setup.py that installs them."""
