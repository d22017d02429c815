"""Lines in the layout of ConceptNet 5's assertions, a tenth of them English on both sides.

The other lines are in other languages, as in the whole dump, and are skipped by the importer. Nodes
follow Zipf's law; half of the English lines have a sentence, and a few are malformed or repeated,
so that every path through the parser is taken.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.pairs_generator import Law, words_of

_AT_ONCE = 200_000
_NODES = Law(50, 100_000, 1.6)
_LANGUAGES = ("fr", "it", "de", "es", "ru", "pt", "ja", "nl", "zh", "fi")
_RELATIONS = (
    *("RelatedTo", "FormOf", "DerivedFrom", "HasContext", "Synonym", "IsA", "UsedFor"),
    *("CapableOf", "HasProperty", "AtLocation", "HasA", "NotCapableOf"),
)


def write(path: Path, lines: int, seed: int = 0) -> None:
    """Write a file of so many lines, uncompressed so that it can be read from several offsets."""
    rng = np.random.default_rng([34, seed])
    with path.open("wb") as file:
        for start in range(0, lines, _AT_ONCE):
            text = _lines(rng, min(_AT_ONCE, lines - start), start)
            file.write(memoryview(text.buffers()[2])[: int(pc.sum(pc.binary_length(text)).as_py())])


def _draw(rng: np.random.Generator, values: tuple[str, ...], size: int) -> pa.StringArray:
    return pa.array(values).take(pa.array(rng.integers(len(values), size=size)))


def _lines(rng: np.random.Generator, size: int, first: int) -> pa.StringArray:
    join = pc.binary_join_element_wise  # the last argument is the separator
    english = pa.array(rng.random(size) < 0.1)
    relation = _draw(rng, _RELATIONS, size)
    start, end = (words_of(_NODES.draw(rng, size)) for _ in range(2))
    languages = [_draw(rng, _LANGUAGES, size) for _ in range(2)]
    one, two = (
        join("/c/", pc.if_else(english, "en", language), "/", word, "")
        for language, word in zip(languages, (start, end), strict=True)
    )
    # The line number is in the URI: assertions are unique, except for one in a thousand.
    numbers = np.arange(first, first + size) - (rng.random(size) < 0.001)
    number = pa.array(numbers).cast(pa.string())
    uri = join("/a/[/r/", relation, "/,", one, "/", number, "/,", two, "/]", "")
    has_text = pa.array(rng.random(size) < 0.5)
    odd = pa.array(rng.random(size) < 0.01)
    surface = join(
        ', "surfaceEnd": "', end, '", "surfaceStart": "', start, '", "surfaceText": "[[', start,
        pc.if_else(odd, '"', join("]] is related to [[", end, ']]"', "")),
        "",
    )  # fmt: skip
    weight = pa.array(np.round(1 + rng.exponential(1, size), 1)).cast(pa.string())
    source = (
        '{"dataset": "/d/conceptnet/4/en", "license": "cc:by/4.0", "sources": [{"activity": '
        '"/s/activity/omcs/omcs1_possibly_free_text", "contributor": '
        '"/s/contributor/omcs/generated"}]'
    )
    surface = pc.if_else(pc.and_(english, has_text), surface, "")
    data = join(source, surface, ', "weight": ', weight, "}\n", "")
    return join(uri, join("/r/", relation, ""), one, two, data, "\t")
