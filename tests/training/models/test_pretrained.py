"""Which folders hold a usable model, and the limits on the length of their texts."""

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import transformers

from adnominal.conf import UserError
from adnominal.training.models.pretrained import Pretrained, check_whole, find, longest


def without_tokenizer(tiny_encoder: str, folder: Path) -> Path:
    folder.mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copy(Path(tiny_encoder) / name, folder)
    return folder


def test_a_folder_needs_the_files_of_its_tokenizer(tiny_encoder, tmp_path):
    folder = without_tokenizer(tiny_encoder, tmp_path / "bare")
    with pytest.raises(UserError, match=r"bare: its tokenizer has no words.*tokenizer\.json"):
        find(os.fspath(folder))
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ndog\n")
    tokenizer = find(os.fspath(folder)).tokenizer
    assert tokenizer.tokenize("a dog") == ["[UNK]", "dog"]


def test_t5_without_a_vocabulary_is_refused(tiny_encoder, tmp_path):
    folder = without_tokenizer(tiny_encoder, tmp_path / "bare")
    (folder / "config.json").write_text(json.dumps({"model_type": "t5"}))
    with pytest.raises(UserError, match="its tokenizer has no words"):
        find(os.fspath(folder))


def test_adapters_alone_are_refused(tmp_path):
    check_whole(os.fspath(tmp_path))
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(UserError, match=r"adapters.*lora\.merge=true.*merged/"):
        check_whole(os.fspath(tmp_path))


@pytest.mark.parametrize(
    ("family", "padding", "expected"),
    [
        ("Bert", 0, 20),
        ("Roberta", 0, 19),
        ("Roberta", 1, 18),
        ("MPNet", 1, 18),
        ("Camembert", 1, 18),
    ],
)
def test_the_limit_is_the_number_of_positions_that_tokens_can_have(family, padding, expected):
    config = getattr(transformers, f"{family}Config")(
        vocab_size=30,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        max_position_embeddings=20,
        pad_token_id=padding,
    )
    limit = longest(Pretrained("", config, SimpleNamespace(model_max_length=10**30)))
    assert limit == expected
    model = transformers.AutoModel.from_config(config)
    model(torch.full((1, limit), 5))
    with pytest.raises((RuntimeError, IndexError)):
        model(torch.full((1, limit + 1), 5))


def test_without_positions_the_limit_is_the_tokenizers():
    config = transformers.T5Config()
    for stated, expected in ((10**30, 100_000), (512, 512)):
        tokenizer = SimpleNamespace(model_max_length=stated)
        assert longest(Pretrained("", config, tokenizer)) == expected
