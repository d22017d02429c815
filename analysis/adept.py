"""ADEPT's tables and figures (Emami et al. 2021) from the lake.

Functions take rows of the table ``adept`` and the lexicons they need; `stages` counts what is in
the lake. What of the paper can be compared is in ``conf/published/adept.yaml``.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from analysis import figures
from analysis.figures import Plot
from analysis.significance import Interval, wilson
from conf import UserError
from etl.adept import LABELS
from etl.adept.baselines import CLASSES, label_of, majority, normative_rule
from etl.lake import arrow

__all__ = [
    "LABELS",
    "baselines",
    "confusion",
    "confusion_figure",
    "label_shares",
    "label_shares_figure",
    "label_table",
    "read",
    "stages",
    "stages_figure",
]

PARTS = ("train", "val", "test")


def read(lake: str, edition: str) -> pa.Table:
    """The labelled rows of an edition, sorted by id.

    Raises:
        UserError: no such edition.
    """
    rows = arrow.read(lake, "adept", where=[("edition", "=", edition)])
    if not rows.num_rows:
        raise UserError(
            f"edition={edition}: no rows of it in the table adept of {lake}; etl/annotate_adept.py "
            "finish or etl/import_published.py adept=… makes them"
        )
    return rows.sort_by([("item_id", "ascending"), ("label", "ascending")])


def stages(lake: str, edition: str, corpora: Sequence[str] = ()) -> pa.Table:
    """How many entries each stage of the construction has left (figure 1): columns stage, entries.

    Pairs are those of the corpora named (of all if none is), distinct within a corpus. A stage
    whose table is not there, or has no rows of the edition, has null.
    """
    there = arrow.tables(lake)

    def count(table: str, where: pc.Expression | None) -> int | None:
        if table not in there:
            return None
        return int(arrow.dataset(lake, table).count_rows(filter=where)) or None

    of = pc.field("edition") == edition
    found = {
        "pairs": count("amod_pairs", pc.field("corpus").isin(list(corpora)) if corpora else None),
        "nouns": count("adept_entries", of),
        "variants": count("adept_items", of),
        # Not `== True`: the log keeps no bounds of truth values, and a comparison finds nothing.
        "sentences": count("adept_items", of & pc.field("chosen")),
        "labelled": count("adept", of),
    }
    return pa.table({"stage": list(found), "entries": pa.array(list(found.values()), pa.int64())})


def stages_figure(data: pa.Table) -> Plot:
    """`stages` as columns on a logarithmic scale (figure 1)."""
    return figures.bars(
        data, x="stage", y="entries", xlabel="stage of the construction", ylabel="entries", log=True
    )


def label_table(rows: pa.Table) -> pa.Table:
    """Label by part of the split (table 4): columns part, label, count, share, unanimous.

    `part` ends with ``all``. `unanimous` is the share of unanimous items among those of the label
    whose agreement is known; null where it is of none.
    """
    labels = rows.column("label").to_pylist()
    parts = rows.column("split_random").to_pylist()
    agreement = rows.column("agreement").to_pylist()
    found = []
    for part in (*(p for p in PARTS if p in parts), "all"):
        own = [at for at, value in enumerate(parts) if part in ("all", value)]
        counts = Counter(labels[at] for at in own)
        for label, name in enumerate(LABELS):
            known = [agreement[at] for at in own if labels[at] == label and agreement[at]]
            found.append(
                {
                    "part": part,
                    "label": name,
                    "count": counts[label],
                    "share": counts[label] / len(own),
                    "unanimous": known.count("unanimous") / len(known) if known else None,
                }
            )
    schema = pa.schema(
        [
            ("part", pa.string()),
            ("label", pa.string()),
            ("count", pa.int64()),
            ("share", pa.float64()),
            ("unanimous", pa.float64()),
        ]
    )
    return pa.Table.from_pylist(found, schema)


def label_shares(rows: pa.Table, kinds: Sequence[str | None]) -> pa.Table:
    """Label by kind of adjective (figure 4): columns kind, label, count, share, low, high.

    `kinds` names each row's kind: `analysis.slices.subsective` for the figure, `slices.identity`
    for what the ethics section asks for. Rows of kind None are left out; intervals are Wilson's.

    Raises:
        ValueError: another number of kinds than rows.
    """
    pairs = Counter(
        (kind, label)
        for kind, label in zip(kinds, rows.column("label").to_pylist(), strict=True)
        if kind is not None
    )
    found = []
    for kind in sorted({kind for kind, _ in pairs}):
        total = sum(pairs[kind, label] for label in range(len(LABELS)))
        for label, name in enumerate(LABELS):
            share = wilson(pairs[kind, label], total)
            found.append(
                {
                    "kind": kind,
                    "label": name,
                    "count": pairs[kind, label],
                    "share": share.estimate,
                    "low": share.low,
                    "high": share.high,
                }
            )
    return pa.Table.from_pylist(found)


def label_shares_figure(data: pa.Table) -> Plot:
    """`label_shares` as bars cut by label (figure 4), each with the number of its items."""
    totals: Counter[str] = Counter()
    rows = data.to_pylist()
    for row in rows:
        totals[row["kind"]] += row["count"]
    names = [f"{row['kind']} ({totals[row['kind']]:,})" for row in rows]
    plotted = data.append_column("bar", pa.array(names, pa.string()))
    return figures.shares(
        plotted,
        row="bar",
        part="label",
        share="share",
        xlabel="share of the kind's items",
        ylabel="kind of adjective (items)",
    )


def baselines(
    rows: pa.Table, nonsubsective: Collection[str], part: str = "val"
) -> dict[tuple[str, int], Interval]:
    """Accuracy of the majority and of the normative rule, by (baseline, classes); table 5.

    The majority label is that of the training rows. The published figures count *dead* as
    non-subsective beside Nayak et al.'s sixty.

    Raises:
        ValueError: no training rows, or none of `part`.
    """
    labels = rows.column("label").to_pylist()
    parts = rows.column("split_random").to_pylist()
    modifiers = rows.column("modifier").to_pylist()
    trained = [label for label, own in zip(labels, parts, strict=True) if own == "train"]
    found = {}
    for classes in CLASSES:
        most = majority(trained, classes)
        tested = [
            (gold, normative_rule(modifier, nonsubsective, classes))
            for label, modifier, own in zip(labels, modifiers, parts, strict=True)
            if own == part and (gold := label_of(label, classes)) is not None
        ]
        by_majority = sum(gold == most for gold, _ in tested)
        by_rule = sum(gold == guess for gold, guess in tested)
        found["majority", classes] = wilson(by_majority, len(tested))
        found["normative rule", classes] = wilson(by_rule, len(tested))
    return found


def confusion(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> pa.Table:
    """Counts by gold and predicted label, in the order of `labels`; zeros included.

    Raises:
        ValueError: a label that is none of them, or lengths that differ.
    """
    other = sorted({*gold, *predicted} - set(labels))
    if other:
        raise ValueError(f"label {other[0]!r}; expected one of {', '.join(labels)}")
    counts = Counter(zip(gold, predicted, strict=True))
    names = list(itertools.product(labels, labels))
    return pa.table(
        {
            "gold": [a for a, _ in names],
            "predicted": [b for _, b in names],
            "count": pa.array([counts[pair] for pair in names], pa.int64()),
        }
    )


def confusion_figure(data: pa.Table) -> Plot:
    """`confusion` as a matrix (figures 2 and 3)."""
    return figures.matrix(
        data,
        row="gold",
        column="predicted",
        count="count",
        xlabel="predicted label",
        ylabel="true label",
    )
