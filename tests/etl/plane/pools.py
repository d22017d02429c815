"""Pools of phrases: from given pairs, or of made-up words in any number."""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from adnominal.etl.plane.candidates import Pool

LEXICON = [
    (f"{kind.lower()}{number:03}", kind)
    for kind, size in (("I", 91), ("O", 58), ("S", 163))
    for number in range(size)
]


def pool(
    phrases: Mapping[str, Iterable[str]],
    hypernyms: Mapping[str, Iterable[str]],
    classes: Iterable[tuple[str, str]] = LEXICON,
) -> Pool:
    """A pool of nouns with their adjectives and their hypernyms, nearest first."""
    lexicon = sorted(classes)
    number = {word: place for place, (word, _) in enumerate(lexicon)}
    rows = []
    for noun, adjectives in phrases.items():
        chain = list(hypernyms[noun])
        rows.append(
            {
                "noun": noun,
                "adjectives": [number[word] for word in adjectives],
                "hypernyms": chain,
                "distances": list(range(1, len(chain) + 1)),
                "chain": chain if len(chain) == 3 else None,
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
    return Pool.of(lexicon, pa.Table.from_pylist(rows, schema))


def zipf_pool(nouns: int, draws: int, seed: int = 0) -> Pool:
    """The distinct pairs among `draws`; as in any corpus, few words are frequent.

    The hypernyms of the nouns form a tree with levels of 40, 400 and 1,600 words.
    """
    draw = np.random.default_rng(seed)
    shares = 1 / np.arange(1, nouns + 1) ** 0.7
    drawn_nouns = draw.choice(nouns, draws, p=shares / shares.sum())
    shares = draw.permutation(1 / np.arange(1, len(LEXICON) + 1) ** 0.8)
    drawn_adjectives = draw.choice(len(LEXICON), draws, p=shares / shares.sum())
    pairs = np.unique(drawn_nouns * len(LEXICON) + drawn_adjectives)
    nouns_of_pairs, sizes = np.unique(pairs // len(LEXICON), return_counts=True)
    low = draw.zipf(1.3, nouns)[nouns_of_pairs] % 1600
    hypernyms = [
        f"{level}{h % top}" for h in low for level, top in (("x", 1600), ("y", 400), ("z", 40))
    ]

    def lists(starts: np.ndarray, values: pa.Array) -> pa.Array:
        return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), values)

    threes = np.arange(len(nouns_of_pairs) + 1) * 3
    chains = lists(threes, pa.array(hypernyms))
    members = pa.array(pairs % len(LEXICON), pa.int32())
    rows = {
        "noun": pa.array([f"n{n}" for n in nouns_of_pairs]),
        "adjectives": lists(np.concatenate([[0], np.cumsum(sizes)]), members),
        "hypernyms": chains,
        "distances": lists(threes, pa.array([1, 2, 3] * len(nouns_of_pairs), pa.int32())),
        "chain": chains,
    }
    return Pool.of(LEXICON, pa.table(rows))
