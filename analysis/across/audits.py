"""The artefact audits of the datasets (`analysis.across.artefacts`): their rows and exhibits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from adnominal.analysis.across.artefacts import (
    ALONE,
    MAJORITY,
    TESTED,
    TRAINED,
    Rows,
    audit,
    token_table,
)
from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.editions import rows_by_edition
from adnominal.analysis.papers.exhibits import Chart, Exhibit, Finding, Note, exhibit
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.analysis.rows import distinct_values, lists
from adnominal.conf import UserError
from adnominal.etl.checks.split_rows import declared_tables, read_parts, with_items
from adnominal.etl.declaration import Dataset
from adnominal.etl.lake import arrow
from adnominal.etl.registry import DATASETS

_COMMAND = "python etl/import_published.py adept=DIR plane=DIR asp=DIR lake=LAKE"
_METHOD = (
    "A logistic regression on n-grams of words and letters is trained on one part of the input of "
    f"the training rows (at most {TRAINED:,}, drawn by id) and scored on the held-out part (at "
    f"most {TESTED:,}); the majority is that of the training rows. Intervals are clustered by "
    "text; p tests for no gain over the majority (permutation test, one-sided, Holm-corrected for "
    "all rows of the table). Where it finds nothing, a larger model may still find something."
)
_TOKENS = (
    "Words whose training rows have a label more often than all rows do (z-statistic of Gardner et "
    "al. 2021, with the labels' overall shares as expectation; Bonferroni-corrected p below .01)."
)


def _held_out_part(parts: Sequence[str | None]) -> str | None:
    """The part to score on: the test part if there is one."""
    return next((part for part in ("test", "val") if part in parts), None)


def _labels(dataset: Dataset, table: pa.Table) -> list[str]:
    """The names of the items' labels."""
    assert dataset.labels is not None
    values = table.column(dataset.labels.column).to_pylist()
    return [dataset.labels.names[value] for value in values] if dataset.labels.numbered else values


def _texts(dataset: Dataset, table: pa.Table) -> dict[str, list[str]]:
    """The parts of the input that are audited, by their names."""
    assert dataset.report is not None
    inputs = dataset.report.audited
    return dict(zip(inputs, lists(table, *inputs.values()), strict=True))


def declared_splits(name: str, lake: str, edition: str) -> Iterator[Rows]:
    """The rows of ADEPT or PLANE in each of its schemes that has a training part and a part to
    score on; of schemes with folds, those of fold 1.

    A row that a split lists twice is scored twice, as in training.
    """
    dataset = DATASETS[name]
    assert dataset.labels is not None and dataset.report is not None
    columns = [dataset.labels.column, *dataset.report.audited.values()]
    for scheme in dataset.splits.names:
        tables = declared_tables(dataset, scheme)
        fold = None if tables.splits is None else "1"
        parts = read_parts(lake, tables, edition, scheme, fold)
        rows = with_items(lake, tables, edition, parts, columns)
        item_ids, part_of = lists(rows, tables.key, "part")
        held_out = _held_out_part(part_of)
        if held_out is None or "train" not in part_of:
            continue
        train = [place for place, part in enumerate(part_of) if part == "train"]
        test = [place for place, part in enumerate(part_of) if part == held_out]
        labels = _labels(dataset, rows)
        texts = _texts(dataset, rows)
        yield Rows(name, edition, scheme, held_out, item_ids, labels, texts, train, test)


def asp(lake: str, edition: str) -> Iterator[Rows]:
    """ASP's rows in each round of fine-tuning: the premise or the hypothesis alone.

    The labels are entailment and not entailment. The held-out part is scored on the training tests
    (ordering, dimension, argument) and, as ``all tests``, on all eight; ``ordering alone`` is the
    only training test with both labels. The release has no test rows of degree estimation by round,
    so its validation rows are used.
    """
    for scheme in DATASETS["asp"].splits.schemes:
        trained = _tuning(lake, edition)
        where = [("edition", "=", trained), ("scheme", "=", scheme.name), ("part", "=", "train")]
        rounds = arrow.read(lake, "asp_splits", where=where, columns=["round"])
        for number in distinct_values(rounds, "round"):
            yield from _round(lake, edition, scheme.name, number)


def _tuning(lake: str, edition: str) -> str:
    """The edition with the training rows: published_tuning for the release, NAME_tuning for a
    build whose rounds are drawn, otherwise the edition itself."""
    known = rows_by_edition(lake, "asp_splits")
    return f"{edition}_tuning" if f"{edition}_tuning" in known else edition


def _round(lake: str, edition: str, scheme: str, number: str) -> Iterator[Rows]:
    dataset = DATASETS["asp"]
    assert dataset.report is not None
    tables = declared_tables(dataset, scheme)
    columns = ["label", "test", *dataset.report.audited.values()]
    pieces = []
    for name in dict.fromkeys((_tuning(lake, edition), edition)):
        parts = read_parts(lake, tables, name, scheme, number)
        pieces.append(with_items(lake, tables, name, parts, columns))
    rows = pa.concat_tables(pieces)
    item_ids, part_of, tests = lists(rows, "item_id", "part", "test")
    held_out = _held_out_part(part_of)
    if held_out is None:
        return
    labels = _labels(dataset, rows)
    texts = _texts(dataset, rows)
    kind = tables.items.removeprefix("asp_")
    for suffix, train, test in _scored_rows(dataset, tests, part_of, labels, held_out):
        split = f"{kind}, {scheme} {number}{suffix}"
        yield Rows("asp", edition, split, held_out, item_ids, labels, texts, train, test)


def _scored_rows(
    dataset: Dataset,
    tests: Sequence[str],
    parts: Sequence[str],
    labels: Sequence[str],
    held_out: str,
) -> Iterator[tuple[str, list[int], list[int]]]:
    """(suffix, training rows, scored rows) of a round; each pair of sizes once."""
    assert dataset.labels is not None
    answerable = [
        place for place, label in enumerate(labels) if label not in dataset.labels.unanswerable
    ]
    train = [place for place in answerable if parts[place] == "train"]
    test = [place for place in answerable if parts[place] == held_out]
    trained = {tests[place] for place in train}
    known = [place for place in test if tests[place] in trained]
    ordering = [
        [place for place in members if tests[place] == "ordering"] for members in (train, known)
    ]
    sizes: set[tuple[int, int]] = set()
    scored = [("", train, known), (", all tests", train, test)]
    for suffix, learnt, tested in [*scored, (", ordering alone", ordering[0], ordering[1])]:
        size = len(learnt), len(tested)
        if learnt and tested and size not in sizes:
            sizes.add(size)
            yield suffix, learnt, tested


def _exhibit(name: str, read: Callable[[str, str], Iterator[Rows]]) -> Exhibit[Across]:
    """The exhibit that audits a dataset."""
    dataset = DATASETS[name]
    tables = tuple(table.name for table in dataset.tables)
    tables += (dataset.splits.table,) if dataset.splits.table else ()

    @exhibit("", f"artefacts of {dataset.title}", fills=_COMMAND, reads=tables)
    def build(page: Across) -> Iterator[Finding]:
        """How well does a part of the input alone predict the label?"""
        rows = list(read(page.lake.root, page.lake.edition(*tables)))
        if not rows:
            raise UserError(
                f"{dataset.title}: no split with rows to train on and to test on in this lake"
            )
        yield Note(_METHOD)
        scores, sizes = audit(rows, seed=page.lake.seed)
        caption = f"{dataset.title}: accuracy of a part of the input alone"
        edition = rows[0].edition
        yield Cells(
            caption,
            scores,
            unit="share",
            decimals=3,
            interval="Wilson, clustered by text",
            edition=edition,
        )
        yield Cells(caption, sizes, decimals=0, edition=edition)
        axes = ("accuracy (share of rows)", "split and part of the input")
        series = {"series": (ALONE, MAJORITY)}
        yield Chart("forest", f"{caption}, and the majority's", (caption,), *axes, options=series)
        assert dataset.report is not None
        yield from _word_findings(rows, list(dataset.report.audited)[-1])

    return build


def _word_findings(splits: list[Rows], name: str) -> Iterator[Finding]:
    """The words of the first split, and of ASP's first round of degree estimation."""
    # Rounds and folds differ only in what they hold out, so the words of one are enough.
    degree = [rows for rows in splits[1:] if rows.split.startswith("degree")]
    for rows in (splits[0], *degree[:1]):
        counts: CellValues = {}
        tests: CellValues = {}
        words: Any = token_table(rows, name)
        for word in words.itertuples():
            place = f"{word.token} → {word.label}"
            counts[place, "rows"] = float(word.rows)
            tests[place, "share"] = float(word.share)
            tests[place, "expected"] = float(word.expected)
            tests[place, "z"] = float(word.z)
            tests[place, "p"] = float(word.p)
        if counts:
            caption = f"Words that give the label away: {rows.split}, {name}"
            yield Cells(caption, counts, decimals=0, edition=rows.edition, note=_TOKENS)
            yield Cells(caption, tests, decimals=3, edition=rows.edition, note=_TOKENS)


EXHIBITS: Mapping[str, Exhibit[Across]] = {
    "adept": _exhibit("adept", partial(declared_splits, "adept")),
    "plane": _exhibit("plane", partial(declared_splits, "plane")),
    "asp": _exhibit("asp", asp),
}
"""The audit of each dataset."""
