from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from conf import UserError
from training.models.pretrained import find
from training.prompting.items import Question
from training.prompting.prompts import Cloze, Prompt, Verbaliser
from training.prompting.scoring import Causal, EncoderDecoder, Masked, language_model

CLOZES = [
    Cloze("A black dog is a ", " example of a black animal.", ("good", "poor")),
    Cloze("A dog is a good example of a dog. A fake dog is a ", " example.", ("true", "false")),
    Cloze("A tall dog is a type of dog: ", ".", ("good", "poor")),
    Cloze("The tea is hot. True or false? ", "", ("True", "False")),
]


def model(folder):
    loaded_model = language_model(folder, find(folder))
    loaded_model.load("fp32", split=False)
    return loaded_model


def one_by_one(lm, clozes):
    encoded = lm.encode(clozes)
    return [lm.score([one])[0] for one in encoded], lm.score(encoded)


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "t5"])
def test_a_batch_scores_as_one_by_one(name, request):
    lm = model(request.getfixturevalue(name))
    alone, together = one_by_one(lm, CLOZES)
    for a, b in zip(alone, together, strict=True):
        assert a.sums == pytest.approx(b.sums, rel=1e-5, abs=1e-5)
        assert (a.tokens, a.first, a.place) == (b.tokens, b.first, b.place)
    lengths = lm.lengths(lm.encode(CLOZES))
    assert len(set(lengths.tolist())) > 1, "texts of one length would need no padding"
    # Random weights that answer everything alike would show nothing.
    assert len({round(answer.sums[0] - answer.sums[1], 3) for answer in alone}) > 1


@pytest.mark.parametrize(("name", "mask"), [("bert", "[MASK]"), ("roberta", "<mask>")])
def test_masked_scores_are_those_of_the_text_with_its_mask(name, mask, request):
    folder = request.getfixturevalue(name)
    lm = model(folder)
    from transformers import AutoModelForMaskedLM

    reference = AutoModelForMaskedLM.from_pretrained(folder).eval()
    for cloze, answer in zip(CLOZES, lm.score(lm.encode(CLOZES)), strict=True):
        # The tokenizer's own reading of a text with a mask is what ours has to come to.
        batch = lm.tokenizer(f"{cloze.prefix}{mask}{cloze.suffix}", return_tensors="pt")
        (at,) = (batch["input_ids"][0] == lm.tokenizer.mask_token_id).nonzero()
        with torch.no_grad():
            logits = reference(batch["input_ids"], attention_mask=batch["attention_mask"]).logits
        logs = logits[0, at.item()].log_softmax(-1)
        space = "Ġ" if name == "roberta" else ""
        ids = lm.tokenizer.convert_tokens_to_ids([f"{space}{word}" for word in cloze.words])
        assert answer.sums == pytest.approx(logs[ids].tolist(), abs=1e-5)
        best = int(logs.argmax())
        assert answer.first == lm.tokenizer.decode([best]).strip()
        assert answer.place == (ids.index(best) if best in ids else -1)


def test_a_space_belongs_to_the_word_in_byte_level_bpe(roberta):
    lm = model(roberta)
    (encoded,) = lm.encode([Cloze("A dog is a ", " animal.", ("good", "poor"))])
    words = lm.tokenizer.convert_ids_to_tokens(encoded.answers[0].tolist())
    assert words == ["Ġgood", "Ġpoor"]
    # Where no space stands before the gap another token is asked for.
    with pytest.raises(UserError, match="tokens of it"):
        lm.check([questions_about(Cloze("A dog is (", ") animal.", ("positive", "negative")))])


def questions_about(cloze, labels=None):
    """A question whose verbaliser has a word a label, or the words given."""
    words = labels or tuple((word,) for word in cloze.words)
    verbaliser = Verbaliser("own", words)
    return Question(0, Prompt("plane/t@1", "", (verbaliser,)), verbaliser, None, cloze, ())


def test_words_of_several_tokens_are_refused_with_their_pieces(bert):
    lm = language_model(bert, find(bert))
    cloze = Cloze("A dog is a ", " animal.", ("plausible", "implausible"))
    with pytest.raises(UserError) as error:
        lm.check([questions_about(cloze)])
    assert "'plausible' is 9 tokens of it (p ##l ##a ##u ##s ##i ##b ##l ##e)" in str(error.value)
    assert "plane/t@1, own" in str(error.value)
    unknown = Cloze("A dog is a ", " animal.", ("good", "böse"))
    with pytest.raises(UserError, match=r"'böse' is unknown to it \(\[UNK\]\)"):
        lm.check([questions_about(unknown)])


def test_split_words_among_others_are_left_out(bert):
    lm = model(bert)
    cloze = Cloze("A dog is a ", " animal.", ("poor", "weak", "good", "strong"))
    question = questions_about(cloze, (("poor", "weak"), ("good", "strong")))
    assert lm.check([question]) == {"plane/t@1, own": ["weak", "strong"]}
    (answer,) = lm.score(lm.encode([cloze]))
    assert [math.isnan(value) for value in answer.sums] == [False, True, False, True]
    assert answer.tokens == (1, 0, 1, 0)


def test_words_that_are_one_token_are_refused(bert):
    lm = language_model(bert, find(bert))
    lm.tokenizer.backend_tokenizer.normalizer = lowercase()
    with pytest.raises(UserError, match=r"good and Good .* are the same token"):
        lm.check([questions_about(Cloze("a dog is a ", ".", ("good", "Good")))])


def lowercase():
    from tokenizers.normalizers import Lowercase

    return Lowercase()


def test_a_model_without_a_mask_token_is_refused(bert):
    pretrained = find(bert)
    pretrained.tokenizer.mask_token = None
    with pytest.raises(UserError, match="no mask token"):
        language_model(bert, pretrained)


def test_a_model_without_its_head_is_refused(bert, tmp_path):
    from transformers import BertModel

    BertModel.from_pretrained(bert).save_pretrained(tmp_path)
    find(bert).tokenizer.save_pretrained(tmp_path)
    lm = language_model("encoder", find(str(tmp_path)))
    with pytest.raises(UserError, match=r"weights lack cls\..* would be random"):
        lm.load("fp32", split=False)


def test_a_classifier_is_refused(bert):
    pretrained = find(bert)
    pretrained.config.architectures = ["BertForSequenceClassification"]
    with pytest.raises(UserError, match="BertForSequenceClassification, which has no language"):
        language_model(bert, pretrained)


def test_kinds_follow_the_configuration(bert, roberta, gpt2, t5):
    kinds = [type(language_model(folder, find(folder))) for folder in (bert, roberta, gpt2, t5)]
    assert kinds == [Masked, Masked, Causal, EncoderDecoder]


def test_causal_scores_are_of_the_word_and_what_follows(gpt2):
    lm = model(gpt2)
    from transformers import AutoModelForCausalLM

    reference = AutoModelForCausalLM.from_pretrained(gpt2).eval()
    cloze = CLOZES[0]
    (answer,) = lm.score(lm.encode([cloze]))
    for word, total, tokens in zip(cloze.words, answer.sums, answer.tokens, strict=True):
        prefix_ids = lm.tokenizer("A black dog is a")["input_ids"]
        ids = lm.tokenizer(f"A black dog is a {word}{cloze.suffix}")["input_ids"]
        assert ids[: len(prefix_ids)] == prefix_ids
        with torch.no_grad():
            logs = reference(torch.tensor([ids])).logits[0].log_softmax(-1)
        by_hand = sum(float(logs[at - 1, ids[at]]) for at in range(len(prefix_ids), len(ids)))
        assert total == pytest.approx(by_hand, abs=1e-4)
        assert tokens == len(ids) - len(prefix_ids)


def test_encoder_decoder_scores_are_of_the_whole_output(t5):
    lm = model(t5)
    from transformers import AutoModelForSeq2SeqLM

    reference = AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    cloze = CLOZES[3]
    (answer,) = lm.score(lm.encode([cloze]))
    source = lm.tokenizer("The tea is hot. True or false?", return_tensors="pt")["input_ids"]
    for word, total, tokens in zip(cloze.words, answer.sums, answer.tokens, strict=True):
        ids = lm.tokenizer(word)["input_ids"]
        assert ids[-1] == lm.tokenizer.eos_token_id
        with torch.no_grad():
            logits = reference(source, decoder_input_ids=torch.tensor([[0, *ids[:-1]]])).logits[0]
        logs = logits.log_softmax(-1)
        by_hand = sum(float(logs[at, token]) for at, token in enumerate(ids))
        assert total == pytest.approx(by_hand, abs=1e-4)
        assert tokens == len(ids)


def test_what_is_too_long_is_told_and_never_cut(bert):
    lm = language_model(bert, find(bert))
    long = Cloze("A dog is a dog. " * 30, ".", ("good", "poor"))
    with pytest.raises(UserError, match="1 of 2 prompts are longer than its 128 tokens"):
        lm.lengths(lm.encode([CLOZES[0], long]))


def test_lower_precision_is_near(bert):
    lm = language_model(bert, find(bert))
    lm.load("bf16", split=False)
    exact = model(bert)
    a = lm.score(lm.encode(CLOZES))[0].sums
    b = exact.score(exact.encode(CLOZES))[0].sums
    assert a != b
    assert np.allclose(a, b, atol=0.3)


def test_a_model_over_all_devices_scores_the_same(bert):
    lm = language_model(bert, find(bert))
    lm.load("fp32", split=True)
    exact = model(bert)
    a, b = (m.score(m.encode(CLOZES)) for m in (lm, exact))
    assert [one.sums for one in a] == [pytest.approx(one.sums, rel=1e-5, abs=1e-5) for one in b]


def test_weights_in_pickles_are_not_read(bert, tmp_path):
    for path in Path(bert).iterdir():
        if path.suffix == ".json":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    torch.save({}, tmp_path / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"no model\.safetensors"):
        find(str(tmp_path))
