"""Answers of a sequence-to-sequence model: greedily, or by beam search (Graves 2012).

With a beam of k, the k best beginnings of an answer are followed at once. They compete by the sum
of their tokens' log-probabilities over ``length ** length_penalty``, the end counted: 0 takes the
most probable answer, which favours short ones, 1 (the default) the mean a token. Answers that have
ended keep their place in the beam until better ones take it.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from training.seq2seq_models import (
    BEGIN,
    END,
    GRU,
    IGNORED,
    PAD,
    Config,
    Decoder,
    Transformer,
)


@torch.no_grad()  # type: ignore[untyped-decorator]
def decode(
    model: GRU | Transformer, input_ids: Tensor, attention_mask: Tensor, synced: bool = False
) -> Tensor:
    """The model's answers, [batch, at most `max_target`]; each ends with `END`, then `PAD`.

    Greedily where the model's `beam` is 1. A beam may lose the greedy answer on its way and end
    with a worse one, so the better of the two is given: never one that `scores` less than the
    greedy answer. `synced` takes all steps even when every text has ended, so that processes that
    hold parts of the weights (ZeRO 3) stay in step.
    """
    config = model.config
    greedy = _greedy(model.decoder_of(input_ids, attention_mask), input_ids, config, synced)
    if config.beam == 1:
        return greedy
    copies = model.decoder_of(input_ids, attention_mask, config.beam)
    beam = _beam(copies, input_ids, config, synced)
    width = max(greedy.shape[1], beam.shape[1])
    greedy, beam = (F.pad(own, (0, width - own.shape[1]), value=PAD) for own in (greedy, beam))
    better = scores(model, input_ids, attention_mask, beam) > scores(
        model, input_ids, attention_mask, greedy
    )
    return torch.where(better[:, None], beam, greedy)


@torch.no_grad()  # type: ignore[untyped-decorator]
def scores(
    model: GRU | Transformer, input_ids: Tensor, attention_mask: Tensor, answers: Tensor
) -> Tensor:
    """What answers compete by, [batch]: log-probability over ``length ** length_penalty``."""
    ended = (answers == END).long().cumsum(dim=1) - (answers == END).long()
    labels = answers.masked_fill(ended > 0, IGNORED)
    chances = model(input_ids, attention_mask, labels).logits.float().log_softmax(dim=-1)
    known = labels != IGNORED
    own = chances.gather(2, labels.clamp(min=0)[:, :, None])[:, :, 0].masked_fill(~known, 0.0)
    return own.sum(dim=1) / known.sum(dim=1) ** model.config.length_penalty


def _greedy(decoder: Decoder, input_ids: Tensor, config: Config, synced: bool) -> Tensor:
    """The most probable token at each step, until every row has `END`."""
    tokens = torch.full((len(input_ids),), BEGIN, device=input_ids.device)
    ended = torch.zeros_like(tokens, dtype=torch.bool)
    found = []
    for number in range(config.max_target):
        tokens = decoder.step(tokens, number).argmax(dim=-1).masked_fill(ended, PAD)
        found.append(tokens)
        ended |= tokens == END
        if not synced and bool(ended.all()):
            break
    return torch.stack(found, dim=1)


def _beam(decoder: Decoder, input_ids: Tensor, config: Config, synced: bool) -> Tensor:
    """The best of the beam's answers; `decoder` has `beam` rows for each text."""
    texts, width, device = len(input_ids), config.beam, input_ids.device
    tokens = torch.full((texts * width,), BEGIN, device=device)
    # One beginning for each text: the others would be the same.
    totals = torch.full((texts, width), -torch.inf, device=device)
    totals[:, 0] = 0.0
    ended = torch.zeros((texts, width), dtype=torch.bool, device=device)
    lengths = torch.zeros((texts, width), dtype=torch.long, device=device)
    found = torch.zeros((texts, width, 0), dtype=torch.long, device=device)
    first = torch.arange(texts, device=device)[:, None] * width
    for number in range(config.max_target):
        chances = decoder.step(tokens, number).float().log_softmax(dim=-1)
        chances = chances.unflatten(0, (texts, width))
        # What has ended goes on as padding, at no cost; nothing else does.
        chances[..., PAD] = -torch.inf
        chances[ended] = -torch.inf
        chances[..., PAD].masked_fill_(ended, 0.0)
        candidates = totals[..., None] + chances
        lengths = lengths + (~ended).long()
        ranks = candidates / lengths[..., None] ** config.length_penalty
        best = ranks.flatten(1).topk(width, dim=1).indices
        came_from, chosen = best // chances.shape[-1], best % chances.shape[-1]
        totals = candidates.flatten(1).gather(1, best)
        lengths = lengths.gather(1, came_from)
        ended = ended.gather(1, came_from) | (chosen == END)
        earlier = found.gather(1, came_from[..., None].expand(-1, -1, number))
        found = torch.cat([earlier, chosen[..., None]], dim=2)
        decoder.follow((first + came_from).flatten())
        tokens = chosen.flatten()
        if not synced and bool(ended.all()):
            break
    return found[:, 0]
