"""Tiny language models of every kind with random weights, and a lake with rows to prompt for."""

import os
from pathlib import Path
from typing import Any

import pytest

from adnominal.etl.plane import TYPES
from tests.rows import plane_item, write

TEXTS = [
    "A black dog is a good example of a black animal.",
    "A tall dog is a type of animal: true.",
    "A fake dog is a poor example of an animal: false.",
    "A positive thing is a negative thing. Yes or no? No. Given that, can we be sure? Answer:",
    "The tea is hot. The tea is scalding. True or false? N/A",
]
# Words that are one token, among them some, but not all, of the conversion table.
WORDS = ["good", "poor", "true", "false", "positive", "negative", "great", "bad"]
WORDS += ["Yes", "No", "True", "False"]
SMALL: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "initializer_range": 0.5,
}
ITEMS = ["A", "a", "an", "is", "of", "type", "example", "animal", "dog", "black", "tall", "fake"]


def _saved(folder: Path, backend, model, **special) -> str:
    from transformers import PreTrainedTokenizerFast

    PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=128, **special
    ).save_pretrained(folder)
    model.save_pretrained(folder)
    return os.fspath(folder)


def word_pieces(words):
    """A cased tokenizer of whole words and single letters."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing

    letters = sorted({letter for text in (*TEXTS, *words) for letter in text if letter.isalnum()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *".,:?/", *words]
    vocabulary += [*letters, *(f"##{letter}" for letter in letters)]
    ids = {word: at for at, word in enumerate(dict.fromkeys(vocabulary))}
    backend = Tokenizer(WordPiece(ids, unk_token="[UNK]"))
    backend.pre_tokenizer = BertPreTokenizer()
    backend.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return backend


def byte_pairs(special):
    """A byte-level BPE tokenizer, as RoBERTa and GPT-2 have it, trained on the texts above."""
    from tokenizers import Tokenizer, decoders
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel
    from tokenizers.trainers import BpeTrainer

    backend = Tokenizer(BPE())
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        special_tokens=special,
        vocab_size=700,
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator([f"{text} {' '.join(WORDS)}" for text in TEXTS * 3], trainer)
    return backend


@pytest.fixture(scope="session")
def bert(tmp_path_factory) -> str:
    """BERT with WordPiece."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    backend = word_pieces([*ITEMS, *WORDS])
    torch.manual_seed(0)
    config = BertConfig(**SMALL, vocab_size=backend.get_vocab_size(), max_position_embeddings=128)
    special = {
        f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")
    }
    return _saved(tmp_path_factory.mktemp("bert"), backend, BertForMaskedLM(config), **special)


@pytest.fixture(scope="session")
def roberta(tmp_path_factory) -> str:
    """RoBERTa with byte-level BPE, whose mask token includes the space before it."""
    import torch
    from tokenizers import AddedToken
    from tokenizers.processors import RobertaProcessing
    from transformers import RobertaConfig, RobertaForMaskedLM

    mask = AddedToken("<mask>", lstrip=True, special=True)
    backend = byte_pairs(["<s>", "<pad>", "</s>", "<unk>", mask])
    backend.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    torch.manual_seed(0)
    config = RobertaConfig(
        **SMALL,
        vocab_size=backend.get_vocab_size(),
        max_position_embeddings=130,
        type_vocab_size=1,
    )
    special: dict[str, Any] = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>"}
    special |= {"sep_token": "</s>", "mask_token": mask}
    return _saved(
        tmp_path_factory.mktemp("roberta"), backend, RobertaForMaskedLM(config), **special
    )


@pytest.fixture(scope="session")
def gpt2(tmp_path_factory) -> str:
    """GPT-2 with byte-level BPE, without padding and mask tokens."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    backend = byte_pairs(["<|endoftext|>"])
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=backend.get_vocab_size(),
        n_embd=16,
        n_layer=2,
        n_head=2,
        n_positions=128,
        initializer_range=0.5,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = GPT2LMHeadModel(config)
    return _saved(tmp_path_factory.mktemp("gpt2"), backend, model, eos_token="<|endoftext|>")


@pytest.fixture(scope="session")
def t5(tmp_path_factory) -> str:
    """T5 with a vocabulary of words and letters; texts end with an end token."""
    import torch
    from tokenizers.processors import TemplateProcessing
    from transformers import T5Config, T5ForConditionalGeneration

    backend = word_pieces(["The", "tea", "is", "hot", *WORDS])
    backend.post_processor = TemplateProcessing(single="$A [SEP]", special_tokens=[("[SEP]", 3)])
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=backend.get_vocab_size(),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=3,
        # Scaled up, so that random weights distinguish words.
        initializer_factor=5.0,
    )
    special: dict[str, Any] = {"pad_token": "[PAD]", "unk_token": "[UNK]", "eos_token": "[SEP]"}
    model = T5ForConditionalGeneration(config)
    return _saved(tmp_path_factory.mktemp("t5"), backend, model, **special)


def plane_tables(lake: str) -> None:
    """A noun with an adjective of each class (two_shot), and an incomplete group (published)."""
    items, splits = [], []
    for adjective, kind in (("black", "I"), ("tall", "S"), ("fake", "O")):
        for inference in TYPES:
            more = {"item_id": f"{adjective}{inference}", "edition": "clean"}
            items.append(plane_item(adjective, kind, "dog", "animal", inference, **more))
            splits.append(("two_shot", "test", more["item_id"]))
    splits += [("published", "test", item) for item in ("black1", "black2", "black3", "tall1")]
    splits.append(("one_it", "test", "tall3"))
    write(lake, "plane_items", items)
    names = ("scheme", "part", "item_id", "fold", "edition")
    rows = [dict(zip(names, (*split, "1", "clean"), strict=True)) for split in splits]
    write(lake, "plane_splits", rows)


def asp_tables(lake: str) -> None:
    """Two rows of entailment inference and four of degree estimation, one of them discarded."""
    weak, strong = "The tea is hot.", "The tea is scalding."
    up = {"premise": weak, "hypothesis": strong, "edition": "clean"}
    down = {"premise": strong, "hypothesis": weak, "edition": "clean"}
    entailment = [
        {**down, "item_id": "e1", "label": "entailment"},
        {**up, "item_id": "e2", "label": "not_entailment"},
    ]
    write(lake, "asp_entailment", [{**row, "test": "ordering"} for row in entailment])
    degrees = [("d1", "base", "entailment"), ("d2", "base", "not_entailment")]
    degrees += [("d3", "base", "discard"), ("d4", "numbers", "entailment")]
    names = ("item_id", "variant", "label")
    rows = [{**up, "test": "booster", **dict(zip(names, d, strict=True))} for d in degrees]
    write(lake, "asp_degree", rows)


@pytest.fixture
def prompt_lake(tmp_path: Path) -> str:
    """A new lake for each test, because answers are written to it."""
    lake = os.fspath(tmp_path / "lake")
    plane_tables(lake)
    asp_tables(lake)
    return lake
