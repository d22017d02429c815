"""The figures on SyGNS's dataset: tables 1 to 3, 12 and 13, and sizes (Yanaka et al. 2021)."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from adnominal.analysis.papers.exhibits import Examples, Finding, exhibit
from adnominal.analysis.papers.sygns.sources import Sygns
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.analysis.rows import row_counts, seeded_order, tuples, where_equal
from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.etl.sygns import splits

_BUILD = "python etl/build_sygns.py preset=paper lake=LAKE"
_ARROWS = {"up": "↑", "down": "↓"}
_EMBEDDING = {"peripheral": "PER", "center": "CEN"}
_KEYS = ["scheme", "primitive", "part"]


def split_sizes(lake: str, edition: str) -> pa.Table:
    """Sentences by scheme, primitive quantifier and part (section 3.4).

    Columns scheme, primitive, part, sentences.

    Raises:
        UserError: the edition has no splits.
    """
    where = [("edition", "=", edition)]
    counts = row_counts(arrow.batches(lake, "sygns_splits", where=where, columns=_KEYS), *_KEYS)
    if not counts:
        raise UserError(f"edition={edition}: no rows in the table sygns_splits of {lake}")
    orders = splits.SCHEMES, ("", *splits.PRIMITIVES), ("train", "val", "test")

    def place(key: tuple[str, ...]) -> list[int]:
        return [order.index(value) for order, value in zip(orders, key, strict=True)]

    return pa.Table.from_pylist(
        [
            {**dict(zip(_KEYS, key, strict=True)), "sentences": counts[key]}
            for key in sorted(counts, key=place)
        ]
    )


def _patterns(
    lake: str, where: Sequence[tuple[str, str, Any]], pattern: Callable[[str, list[str], int], Any]
) -> tuple[Counter[Any], dict[Any, str], int]:
    """The number of sentences of each pattern that is not None, with an example of each (the
    alphabetically first of its shortest sentences), and the number of all sentences."""
    counts: Counter[Any] = Counter()
    examples: dict[Any, tuple[int, str]] = {}
    rows = 0
    columns = ["sentence", "phenomena", "depth"]
    for batch in arrow.batches(lake, "sygns", where=where, columns=columns):
        rows += batch.num_rows
        for sentence, phenomena, depth in tuples(batch, *columns):
            key = pattern(sentence, phenomena, depth)
            if key is not None:
                counts[key] += 1
                ranked = (len(sentence), sentence)
                examples[key] = min(examples.get(key, ranked), ranked)
    return counts, {key: sentence for key, (_, sentence) in examples.items()}, rows


def pattern_table(lake: str, edition: str) -> pa.Table:
    """Training and test patterns of systematicity with the primitive *one* (table 1): columns set,
    pattern, sentences, example.

    The training sets are ``primitive quantifier``, ``basic 1`` (the other quantifiers without
    modifier) and ``basic 2`` (the primitive with a modifier); ``test`` has the other quantifiers
    with a modifier. A pattern consists of the classes of quantifier and modifier, with +NEG under
    negation. Sentences without quantifier or with quantifiers of two classes are excluded. The
    example is the alphabetically first of the shortest sentences.

    Raises:
        UserError: the edition has no sentences of depth 0.
    """

    def pattern(sentence: str, phenomena: list[str], depth: int) -> tuple[str, str] | None:
        # The part comes from `splits.part`.
        quantifier = splits.quantifier_class(sentence)
        modifier = splits.modifier_class(phenomena)
        if quantifier in ("NON", "MIX"):
            return None
        negation = "+NEG" if modifier.endswith("+NEG") else ""
        if splits.part("systematicity", "one", 0, sentence, phenomena) == "test":
            return "test", f"{quantifier}+{modifier}"
        if "one" not in splits.quantifiers(sentence):
            return "basic 1", f"{quantifier}{negation}"
        if modifier.startswith("NON"):
            return "primitive quantifier", quantifier + negation
        return "basic 2", modifier

    where = [("edition", "=", edition), ("depth", "=", 0)]
    counts, examples, rows = _patterns(lake, where, pattern)
    if not rows:
        raise UserError(f"edition={edition}: no sentences of depth 0 in the table sygns of {lake}")
    sets = ("primitive quantifier", "basic 1", "basic 2", "test")
    return pa.Table.from_pylist(
        [
            {"set": key[0], "pattern": key[1], "sentences": counts[key], "example": examples[key]}
            for key in sorted(counts, key=lambda key: (sets.index(key[0]), key[1]))
        ]
    )


def embedding_table(lake: str, edition: str) -> pa.Table:
    """Training patterns (depths 0 and 1) and test patterns (2 and deeper) of productivity: table 2.

    Columns set, depth, pattern (NON, PER for peripheral, CEN for centre-embedded clauses, PER+CEN
    for both), sentences and example (the alphabetically first of the shortest sentences).

    Raises:
        UserError: the edition has no sentences of these depths.
    """

    def pattern(sentence: str, phenomena: list[str], depth: int) -> tuple[int, str]:
        kinds = [short for tag, short in _EMBEDDING.items() if tag in phenomena]
        return depth, "+".join(kinds) or "NON"

    where = [("edition", "=", edition), ("depth", "in", [0, 1, 2])]
    counts, examples, _ = _patterns(lake, where, pattern)
    if not counts:
        raise UserError(
            f"edition={edition}: no sentences of depths 0, 1, 2 in the table sygns of {lake}"
        )
    return pa.Table.from_pylist(
        [
            {
                "set": f"basic {key[0] + 1}" if key[0] < 2 else "test",
                "depth": key[0],
                "pattern": key[1],
                "sentences": counts[key],
                "example": examples[key],
            }
            for key in sorted(counts)
        ]
    )


@exhibit("Table 1", "what systematicity trains and tests on", fills=_BUILD, reads=("sygns",))
def systematicity(page: Sygns) -> Iterator[Finding]:
    """Patterns of quantifiers and modifiers with the primitive *one*."""
    edition = page.lake.edition("sygns")
    patterns = pattern_table(page.lake.root, edition)
    yield from _pattern_findings("Patterns with the primitive one", patterns, edition)


@exhibit("Table 2", "what productivity trains and tests on", fills=_BUILD, reads=("sygns",))
def productivity(page: Sygns) -> Iterator[Finding]:
    """Patterns of embedding by depth: NON without embedded clause, PER peripheral, CEN
    centre-embedded."""
    edition = page.lake.edition("sygns")
    patterns = embedding_table(page.lake.root, edition)
    yield from _pattern_findings("Patterns of embedding", patterns, edition)


def _pattern_findings(caption: str, patterns: pa.Table, edition: str) -> Iterator[Finding]:
    """The number of sentences of each pattern, and an example of each."""
    cells: CellValues = {}
    for row in patterns.to_pylist():
        cells[f"{row['set']}: {row['pattern']}", "sentences"] = float(row["sentences"])
    yield Cells(caption, cells, decimals=0, edition=edition)
    yield Examples(f"{caption}, an example of each", patterns.drop_columns("sentences"))


@exhibit(
    "Section 3.4",
    "sizes",
    fills=_BUILD,
    reads=("sygns", "sygns_splits"),
    printed=("section 3.4",),
)
def sizes(page: Sygns) -> Iterator[Finding]:
    """Sentences by scheme and part; training includes its validation part."""
    editions = page.lake.shown_editions("sygns", "sygns_splits")
    # The release is a sample of fifty sentences, and the demo is intentionally small.
    comparable = [name for name in editions if name not in ("published", "demo")]
    edition = comparable[0] if comparable else editions[0]
    by_part = split_sizes(page.lake.root, edition)
    by_depth = _by_depth(page, edition)
    ours = _printed_sizes(by_part, by_depth) if comparable else {}
    yield Cells("section 3.4", ours, edition=edition)

    depths: CellValues = {}
    for depth, count in by_depth.items():
        depths[f"depth {depth}", "sentences"] = float(count)
    yield Cells("Sentences of productivity by depth", depths, decimals=0, edition=edition)

    parts: CellValues = {}
    for scheme, primitive, part, count in tuples(by_part):
        name = f"{scheme} {primitive}".strip()
        parts[name, str(part)] = float(count)
    caption = "Sentences by scheme, primitive and part"
    yield Cells(caption, parts, decimals=0, edition=edition)


def _printed_sizes(by_part: pa.Table, by_depth: Mapping[int, int]) -> CellValues:
    """The sizes that the paper gives: of systematicity with primitive *one*, and of the smallest
    of productivity's deeper levels."""
    counts = dict.fromkeys(("train", "val", "test"), 0)
    for scheme, primitive, part, count in tuples(by_part):
        if (scheme, primitive) == ("systematicity", "one"):
            counts[part] = count
    sizes: CellValues = {}
    if any(counts.values()):
        sizes["systematicity", "sentences"] = float(sum(counts.values()))
        sizes["systematicity, train", "sentences"] = float(counts["train"] + counts["val"])
        sizes["systematicity, test", "sentences"] = float(counts["test"])
    deeper_levels = [count for depth, count in by_depth.items() if depth > 0]
    if deeper_levels:
        sizes["productivity, each depth", "sentences"] = float(min(deeper_levels))
    return sizes


def _by_depth(page: Sygns, edition: str) -> dict[int, int]:
    """Numbers of sentences of the scheme productivity, by depth."""
    where = [("edition", "=", edition), ("scheme", "=", "productivity")]
    ids = arrow.read(page.lake.root, "sygns_splits", where=where, columns=["sentence_id"])
    sentences = page.classes(edition)
    members = pc.is_in(sentences["sentence_id"], value_set=ids["sentence_id"].combine_chunks())
    depths = row_counts(sentences.filter(members).to_batches(), "depth")
    return {depth: count for (depth,), count in sorted(depths.items())}


def polarity_marked(formula: str, directions: Sequence[Mapping[str, str]]) -> str:
    """The formula with an arrow after each of the words, which are in formula order."""
    remaining = list(directions)

    def arrow_after(word: re.Match[str]) -> str:
        if remaining and remaining[0]["word"].lower() == word[0].lower():
            return word[0] + _ARROWS[remaining.pop(0)["direction"]]
        return word[0]

    return re.sub(r"[A-Za-z]+", arrow_after, formula)


def _polarities(page: Sygns, *forms: str) -> Iterator[Finding]:
    """Sentences of depth 0 with one quantifier each: one per class, one of them negated."""
    lake = page.lake
    edition = lake.edition("sygns")
    sentences = where_equal(page.classes(edition), "depth", 0)
    drawn = []
    for quantifier, negated in (("EXI", False), ("UNI", False), ("UNI", True)):
        similar = where_equal(sentences, "quantifier", quantifier)
        is_negated = pc.ends_with(similar["modifier"], "+NEG")
        ids = similar.filter(pc.equal(is_negated, negated))["sentence_id"].to_pylist()
        drawn += seeded_order(ids, lake.seed, str)[:1]
    columns = ["sentence_id", "sentence"]
    for form in forms:
        columns += [form, f"polarity_{form}"]
    rows = arrow.read_items(lake.root, "sygns", pa.array(drawn, pa.string()), columns, edition)
    by_id = {row["sentence_id"]: row for row in rows.to_pylist()}
    examples = []
    for sentence_id in drawn:
        row = by_id[sentence_id]
        marked = {
            form.upper(): polarity_marked(row[form], row[f"polarity_{form}"]) for form in forms
        }
        examples.append({"sentence": row["sentence"]} | marked)
    if not examples:
        raise UserError(f"edition={edition}: no sentences of depth 0 with a quantifier")
    caption = f"Content words in upward (↑) or downward (↓) positions, edition {edition}"
    yield Examples(caption, pa.Table.from_pylist(examples))


@exhibit("Table 3", "polarity, examples", fills=_BUILD, reads=("sygns",))
def polarity(page: Sygns) -> Iterator[Finding]:
    """Formulas with the direction of each content word."""
    yield from _polarities(page, "fol")


@exhibit("Table 13", "FOL and VF with polarity", fills=_BUILD, reads=("sygns",))
def polarity_of_forms(page: Sygns) -> Iterator[Finding]:
    """Formulas in two forms with the direction of each content word."""
    yield from _polarities(page, "fol", "vf")


@exhibit("Table 12", "grammar and composition", fills=_BUILD)
def grammar(page: Sygns) -> Iterator[Finding]:
    """The rules of the grammar with their semantics; a rule without composition passes on its only
    child, and the words are in conf/sygns."""
    try:
        edition = page.lake.edition("sygns")
    except UserError:
        edition = "clean"
    text = (files("adnominal.conf") / "sygns" / "grammar.yaml").read_text(encoding="utf-8")
    kind = "paper" if edition in ("paper", "published") else "clean"
    rows = [
        {
            "rule": rule["rule"],
            "FOL": rule.get("fol", ""),
            "VF": rule.get("vf", ""),
            "phenomena": ", ".join(rule.get("tags", ())),
        }
        for rule in yaml.safe_load(text)["rules"]
        if rule.get("only") in (None, kind)
    ]
    yield Examples(f"Rules of the {kind} grammar", pa.Table.from_pylist(rows))
