import math

import numpy as np
import pytest
import torch
from tokenizers.normalizers import Lowercase

from adnominal.conf import UserError
from adnominal.training.models.pretrained import find
from adnominal.training.asking.items import Question
from adnominal.training.asking.prompts import Cloze, Prompt, Verbaliser
from adnominal.training.asking.scoring import Causal, EncoderDecoder, Masked, language_model

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


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "t5"])
def test_a_batch_has_the_scores_of_its_single_texts(name, request):
    lm = model(request.getfixturevalue(name))
    encoded = lm.encode(CLOZES)
    alone, together = [lm.score([cloze])[0] for cloze in encoded], lm.score(encoded)
    for a, b in zip(alone, together, strict=True):
        assert a.sums == pytest.approx(b.sums, rel=1e-5, abs=1e-5)
        assert (a.tokens, a.first, a.place) == (b.tokens, b.first, b.place)
    assert len(set(lm.lengths(encoded).tolist())) > 1, "texts of one length would need no padding"
    # The test would show nothing if the random weights gave all texts the same answer.
    assert len({round(answer.sums[0] - answer.sums[1], 3) for answer in alone}) > 1


@pytest.mark.parametrize(("name", "mask"), [("bert", "[MASK]"), ("roberta", "<mask>")])
def test_masked_scores_equal_those_of_the_text_with_a_mask(name, mask, request):
    folder = request.getfixturevalue(name)
    lm = model(folder)
    from transformers import AutoModelForMaskedLM

    reference = AutoModelForMaskedLM.from_pretrained(folder).eval()
    for cloze, answer in zip(CLOZES, lm.score(lm.encode(CLOZES)), strict=True):
        # Our encoding must equal the tokenizer's encoding of the text with a mask.
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


def test_in_byte_level_bpe_a_word_includes_its_space(roberta):
    lm = model(roberta)
    (encoded,) = lm.encode([Cloze("A dog is a ", " animal.", ("good", "poor"))])
    words = lm.tokenizer.convert_ids_to_tokens(encoded.answers[0].tolist())
    assert words == ["Ġgood", "Ġpoor"]
    # Without a space before the gap, a word needs another token.
    with pytest.raises(UserError, match="tokens of it"):
        lm.check([question_about(Cloze("A dog is (", ") animal.", ("positive", "negative")))])


def question_about(cloze, labels=None):
    """A question whose verbaliser has the words of `labels`, or one word of the cloze per label."""
    words = labels or tuple((word,) for word in cloze.words)
    verbaliser = Verbaliser("own", words)
    return Question(0, Prompt("plane/t@1", "", (verbaliser,)), verbaliser, None, cloze, ())


def test_words_of_several_tokens_are_refused_with_their_pieces(bert):
    lm = language_model(bert, find(bert))
    cloze = Cloze("A dog is a ", " animal.", ("plausible", "implausible"))
    with pytest.raises(UserError) as error:
        lm.check([question_about(cloze)])
    assert "'plausible' is 9 tokens of it (p ##l ##a ##u ##s ##i ##b ##l ##e)" in str(error.value)
    assert "plane/t@1, own" in str(error.value)
    unknown = Cloze("A dog is a ", " animal.", ("good", "böse"))
    with pytest.raises(UserError, match=r"'böse' is unknown to it \(\[UNK\]\)"):
        lm.check([question_about(unknown)])


def test_split_words_among_others_are_not_scored(bert):
    lm = model(bert)
    cloze = Cloze("A dog is a ", " animal.", ("poor", "weak", "good", "strong"))
    question = question_about(cloze, (("poor", "weak"), ("good", "strong")))
    assert lm.check([question]) == {"plane/t@1, own": ["weak", "strong"]}
    (answer,) = lm.score(lm.encode([cloze]))
    assert [math.isnan(value) for value in answer.sums] == [False, True, False, True]
    assert answer.tokens == (1, 0, 1, 0)


def test_words_with_the_same_token_are_refused(bert):
    lm = language_model(bert, find(bert))
    lm.tokenizer.backend_tokenizer.normalizer = Lowercase()
    with pytest.raises(UserError, match=r"good and Good .* are the same token"):
        lm.check([question_about(Cloze("a dog is a ", ".", ("good", "Good")))])


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


def test_the_kind_of_model_follows_its_configuration(bert, roberta, gpt2, t5):
    kinds = [type(language_model(folder, find(folder))) for folder in (bert, roberta, gpt2, t5)]
    assert kinds == [Masked, Masked, Causal, EncoderDecoder]


def test_causal_scores_are_of_the_word_and_the_following_text(gpt2):
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


def test_long_prompts_are_refused_rather_than_cut(bert):
    lm = language_model(bert, find(bert))
    long = Cloze("A dog is a dog. " * 30, ".", ("good", "poor"))
    with pytest.raises(UserError, match="1 of 2 prompts are longer than its 128 tokens"):
        lm.lengths(lm.encode([CLOZES[0], long]))


def test_lower_precision_gives_similar_scores(bert):
    lm = language_model(bert, find(bert))
    lm.load("bf16", split=False)
    exact = model(bert)
    a = lm.score(lm.encode(CLOZES))[0].sums
    b = exact.score(exact.encode(CLOZES))[0].sums
    assert a != b
    assert np.allclose(a, b, atol=0.3)


def test_a_model_split_over_devices_gives_the_same_scores(bert):
    lm = language_model(bert, find(bert))
    lm.load("fp32", split=True)
    exact = model(bert)
    a, b = (m.score(m.encode(CLOZES)) for m in (lm, exact))
    assert [one.sums for one in a] == [pytest.approx(one.sums, rel=1e-5, abs=1e-5) for one in b]
