"""The two models of SyGNS, trained from scratch (Yanaka et al. 2021, section 4.1, appendix B).

`GRU`: one unidirectional layer each for encoder and decoder, global dot-product attention over the
encoder's outputs after the decoder's step (Luong et al. 2015). The decoder reads each token
together with what it attended to before (input feeding, their section 3.3). Dropout is on the
embedded tokens of both texts and on the output, and the weights of embeddings and linear layers are
drawn as by Glorot and Bengio (2010); docs/sygns.md has what each of these brings.
`Transformer`: encoder and decoder of three layers with eight heads and learned positions,
normalised after each block as in Vaswani et al. (2017).

Both are models of transformers. They take a padded batch of token ids and return logits, or a
`Decoder`, which computes one token after another, each once.

Answers are decoded greedily, or by beam search (Graves 2012). A beam of k follows the k best
prefixes of an answer at the same time. They compete by the sum of their tokens' log-probabilities
over ``length ** length_penalty``, including the end: 0 selects the most probable answer, which
favours short ones, 1 (the default) the best mean per token. Finished answers keep their place in
the beam until better ones replace them.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedConfig, PreTrainedModel

from adnominal.training.models.learner import IGNORED

PAD, BEGIN, END, UNKNOWN = 0, 1, 2, 3


class Config(PreTrainedConfig):  # type: ignore[misc]
    """The shape of a model and its decoding.

    `embedding` is the width of token embeddings and, in a Transformer, of every layer's output;
    `hidden` is the state of a GRU or the inner width of a Transformer's feed-forward blocks.
    Vocabulary sizes include the four special tokens; `max_target` includes the end of the text.
    `beam` is the beam size (1: greedy).
    """

    model_type = "adnominal_seq2seq"

    architecture: str = "transformer"
    embedding: int = 512
    hidden: int = 256
    layers: int = 3
    heads: int = 8
    dropout: float = 0.1
    source_size: int = 4
    target_size: int = 4
    max_source: int = 1
    max_target: int = 1
    beam: int = 1
    length_penalty: float = 1.0


def _shifted_labels(labels: Tensor) -> Tensor:
    """The decoder's input for teacher forcing: the target shifted right after a start token."""
    read = torch.full_like(labels, BEGIN)
    read[:, 1:] = labels[:, :-1].masked_fill(labels[:, :-1] == IGNORED, PAD)
    return read


class Decoder(NamedTuple):
    """A decoder that has read its source texts and continues token by token.

    ``step(tokens, number)`` reads the last token of each row and returns the logits of the next,
    [rows, vocabulary]; ``reorder(rows)`` makes row i continue what row ``rows[i]`` has read.
    """

    step: Callable[[Tensor, int], Tensor]
    reorder: Callable[[Tensor], None]


class _Network(PreTrainedModel):  # type: ignore[misc]
    """A model of transformers whose weights are drawn by its constructor."""

    config_class = Config

    def _init_weights(self, module: nn.Module) -> None:
        """Draw nothing: `save_pretrained` writes all weights, so none is missing when loaded."""


class GRU(_Network):
    """Encoder and decoder of one GRU layer each, with dot-product attention."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        size = config.hidden
        self.source = nn.Embedding(config.source_size, config.embedding, padding_idx=PAD)
        self.target = nn.Embedding(config.target_size, config.embedding, padding_idx=PAD)
        self.encoder = nn.GRU(config.embedding, size, batch_first=True)
        self.decoder = nn.GRU(config.embedding + size, size, batch_first=True)
        self.attended = nn.Linear(2 * size, size)
        self.dropout = nn.Dropout(config.dropout)
        self.out = nn.Linear(size, config.target_size)
        self.apply(self._draw)
        self.post_init()

    def _draw(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Embedding, nn.Linear)):
            nn.init.xavier_uniform_(module.weight)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> Tensor:
        """Return logits [batch, target, vocabulary], each from the labels before it.

        `input_ids` and `attention_mask` are [batch, source], `labels` [batch, target].
        """
        memory, state, fed = self._start(input_ids, attention_mask)
        attended = []
        # Each token needs what was attended to at the one before it.
        for token in self.dropout(self.target(_shifted_labels(labels))).split(1, dim=1):
            fed, state = self._decode(token, state, fed, memory, attention_mask)
            attended.append(fed)
        return self._logits(torch.cat(attended, dim=1))

    def _start(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Read the source texts.

        Returns:
            The encoder's outputs [batch, source, hidden], its state after each text's last token
            [1, batch, hidden], and what the decoder is fed at first, zeros [batch, 1, hidden].
        """
        outputs, _ = self.encoder(self.dropout(self.source(ids)))
        last = (mask.sum(dim=1) - 1).clamp(min=0)
        # Reading is left to right, so padding after a sentence cannot change the state at its end.
        final = outputs[torch.arange(len(ids), device=ids.device), last]
        return outputs, final.unsqueeze(0).contiguous(), torch.zeros_like(final).unsqueeze(1)

    def _decode(
        self, token: Tensor, state: Tensor, fed: Tensor, memory: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return what the decoder attends to at a token [batch, 1, hidden], and its state.

        The token is read together with `fed`, what was attended to at the one before it.
        """
        states, state = self.decoder(torch.cat([token, fed], dim=-1), state)
        scores = states @ memory.transpose(1, 2)
        scores = scores.masked_fill(mask[:, None, :] == 0, torch.finfo(scores.dtype).min)
        context = scores.softmax(dim=-1) @ memory
        return torch.tanh(self.attended(torch.cat([context, states], dim=-1))), state

    def _logits(self, attended: Tensor) -> Tensor:
        return self.out(self.dropout(attended))

    def decoder_of(self, input_ids: Tensor, attention_mask: Tensor, copies: int = 1) -> Decoder:
        """Return a decoder with `copies` adjacent rows for each source text, as a beam needs.

        `input_ids` and `attention_mask` are [texts, source]; the decoder has texts × copies rows.
        """
        memory, state, fed = self._start(input_ids, attention_mask)
        memory = memory.repeat_interleave(copies, 0)
        mask = attention_mask.repeat_interleave(copies, 0)
        fed = fed.repeat_interleave(copies, 0)
        state = state.repeat_interleave(copies, 1)  # [1, rows, hidden]

        def step(tokens: Tensor, _: int) -> Tensor:
            nonlocal state, fed
            fed, state = self._decode(self.target(tokens[:, None]), state, fed, memory, mask)
            return self._logits(fed)[:, -1]

        def reorder(rows: Tensor) -> None:
            nonlocal state, fed
            state = state.index_select(1, rows)
            fed = fed.index_select(0, rows)

        return Decoder(step, reorder)


_Cache: TypeAlias = tuple[Tensor, Tensor]


class _Attention(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.dropout
        width = config.embedding
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def _split_heads(self, x: Tensor) -> Tensor:
        """Reshape [batch, length, width] to [batch, heads, length, width of a head]."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def keys_values(self, x: Tensor) -> _Cache:
        return self._split_heads(self.key(x)), self._split_heads(self.value(x))

    def forward(
        self, x: Tensor, cache: _Cache, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """Attend from `x` [rows, tokens, width] to the keys and values of `cache`."""
        mixed = F.scaled_dot_product_attention(
            self._split_heads(self.query(x)),
            *cache,
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=causal,
        )
        return self.out(mixed.transpose(1, 2).flatten(2))


class _FeedForward(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.inner = nn.Linear(config.embedding, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.outer = nn.Linear(config.hidden, config.embedding)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.dropout(F.relu(self.inner(x))))


class _EncoderLayer(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = _Attention(config)
        self.attention_norm = nn.LayerNorm(config.embedding)
        self.feed_forward = _FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(config.embedding)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        cache = self.attention.keys_values(x)
        x = self.attention_norm(x + self.dropout(self.attention(x, cache, mask)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


class _DecoderLayer(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = _Attention(config)
        self.attention_norm = nn.LayerNorm(config.embedding)
        self.cross = _Attention(config)
        self.cross_norm = nn.LayerNorm(config.embedding)
        self.feed_forward = _FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(config.embedding)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Tensor, memory: _Cache, mask: Tensor, previous: _Cache | None = None
    ) -> tuple[Tensor, _Cache]:
        """Return the layer's output, and the keys and values of all tokens so far.

        Without `previous`, `x` is a whole text with causal attention; with it, the next token.
        """
        cache = self.attention.keys_values(x)
        if previous is not None:
            cache = (torch.cat([previous[0], cache[0]], 2), torch.cat([previous[1], cache[1]], 2))
        attended = self.attention(x, cache, causal=previous is None)
        x = self.attention_norm(x + self.dropout(attended))
        x = self.cross_norm(x + self.dropout(self.cross(x, memory, mask)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x))), cache


class Transformer(_Network):
    """Encoder and decoder with only attention and learned positions."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        width = config.embedding
        self.source = nn.Embedding(config.source_size, width, padding_idx=PAD)
        self.target = nn.Embedding(config.target_size, width, padding_idx=PAD)
        self.source_position = nn.Embedding(config.max_source, width)
        self.target_position = nn.Embedding(config.max_target, width)
        self.encoder = nn.ModuleList([_EncoderLayer(config) for _ in range(config.layers)])
        self.decoder = nn.ModuleList([_DecoderLayer(config) for _ in range(config.layers)])
        self.dropout = nn.Dropout(config.dropout)
        self.out = nn.Linear(width, config.target_size)
        self.apply(self._draw)
        self.post_init()

    def _draw(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            # Embeddings are multiplied by the root of the width (Vaswani et al. 2017, section 3.4).
            nn.init.normal_(module.weight, std=self.config.embedding**-0.5)

    def _embed(
        self, ids: Tensor, tokens: nn.Embedding, positions: nn.Embedding, position: int = 0
    ) -> Tensor:
        places = torch.arange(position, position + ids.shape[1], device=ids.device)
        scale = math.sqrt(self.config.embedding)
        return self.dropout(scale * (tokens(ids) + positions(places)))

    def _encode(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self._embed(ids, self.source, self.source_position)
        for layer in self.encoder:
            x = layer(x, mask)
        return x

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> Tensor:
        """As `GRU.forward`."""
        mask = attention_mask[:, None, None, :].bool()
        memory = self._encode(input_ids, mask)
        x = self._embed(_shifted_labels(labels), self.target, self.target_position)
        for layer in self.decoder:
            x, _ = layer(x, layer.cross.keys_values(memory), mask)
        return self.out(x)

    def decoder_of(self, input_ids: Tensor, attention_mask: Tensor, copies: int = 1) -> Decoder:
        """As `GRU.decoder_of`; keys and values of earlier tokens are cached."""
        mask = attention_mask[:, None, None, :].bool()
        memory = self._encode(input_ids, mask).repeat_interleave(copies, 0)
        mask = mask.repeat_interleave(copies, 0)
        across = [layer.cross.keys_values(memory) for layer in self.decoder]
        previous: list[_Cache] = []

        def step(tokens: Tensor, position: int) -> Tensor:
            x = self._embed(tokens[:, None], self.target, self.target_position, position)
            for number, layer in enumerate(self.decoder):
                x, cache = layer(x, across[number], mask, previous[number] if position else None)
                previous[number : number + 1] = [cache]
            return self.out(x)[:, -1]

        def reorder(rows: Tensor) -> None:
            previous[:] = [
                (key.index_select(0, rows), value.index_select(0, rows)) for key, value in previous
            ]

        return Decoder(step, reorder)


@torch.no_grad()  # type: ignore[untyped-decorator]
def decode(
    model: GRU | Transformer, input_ids: Tensor, attention_mask: Tensor, all_ranks: bool = False
) -> Tensor:
    """Return the model's answers, [batch, at most `max_target`], ending with `END`, then `PAD`.

    Decoding is greedy if the model's `beam` is 1. Beam search may lose the greedy answer and end
    with a worse one, so the better of the two by `scores` is returned. `all_ranks` takes all steps
    even if every text has ended, so that processes with sharded weights (ZeRO 3) stay in step.
    """
    config = model.config
    greedy = _greedy(model.decoder_of(input_ids, attention_mask), input_ids, config, all_ranks)
    if config.beam == 1:
        return greedy
    copies = model.decoder_of(input_ids, attention_mask, config.beam)
    beam = _beam(copies, input_ids, config, all_ranks)
    width = max(greedy.shape[1], beam.shape[1])
    greedy, beam = (
        F.pad(answers, (0, width - answers.shape[1]), value=PAD) for answers in (greedy, beam)
    )
    better = scores(model, input_ids, attention_mask, beam) > scores(
        model, input_ids, attention_mask, greedy
    )
    return torch.where(better[:, None], beam, greedy)


@torch.no_grad()  # type: ignore[untyped-decorator]
def scores(
    model: GRU | Transformer, input_ids: Tensor, attention_mask: Tensor, answers: Tensor
) -> Tensor:
    """Return the scores of answers, [batch]: log-probability over ``length ** length_penalty``."""
    ended = (answers == END).long().cumsum(dim=1) - (answers == END).long()
    labels = answers.masked_fill(ended > 0, IGNORED)
    chances = model(input_ids, attention_mask, labels).float().log_softmax(dim=-1)
    is_token = labels != IGNORED
    log_probabilities = chances.gather(2, labels.clamp(min=0)[:, :, None])[:, :, 0].masked_fill(
        ~is_token, 0.0
    )
    return log_probabilities.sum(dim=1) / is_token.sum(dim=1) ** model.config.length_penalty


def _greedy(decoder: Decoder, input_ids: Tensor, config: Config, all_ranks: bool) -> Tensor:
    """Decode the most probable token at each step, until every row has `END`."""
    tokens = torch.full((len(input_ids),), BEGIN, device=input_ids.device)
    is_ended = torch.zeros_like(tokens, dtype=torch.bool)
    answer = []
    for number in range(config.max_target):
        tokens = decoder.step(tokens, number).argmax(dim=-1).masked_fill(is_ended, PAD)
        answer.append(tokens)
        is_ended |= tokens == END
        if not all_ranks and bool(is_ended.all()):
            break
    return torch.stack(answer, dim=1)


def _beam(decoder: Decoder, input_ids: Tensor, config: Config, all_ranks: bool) -> Tensor:
    """Decode the best answer of the beam; `decoder` has `beam` adjacent rows for each text.

    At each step, every prefix of a text is continued with every token of the vocabulary, and the
    best of these candidates are the prefixes of the next step.
    """
    texts, width, device = len(input_ids), config.beam, input_ids.device
    # The prefixes, [texts, beam, tokens so far], with their log-probability and length.
    prefixes = torch.zeros((texts, width, 0), dtype=torch.long, device=device)
    totals = torch.full((texts, width), -torch.inf, device=device)
    lengths = torch.zeros((texts, width), dtype=torch.long, device=device)
    is_ended = torch.zeros((texts, width), dtype=torch.bool, device=device)
    # All prefixes of a text are empty at first, so only one of them takes part.
    totals[:, 0] = 0.0
    last_tokens = torch.full((texts * width,), BEGIN, device=device)
    first_rows = torch.arange(texts, device=device)[:, None] * width
    for number in range(config.max_target):
        logits = decoder.step(last_tokens, number).unflatten(0, (texts, width))
        # Candidates, [texts, beam, vocabulary]: each prefix with each next token.
        candidates = totals[..., None] + _next_log_probabilities(logits, is_ended)
        # The end counts as a token, the padding after it does not.
        lengths = lengths + (~is_ended).long()
        candidate_scores = candidates / lengths[..., None] ** config.length_penalty
        # The best candidates, [texts, beam], as numbers among all candidates of their text.
        best = candidate_scores.flatten(1).topk(width, dim=1).indices
        vocabulary_size = logits.shape[-1]
        parents = best // vocabulary_size
        next_tokens = best % vocabulary_size
        # They are the new prefixes; each has the length of its parent, which may have ended.
        totals = candidates.flatten(1).gather(1, best)
        lengths = lengths.gather(1, parents)
        is_ended = is_ended.gather(1, parents) | (next_tokens == END)
        parent_prefixes = prefixes.gather(1, parents[..., None].expand(-1, -1, number))
        prefixes = torch.cat([parent_prefixes, next_tokens[..., None]], dim=2)
        # The decoder's state of each new prefix is that of its parent.
        decoder.reorder((first_rows + parents).flatten())
        last_tokens = next_tokens.flatten()
        if not all_ranks and bool(is_ended.all()):
            break
    # The candidates are sorted, the best first.
    return prefixes[:, 0]


def _next_log_probabilities(logits: Tensor, is_ended: Tensor) -> Tensor:
    """Return the log-probabilities of the next token of each prefix, [texts, beam, vocabulary].

    An answer that has ended continues with padding, at no cost; others never do.
    """
    log_probabilities = logits.float().log_softmax(dim=-1)
    log_probabilities[..., PAD] = -torch.inf
    only_padding = torch.full_like(log_probabilities, -torch.inf)
    only_padding[..., PAD] = 0.0
    return torch.where(is_ended[..., None], only_padding, log_probabilities)
