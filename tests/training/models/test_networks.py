import itertools
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.training.models import seq2seq
from adnominal.training.models.networks import (
    END,
    GRU,
    PAD,
    Config,
    Transformer,
    _beam,
    decode,
    scores,
)
from adnominal.training.settings import Seq2Seq

ARCHITECTURES = ("gru", "transformer")
LONGEST = 3
WORDS = 7  # four of them special
SOURCES = torch.tensor([[4, 5, 6], [5, 4, PAD], [6, PAD, PAD]])


def random_model(architecture: str, seed: int, **options: Any) -> GRU | Transformer:
    """A model whose weights are so large that greedy decoding often misses the best answer."""
    config = Config(
        architecture=architecture,
        embedding=8,
        hidden=8,
        layers=1,
        heads=2 if architecture == "transformer" else 1,
        dropout=0.0,
        source_size=7,
        target_size=WORDS,
        max_source=3,
        max_target=LONGEST,
    )
    torch.manual_seed(seed)
    model = seq2seq.MODELS[config.architecture](replace(config, **options))
    model.eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.normal_(std=0.5)
        # No target contains padding, so a trained model never produces it.
        model.out.bias[PAD] = -100.0
    return model


def answers(model, sources=SOURCES, **options):
    model.config = replace(model.config, **options)
    return decode(model, sources, (sources != PAD).long())


def every_answer() -> torch.Tensor:
    """All answers of at most LONGEST tokens, with the end token where it fits."""
    words = [word for word in range(WORDS) if word not in (PAD, END)]
    rows = [list(row) for row in itertools.product(words, repeat=LONGEST)]
    for length in range(LONGEST):
        rest = [END, *[PAD] * (LONGEST - length - 1)]
        rows += [[*row, *rest] for row in itertools.product(words, repeat=length)]
    return torch.tensor(rows)


def padded(ids: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.pad(ids, (0, LONGEST - ids.shape[1]), value=PAD)


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_beam_over_all_answers_finds_the_best_one(architecture, penalty):
    all_answers = every_answer()
    beaten = 0
    for seed in range(3):
        model = random_model(architecture, seed)
        greedy = padded(answers(model, beam=1, length_penalty=penalty))
        beam_answers = padded(answers(model, beam=len(all_answers), length_penalty=penalty))
        for row, source in enumerate(SOURCES):
            sources = source.expand(len(all_answers), -1)
            mask = (sources != PAD).long()
            answer_scores = scores(model, sources, mask, all_answers)
            assert torch.equal(beam_answers[row], all_answers[answer_scores.argmax()])
            beaten += not torch.equal(beam_answers[row], greedy[row])
    assert beaten or penalty


@settings(max_examples=12)
@given(
    st.sampled_from(ARCHITECTURES),
    st.integers(0, 10_000),
    st.integers(2, 5),
    st.sampled_from([0.0, 0.6, 1.0]),
)
def test_a_beam_never_scores_less_than_greedy(architecture, seed, beam, penalty):
    model = random_model(architecture, seed)
    mask = (SOURCES != PAD).long()
    greedy = answers(model, beam=1, length_penalty=penalty)
    beam_answers = answers(model, beam=beam, length_penalty=penalty)
    beam_scores, other = (scores(model, SOURCES, mask, one) for one in (beam_answers, greedy))
    # Scores of the same answer may differ in the last digits, by the width of its batch.
    assert (beam_scores >= other - 1e-5).all()
    # The other texts of a batch change nothing.
    for row, source in enumerate(SOURCES):
        alone = answers(model, source[source != PAD][None])
        assert torch.equal(padded(alone)[0], padded(beam_answers)[row])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_beam_of_one_is_greedy(architecture):
    for seed in range(5):
        model = random_model(architecture, seed)
        mask = (SOURCES != PAD).long()
        beam_answers = _beam(
            model.decoder_of(SOURCES, mask, 1), SOURCES, model.config, all_ranks=False
        )
        assert torch.equal(beam_answers, answers(model, beam=1))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_decoding_in_step_with_other_processes_gives_the_same_answers(architecture):
    model = random_model(architecture, 3, beam=3)
    mask = (SOURCES != PAD).long()
    synced = decode(model, SOURCES, mask, all_ranks=True)
    assert synced.shape[1] == LONGEST
    assert torch.equal(synced, padded(answers(model)))


def test_scores_count_the_tokens_up_to_the_end():
    model = random_model("gru", 1, length_penalty=1.0)
    source, mask = SOURCES[:1], (SOURCES[:1] != PAD).long()
    answer_ids = torch.tensor([[4, END, PAD]])
    logits = model(source, mask, answer_ids[:, :2]).log_softmax(-1)
    expected = (logits[0, 0, 4] + logits[0, 1, END]) / 2
    torch.testing.assert_close(scores(model, source, mask, answer_ids)[0], expected)


def test_a_gru_drops_parts_of_the_embedded_tokens_and_of_the_output():
    model = random_model("gru", 1, embedding=6)
    widths = []
    model.dropout.register_forward_hook(lambda _, inputs, output: widths.append(output.shape[-1]))
    model(SOURCES, (SOURCES != PAD).long(), SOURCES)
    assert widths == [6, 6, 8]


def test_a_saved_model_keeps_its_beam_settings(tmp_path):
    from tests.training.models.test_seq2seq import SENTENCES, build, dataset

    model, data = build(dataset(SENTENCES), Seq2Seq("gru", "tiny", 0.1, 3, 0.5), seed=0)
    seq2seq.save(tmp_path, model, data.vocabularies)
    config = seq2seq.load(tmp_path)[0].config
    assert (config.beam, config.length_penalty) == (3, 0.5)


@pytest.mark.parametrize("options", [{"beam": 0}, {"length_penalty": -1.0}])
def test_impossible_settings_are_refused(options):
    with pytest.raises(UserError, match=f"{next(iter(options))}="):
        Seq2Seq(**options)
