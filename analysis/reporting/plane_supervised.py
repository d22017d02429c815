"""PLANE's fine-tuned models: table 6, the subword analyses, and the sweep of lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import pyarrow as pa
import pyarrow.compute as pc

from analysis import frequency, plane, plane_figures
from analysis.plane import CLASSES
from analysis.reporting.answers import answered, rows_of, runs_text
from analysis.reporting.lake import Lake
from analysis.reporting.numbers import comparison, mean_over_runs, percent
from analysis.reporting.page import Block, FigureBlock, Section, Table, Text, section_of
from analysis.reporting.printed import p_value
from analysis.reporting.runs import Run, Runs, groups
from analysis.slices import words
from analysis.subwords import splitter
from analysis.unpaired import clustered
from conf import UserError

_PAPERS_MODEL = "bert-base-cased"
_PAPERS_FOLDS = 5
_FOLDS = "grid.task.fold=[1,2,3,4,5] lake=LAKE"
_COMMANDS = {
    "published": f"deepspeed training/finetune.py conf/training/plane.yaml {_FOLDS}",
    "one_it": f"deepspeed training/finetune.py conf/training/plane_one_it.yaml {_FOLDS}",
    "in_distribution": "deepspeed training/finetune.py conf/training/plane_lengths.yaml lake=LAKE",
}
# The schemes of table 6 by the paper's names.
_SCHEMES = {"published": "GOoD", "one_it": "One-IT"}


@dataclass(frozen=True)
class _Answers:
    """The runs of a scheme that stand for the paper's, and their answers; read when asked for."""

    lake: Lake
    runs: Runs
    scheme: str
    axes: tuple[str, ...] = ("task.fold", "train_examples")

    @cached_property
    def own(self) -> Sequence[Run]:
        """The newest runs of the paper's model that differ by seed and `axes` alone; else of any.

        Raises:
            UserError: there are none.
        """
        of = {"task.name": "plane", "task.scheme": self.scheme}
        found = groups(answered(self.lake, self.runs.of("finetune", of)), self.axes)
        of_paper = [own for own in found if own[0].model == _PAPERS_MODEL]
        if not found:
            raise UserError(
                f"no finished fine-tuning run on PLANE, scheme {self.scheme}, with answers in this "
                "lake"
            )
        return (of_paper or found)[0]

    @cached_property
    def rows(self) -> pa.Table:
        """Their answers, one run after the other, with the words of the items."""
        tables = []
        for run in self.own:
            rows = rows_of(self.lake, run)
            tables.append(rows.append_column("run", pa.array([run.id] * rows.num_rows)))
        rows = pa.concat_tables(tables)
        (edition,) = set(rows.column("edition").to_pylist())
        ids = rows.column("item_id").to_pylist()
        own = words(self.lake.root, "plane_items", edition, ids)
        for name in own.column_names:
            rows = rows.append_column(name, own.column(name))
        return rows

    def of(self, run: Run) -> pa.Table:
        """One run's."""
        return self.rows.filter(pc.equal(self.rows.column("run"), run.id))

    def tokenize(self) -> plane.Tokenize:
        """The model's own splitting of words."""
        return splitter(self.own[0].params.get("model", self.own[0].model))

    def told(self) -> str:
        """Which runs stand for a number."""
        folds = sorted(set(self.rows.column("fold").to_pylist()))
        editions = sorted(set(self.rows.column("edition").to_pylist()))
        number = f"{len(self.own)} runs" if len(self.own) > 1 else "1 run"
        return (
            f"{number} of {self.own[0].model}, edition {' and '.join(editions)}, "
            f"{'folds' if len(folds) > 1 else 'fold'} {', '.join(folds)}"
        )


def out_of_distribution(lake: Lake, runs: Runs) -> list[Section]:
    """Table 6, figures 2 and 3, and the overlaps that section 6 tells."""
    found = {scheme: _Answers(lake, runs, scheme) for scheme in _SCHEMES}
    section, first = partial(section_of, "plane"), _COMMANDS["published"]
    return [
        section("Table 6", "fine-tuned, out of distribution", first, lambda: _table_6(found)),
        section(
            "Figure 2",
            "subwords, out of distribution",
            first,
            lambda: _subwords(found["published"]),
        ),
        section(
            "Figure 3",
            "subwords, One-IT",
            _COMMANDS["one_it"],
            lambda: _subwords(found["one_it"]),
        ),
        section("Section 6", "overlap of subwords", first, lambda: _overlap(found)),
    ]


def in_distribution(lake: Lake, runs: Runs) -> Section:
    """Figure 8."""
    own = _Answers(lake, runs, "in_distribution", ("max_length", "task.fold", "train_examples"))
    return section_of(
        "plane",
        "Figure 8",
        "length of the input, in distribution",
        _COMMANDS["in_distribution"],
        lambda: _lengths(own),
    )


def _right(rows: pa.Table) -> list[bool]:
    same = pc.equal(rows.column("gold"), rows.column("predicted"))
    return list(pc.fill_null(same, False).to_pylist())


def _table_6(found: Mapping[str, _Answers]) -> list[Block]:
    ours = {}
    blocks: list[Block] = []
    reasons = []
    used: list[Run] = []
    for scheme, answers in found.items():
        name = _SCHEMES[scheme]
        try:
            rows = answers.rows
        except UserError as error:
            reasons.append((scheme, str(error)))
            continue
        used += answers.own
        shares = []
        for run in answers.own:
            own = answers.of(run)
            # Adjectives are what is drawn for testing: the rows of one are not independent.
            shares.append(clustered(_right(own), own.column("adjective").to_pylist()))
        # The paper's cell is of BERT over five splits: other models and fewer stand below it.
        folds = {run.params.get("task.fold") for run in answers.own}
        of_paper = answers.own[0].model == _PAPERS_MODEL and len(folds) == _PAPERS_FOLDS
        if of_paper:
            ours["accuracy", name] = mean_over_runs(shares)
        else:
            reasons.append((scheme, f"no runs of {_PAPERS_MODEL} on {_PAPERS_FOLDS} splits"))
        mean = percent(mean_over_runs(shares))
        blocks.append(
            Text(f"{name}: {answers.told()}, accuracy {mean} percent. The majority is 50.")
        )
        blocks.append(Table(f"Ours, {name}: accuracy in percent by class and type", _cells(rows)))
    command = _COMMANDS[reasons[0][0]] if reasons else ""
    reason = "; ".join(text for _, text in reasons)
    caption = "Accuracy over five splits"
    return [
        *comparison("plane", "table 6", ours, caption=caption, command=command, reason=reason),
        *blocks,
        *runs_text(used),
    ]


def _cells(rows: pa.Table) -> pa.Table:
    """Accuracy by class and inference type, with intervals by adjective."""
    right = _right(rows)
    kinds, types, adjectives = (
        rows.column(name).to_pylist() for name in ("class", "inference_type", "adjective")
    )
    found = []
    for kind in CLASSES:
        row: dict[str, str | None] = {"class": kind}
        for inference, name in plane.TYPES.items():
            members = [
                at
                for at, own in enumerate(zip(kinds, types, strict=True))
                if own == (kind, inference)
            ]
            row[name] = None
            if members:
                share = clustered([right[at] for at in members], [adjectives[at] for at in members])
                row[name] = percent(share)
        found.append(row)
    names = ["class", *plane.TYPES.values()]
    table = pa.Table.from_pylist(found, pa.schema([(name, pa.string()) for name in names]))
    # One-IT has one type.
    return table.select([n for n in names if table.column(n).null_count < table.num_rows])


def _subwords(answers: _Answers) -> list[Block]:
    rows, tokenize = answers.rows, answers.tokenize()
    right = _right(rows)
    data = plane.subword_accuracy(rows, right, rows.column("fold").to_pylist(), tokenize)
    figure, plotted = plane.subword_figure(data)
    caption = f"A point is a class and a test split; lines by least squares. {answers.told()}"
    return [
        FigureBlock(caption, figure, plotted),
        Table(
            "Odds of a right answer where a word of the item is split, over those where it is not "
            "(logistic regression, robust to clusters by adjective)",
            _effects(rows, right, tokenize),
        ),
        *runs_text(answers.own),
    ]


def _effects(rows: pa.Table, right: Sequence[bool], tokenize: plane.Tokenize) -> pa.Table:
    """What splitting a word does to the odds of a right answer, item by item, in each class."""
    parts = {
        name: [float(len(tokenize(word)) > 1) for word in rows.column(name).to_pylist()]
        for name in ("adjective", "noun", "hypernym")
    }
    nouns = [max(pair) for pair in zip(parts["noun"], parts["hypernym"], strict=True)]
    values = {"adjective": parts["adjective"], "noun or hypernym": nouns}
    kinds, adjectives = (rows.column(name).to_pylist() for name in ("class", "adjective"))
    found = []
    for kind in CLASSES:
        members = [at for at, own in enumerate(kinds) if own == kind]
        for name, split in values.items():
            slope = frequency.slope(
                [split[at] for at in members],
                [right[at] for at in members],
                [adjectives[at] for at in members],
            )
            found.append(
                {
                    "class": kind,
                    "split word": name,
                    "items": len(members),
                    "share split": sum(split[at] for at in members) / max(1, len(members)),
                    "odds ratio": None if slope is None else slope.text(),
                    "p": None if slope is None else p_value(slope.p),
                }
            )
    schema = pa.schema(
        [
            ("class", pa.string()),
            ("split word", pa.string()),
            ("items", pa.int64()),
            ("share split", pa.float64()),
            ("odds ratio", pa.string()),
            ("p", pa.string()),
        ]
    )
    return pa.Table.from_pylist(found, schema)


def _overlap(found: Mapping[str, _Answers]) -> list[Block]:
    ours: dict[tuple[str, str], float] = {}
    blocks: list[Block] = []
    reason, name = "", ""
    for scheme, answers in found.items():
        try:
            rows, tokenize = answers.rows, answers.tokenize()
        except UserError as error:
            reason = str(error)
            continue
        name = answers.own[0].model
        tables = []
        for fold in sorted(set(rows.column("fold").to_pylist())):
            own = rows.filter(pc.equal(rows.column("fold"), fold))
            table = plane.subword_overlap(own, tokenize)
            tables.append({row["class"]: row for row in table.to_pylist()})
            caption = f"Shares of subwords shared, test rows of {_SCHEMES[scheme]}, fold {fold}"
            blocks.append(Table(caption, table))
        ours |= _overlaps(scheme, tables)
    if not blocks:
        raise UserError(reason)
    caption = f"Overlap of subwords: the paper's of BERT, ours of {name}"
    command = _COMMANDS["published"]
    return [
        *comparison("plane", "section 6", ours, caption=caption, command=command, reason=reason),
        *blocks,
    ]


def _overlaps(
    scheme: str, tables: Sequence[Mapping[str, Mapping[str, float]]]
) -> dict[tuple[str, str], float]:
    """The least and greatest share over folds, where the paper gives them."""

    def ends(kind: str, column: str) -> list[float]:
        return [own[kind][column] for own in tables if own[kind][column] is not None]

    wanted = {
        "published": {
            "I": ("I", "with_nouns"),
            "S, of N/h(N) with I and O": ("S", "nouns_with_other_adjectives"),
            "O": ("O", "with_nouns"),
            "O, with I": ("O", "with_I"),
        },
        "one_it": {"I, one_it": ("I", "with_nouns")},
    }[scheme]
    found = {}
    for row, cell in wanted.items():
        values = ends(*cell)
        if values:
            found[row, "to"] = max(values)
            if row == "I":
                found[row, "from"] = min(values)
    return found


def _lengths(answers: _Answers) -> list[Block]:
    points = []
    for run in answers.own:
        own = answers.of(run)
        length = int(run.params["max_length"])
        points.append((length, _right(own), own.column("group").to_pylist()))
    figure, plotted = plane_figures.length_figure(plane_figures.lengths(points))
    caption = f"Accuracy by the longest input, band 95 %. {answers.told()}"
    return [FigureBlock(caption, figure, plotted), *runs_text(answers.own)]
