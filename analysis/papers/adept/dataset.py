"""The tables and figures on ADEPT's dataset: tables 1 to 4 and figures 1 and 4, from the lake."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis import slices
from adnominal.analysis.editions import read_edition
from adnominal.analysis.estimates import wilson
from adnominal.analysis.papers import published
from adnominal.analysis.papers.adept import annotators
from adnominal.analysis.papers.adept.sources import (
    IMPORT,
    PARTS,
    Adept,
    has_simulated_labels,
    read,
    with_brackets,
)
from adnominal.analysis.papers.exhibits import (
    COMPARABLE,
    Chart,
    Examples,
    Finding,
    Missing,
    exhibit,
)
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.analysis.rows import lists, places, seeded_order, tuples, where_equal
from adnominal.conf import UserError
from adnominal.etl.adept import LABELS
from adnominal.etl.knowledge import lexicons
from adnominal.etl.lake import arrow

BUILD = "python etl/build_adept.py preset=clean lake=LAKE"
# The number of adjectives in table 1, and of labels of each.
_ADJECTIVES, _EACH = 4, 3
_STAGES = "Entries by stage"


def _kind(modifier: str) -> str:
    return "NS" if lexicons.is_nonsubsective(modifier.lower()) else "S"


@exhibit("Table 1", "examples", fills=IMPORT, reads=("adept", *annotators.TABLES))
def examples(page: Adept) -> Iterator[Finding]:
    """Adjectives with several labels, half of them non-subsective, as in the paper's table."""
    rows, seed = page.rows, page.lake.seed
    labels = rows.column("label").to_pylist()
    by_modifier = places(rows, "modifier")
    diverse = [
        modifier
        for (modifier,), members in by_modifier.items()
        if len({labels[place] for place in members}) >= _EACH
    ]
    if not diverse:
        raise UserError(f"no adjective with {_EACH} labels in the table adept of {page.lake.root}")
    order = seeded_order(diverse, seed, str)
    modifiers = [name for name in order if _kind(name) == "NS"][: _ADJECTIVES // 2]
    subsective = [name for name in order if _kind(name) == "S"]
    modifiers += subsective[: _ADJECTIVES - len(modifiers)]
    instances = []
    for modifier in modifiers:
        first: dict[int, dict[str, Any]] = {}
        members = rows.take(by_modifier[modifier,]).to_pylist()
        for row in seeded_order(members, seed, lambda row: row["item_id"]):
            first.setdefault(row["label"], row)
        instances += [
            {
                "instance": with_brackets(row["sentence2"], modifier),
                "modifier (class)": f"{modifier} ({_kind(modifier)})",
                "plausibility change": LABELS[row["label"]],
            }
            for row in list(first.values())[:_EACH]
        ]
    caption = (
        f"Adjectives with labels of {_EACH} kinds, drawn from edition {page.edition}; "
        "S: subsective, NS: non-subsective (Nayak et al.'s sixty and dead)"
    )
    yield Examples(caption, pa.Table.from_pylist(instances), page.is_simulated)


def stages(lake: str, edition: str) -> dict[str, int]:
    """The entries left after each stage of the construction (figure 1).

    Pairs are summed over all corpora, distinct within each. A stage whose table is not in the lake,
    or has no rows of the edition, is left out.
    """
    tables = arrow.tables(lake)
    of_edition = pc.field("edition") == edition
    conditions: dict[str, tuple[str, pc.Expression | None]] = {
        "pairs": ("amod_pairs", None),
        "nouns": ("adept_entries", of_edition),
        "variants": ("adept_items", of_edition),
        # Not `== True`: the log has no min/max of Booleans, so a comparison finds nothing.
        "sentences": ("adept_items", of_edition & pc.field("chosen")),
        "labelled": ("adept", of_edition),
    }
    counts = {}
    for stage, (table, condition) in conditions.items():
        if table in tables:
            counts[stage] = int(arrow.dataset(lake, table).count_rows(filter=condition))
    return {stage: count for stage, count in counts.items() if count}


@exhibit(
    "Figure 1",
    "counts by stage of the construction",
    fills=BUILD,
    reads=("amod_pairs", "adept_entries", "adept_items", "adept"),
    printed=("figure 1",),
)
def construction(page: Adept) -> Iterator[Finding]:
    """Entries left after each stage of the construction; pairs are those of all corpora in this
    lake."""
    edition = page.lake.edition("adept_items")
    counts = stages(page.lake.root, edition)
    ours: CellValues = {}
    for stage, count in counts.items():
        ours[stage, "entries"] = float(count)
    yield Cells(_STAGES, ours, decimals=0, edition=edition)
    if edition in COMPARABLE:
        printed = published.table("adept", "figure 1")
        beside = {key: value for key, value in ours.items() if key in printed}
        yield Cells("figure 1", beside, edition=edition)
    caption = f"Entries left after each stage, edition {edition}"
    yield Chart(
        "bars", caption, (_STAGES,), "stage of the construction", "entries", options={"log": True}
    )


@exhibit(
    "Table 2",
    "how an item is made",
    fills=BUILD,
    reads=("adept_items", "adept_entries", "adept"),
)
def pipeline(page: Adept) -> Iterator[Finding]:
    """The steps of the pipeline for one of the sentences with the most variants."""
    root, seed = page.lake.root, page.lake.seed
    edition = page.lake.edition("adept_items", "adept_entries")
    names = ["item_id", "noun", "relation", "predicate", "adjective", "sentence", "chosen"]
    items = read_edition(root, "adept_items", edition, [*names, "modified_sentence"])
    by_sentence = places(items, "noun", "sentence")
    largest_number = max(map(len, by_sentence.values()))
    fullest = [key for key, rows in by_sentence.items() if len(rows) == largest_number]
    noun, sentence = seeded_order(fullest, seed, str)[0]
    rows = items.take(by_sentence[noun, sentence]).to_pylist()
    variants = seeded_order(rows, seed, lambda row: row["item_id"])
    where = [("edition", "=", edition), ("noun", "=", noun)]
    entries = arrow.read(root, "adept_entries", where=where, columns=["adjectives"])
    counts = {
        entry["adjective"]: entry["count"]
        for (adjectives,) in tuples(entries)
        for entry in adjectives or ()
    }
    steps = [
        ("extraction", f"{row['adjective']} {noun}: {_count(counts.get(row['adjective']))}")
        for row in variants
    ]
    steps += [
        ("predicate", f"{variants[0]['relation']}: {variants[0]['predicate']}"),
        ("sentence", sentence),
    ]
    steps += [
        (f"variant {number}", with_brackets(row["modified_sentence"], row["adjective"]))
        for number, row in enumerate(variants, 1)
    ]
    for row in variants:
        if row["chosen"]:
            label = _label(page, edition, row["item_id"])
            steps.append(("selected for labelling", f"{row['adjective']}: {label}"))
    data = pa.table(list(zip(*steps, strict=True)), names=["step", "result"])
    yield Examples(f"One entry in each step of the pipeline, edition {edition}", data)


def _count(value: int | None) -> str:
    return "not counted" if value is None else "once" if value == 1 else f"{value:,} times"


def _label(page: Adept, edition: str, item_id: str) -> str:
    labels: list[int] = []
    if edition in page.lake.editions.get("adept", ()):
        where = [("edition", "=", edition), ("item_id", "=", item_id)]
        rows = arrow.read(page.lake.root, "adept", where=where, columns=["label"])
        (labels,) = lists(rows)
    return LABELS[labels[-1]] if labels else "not labelled yet"


@exhibit("Table 3", "what annotators label", fills=IMPORT, reads=("adept", *annotators.TABLES))
def questions(page: Adept) -> Iterator[Finding]:
    """One item of each label, as annotators see it: the original and the modified sentence, of
    which they choose how the adjective changes the plausibility."""
    by_label: dict[int, dict[str, Any]] = {}
    rows = page.rows.to_pylist()
    for row in seeded_order(rows, page.lake.seed, lambda row: ("table 3", row["item_id"])):
        by_label.setdefault(row["label"], row)
    items = [
        {
            "original": by_label[label]["sentence1"],
            "modified": by_label[label]["sentence2"],
            **{name: "✓" if place == label else "" for place, name in enumerate(LABELS)},
        }
        for label in sorted(by_label)
    ]
    data = pa.Table.from_pylist(items)
    yield Examples("Items as presented to annotators", data, page.is_simulated)


def label_table(rows: pa.Table) -> list[dict[str, Any]]:
    """Label by part of the split (table 4): rows with part, label, count, share and unanimous.

    The last `part` is ``all``. `unanimous` is the share of unanimous items among the label's items
    with known agreement; None if there are none.
    """
    by_part: dict[str, pa.Table] = {}
    for part in PARTS:
        part_rows = where_equal(rows, "split_random", part)
        if part_rows.num_rows:
            by_part[part] = part_rows
    by_part["all"] = rows
    cells = []
    for part, part_rows in by_part.items():
        for number, label in enumerate(LABELS):
            label_rows = where_equal(part_rows, "label", number)
            (agreements,) = lists(label_rows, "agreement")
            known_agreements = [agreement for agreement in agreements if agreement]
            unanimous = None
            if known_agreements:
                unanimous = known_agreements.count("unanimous") / len(known_agreements)
            cell = {
                "part": part,
                "label": label,
                "count": label_rows.num_rows,
                "share": label_rows.num_rows / part_rows.num_rows,
                "unanimous": unanimous,
            }
            cells.append(cell)
    return cells


@exhibit(
    "Table 4",
    "agreement, labels and sizes",
    fills=IMPORT,
    reads=("adept", "adept_items", *annotators.TABLES),
    printed=("table 4", "table 4, sizes", "section 4.1"),
)
def agreement(page: Adept) -> Iterator[Finding]:
    """Labels of the rows, how often annotators were unanimous, and the sizes of the parts."""
    lake = page.lake
    try:
        rows = page.rows
    except UserError as error:
        yield Missing("Labels", IMPORT, str(error))
        yield from annotators.labelling(lake)
        return
    label_rows = label_table(rows)
    source = page.source
    yield Cells("table 4", _label_cells(label_rows, rows.num_rows), **source)
    parts, agreements = lists(rows, "split_random", "agreement")
    parts_present = [part for part in PARTS if part in parts]
    sizes: CellValues = {}
    for part in parts_present:
        sizes[part, "rows"] = float(parts.count(part))
    for name in ("unanimous", "majority"):
        if name in agreements:
            sizes[name, "rows"] = float(agreements.count(name))
    note = "" if "test" in parts_present else "The lake has no test part."
    is_comparable = page.edition in COMPARABLE
    caption = "table 4, sizes" if is_comparable else "Sizes of the edition"
    yield Cells(caption, sizes, decimals=0, note=note, **source)
    if is_comparable and parts_present == list(PARTS):
        yield Cells("section 4.1", {("instances", "entries"): float(rows.num_rows)}, **source)
    items: CellValues = {}
    shares: CellValues = {}
    for row in label_rows:
        items[row["label"], row["part"]] = float(row["count"])
        shares[row["label"], row["part"]] = row["share"]
        if row["unanimous"] is not None:
            shares[row["label"], f"{row['part']}, unanimous"] = row["unanimous"]
    yield Cells("Items by label and part of the split", items, decimals=0, **source)
    yield Cells("Shares by label and part of the split", shares, "share", 3, **source)
    yield from annotators.labelling(lake)
    if lake.requested_edition is None:
        yield from _other_editions(page)


def _label_cells(label_rows: Sequence[Mapping[str, Any]], total: int) -> CellValues:
    """The cells of table 4 that `label_table` gives, over all `total` rows."""
    cells: CellValues = {}
    for row in label_rows:
        if row["part"] == "all":
            cells["label distribution", row["label"]] = wilson(row["count"], total)
            if row["unanimous"] is not None:
                cells["unanimous", row["label"]] = row["unanimous"]
                cells["majority", row["label"]] = 1 - row["unanimous"]
    return cells


def _other_editions(page: Adept) -> Iterator[Finding]:
    """The labels of the editions that are not displayed."""
    for edition in page.lake.editions.get("adept", ()):
        if edition == page.edition:
            continue
        cells: CellValues = {}
        for row in label_table(read(page.lake.root, edition)):
            if row["part"] == "all":
                cells[row["label"], "rows"] = float(row["count"])
                cells[row["label"], "share"] = row["share"]
        is_simulated = has_simulated_labels(page.lake, edition)
        name = f"Labels of edition {edition}"
        yield Cells(name, cells, decimals=3, edition=edition, is_simulated=is_simulated)


def label_shares(rows: pa.Table, kinds: Sequence[str | None]) -> CellValues:
    """The share of each label among the items of a kind of adjective (figure 4), by the kind with
    its number of items and the label.

    `kinds` names each row's kind: `analysis.slices.subsectivity` for the figure, `slices.identity`
    for the question of the ethics section. Rows of kind None are dropped; intervals are Wilson's.

    Raises:
        ValueError: the numbers of kinds and rows differ.
    """
    labels = rows.column("label").to_pylist()
    counts = Counter(zip(kinds, labels, strict=True))
    cells: CellValues = {}
    for kind in sorted({kind for kind in kinds if kind is not None}):
        total = sum(counts[kind, label] for label in range(len(LABELS)))
        for label, name in enumerate(LABELS):
            cells[f"{kind} ({total:,})", name] = wilson(counts[kind, label], total)
    return cells


def label_findings(
    name: str, rows: pa.Table, kinds: Sequence[str | None], source: Mapping[str, Any]
) -> Iterator[Finding]:
    """`label_shares` as numbers and as stacked bars (figure 4); `source` is what cells share."""
    yield Cells(name, label_shares(rows, kinds), unit="share", decimals=3, **source)
    yield Chart("shares", name, (name,), "share of the kind's items", "kind (items)")


@exhibit(
    "Figure 4", "labels by class of modifier", fills=IMPORT, reads=("adept", *annotators.TABLES)
)
def by_class(page: Adept) -> Iterator[Finding]:
    """Labels of subsective and non-subsective modifiers, then *dead* separately from the rest."""
    modifiers = page.rows.column("modifier").to_pylist()
    listed = lexicons.nonsubsective_among(modifiers)
    kinds = slices.subsectivity(modifiers, listed)
    yield from label_findings("Labels by class of modifier", page.rows, kinds, page.source)
    # The paper counts the sixty and dead as one class.
    kinds_apart = [
        "dead" if word.lower() == "dead" else "of the sixty" if word.lower() in listed else None
        for word in modifiers
    ]
    if any(kinds_apart):
        name = "Non-subsective modifiers, dead separately"
        yield from label_findings(name, page.rows, kinds_apart, page.source)
    yield Missing(
        "The numbers of the paper's figure 4",
        reason="The figure prints no numbers; ours are recomputed from the rows.",
    )
