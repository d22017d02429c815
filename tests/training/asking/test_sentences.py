"""Log-probabilities of texts by tiny models with random weights, against plain computations."""

import json
import math
import os
from pathlib import Path

import pyarrow as pa
import pytest
import torch

from adnominal.conf import JobFailed, UserError
from adnominal.training.answering.classifier import texts
from adnominal.training.asking.sentences import (
    SentenceModel,
    SentenceScorer,
    sentence_model,
)
from adnominal.training.models.loading import resolve

WORDS = ("a", "dog", "runs", "fast", ".", "un", "##real", "##is", "##tic")
# Of several lengths; "unrealistic" is four tokens of one word.
TEXTS = ["a dog runs .", "a fast unrealistic dog runs fast .", "dog"]
SIZE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
SIZE |= {"intermediate_size": 32, "max_position_embeddings": 20}


def save(folder: Path, model, *, without=()) -> str:
    """Save a model with a tokenizer of whole words and some pieces of words."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    ids = {word: number for number, word in enumerate([*special, *WORDS])}
    backend = Tokenizer(WordPiece(ids, unk_token="[UNK]"))
    backend.pre_tokenizer = BertPreTokenizer()
    if "cls" not in without:
        backend.post_processor = TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    names |= {"bos": "[CLS]", "eos": "[SEP]"}
    tokens = {f"{name}_token": token for name, token in names.items() if name not in without}
    PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=20, **tokens
    ).save_pretrained(folder)
    model.save_pretrained(folder)
    return os.fspath(folder)


def bert():
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(0)
    return BertForMaskedLM(BertConfig(**SIZE, vocab_size=14, initializer_range=0.5))


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 20}
    return GPT2LMHeadModel(GPT2Config(vocab_size=14, initializer_range=0.5, **sizes))


def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    config = T5Config(vocab_size=14, decoder_start_token_id=0, pad_token_id=0, **sizes)
    return T5ForConditionalGeneration(config)


def loaded(path: str, masking: str = "word") -> SentenceModel:
    model = sentence_model(resolve(path, None), masking)
    model.load("fp32")
    return model


def scored(model: SentenceModel, rows: int = 8) -> list[list[float]]:
    with torch.inference_mode():
        return model.score(model.encode(TEXTS), rows)


@pytest.mark.parametrize("rows", [1, 8])
def test_causal_log_probabilities_add_up_to_the_models_own_loss(tmp_path, rows):
    model = loaded(save(tmp_path, gpt2()))
    assert model.kind == "causal"
    for text, logs in zip(TEXTS, scored(model, rows), strict=True):
        # The start token is read; the end token is neither read nor counted.
        ids = torch.tensor([model.tokenizer(text)["input_ids"][:-1]])
        loss = model._model(input_ids=ids, labels=ids).loss.item()
        assert len(logs) == ids.shape[1] - 1
        assert math.fsum(logs) == pytest.approx(-loss * len(logs), rel=1e-5)


def test_a_causal_model_starts_with_its_end_of_text_token_if_it_has_no_other(tmp_path):
    path = save(tmp_path / "end", gpt2(), without=("cls", "bos"))
    (sentence,) = loaded(path).encode(["a dog"])
    assert sentence.ids[0] == 3
    assert sentence.places == [1, 2]
    path = save(tmp_path / "none", gpt2(), without=("cls", "bos", "eos"))
    (sentence,) = loaded(path).encode(["a dog"])
    assert (len(sentence.ids), sentence.places, sentence.spans) == (2, [1], [(2, 5)])


@pytest.mark.parametrize("rows", [1, 8])
def test_encoder_decoder_log_probabilities_add_up_to_the_models_own_loss(tmp_path, rows):
    model = loaded(save(tmp_path, t5()))
    assert model.kind == "encoder-decoder"
    source = torch.tensor([model.tokenizer("")["input_ids"]])
    for text, logs in zip(TEXTS, scored(model, rows), strict=True):
        labels = torch.tensor([model.tokenizer(text)["input_ids"]])
        labels[0, [0, -1]] = -100
        # The decoder reads the special tokens, although they are not counted.
        inputs = model._model._shift_right(torch.tensor([model.tokenizer(text)["input_ids"]]))
        loss = model._model(input_ids=source, decoder_input_ids=inputs, labels=labels).loss.item()
        assert math.fsum(logs) == pytest.approx(-loss * len(logs), rel=1e-5)


@pytest.mark.parametrize("rows", [1, 8])
@pytest.mark.parametrize("masking", ["token", "word"])
def test_pseudo_log_likelihood_is_that_of_a_plain_loop(tmp_path, masking, rows):
    model = loaded(save(tmp_path, bert()), masking)
    assert model.kind == "masked"
    mask = model.tokenizer.mask_token_id
    for text, logs in zip(TEXTS, scored(model, rows), strict=True):
        encoded = model.tokenizer(text)
        ids, words = encoded["input_ids"], encoded.word_ids()
        expected = []
        for place in range(1, len(ids) - 1):
            masked = list(ids)
            for later in range(place, len(ids) - 1):
                if later == place or (masking == "word" and words[later] == words[place]):
                    masked[later] = mask
            with torch.inference_mode():
                logits = model._model(torch.tensor([masked])).logits[0, place]
            expected.append(float(logits.log_softmax(-1)[ids[place]]))
        assert logs == pytest.approx(expected, rel=1e-4)


def test_the_maskings_differ_only_within_words_of_several_tokens(tmp_path):
    path = save(tmp_path, bert())
    by_token, by_word = scored(loaded(path, "token")), scored(loaded(path, "word"))
    assert by_token[0] == pytest.approx(by_word[0], rel=1e-5)
    differs = [abs(a - b) > 1e-4 for a, b in zip(by_token[1], by_word[1], strict=True)]
    # a fast un ##real ##is ##tic dog …: the last piece has no later one.
    assert differs == [False, False, True, True, True, False, False, False, False, False]


def test_answers_have_the_tokens_of_each_text_and_none_for_what_cannot_be_scored(tmp_path):
    model = loaded(save(tmp_path, gpt2()))
    scorer = SentenceScorer(resolve(os.fspath(tmp_path), None), model)
    first = pa.array(["a dog runs .", "dog " * 30, ""])
    encoded = scorer.encode(texts(first, pa.array(["a fast dog", "dog", "dog"])))
    assert encoded.truncated() == {"texts": 2}
    evaluation = scorer.answer(encoded, 2)
    scores, predicted = evaluation.scores, evaluation.predicted
    assert scores is not None and predicted is not None
    assert scores.shape == (3, 2)
    one, two = json.loads(str(predicted[0]))
    assert [token[:2] for token in one] == [["a", 0], ["dog", 2], ["runs", 6], [".", 11]]
    assert scores[0, 0] == pytest.approx(sum(token[2] for token in one), abs=1e-5)
    assert [token[0] for token in two] == ["a", "fast", "dog"]
    # Too long for the model, and empty; the other text of the row has its score.
    assert [math.isnan(value) for value in scores[:, 0]] == [False, True, True]
    assert scores[1, 1] == scores[2, 1]
    assert json.loads(str(predicted[1]))[0] is None


def test_weights_that_give_nan_end_the_run(tmp_path):
    model = gpt2()
    with torch.no_grad():
        model.transformer.wte.weight[6] = math.nan
    path = save(tmp_path, model)
    scorer = SentenceScorer(resolve(path, None), loaded(path))
    encoded = scorer.encode(texts(pa.array(["a dog"])))
    with pytest.raises(JobFailed, match="NaN for 1 of 1 texts"):
        scorer.answer(encoded, 2)


def test_models_without_a_language_model_are_refused(tmp_path, tiny_encoder):
    from transformers import BertConfig, BertForSequenceClassification

    classifier = BertForSequenceClassification(BertConfig(**SIZE, vocab_size=14))
    path = save(tmp_path / "classifier", classifier)
    with pytest.raises(UserError, match="no language-model head"):
        sentence_model(resolve(path, None))
    path = save(tmp_path / "unmasked", bert(), without=("mask",))
    with pytest.raises(UserError, match="no mask token"):
        sentence_model(resolve(path, None))
    with pytest.raises(UserError, match=r"its weights lack cls\.predictions"):
        loaded(tiny_encoder)
