"""Samples of sentences drawn one after the other, which the job's have to equal."""

from __future__ import annotations

from etl.sygns import drs
from etl.sygns.generate import Record, Sampler, record, surface


def sample(sampler: Sampler, size: int, numbering: drs.Numbering = "unique") -> list[Record]:
    """The first `size` different sentences of the sampler's draws.

    Raises:
        ValueError: a hundred draws for each requested sentence gave too few different ones.
    """
    rows: dict[str, Record] = {}
    for number in range(100 * size):
        tree = sampler.tree(number)
        sentence = surface(tree)
        if sentence not in rows:
            rows[sentence] = record(sampler.grammar, sampler.depth, tree, numbering)
            if len(rows) == size:
                break
    if len(rows) < size:
        raise ValueError(
            f"{size} different sentences of depth {sampler.depth} asked for, {len(rows)} found"
        )
    return list(rows.values())
