"""Pools of made-up words, of any size, and the pool of given pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from etl.plane.candidates import Pool

LEXICON = [
    (f"{kind.lower()}{number:03}", kind)
    for kind, size in (("I", 91), ("O", 58), ("S", 163))
    for number in range(size)
]


def pool(
    phrases: Mapping[str, Iterable[str]],
    above: Mapping[str, Iterable[str]],
    classes: Iterable[tuple[str, str]] = LEXICON,
) -> Pool:
    """The pool of nouns with their adjectives and hypernyms, the nearest first."""
    listed = sorted(classes)
    number = {word: place for place, (word, _) in enumerate(listed)}
    rows = []
    for noun, adjectives in phrases.items():
        up = list(above[noun])
        rows.append(
            {
                "noun": noun,
                "adjectives": [number[word] for word in adjectives],
                "hypernyms": up,
                "distances": list(range(1, len(up) + 1)),
                "chain": up if len(up) == 3 else None,
            }
        )
    schema = pa.schema(
        [
            ("noun", pa.string()),
            ("adjectives", pa.list_(pa.int32())),
            ("hypernyms", pa.list_(pa.string())),
            ("distances", pa.list_(pa.int32())),
            ("chain", pa.list_(pa.string())),
        ]
    )
    return Pool.of(listed, pa.Table.from_pylist(rows, schema))


def zipf_pool(nouns: int, draws: int, seed: int = 0) -> Pool:
    """A pool of the different pairs among `draws`: few words are frequent, as in any corpus.

    Nouns stand below a tree of 40, 400 and 1,600 hypernyms.
    """
    draw = np.random.default_rng(seed)
    shares = 1 / np.arange(1, nouns + 1) ** 0.7
    of_nouns = draw.choice(nouns, draws, p=shares / shares.sum())
    shares = draw.permutation(1 / np.arange(1, len(LEXICON) + 1) ** 0.8)
    of_adjectives = draw.choice(len(LEXICON), draws, p=shares / shares.sum())
    met = np.unique(of_nouns * len(LEXICON) + of_adjectives)
    met_nouns, sizes = np.unique(met // len(LEXICON), return_counts=True)
    low = draw.zipf(1.3, nouns)[met_nouns] % 1600
    above = [
        f"{level}{h % top}" for h in low for level, top in (("x", 1600), ("y", 400), ("z", 40))
    ]

    def lists(starts: np.ndarray, values: pa.Array) -> pa.Array:
        return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), values)

    threes = np.arange(len(met_nouns) + 1) * 3
    up = lists(threes, pa.array(above))
    members = pa.array(met % len(LEXICON), pa.int32())
    rows = {
        "noun": pa.array([f"n{n}" for n in met_nouns]),
        "adjectives": lists(np.concatenate([[0], np.cumsum(sizes)]), members),
        "hypernyms": up,
        "distances": lists(threes, pa.array([1, 2, 3] * len(met_nouns), pa.int32())),
        "chain": up,
    }
    return Pool.of(LEXICON, pa.table(rows))
