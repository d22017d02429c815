"""Which folders are models, and what is said of the others."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from conf import UserError
from training.models.pretrained import check_whole, find


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


def test_t5_without_a_vocabulary_knows_the_mark_of_a_beginning_alone(tiny_encoder, tmp_path):
    folder = without_tokenizer(tiny_encoder, tmp_path / "bare")
    (folder / "config.json").write_text(json.dumps({"model_type": "t5"}))
    with pytest.raises(UserError, match="its tokenizer has no words"):
        find(os.fspath(folder))


def test_adapters_are_no_whole_model(tmp_path):
    check_whole(os.fspath(tmp_path))
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(UserError, match=r"adapters.*lora\.merge=true.*merged/"):
        check_whole(os.fspath(tmp_path))
