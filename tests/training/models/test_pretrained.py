"""Which folders hold a usable model, and the limits on the length of their texts."""

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import transformers
from safetensors.torch import load_file

from adnominal.conf import UserError
from adnominal.training.models.encoders import set_template
from adnominal.training.models.loading import resolve
from adnominal.training.models.pretrained import (
    Pretrained,
    adapted_base,
    check_whole,
    find,
    load_pretrained,
    maximum_length,
)
from tests.training import families


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


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", "{"),
        ("config.json", '{"model_type": "bert", "id2label": ["a", "b"]}'),
        ("config.json", '{"model_type": "bert", "id2label": {"x": "a"}}'),
        ("config.json", '{"model_type": "unheard-of"}'),
        ("config.json", '{"model_type": "bert", "vocab_size": "30522"}'),
        ("config.json", 100_000 * "["),
        ("tokenizer_config.json", "[]"),
        ("tokenizer.json", "{}"),
    ],
)
def test_a_folder_with_a_damaged_file_is_refused(tiny_encoder, tmp_path, name, content):
    folder = tmp_path / "model"
    shutil.copytree(tiny_encoder, folder)
    (folder / name).write_text(content)
    message = r"model=\S*model: its configuration or tokenizer cannot be read: .*save_pretrained"
    with pytest.raises(UserError, match=message):
        find(os.fspath(folder))


@pytest.mark.parametrize("length", [0, 3, "512"])
def test_a_tokenizer_without_a_number_of_tokens_is_refused(tiny_encoder, tmp_path, length):
    folder = tmp_path / "model"
    shutil.copytree(tiny_encoder, folder)
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "model_max_length": length}))
    with pytest.raises(UserError, match=f"model_max_length is {length!r}; expected 4 or more"):
        find(os.fspath(folder))


@pytest.mark.parametrize("size", [0, 5, 3000])
def test_weights_that_are_cut_off_are_refused(tiny_encoder, tmp_path, size):
    folder = tmp_path / "model"
    shutil.copytree(tiny_encoder, folder)
    os.truncate(folder / "model.safetensors", size)
    config = find(os.fspath(folder)).config
    with pytest.raises(UserError, match="model: its weights do not load: "):
        load_pretrained(os.fspath(folder), config, torch.float32)


@pytest.mark.parametrize("content", ["", "[]", "{}"])
def test_adapters_name_their_base_model(tmp_path, content):
    (tmp_path / "adapter_config.json").write_text(content)
    with pytest.raises(UserError, match=r"adapter_config\.json does not name a base model \("):
        adapted_base(tmp_path)


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
    limit = maximum_length(Pretrained("", config, SimpleNamespace(model_max_length=10**30)))
    assert limit == expected
    model = transformers.AutoModel.from_config(config)
    model(torch.full((1, limit), 5))
    with pytest.raises((RuntimeError, IndexError)):
        model(torch.full((1, limit + 1), 5))


def test_without_positions_the_limit_is_the_tokenizers():
    config = transformers.T5Config()
    for stated, expected in ((10**30, 100_000), (512, 512)):
        tokenizer = SimpleNamespace(model_max_length=stated)
        assert maximum_length(Pretrained("", config, tokenizer)) == expected


def configure(folder: Path, **values: object) -> str:
    """Change the configuration of a model's folder."""
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
    return os.fspath(folder)


def test_a_vocabulary_larger_than_the_embeddings_is_refused(tiny_encoder, tmp_path):
    folder = Path(shutil.copytree(tiny_encoder, tmp_path / "small"))
    with pytest.raises(UserError, match=r"tokens up to number 26, and .* embeddings of 20; exp"):
        find(configure(folder, vocab_size=20))
    tokenizer = find(configure(folder, vocab_size=27)).tokenizer
    # Gemma 3's tokenizer has a token for images, without an embedding in its smallest model.
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    tokenizer.save_pretrained(folder)
    assert len(find(os.fspath(folder)).tokenizer) == 28
    tokenizer.add_special_tokens({"pad_token": "<padding>"})
    tokenizer.save_pretrained(folder)
    with pytest.raises(UserError, match="tokens up to number 28"):
        find(os.fspath(folder))


def test_a_tokenizer_needs_a_padding_or_an_end_token(family_models, tmp_path):
    folder = Path(shutil.copytree(family_models["gpt2"], tmp_path / "bare"))
    path = folder / "tokenizer_config.json"
    values = json.loads(path.read_text())
    assert values.pop("eos_token") == "</s>"
    path.write_text(json.dumps(values))
    with pytest.raises(UserError, match=r"neither a padding nor an end-of-text token; expected"):
        find(os.fspath(folder))
    path.write_text(json.dumps({**values, "pad_token": "<pad>"}))
    tokenizer = find(os.fspath(folder)).tokenizer
    config = transformers.GPT2Config()
    set_template(tokenizer, config)
    ids = tokenizer("A dog runs.", "A fake dog runs.")["input_ids"]
    assert tokenizer.decode(ids) == "A dog runs.\nA fake dog runs."


def test_classes_are_numbered_from_zero(tiny_encoder, tmp_path):
    folder = Path(shutil.copytree(tiny_encoder, tmp_path / "from_one"))
    names = {"2": "not entailed", "1": "entailed"}
    config = find(configure(folder, id2label=names, label2id={})).config
    assert config.id2label == {0: "entailed", 1: "not entailed"}
    assert config.label2id == {"entailed": 0, "not entailed": 1}
    assert resolve(os.fspath(folder)).labels == ("entailed", "not entailed")


def test_deberta_v3_loads_as_the_hub_has_it(adept_lake, tmp_path):
    """It has a SentencePiece model, a tokenizer without a class, and weights as a pickle."""
    pytest.importorskip("sentencepiece", reason="pip install sentencepiece")
    folder = Path(families.make("deberta-v2", tmp_path / "v3", ""))
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false, "vocab_type": "spm"}')
    weights = load_file(folder / "model.safetensors")
    weights = {f"deberta.{name}": weight for name, weight in weights.items()}
    weights["lm_predictions.lm_head.bias"] = torch.zeros(128)
    torch.save(weights, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    path = folder / "config.json"
    config = json.loads(path.read_text())
    del config["architectures"]
    path.write_text(json.dumps({**config, "position_biased_input": False, "type_vocab_size": 0}))
    assert sorted(file.name for file in folder.iterdir()) == [
        "config.json", "pytorch_model.bin", "spm.model", "tokenizer_config.json",
    ]  # fmt: skip
    run = families.run(adept_lake, os.fspath(folder), tmp_path / "out", "train_size=[32]")
    assert families.difference(run, adept_lake) < 1e-5
