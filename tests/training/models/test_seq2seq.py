from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.etl.sygns.generate import Sampler
from adnominal.etl.sygns.grammar import grammar
from adnominal.training.evaluation import loss_sum
from adnominal.training.models import seq2seq
from adnominal.training.models.learner import IGNORED
from adnominal.training.models.networks import END, PAD, UNKNOWN, Config, decode
from adnominal.training.models.seq2seq import (
    Seq2SeqLearner,
    Vocabularies,
    Vocabulary,
    join_tokens,
    split_tokens,
)
from adnominal.training.models.tokens import lengths
from adnominal.training.settings import Seq2Seq
from adnominal.training.tasks.dataset import Dataset, Examples, Source

SENTENCES = [
    ("a dog ran", "EXIST DOG RUN"),
    ("every cat swam", "ALL CAT SWIM"),
    ("two dogs did not swim", "TWO DOG NOT SWIM"),
    ("every small dog ran", "ALL AND DOG SMALL RUN"),
]


def examples(pairs):
    rows = pa.table({"item": [f"s{n}" for n in range(len(pairs))], "text": [a for a, _ in pairs]})
    return Examples.of(rows, "item", ["text"], targets=pa.array([b for _, b in pairs]))


def dataset(train, test=None, splitting="words"):
    parts = {"train": examples(train)}
    if test is not None:
        parts["test"] = examples(test)
    sources = (Source("sygns", "demo", 0),)
    return Dataset(
        "sygns_vf", "demo", "systematicity", "one", (), parts, sources, splitting=splitting
    )


ARCHITECTURES = ("gru", "transformer")


def build(dataset, settings, seed=0):
    """A new model and its learner."""
    learner = Seq2SeqLearner(dataset, settings)
    return learner.model(seed), learner


def all_rows(data, part="train"):
    return data.collate(part, np.arange(len(data.dataset.parts[part])))


def trained(architecture, pairs=SENTENCES, updates=50):
    model, data = build(dataset(pairs), Seq2Seq(architecture, "tiny", dropout=0.0), seed=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(updates):
        _, loss = losses(model, all_rows(data))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval(), data


# Tokens and vocabularies


@pytest.mark.parametrize("form", ["fol", "drs", "vf"])
def test_joined_tokens_give_the_meaning_back(form):
    how: Literal["words", "formula"] = "formula" if form == "fol" else "words"
    for depth in (0, 2):
        for record in Sampler(grammar("clean", 5, 5), depth, seed=1).records(range(20)):
            text = getattr(record, form)
            tokens = split_tokens(text, how)
            assert join_tokens(tokens, how) == text
            assert len(tokens) > len(text) / 12


def test_formulas_and_clauses_are_split_into_tokens():
    assert split_tokens("all x1.(cat(x1) -> -run(x1))", "formula")[:3] == ["all ", "x1", "."]
    assert " -> " in split_tokens("all x1.(cat(x1) -> -run(x1))", "formula")
    assert split_tokens("b1 REF x1 [SEP] b1 cat x1", "words") == [
        "b1", "REF", "x1", "[SEP]", "b1", "cat", "x1",
    ]  # fmt: skip


@given(st.text("ab []", max_size=12))
def test_joined_words_give_any_text_back(text):
    assert join_tokens(split_tokens(text, "words"), "words") == text


def test_vocabularies_are_built_from_the_training_part():
    tests = [("a fox ran", "EXIST FOX RUN"), ("a dog ran", "EXIST DOG RUN")]
    _, data = build(dataset(SENTENCES, tests), Seq2Seq(size="tiny"))
    vocabularies = data.vocabularies
    assert vocabularies.source.tokens[:4] == ("<pad>", "<begin>", "<end>", "<unknown>")
    assert list(vocabularies.source.tokens[4:]) == sorted(vocabularies.source.tokens[4:])
    assert vocabularies.source.ids(["a", "fox"])[1] == UNKNOWN
    assert (data.count_unknown_targets("train"), data.count_unknown_targets("test")) == (0, 1)
    ids = vocabularies.target.ids(["EXIST", "DOG"])
    assert vocabularies.target.words([*ids, END, *ids, PAD]) == ["EXIST", "DOG"]


def test_targets_with_unknown_words_are_reported(caplog):
    build(dataset(SENTENCES, [("a fox ran", "FOX")]), Seq2Seq("gru", "tiny"), 0)
    assert "1 of 1 targets of test have words that do not occur in training" in caplog.text


# Batches


def test_a_batch_is_padded_to_its_longest_row():
    _, data = build(dataset(SENTENCES), Seq2Seq(size="tiny"))
    assert data.lengths("train").tolist() == [3 + 4, 3 + 4, 5 + 5, 4 + 6]
    assert lengths(data.targets["train"]).tolist() == [4, 4, 5, 6]
    batch = data.collate("train", np.array([3, 0]))
    assert batch["input_ids"].shape == (2, 4)
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]
    assert batch["input_ids"][1, 3] == PAD
    assert batch["labels"].shape == (2, 6)
    assert (batch["labels"] == END).sum(dim=1).tolist() == [1, 1]
    assert batch["labels"][1, 4:].tolist() == [IGNORED, IGNORED]


def test_padding_is_learnt_as_in_the_released_code():
    _, data = build(dataset(SENTENCES), Seq2Seq(size="tiny", padding_loss=True))
    batch = data.collate("train", np.array([3, 0]))
    assert batch["labels"][1, 4:].tolist() == [PAD, PAD]
    assert data.tokens(batch) == (4 + 3 + 6 + 4, 2 * (4 + 6))


# Models


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_trained_model_decodes_its_training_targets(architecture):
    model, data = trained(architecture)
    assert data.texts(model, all_rows(data)) == [target for _, target in SENTENCES]
    # The same for each sentence alone: padding changes nothing.
    for row, (sentence, target) in enumerate(SENTENCES):
        assert data.texts(model, data.collate("train", np.array([row]))) == [target]
        assert seq2seq.answer(model, data.vocabularies, [sentence]) == [target]
    assert seq2seq.answer(model, data.vocabularies, []) == []


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_stepwise_decoding_is_the_argmax_of_the_forward_pass(architecture):
    """Given its own answer as the target, the model must predict it at every position."""
    model, data = trained(architecture, updates=8)  # half-learnt: answers are long and wrong
    batch = all_rows(data)
    with torch.no_grad():
        decoded = decode(model, batch["input_ids"], batch["attention_mask"], all_ranks=True)
        assert decoded.shape[1] == model.config.max_target
        labels = decoded.masked_fill(decoded == PAD, IGNORED)
        logits = model(batch["input_ids"], batch["attention_mask"], labels)
    is_label = labels != IGNORED
    assert is_label.sum() > len(SENTENCES)
    assert torch.equal(logits.argmax(dim=-1)[is_label], decoded[is_label])


def losses(model, batch):
    """The logits of a batch and its training loss."""
    logits = model(**batch)
    return logits, loss_sum(logits, batch["labels"])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_padding_changes_neither_logits_nor_loss(architecture):
    model, data = trained(architecture, updates=3)
    with torch.no_grad():
        (together, joint_losses), *alone = [
            losses(model, data.collate("train", np.array(rows))) for rows in ([0, 3], [0], [3])
        ]
    terms = lengths(data.targets["train"])[[0, 3]]
    torch.testing.assert_close(together[0, : terms[0]], alone[0][0][0])
    torch.testing.assert_close(joint_losses, alone[0][1] + alone[1][1])
    assert joint_losses > terms.sum() / 100


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_token_does_not_see_later_tokens(architecture):
    model, data = trained(architecture, updates=3)
    batch = data.collate("train", np.array([3]))
    changed = batch["labels"].clone()
    changed[0, 3] = 5
    with torch.no_grad():
        logits_before, logits_after = model(**batch), model(**{**batch, "labels": changed})
    assert torch.equal(logits_before[0, :4], logits_after[0, :4])
    assert not torch.equal(logits_before[0, 4], logits_after[0, 4])


# With the vocabularies and lengths of systematicity in FOL, primitive one (edition paper).
SIZES = {
    ("gru", "4M"): 3_961_940,
    ("gru", "10M"): 9_982_900,
    ("gru", "27M"): 27_078_748,
    ("transformer", "4M"): 4_024_388,
    ("transformer", "10M"): 11_189_828,
    ("transformer", "27M"): 27_403_076,
}


@pytest.mark.parametrize(("kind", "size"), SIZES)
def test_sizes_have_about_as_many_parameters_as_their_names_say(kind, size):
    words = Vocabularies(
        Vocabulary(tuple(f"s{n}" for n in range(94))),
        Vocabulary(tuple(f"t{n}" for n in range(68))),
        "formula",
    )
    config = seq2seq.shape(Seq2Seq(kind, size), words, 8, 38)
    with torch.device("meta"):
        model = seq2seq.MODELS[kind](config)
    count = sum(weights.numel() for weights in model.parameters())
    assert count == SIZES[kind, size]
    assert abs(count / (int(size[:-1]) * 1e6) - 1) < 0.13


def test_initial_weights_follow_the_seed_and_do_not_change_other_draws():
    def weights(seed):
        model, _ = build(dataset(SENTENCES), Seq2Seq("gru", "tiny"), seed)
        return torch.cat([w.flatten() for w in model.state_dict().values()])

    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first = weights(1)
    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(first, weights(1))
    assert not torch.equal(first, weights(2))


@pytest.mark.parametrize(
    ("architecture", "expected_losses", "answer"),
    [
        ("gru", [50.14511, 42.54861, 35.94497, 29.4856, 25.49319, 18.8421], "ALL DOG RUN"),
        ("transformer", [58.3081, 52.77156, 39.22198, 47.0926, 39.62032, 40.39502], ""),
    ],
)
def test_weights_and_losses_are_those_of_earlier_versions(architecture, expected_losses, answer):
    """The Transformer's were taken before these models became transformers' own kind."""
    data = Seq2SeqLearner(dataset(SENTENCES), Seq2Seq(architecture, "tiny", dropout=0.1))
    model, batch = data.model(3), all_rows(data)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    torch.manual_seed(0)
    found = []
    for _ in expected_losses:
        _, loss = losses(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    assert found == pytest.approx(expected_losses, rel=1e-4)
    assert data.texts(model.eval(), batch)[0] == answer


# Saving


def shape_of(model):
    """The shape and decoding in a model's configuration, without transformers' own entries."""
    names = vars(Config)["__annotations__"]
    return {name: getattr(model.config, name) for name in names}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_saved_model_answers_the_same(architecture, tmp_path):
    model, data = trained(architecture, updates=20)
    seq2seq.save(tmp_path, model, data.vocabularies)
    loaded, words = seq2seq.load(tmp_path)
    assert words == data.vocabularies
    assert shape_of(loaded) == shape_of(model)
    batch = all_rows(data)
    with torch.no_grad():
        assert torch.equal(model(**batch), loaded.eval()(**batch))


def test_a_model_can_be_saved_with_other_weights(tmp_path):
    model, data = trained("gru", updates=1)
    zeros = {name: torch.zeros_like(w) for name, w in model.state_dict().items()}
    seq2seq.save(tmp_path, model, data.vocabularies, state=zeros)
    loaded, _ = seq2seq.load(tmp_path)
    assert not any(w.any() for w in loaded.state_dict().values())


def test_what_was_attended_to_is_fed_back():
    model, data = trained("gru", updates=1)
    batch = data.collate("train", np.array([3]))
    mask = batch["attention_mask"]
    token = model.target(torch.tensor([[4]]))
    memory, state, fed = model._start(batch["input_ids"], mask)
    attended, _ = model._decode(token, state, fed, memory, mask)
    others, _ = model._decode(token, state, fed + 1, memory, mask)
    assert not torch.allclose(attended, others)


# Mistakes


def test_folders_without_a_complete_model_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"no config.json, vocabulary.json, model.safetensors"):
        seq2seq.load(tmp_path)
    model, data = trained("gru", updates=1)
    short = dict(list(model.state_dict().items())[1:])
    seq2seq.save(tmp_path, model, data.vocabularies, state=short)
    with pytest.raises(UserError, match="not the weights of"):
        seq2seq.load(tmp_path)
    for name in ("model.safetensors", "vocabulary.json", "config.json"):
        (tmp_path / name).write_text("{}")
        with pytest.raises(UserError, match=r"cannot be read \(.*expected the files as"):
            seq2seq.load(tmp_path)


def test_texts_longer_than_the_positions_are_refused():
    model, data = trained("transformer", updates=1)
    with pytest.raises(UserError, match="has 6 words; expected at most 5"):
        seq2seq.answer(model, data.vocabularies, ["a dog", "a dog ran and ran again"])


def test_impossible_settings_are_refused():
    with pytest.raises(UserError, match=r"^seq2seq\.dropout=1"):
        Seq2Seq(dropout=1.0)
