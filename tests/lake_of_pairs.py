"""A small lake with everything that the explorer shows, written without an engine."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from adnominal.etl.amod.association import ADJECTIVES, Adjectives, association_of
from adnominal.etl.amod.kernel import PAIRS
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from tests.rows import adept_row, plane_item, rows, write

SCRIPT = "<script>document.title = 'run'</script> The false key opened <b>no</b> door."

COUNTS: dict[str, Sequence[tuple[str, str, int]]] = {
    "news": [
        ("false", "key", 4),
        ("old", "key", 9),
        ("small", "key", 2),
        ("old", "door", 5),
        ("wooden", "door", 7),
        ("false", "name", 3),
        ("naïve", "question", 2),
    ],
    "web": [("false", "key", 1), ("public", "key", 8), ("wooden", "door", 2)],
}


def association(corpus: str, counts: Sequence[tuple[str, str, int]]) -> pa.Table:
    """The association of the pairs of a corpus, ordered by noun."""
    ordered = sorted(counts, key=lambda pair: (pair[1], pair[0]))
    pairs = pa.table(list(map(list, zip(*ordered, strict=True))), schema=PAIRS)
    sums: dict[str, list[int]] = {}
    for adjective, _, count in counts:
        sums.setdefault(adjective, []).append(count)
    adjectives = pa.table(
        [
            list(sums),
            [sum(counts_of_word) for counts_of_word in sums.values()],
            [len(counts_of_word) for counts_of_word in sums.values()],
        ],
        schema=ADJECTIVES,
    )
    schema = table("amod_association").schema
    return association_of(pairs, Adjectives.of(adjectives), corpus).cast(schema)


def write_pairs(root: str, counts_by_corpus: Mapping[str, Sequence[tuple[str, str, int]]]) -> None:
    """Write the tables of pairs from (adjective, noun, count) in each corpus."""
    for corpus, counts in counts_by_corpus.items():
        by_noun = association(corpus, counts)
        arrow.append(root, "amod_association", by_noun, job="test")
        by_adjective = by_noun.sort_by([("adjective", "ascending"), ("noun", "ascending")])
        arrow.append(root, "amod_by_adjective", by_adjective, job="test")
        pairs = by_noun.select(["corpus", "adjective", "noun", "count"])
        arrow.append(root, "amod_pairs", pairs, job="test")


def write_lake(folder: Path) -> Path:
    """Write the lake to a folder; the folder."""
    root = str(folder)
    write_pairs(root, COUNTS)
    pair = {"adjective": "false", "noun": "key"}
    examples = [("news", SCRIPT, "http://example.org/1"), ("web", "A false key.", "two")]
    write(root, "amod_examples", rows("corpus sentence document", *examples, **pair))
    classes = (("false", "O"), ("old", "S"), ("small", "S"), ("wooden", "I"))
    write(root, "adjective_classes", rows("adjective class", *classes, source="test"))
    more = {"verb": "opens a door", "edition": "demo"}
    write(root, "adept", [adept_row("a1", "false", "key", 1, **more)])
    item = plane_item("false", "O", "key", "device", 1, item_id="p1", edition="demo")
    write(root, "plane_items", [item])
    texts = {"premise": "The old key is red.", "hypothesis": "The key is red."}
    words = {"test": "argument", "adjective": "old", "noun": "key"}
    item = {"item_id": "s1", "label": "entailment", "edition": "demo"}
    write(root, "asp_entailment", [{**texts, **words, **item}])
    answer = {"item_id": "p1", "gold": "0", "predicted": "1"}
    run = {"run_id": "r1", "task": "plane", "edition": "demo", "model": "tiny"}
    write(root, "predictions", [{**run, **answer}])
    return folder
