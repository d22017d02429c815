"""The logits of a masked language model at its masks alone."""

from typing import Any


def logits_of_masks(model: Any, ids: Any, mask: Any, positions: Any) -> Any:
    """Return the logits at a position of each row, [rows, vocabulary].

    `ids` and the attention `mask` are [rows, width], `positions` [rows]. The head is a product with
    the vocabulary, which only the masks need, so the other positions are dropped before it.
    """
    import torch

    rows = torch.arange(len(ids), device=ids.device)

    def select_masks(_module: Any, _inputs: Any, output: Any) -> None:
        hidden = output.last_hidden_state
        places = rows.to(hidden.device), positions.to(hidden.device)
        output.last_hidden_state = hidden[places][:, None]

    body = model.base_model
    hook = body.register_forward_hook(select_masks) if body is not model else None
    try:
        logits = model(input_ids=ids, attention_mask=mask).logits
    finally:
        if hook is not None:
            hook.remove()
    return logits[:, 0] if logits.shape[1] == 1 else logits[rows, positions]
