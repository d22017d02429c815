"""What parts of the input alone give away, dataset by dataset (`analysis.across.artefacts`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from analysis.across import audited_rows
from analysis.across.artefacts import TESTED, TRAINED, Rows, audit, audit_figure, token_table
from analysis.across.fine_tuned import Across
from analysis.papers.page import Exhibit, exhibit
from analysis.rendering.blocks import Block, FigureBlock, Table, Text
from analysis.rendering.numbers import p_value, percent, signed
from analysis.rows import lists, with_column
from conf import UserError
from etl.registry import DATASETS

_COMMAND = "spark-submit etl/import_published.py adept=DIR plane=DIR asp=DIR lake=LAKE"
_METHOD = (
    "A logistic regression on n-grams of words and letters is trained on one part of the input of "
    f"the training rows (at most {TRAINED:,}, drawn by id) and scored on the part held out (at "
    f"most {TESTED:,}); the majority is that of the training rows. Intervals take rows of the same "
    "text together; p is that of no gain over the majority (permutation, one-sided, by Holm for "
    "all rows of a table). Where it finds nothing, a larger model may still find something."
)
_TOKENS = (
    "Words whose training rows have a label more often than all rows do (z-statistic of Gardner "
    "et al. 2021, with the labels' own shares as what is expected; p by Bonferroni below .01)"
)


def _exhibit(name: str, read: Callable[[str, str], Iterator[Rows]]) -> Exhibit[Across]:
    """The audit of a dataset."""
    dataset = DATASETS[name]
    tables = tuple(table.name for table in dataset.tables)
    tables += (dataset.splits.table,) if dataset.splits.table else ()

    @exhibit("", f"artefacts of {dataset.title}", command=_COMMAND, tables=tables)
    def build(page: Across) -> list[Block]:
        rows = list(read(page.lake.root, page.lake.edition(*tables)))
        if not rows:
            raise UserError(
                f"{dataset.title}: no split with rows to train on and to test on in this lake"
            )
        data = audit(rows, seed=page.lake.seed)
        assert dataset.report is not None
        listed_input = list(dataset.report.audited)[-1]
        title = dataset.title
        caption = f"{title}: accuracy of a part of the input alone, beside the majority"
        return [
            Text(_METHOD),
            Table(f"{title}, edition {rows[0].edition}", _percent(data)),
            FigureBlock(caption, *audit_figure(data)),
            *_words(title, rows, listed_input),
        ]

    return build


def _words(title: str, splits: list[Rows], name: str) -> Iterator[Block]:
    """The words of the first split, and of ASP's first round of degree estimation."""
    # Rounds and folds differ by what they hold out; the words of one say it.
    degree = [rows for rows in splits[1:] if rows.split.startswith("degree")]
    for rows in (splits[0], *degree[:1]):
        words = token_table(rows, name)
        if words.num_rows:
            (p,) = lists(words, "p")
            table = with_column(words.drop_columns(["p"]), "p", list(map(p_value, p)))
            yield Table(f"{_TOKENS}: {title}, {rows.split}, {name}", table)


def _percent(data: pa.Table) -> pa.Table:
    """The audit as it is read, in percent."""
    rows = [
        {
            "split": row["split"],
            "input": row["input"],
            "scored": f"{row['rows']:,} of {row['part']}",
            "majority": percent(row["majority"]),
            "accuracy": f"{percent(row['accuracy'])} [{percent(row['low'])}, "
            f"{percent(row['high'])}]",
            "gain": signed(100 * row["gain"]),
            "p (Holm)": p_value(row["p_holm"]),
        }
        for row in data.to_pylist()
    ]
    return pa.Table.from_pylist(rows)


EXHIBITS = (
    _exhibit("adept", audited_rows.adept),
    _exhibit("plane", audited_rows.plane),
    _exhibit("asp", audited_rows.asp),
)
