"""SyGNS's results of models: tables 4 to 6, 8 to 11 and 14 to 17, and figure 2."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any

import pyarrow as pa

from adnominal.analysis.papers import published
from adnominal.analysis.papers.comparison import Missing, comparison
from adnominal.analysis.papers.page import Exhibit, exhibit, runs_text
from adnominal.analysis.papers.sygns.sources import EPOCHS, QUANTIFIERS, Meanings, Sygns
from adnominal.analysis.rendering import figures
from adnominal.analysis.rendering.blocks import Block, FigureBlock, NotRun, Table, Text
from adnominal.analysis.rendering.figures import Channels, Plot
from adnominal.analysis.rendering.numbers import percent
from adnominal.analysis.statistics import Interval
from adnominal.etl.sygns.polarity import Direction
from adnominal.training.finished_runs import Run, groups

TRAIN = "python training/finetune.py conf/training/sygns.yaml lake=LAKE"
ARCHITECTURES = {"GRU": "gru", "Transformer": "transformer"}
BOTH = "grid.seq2seq.architecture=[gru,transformer]"
_ALL = f"grid.task.form=[fol,drs,vf] {BOTH}"
_FORMS = {"FOL": "fol", "DRS": "drs", "DRS (cnt)": "drs", "VF": "vf"}
_MODIFIERS = ("ADJ", "ADV", "CON")
_DIRECTIONS: tuple[Direction, ...] = ("up", "down")
TABLES = ("sygns", "sygns_splits", "predictions")

Ours = dict[tuple[str, str], float | Interval]
Build = Callable[[Sygns], list[Block]]


def command(settings: str = BOTH, scheme: str = "systematicity", primitive: str = "one") -> str:
    """The command that trains models of a scheme."""
    return f"{TRAIN} task.scheme={scheme} task.primitive={primitive} {settings}"


def _of_runs(build: Build) -> Build:
    """Add a block with the runs used to the blocks of `build`."""

    @wraps(build)
    def blocks(page: Sygns) -> list[Block]:
        meanings = page.meanings
        if meanings:
            meanings.used_runs.clear()
        return [*build(page), *runs_text(meanings.used_runs if meanings else ())]

    return blocks


def _runs(
    page: Sygns, model: str, form: str, size: str = "10M", train_size: str = "[]"
) -> tuple[Meanings, list[Run]] | None:
    """The runs of a model on systematicity with the primitive *one*; None if there are none."""
    if page.meanings is None:
        return None
    runs = page.meanings.group(ARCHITECTURES[model], form, size=size, train_size=train_size)
    return (page.meanings, runs) if runs else None


def _models(page: Sygns, form: str) -> Iterator[tuple[str, Meanings, list[Run]]]:
    """The models with runs on systematicity with the primitive *one*, and these runs."""
    for model in ARCHITECTURES:
        if scored := _runs(page, model, form):
            yield model, *scored


def _comparison(page: Sygns, name: str, ours: Ours, caption: str, missing: Missing) -> list[Block]:
    edition = page.meanings.edition if page.meanings else ""
    return comparison("sygns", name, ours, caption, edition, missing)


def _accuracies(page: Sygns, name: str, scheme: str, primitive: str, by: str) -> list[Block]:
    """A printed table of exact matches (and clause matching) by form and architecture."""
    printed = published.table("sygns", name)
    values = {row.removeprefix("depth "): row for row, _ in printed}
    ours: Ours = {}
    for column in dict.fromkeys(column for _, column in printed) if page.meanings else ():
        assert page.meanings is not None
        model, _, form = column.partition(" ")
        runs = page.meanings.group(ARCHITECTURES[model], _FORMS[form], (scheme, primitive))
        if not runs:
            continue
        if form.endswith("(cnt)"):
            clauses = page.meanings.clauses(runs, by, values)
            ours |= {(values[value], column): score for value, score in clauses.items()}
        else:
            ours |= _exact(page.meanings, runs, by, values, column)
    primitive_text = f", primitive {primitive.replace(',', ', ')}" if primitive else ""
    missing = Missing(command(_ALL, scheme, primitive))
    return _comparison(page, name, ours, f"Accuracy by {by}{primitive_text}", missing)


def _exact(
    meanings: Meanings, runs: Sequence[Run], by: str, values: dict[str, str], column: str
) -> Ours:
    """Cells of exact-match accuracy by class; ``valid`` is the validation part."""
    cells: Ours = {}
    for value, row in values.items():
        valid = value == "valid"
        share = meanings.accuracy(runs, *(("", "", "val") if valid else (by, value, "test")))
        if share is not None:
            cells[row, column] = share
    return cells


def _accuracy_exhibit(
    number: str, title: str, scheme: str, by: str, primitives: Sequence[str] = ()
) -> Exhibit[Sygns]:
    """A printed table of accuracies; with several primitives, one part for each."""
    name = number.lower()
    parts = {f"{name}, {primitive.replace(',', ' ')}": primitive for primitive in primitives}
    if len(parts) < 2:
        parts = {name: "".join(primitives)}

    def build(page: Sygns) -> list[Block]:
        return [
            block
            for part, primitive in parts.items()
            for block in _accuracies(page, part, scheme, primitive, by)
        ]

    declare: Callable[[Build], Exhibit[Sygns]] = exhibit(
        number, title, command=TRAIN, tables=TABLES, beside=tuple(parts)
    )
    return declare(_of_runs(build))


_FOUR, _THREE = ("one", "two", "every", "one,two,every"), ("one", "two", "every")
table_4 = _accuracy_exhibit(
    "Table 4", "accuracy by quantifier", "systematicity", "quantifier", _FOUR
)
table_5 = _accuracy_exhibit(
    "Table 5", "accuracy by modifier", "systematicity", "modifier", ("one",)
)
table_9 = _accuracy_exhibit("Table 9", "productivity", "productivity", "depth")
table_10 = _accuracy_exhibit("Table 10", "embedded quantifiers", "embedded_quantifiers", "depth")
table_14 = _accuracy_exhibit(
    "Table 14",
    "accuracy by modifier, other primitives",
    "systematicity",
    "modifier",
    ("two", "every"),
)
table_16 = _accuracy_exhibit(
    "Table 16", "quantifiers and negation", "quantifier_negation", "quantifier", _THREE
)
table_17 = _accuracy_exhibit(
    "Table 17", "quantifiers and negation by modifier", "quantifier_negation", "modifier", _THREE
)


@exhibit("Table 6", "entailment by provers", command=TRAIN, tables=TABLES, beside=("table 6",))
@_of_runs
def entailment(page: Sygns) -> list[Block]:
    """Entailments between gold and predicted formulas; provers are only called on request."""
    ours: Ours = {}
    missing = Missing(command())
    for model, meanings, runs in _models(page, "fol"):
        if meanings.prover == "none":
            missing = Missing(
                "python -m analysis.report lake=LAKE prover=eprover cache=proofs.db",
                "There are runs; provers only run on request, because they take minutes.",
            )
            continue
        for row, shares in meanings.entailment(runs).items():
            for kind, share in zip(("G⇒P", "P⇒G", "G⇔P"), shares, strict=True):
                ours[row, f"{model} {kind}"] = share
    caption = "Entailment between gold (G) and predicted (P) formulas, primitive one"
    return _comparison(page, "table 6", ours, caption, missing)


@exhibit("Table 8", "polarity of FOL", command=TRAIN, tables=TABLES, beside=("table 8",))
@_of_runs
def polarity_of_fol(page: Sygns) -> list[Block]:
    """F of upward and downward polarity by quantifier."""
    ours: Ours = {
        (row, f"{model} {direction}"): f
        for model, meanings, runs in _models(page, "fol")
        for direction in _DIRECTIONS
        for row, (_, _, f) in meanings.polarity(runs, "fol", direction).items()
    }
    caption = "F of polarity, FOL, primitive one"
    return _comparison(page, "table 8", ours, caption, Missing(command()))


@exhibit(
    "Table 15",
    "polarity of FOL and VF",
    command=TRAIN,
    tables=TABLES,
    beside=("table 15, FOL", "table 15, VF"),
)
@_of_runs
def polarity_of_forms(page: Sygns) -> list[Block]:
    """Exact match, and precision, recall and F of polarity, in two forms."""
    blocks: list[Block] = []
    for form in ("fol", "vf"):
        ours: Ours = {}
        for model, meanings, runs in _models(page, form):
            for row in QUANTIFIERS:
                share = meanings.accuracy(runs, "quantifier", row)
                if share is not None:
                    ours[row, f"{model} exact"] = share
            for direction in _DIRECTIONS:
                for row, scores in meanings.polarity(runs, form, direction).items():
                    for kind, score in zip("PRF", scores, strict=True):
                        ours[row, f"{model} {direction} {kind}"] = score
        missing = Missing(command(f"task.form={form} {BOTH}"))
        caption = f"Polarity of {form.upper()}, primitive one"
        blocks += _comparison(page, f"table 15, {form.upper()}", ours, caption, missing)
    return blocks


@exhibit(
    "Table 11",
    "accuracy by number of parameters",
    command=TRAIN,
    tables=TABLES,
    beside=("table 11",),
)
@_of_runs
def by_size(page: Sygns) -> list[Block]:
    """Accuracy by quantifier for each model size."""
    printed = published.table("sygns", "table 11")
    ours: Ours = {}
    for column in dict.fromkeys(column for _, column in printed):
        model, _, size = column.partition(" ")
        rows = {row: row for row, other in printed if other == column}
        if scored := _runs(page, model, "fol", size):
            ours |= _exact(*scored, "quantifier", rows, column)
    missing = Missing("python training/finetune.py conf/training/sygns_sizes.yaml lake=LAKE")
    caption = "Accuracy by number of parameters, FOL, primitive one"
    return _comparison(page, "table 11", ours, caption, missing)


def learning_figure(points: pa.Table) -> Plot:
    """Plot accuracy over the number of training sentences, one panel per model (figure 2).

    `points` has the columns model, test (EXI, NUM, UNI or ADJ, ADV, CON), sentences, accuracy, and
    low and high for the band over several runs.

    Raises:
        ValueError: a column is missing, or there are no rows.
    """
    low, high = (name if name in points.column_names else None for name in ("low", "high"))
    channels = Channels(
        "sentences", "accuracy", "training sentences", "accuracy", "test", "model", low, high
    )
    return figures.curves(points, channels, columns=2)


@exhibit("Figure 2", "learning curves", command=TRAIN, tables=TABLES)
@_of_runs
def learning_curves(page: Sygns) -> list[Block]:
    """Accuracy by quantifier and by modifier over the number of training sentences."""
    points: dict[str, list[dict[str, Any]]] = defaultdict(list)
    trained = page.meanings.runs if page.meanings else []
    sizes = sorted({run.params.get("train_size", "[]") for run in trained})
    for model, size in itertools.product(ARCHITECTURES, sizes):
        scored = _runs(page, model, "fol", train_size=size)
        if scored is None:
            continue
        meanings, runs = scored
        sentences = int(runs[0].params.get("train_examples", "0"))
        for by, tests in (("quantifier", QUANTIFIERS), ("modifier", _MODIFIERS)):
            for test in tests:
                share = meanings.accuracy(runs, by, test)
                if share is not None:
                    point = {"model": model, "test": test, "sentences": sentences}
                    points[by].append({**point, **share.columns("accuracy")})
    if len({point["sentences"] for point in points["quantifier"]}) < 2:
        missing = "python training/finetune.py conf/training/sygns_curve.yaml lake=LAKE"
        return [NotRun("Learning curves on FOL, primitive one", missing)]
    return [
        FigureBlock(
            f"Accuracy over training sentences, by {by}",
            *learning_figure(pa.Table.from_pylist(points[by])),
        )
        for by in ("quantifier", "modifier")
        if points[by]
    ]


@exhibit("", "models trained here", command=TRAIN, tables=TABLES)
def every_group(page: Sygns) -> list[Block]:
    """All groups of runs, of any size and length."""
    meanings = page.meanings
    if meanings is None or not meanings.runs:
        return [NotRun("Models trained here", TRAIN)]
    rows = []
    for members in groups(meanings.runs):
        params = members[0].params
        scheme = params.get("task.scheme", "")
        deep = scheme in ("productivity", "embedded_quantifiers")
        by, values = ("depth", ("1", "2", "3", "4")) if deep else ("quantifier", QUANTIFIERS)
        scores = [(value, meanings.accuracy(members, by, value)) for value in values]
        prefix = "depth " if deep else ""
        rows.append(
            {
                "test": f"{scheme}\n{params.get('task.primitive', '')}".strip(),
                "form": params.get("task.form", "").upper(),
                "model": f"{params.get('seq2seq.architecture')} {params.get('seq2seq.size')}",
                "epochs": params.get("epochs"),
                "training sentences": params.get("train_examples"),
                "runs": len(members),
                "valid (%)": percent(meanings.accuracy(members, "", "", "val")),
                "test, exact match (%)": "\n".join(
                    f"{prefix}{value}: {percent(share)}" for value, share in scores if share
                ),
                "newest run": members[0].id,
            }
        )
    text = (
        f"Runs of at most {EPOCHS} epochs and 10M parameters are in the paper's tables above; "
        "runs of another length or size are only listed here."
    )
    return [Table("Every group of runs, newest first", pa.Table.from_pylist(rows)), Text(text)]
