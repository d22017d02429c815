"""How single numbers stand in the cells of a report."""

from __future__ import annotations


def model_name(name: str) -> str:
    """A model's name without its owner or folder: ``roberta-base``; of weights that lie in a run's
    folder as ``model``, with that folder."""
    parts = [part for part in name.split("/") if part]
    return "/".join(parts[-2:] if parts[-1:] == ["model"] else parts[-1:])


def p_value(p: float) -> str:
    """Three digits: ``0.042``, or ``< 0.001``."""
    return "< 0.001" if p < 0.0005 else f"{p:.3f}"


def signed(value: float, digits: int = 1) -> str:
    """A difference: ``+1.4``, ``−0.2``; what rounds to nothing has no sign."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]
