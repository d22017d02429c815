import pytest
import torch
from lm_eval.api.instance import Instance

from adnominal import conf
from adnominal.conf import UserError
from adnominal.training.asking import local
from adnominal.training.asking.local import Local
from adnominal.training.asking.settings import Settings
from adnominal.training.models.pretrained import find

# A context and its completions.
GAPS = [
    ("A black dog is a ", ["good example of a black animal.", "poor example of a black animal."]),
    ("A dog is a good example of a dog. A fake dog is a ", ["true example.", "false example."]),
    ("A tall dog is a type of dog: ", ["good.", "poor."]),
    ("The tea is hot. True or false? ", ["True", "False"]),
]


class Hook:
    """The outcomes that a model reports."""

    def __init__(self):
        self.outcomes = {}

    def add_partial(self, kind, arguments, outcome):
        self.outcomes[arguments[0], str(arguments[1])] = outcome


def model(folder, *more):
    settings = conf.load(Settings, [f"model={folder}", *more])
    lm = Local(folder, find(folder), settings)
    lm.set_cache_hook(Hook())
    return lm


def scores(lm, gaps):
    """The log-probability of each completion, and its number of tokens."""
    requests = [
        Instance("loglikelihood", {}, (context, completion), place)
        for context, completions in gaps
        for place, completion in enumerate(completions)
    ]
    values = [value for value, _ in lm.loglikelihood(requests)]
    return values, [len(lm._encode_pair(*request.args)[1]) for request in requests]


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_a_batch_has_the_scores_of_its_single_texts(name, request):
    lm = model(request.getfixturevalue(name))
    alone = [scores(lm, [gap]) for gap in GAPS]
    values, tokens = scores(lm, GAPS)
    assert values == pytest.approx([v for single, _ in alone for v in single], rel=1e-5, abs=1e-5)
    assert tokens == [count for _, counts in alone for count in counts]
    # The test would show nothing if the random weights gave all texts the same answer.
    assert len({round(single[0] - single[1], 3) for single, _ in alone}) > 1


def test_batches_are_bounded_in_contexts_and_completions(gpt2, monkeypatch):
    monkeypatch.setattr(local, "_MOST_COMPLETIONS", {"cpu": 4})
    lm = model(gpt2, "batch_size=3")
    contexts = [[1]] * 9 + [[2, 2]] * 2 + [[3], [4], [5], [6]]
    requests = [(("", ""), context, [7]) for context in contexts]
    batches = list(lm._by_context(requests))
    assert [[len(members) for members in batch] for batch in batches] == [
        *[[2], [4], [4]],
        *[[1, 1, 1], [1, 1]],
    ]
    assert sorted(number for batch in batches for members in batch for number in members) == [
        *range(len(requests))
    ]


def test_causal_scores_equal_those_of_the_harness(gpt2):
    from lm_eval.models.huggingface import HFLM

    lm = model(gpt2)
    plain = HFLM(pretrained=lm.model, tokenizer=lm.tokenizer, batch_size=3)
    requests = [
        Instance("loglikelihood", {}, (context, completion), place)
        for context, completions in GAPS
        for place, completion in enumerate(completions)
    ]
    ours = [value for value, _ in lm.loglikelihood(requests)]
    theirs = [value for value, _ in plain.loglikelihood(requests, disable_tqdm=True)]
    assert ours == pytest.approx(theirs, abs=1e-4)


def test_causal_scores_are_of_the_word_and_the_following_text(gpt2):
    lm = model(gpt2)
    from transformers import AutoModelForCausalLM

    reference = AutoModelForCausalLM.from_pretrained(gpt2).eval()
    context, completions = GAPS[0]
    values, counts = scores(lm, GAPS[:1])
    for completion, value, tokens in zip(completions, values, counts, strict=True):
        prefix_ids = lm.tokenizer(context.rstrip())["input_ids"]
        ids = lm.tokenizer(context + completion)["input_ids"]
        assert ids[: len(prefix_ids)] == prefix_ids
        with torch.no_grad():
            logs = reference(torch.tensor([ids])).logits[0].log_softmax(-1)
        by_hand = sum(float(logs[at - 1, ids[at]]) for at in range(len(prefix_ids), len(ids)))
        assert value == pytest.approx(by_hand, abs=1e-4)
        assert tokens == len(ids) - len(prefix_ids)
        outcome = lm.cache_hook.outcomes[context, completion]
        assert (outcome.likelihood[0], outcome.tokens_out) == (value, tokens)


def test_encoder_decoder_scores_are_of_the_whole_output(t5):
    lm = model(t5)
    from transformers import AutoModelForSeq2SeqLM

    reference = AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    context, completions = GAPS[3]
    values, counts = scores(lm, GAPS[3:])
    source = lm.tokenizer(context.rstrip(), return_tensors="pt")["input_ids"]
    for word, total, tokens in zip(completions, values, counts, strict=True):
        ids = lm.tokenizer(word)["input_ids"]
        assert ids[-1] == lm.tokenizer.eos_token_id
        with torch.no_grad():
            logits = reference(source, decoder_input_ids=torch.tensor([[0, *ids[:-1]]])).logits[0]
        logs = logits.log_softmax(-1)
        by_hand = sum(float(logs[at, token]) for at, token in enumerate(ids))
        assert total == pytest.approx(by_hand, abs=1e-4)
        assert tokens == len(ids)


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_long_prompts_are_refused_rather_than_cut(name, request):
    lm = model(request.getfixturevalue(name))
    long = ("A dog is a dog. " * 60, ["good.", "poor."])
    with pytest.raises(UserError, match=r"2 of 4 prompts are longer than its 128 tokens"):
        scores(lm, [GAPS[0], long])


def test_a_context_of_nothing_is_refused(gpt2):
    with pytest.raises(UserError, match=r"no text precedes the answer 'good\.'"):
        scores(model(gpt2), [(" ", ["good."])])


def written(lm, contexts, **options):
    arguments = {"max_gen_toks": 8, "temperature": 0.0, "until": [], **options}
    requests = [Instance("generate_until", {}, (text, arguments), 0) for text in contexts]
    texts = lm.generate_until(requests)
    return texts, [lm.cache_hook.outcomes[text, str(arguments)] for text in contexts]


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_written_texts_are_those_of_the_model_and_say_why_they_ended(name, request):
    lm = model(request.getfixturevalue(name))
    contexts = [context for context, _ in GAPS]
    texts, outcomes = written(lm, contexts)
    assert [outcome.text for outcome in outcomes] == texts
    for context, outcome in zip(contexts, outcomes, strict=True):
        ids = lm.tokenizer(context, return_tensors="pt")
        row = lm.model.generate(**ids, max_new_tokens=8, do_sample=False)[0]
        if name == "gpt2":
            row = row[ids["input_ids"].shape[1] :]
        assert lm.tokenizer.decode(row, skip_special_tokens=True) == outcome.text
        ended = lm.model.generation_config.eos_token_id in row.tolist()
        assert outcome.finish == ("stop" if ended else "length")


def test_the_end_of_a_text_is_noticed(gpt2):
    lm = model(gpt2)
    bias = torch.zeros(lm.model.config.vocab_size)
    bias[lm.model.config.eos_token_id] = 1000.0
    head = lm.model.lm_head
    head.bias = torch.nn.Parameter(bias)
    texts, outcomes = written(lm, ["A dog is a"])
    assert (texts, outcomes[0].finish) == ([""], "stop")
    with pytest.raises(UserError, match="1 of 1 prompts are longer"):
        written(lm, ["A dog is a"], max_gen_toks=128)
