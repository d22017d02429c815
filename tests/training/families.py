"""Tiny models of current families with random weights, made without a hub."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from adnominal import conf
from adnominal.training.job import finetune
from adnominal.training.models.loading import resolve
from adnominal.training.settings import Settings
from adnominal.training.tasks import task
from tests.training.conftest import UNRECORDED, adept_rows, run_folder, scores

FAMILIES = ("bert", "deberta-v2", "modernbert", "llama", "qwen", "gpt2", "gemma3")
# Models of texts and images, whose text part is a decoder.
MULTIMODAL = ("gemma3", "llama4", "mistral3", "qwen3_vl")

_SIZES = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 256,
}


def texts() -> list[str]:
    return [str(row[name]) for row in adept_rows() for name in ("sentence1", "sentence2")]


def decoder_tokenizer(folder: Path, *, begins: bool, padding: bool) -> int:
    """Save a byte-level tokenizer as decoders have it; the size of its vocabulary."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "</s>", "<pad>"]
    backend.train_from_iterator(
        texts(),
        trainers.BpeTrainer(
            vocab_size=360, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        ),
    )
    if begins:
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 0)]
        )
    PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>" if padding else None,
        padding_side="left",
        model_max_length=256,
    ).save_pretrained(folder)
    return int(backend.get_vocab_size())


def sentencepiece_tokenizer(folder: Path) -> int:
    """Save DeBERTa-v2's tokenizer as it is published, a SentencePiece model only; the size of the
    vocabulary."""
    import json

    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts()),
        model_prefix=os.fspath(folder / "spm"),
        vocab_size=80,
        hard_vocab_limit=False,
        pad_id=0,
        unk_id=3,
        bos_id=1,
        eos_id=2,
        pad_piece="[PAD]",
        bos_piece="[CLS]",
        eos_piece="[SEP]",
        unk_piece="[UNK]",
        minloglevel=2,
    )
    (folder / "spm.vocab").unlink()
    config = {"tokenizer_class": "DebertaV2Tokenizer", "do_lower_case": False}
    config["model_max_length"] = 64
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return 128


def make(family: str, folder: Path, tiny_encoder: str, width: int = 32) -> str:
    """Save a model of a family with its tokenizer; the folder."""
    import torch
    import transformers

    folder.mkdir(parents=True)
    if family in ("bert", "roberta", "mpnet", "modernbert"):
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(Path(tiny_encoder) / name, folder)
        size = 40
    elif family == "deberta-v2":
        size = sentencepiece_tokenizer(folder)
    else:
        size = decoder_tokenizer(folder, begins=family == "llama", padding=family != "gpt2")
    if family in MULTIMODAL:
        multimodal_model(family, size).save_pretrained(folder)
        return os.fspath(folder)
    sizes: dict[str, Any] = {**_SIZES, "vocab_size": size, "initializer_range": 0.2}
    sizes |= {"hidden_size": width, "intermediate_size": 2 * width}
    rope = {"num_key_value_heads": 1, "head_dim": width // 2}
    special = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": None}
    config, name = {
        "bert": lambda: (transformers.BertConfig(**sizes), "BertModel"),
        "roberta": lambda: (transformers.RobertaConfig(**sizes), "RobertaModel"),
        "mpnet": lambda: (transformers.MPNetConfig(**sizes), "MPNetModel"),
        "deberta-v2": lambda: (
            transformers.DebertaV2Config(
                **sizes, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8
            ),
            "DebertaV2Model",
        ),
        "modernbert": lambda: (
            transformers.ModernBertConfig(
                **sizes,
                pad_token_id=0,
                cls_token_id=2,
                sep_token_id=3,
                bos_token_id=2,
                eos_token_id=3,
                attn_implementation="sdpa",
            ),
            "ModernBertModel",
        ),
        "llama": lambda: (transformers.LlamaConfig(**sizes, **rope, **special), "LlamaForCausalLM"),
        "qwen": lambda: (transformers.Qwen3Config(**sizes, **rope, **special), "Qwen3ForCausalLM"),
        "gpt2": lambda: (
            transformers.GPT2Config(
                vocab_size=size, n_positions=256, n_embd=32, n_layer=2, n_head=2, **special
            ),
            "GPT2LMHeadModel",
        ),
    }[family]()
    torch.manual_seed(0)
    getattr(transformers, name)(config).save_pretrained(folder)
    return os.fspath(folder)


def multimodal_model(family: str, vocabulary_size: int) -> Any:
    """Return a whole model of texts and images, with random weights."""
    import torch
    import transformers

    text: dict[str, Any] = {**_SIZES, "vocab_size": vocabulary_size, "initializer_range": 0.2}
    text |= {"num_key_value_heads": 1, "head_dim": 16}
    text |= {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    images: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    images |= {"num_attention_heads": 2, "image_size": 28, "patch_size": 14}
    more: dict[str, Any] = {}
    if family == "gemma3":
        name = "Gemma3"
        images["model_type"] = "siglip_vision_model"
        more["mm_tokens_per_image"] = 4
    elif family == "mistral3":
        name = "Mistral3"
        text["model_type"] = "mistral"
        images |= {"model_type": "pixtral", "head_dim": 8}
        more["tie_word_embeddings"] = False
    elif family == "llama4":
        name = "Llama4"
        text |= {"intermediate_size_mlp": 64, "num_local_experts": 2, "num_experts_per_tok": 1}
        text |= {"interleave_moe_layer_step": 2, "attention_chunk_size": 64}
        images["intermediate_size"] = 64
        images |= dict.fromkeys(
            ("vision_output_dim", "projector_input_dim", "projector_output_dim"), 32
        )
    else:
        name = "Qwen3VL"
        rope = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [4, 2, 2]}
        text["rope_parameters"] = rope
        images = {"depth": 1, "hidden_size": 16, "intermediate_size": 32, "num_heads": 2}
        images |= {"out_hidden_size": 32, "deepstack_visual_indexes": [0]}
        more["tie_word_embeddings"] = True
    config = getattr(transformers, f"{name}Config")(text_config=text, vision_config=images, **more)
    torch.manual_seed(0)
    return getattr(transformers, f"{name}ForConditionalGeneration")(config)


def run(lake: str, model: str, out: Path, *more: str) -> Path:
    """Finetune a model; the folder of the run."""
    common = ["task.name=adept", f"lake={lake}", f"model={model}", f"out={out}", *UNRECORDED]
    finetune(conf.load(Settings, [*common, "num_train_epochs=1", "learning_rate=1e-2", *more]))
    return run_folder(out)


def difference(folder: Path, lake: str) -> float:
    """The largest difference between the scores of a run and those of its saved model."""
    saved_rows = pq.read_table(folder / "predictions.parquet").to_pylist()
    test = task({"name": "adept"}).load(lake).parts["test"]
    loaded_scores = scores(resolve(str(folder)), test.first, test.second)
    by_id = dict(zip(test.item_ids.to_pylist(), loaded_scores, strict=True))
    differences = [
        np.abs(by_id[row["item_id"]] - np.array(row["scores"])).max()
        for row in saved_rows
        if row["item_id"] in by_id
    ]
    if len(differences) != len(test):
        raise ValueError(
            f"{len(differences)} of {len(test)} rows are in the predictions of {folder}"
        )
    return float(max(differences))
