import math

import pytest
import torch
from tokenizers.normalizers import Lowercase

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.prompts.files import Prompts, Template, Verbaliser
from adnominal.training.asking.masked import Gap, Masked, Words
from adnominal.training.asking.outcomes import Outcome
from adnominal.training.asking.settings import Settings
from adnominal.training.models.pretrained import find

GAPS = [
    Gap("A black dog is a ", " example of a black animal.", ("good", "poor")),
    Gap("A dog is a good example of a dog. A fake dog is a ", " example.", ("true", "false")),
    Gap("A tall dog is a type of dog: ", ".", ("good", "poor")),
    Gap("The tea is hot. True or false? ", "", ("True", "False")),
]


def model(folder, *more):
    pretrained = find(folder)
    settings = conf.load(Settings, [f"model={folder}", *more])
    return Masked(Words(folder, pretrained), pretrained, settings)


def answers(lm, gaps):
    """For each gap, its outcomes, word by word."""
    return list(lm._answers(lm.words.encode(gaps)))


def usable_words(words, gap, labels=None):
    """The words of `labels`, or one word of the gap per label, that the model can write in it."""
    labels = labels or tuple((word,) for word in gap.words)
    verbaliser = Verbaliser("own", tuple(map(str, range(len(labels)))), labels)
    template = Template("plane/t@1", f"{gap.prefix}{{answer}}{gap.suffix}", (verbaliser,))
    prompts = Prompts("plane", 1, verbaliser.labels, (template,), (), "")
    (usable,) = words.usable(prompts, {}).prompts
    return usable.verbalisers[0].words


def test_a_request_of_the_harness_is_answered_word_by_word(bert):
    from lm_eval.api.instance import Instance

    class Hook:
        def add_partial(self, kind, arguments, outcome):
            stored[arguments] = outcome

    stored: dict[tuple[str, str], Outcome] = {}
    lm = model(bert)
    lm.set_cache_hook(Hook())
    requests = []
    for gap in (GAPS[2], GAPS[0]):
        doc = {"words": list(gap.words), "suffix": gap.suffix}
        requests += [
            Instance("loglikelihood", doc, (gap.prefix, word + gap.suffix), place)
            for place, word in enumerate(gap.words)
        ]
    results = lm.loglikelihood(requests)
    expected = [*answers(lm, [GAPS[2]])[0], *answers(lm, [GAPS[0]])[0]]
    assert [result[0] for result in results] == [
        pytest.approx(outcome.likelihood[0], abs=1e-5) for outcome in expected
    ]
    assert [stored[request.args].text for request in requests] == [one.text for one in expected]


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_a_batch_has_the_scores_of_its_single_texts(name, request):
    lm = model(request.getfixturevalue(name))
    alone, together = [answers(lm, [gap])[0] for gap in GAPS], answers(lm, GAPS)
    for a, b in zip(alone, together, strict=True):
        for one, other in zip(a, b, strict=True):
            assert one.likelihood[0] == pytest.approx(other.likelihood[0], rel=1e-5, abs=1e-5)
            assert (one.text, one.likelihood[1]) == (other.text, other.likelihood[1])
    sizes = {len(gap.ids) for gap in lm.words.encode(GAPS)}
    assert len(sizes) > 1, "texts of one length would need no padding"
    # The test would show nothing if the random weights gave all texts the same answer.
    ratios = {round(one[0].likelihood[0] - one[1].likelihood[0], 3) for one in alone}
    assert len(ratios) > 1


@pytest.mark.parametrize(("name", "mask"), [("bert", "[MASK]"), ("roberta", "<mask>")])
def test_masked_scores_equal_those_of_the_text_with_a_mask(name, mask, request):
    folder = request.getfixturevalue(name)
    lm = model(folder)
    from transformers import AutoModelForMaskedLM

    reference = AutoModelForMaskedLM.from_pretrained(folder).eval()
    tokenizer = lm.words.tokenizer
    for gap, outcomes in zip(GAPS, answers(lm, GAPS), strict=True):
        # Our encoding must equal the tokenizer's encoding of the text with a mask.
        batch = tokenizer(f"{gap.prefix}{mask}{gap.suffix}", return_tensors="pt")
        (at,) = (batch["input_ids"][0] == tokenizer.mask_token_id).nonzero()
        with torch.no_grad():
            logits = reference(batch["input_ids"], attention_mask=batch["attention_mask"]).logits
        logs = logits[0, at.item()].log_softmax(-1)
        space = "Ġ" if name == "roberta" else ""
        ids = tokenizer.convert_tokens_to_ids([f"{space}{word}" for word in gap.words])
        values = [outcome.likelihood[0] for outcome in outcomes]
        assert values == pytest.approx(logs[ids].tolist(), abs=1e-5)
        best = int(logs.argmax())
        assert {outcome.text for outcome in outcomes} == {tokenizer.decode([best]).strip()}
        assert [outcome.likelihood[1] for outcome in outcomes] == [token == best for token in ids]


def test_in_byte_level_bpe_a_word_includes_its_space(roberta):
    words = Words(roberta, find(roberta))
    (encoded,) = words.encode([Gap("A dog is a ", " animal.", ("good", "poor"))])
    assert words.tokenizer.convert_ids_to_tokens(encoded.words) == ["Ġgood", "Ġpoor"]
    # Without a space before the gap, a word needs another token.
    with pytest.raises(UserError, match="tokens of it"):
        usable_words(words, Gap("A dog is (", ") animal.", ("positive", "negative")))


def test_words_of_several_tokens_are_refused_with_their_pieces(bert):
    words = Words(bert, find(bert))
    gap = Gap("A dog is a ", " animal.", ("plausible", "implausible"))
    with pytest.raises(UserError) as error:
        usable_words(words, gap)
    assert "'plausible' is 9 tokens of it (p ##l ##a ##u ##s ##i ##b ##l ##e)" in str(error.value)
    assert "plane/t@1, own" in str(error.value)
    unknown = Gap("A dog is a ", " animal.", ("good", "böse"))
    with pytest.raises(UserError, match=r"'böse' is unknown to it \(\[UNK\]\)"):
        usable_words(words, unknown)


def test_split_words_among_others_are_not_asked(bert, caplog):
    lm = model(bert)
    gap = Gap("A dog is a ", " animal.", ("poor", "weak", "good", "strong"))
    labels = usable_words(lm.words, gap, (("poor", "weak"), ("good", "strong")))
    assert labels == (("poor",), ("good",))
    assert "plane/t@1, own: 2 words that are not one token" in caplog.text
    assert "ignored: weak strong" in caplog.text
    (outcomes,) = answers(lm, [gap._replace(words=("poor", "good"))])
    assert not any(math.isnan(outcome.likelihood[0]) for outcome in outcomes)
    assert [outcome.tokens_out for outcome in outcomes] == [1, 1]


def test_words_with_the_same_token_are_refused(bert):
    words = Words(bert, find(bert))
    words.tokenizer.backend_tokenizer.normalizer = Lowercase()
    with pytest.raises(UserError, match=r"good and Good .* are the same token"):
        usable_words(words, Gap("a dog is a ", ".", ("good", "Good")))


def test_a_model_without_a_mask_token_is_refused(bert):
    pretrained = find(bert)
    pretrained.tokenizer.mask_token = None
    with pytest.raises(UserError, match="no mask token"):
        Words(bert, pretrained)


def test_a_model_without_its_head_is_refused(bert, tmp_path):
    from transformers import BertModel

    BertModel.from_pretrained(bert).save_pretrained(tmp_path)
    find(bert).tokenizer.save_pretrained(tmp_path)
    with pytest.raises(UserError, match=r"weights lack cls\..* would be random"):
        model(str(tmp_path))


def test_long_prompts_are_refused_rather_than_cut(bert):
    words = Words(bert, find(bert))
    long = Gap("A dog is a dog. " * 30, ".", ("good", "poor"))
    with pytest.raises(UserError, match="1 of 2 prompts are longer than its 128 tokens"):
        words.encode([GAPS[0], long])


def likelihoods(lm):
    return [outcome.likelihood[0] for outcomes in answers(lm, GAPS) for outcome in outcomes]


def test_lower_precision_gives_similar_scores(bert):
    a, b = likelihoods(model(bert, "precision=bf16")), likelihoods(model(bert))
    assert a != b
    assert a == pytest.approx(b, abs=0.3)


def test_a_model_split_over_devices_gives_the_same_scores(bert):
    split = model(bert, "split_model=true")
    assert likelihoods(split) == pytest.approx(likelihoods(model(bert)), rel=1e-5, abs=1e-5)
