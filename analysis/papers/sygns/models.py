"""SyGNS's results of models: tables 4 to 6, 8 to 11 and 14 to 17, and figure 2."""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adnominal.analysis.papers import published
from adnominal.analysis.papers.exhibits import Chart, Exhibit, Finding, Missing, exhibit
from adnominal.analysis.papers.sygns.sources import EPOCHS, QUANTIFIERS, Meanings, Sygns
from adnominal.analysis.report_numbers import Cells, CellValues, Row, percent_text
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


def command(settings: str = BOTH, scheme: str = "systematicity", primitive: str = "one") -> str:
    """The command that trains models of a scheme."""
    return f"{TRAIN} task.scheme={scheme} task.primitive={primitive} {settings}"


def _models(page: Sygns, form: str) -> Iterator[tuple[str, list[Run]]]:
    """The models with runs on systematicity with the primitive *one*, and these runs."""
    for model, architecture in ARCHITECTURES.items():
        runs = page.meanings.group(architecture, form)
        if runs:
            yield model, runs


def _source(meanings: Meanings, model: str, runs: Sequence[Run]) -> dict[str, Any]:
    """What cells of a model's runs share."""
    return {"model": model, "runs": runs, "edition": meanings.edition}


def _accuracies(page: Sygns, name: str, scheme: str, primitive: str, by: str) -> Iterator[Finding]:
    """A printed table of exact matches (and clause matching) by form and architecture."""
    printed = published.table("sygns", name)
    values = {row.removeprefix("depth "): row for row, _ in printed}
    for column in dict.fromkeys(column for _, column in printed):
        model, _, form = column.partition(" ")
        split = (scheme, primitive)
        runs = page.meanings.group(ARCHITECTURES[model], _FORMS[form], split)
        if not runs:
            continue
        cells: CellValues
        if form.endswith("(cnt)"):
            clauses = page.meanings.clauses(runs, by, values)
            cells = {(values[value], column): score for value, score in clauses.items()}
        else:
            cells = _accuracy_cells(page.meanings, runs, by, values, column)
        yield Cells(name, cells, **_source(page.meanings, model, runs))


def _accuracy_cells(
    meanings: Meanings, runs: Sequence[Run], by: str, values: Mapping[str, str], column: str
) -> CellValues:
    """Cells of exact-match accuracy by class; ``valid`` is the validation part."""
    cells: CellValues = {}
    for value, row in values.items():
        part = ("", "", "val") if value == "valid" else (by, value, "test")
        share = meanings.accuracy(runs, *part)
        if share is not None:
            cells[row, column] = share
    return cells


def _accuracy_exhibit(
    number: str, title: str, scheme: str, by: str, primitives: Sequence[str] = ("",)
) -> Exhibit[Sygns]:
    """A printed table of accuracies; with several primitives, one part for each."""
    name = number.lower()
    parts = {f"{name}, {primitive.replace(',', ' ')}": primitive for primitive in primitives}
    if len(parts) < 2:
        parts = {name: "".join(primitives)}

    @exhibit(
        number,
        title,
        fills=" && ".join(command(_ALL, scheme, primitive) for primitive in primitives),
        reads=TABLES,
        printed=tuple(parts),
    )
    def build(page: Sygns) -> Iterator[Finding]:
        """Exact matches of test sentences by class, and clauses matched (cnt) for DRS."""
        for part, primitive in parts.items():
            yield from _accuracies(page, part, scheme, primitive, by)

    return build


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


def headline(rows: Sequence[Row]) -> str | None:
    """Exact matches of quantifiers that training has with the same modifiers (EXI), in FOL."""
    for row in rows:
        is_first = row["table_name"] == "table 4, one" and row["row"] == "EXI"
        if is_first and row["column"].endswith(" FOL") and row.get("ours") is not None:
            return (
                f"{row['model']}: {percent_text(row)} of existential test sentences exact in FOL "
                f"(the paper's {row['printed']} %)"
            )
    return None


@exhibit(
    "Table 6",
    "entailment by provers",
    fills=f"{command()} && python -m analysis.report lake=LAKE prover=eprover cache=proofs.db",
    reads=TABLES,
    printed=("table 6",),
)
def entailment(page: Sygns) -> Iterator[Finding]:
    """Entailments between gold (G) and predicted (P) formulas, with the primitive *one*."""
    meanings = page.meanings
    for model, runs in _models(page, "fol"):
        if page.prover == "none":
            yield Missing(
                f"Entailments of {model}",
                "python -m analysis.report lake=LAKE prover=eprover cache=proofs.db",
                "There are runs; provers only run on request, because they take minutes.",
            )
            continue
        cells: CellValues = {}
        for row, (forward, backward, both) in meanings.entailment(runs).items():
            cells[row, f"{model} G⇒P"] = forward
            cells[row, f"{model} P⇒G"] = backward
            cells[row, f"{model} G⇔P"] = both
        yield Cells("table 6", cells, **_source(meanings, model, runs))


@exhibit("Table 8", "polarity of FOL", fills=command(), reads=TABLES, printed=("table 8",))
def polarity_of_fol(page: Sygns) -> Iterator[Finding]:
    """F of upward and downward polarity by quantifier, with the primitive *one*."""
    meanings = page.meanings
    for model, runs in _models(page, "fol"):
        cells: CellValues = {}
        for direction in _DIRECTIONS:
            for row, (_, _, f) in meanings.polarity(runs, "fol", direction).items():
                cells[row, f"{model} {direction}"] = f
        yield Cells("table 8", cells, **_source(meanings, model, runs))


@exhibit(
    "Table 15",
    "polarity of FOL and VF",
    fills=command(f"grid.task.form=[fol,vf] {BOTH}"),
    reads=TABLES,
    printed=("table 15, FOL", "table 15, VF"),
)
def polarity_of_forms(page: Sygns) -> Iterator[Finding]:
    """Exact match, and precision, recall and F of polarity, in two forms."""
    meanings = page.meanings
    for form in ("fol", "vf"):
        for model, runs in _models(page, form):
            cells: CellValues = {}
            for row in QUANTIFIERS:
                share = meanings.accuracy(runs, "quantifier", row)
                if share is not None:
                    cells[row, f"{model} exact"] = share
            for direction in _DIRECTIONS:
                scores = meanings.polarity(runs, form, direction)
                for row, (precision, recall, f) in scores.items():
                    cells[row, f"{model} {direction} P"] = precision
                    cells[row, f"{model} {direction} R"] = recall
                    cells[row, f"{model} {direction} F"] = f
            yield Cells(f"table 15, {form.upper()}", cells, **_source(meanings, model, runs))


@exhibit(
    "Table 11",
    "accuracy by number of parameters",
    fills="python training/finetune.py conf/training/sygns_sizes.yaml lake=LAKE",
    reads=TABLES,
    printed=("table 11",),
)
def by_size(page: Sygns) -> Iterator[Finding]:
    """Accuracy by quantifier for each model size, in FOL, with the primitive *one*."""
    printed = published.table("sygns", "table 11")
    for column in dict.fromkeys(column for _, column in printed):
        model, _, size = column.partition(" ")
        rows = {row: row for row, other in printed if other == column}
        runs = page.meanings.group(ARCHITECTURES[model], "fol", size=size)
        if runs:
            cells = _accuracy_cells(page.meanings, runs, "quantifier", rows, column)
            yield Cells("table 11", cells, **_source(page.meanings, model, runs))


@exhibit(
    "Figure 2",
    "learning curves",
    fills="python training/finetune.py conf/training/sygns_curve.yaml lake=LAKE",
    reads=TABLES,
)
def learning_curves(page: Sygns) -> Iterator[Finding]:
    """Accuracy by quantifier and by modifier over the number of training sentences, in FOL."""
    curves: dict[tuple[str, str], CellValues] = defaultdict(dict)
    sizes_of: dict[str, set[int]] = defaultdict(set)
    meanings = page.meanings
    sizes = sorted({run.params.get("train_size", "[]") for run in meanings.runs})
    for model, size in itertools.product(ARCHITECTURES, sizes):
        runs = meanings.group(ARCHITECTURES[model], "fol", train_size=size)
        if not runs:
            continue
        sentences = int(runs[0].params.get("train_examples", "0"))
        for by, tests in (("quantifier", QUANTIFIERS), ("modifier", _MODIFIERS)):
            for test in tests:
                share = meanings.accuracy(runs, by, test)
                if share is not None:
                    curves[by, model][str(sentences), test] = share
                    sizes_of[by].add(sentences)
    if len(sizes_of["quantifier"]) < 2:
        yield Missing("Learning curves", learning_curves.fills)
        return
    for (by, model), cells in curves.items():
        yield Cells(f"{model}, by {by}", cells, unit="share", model=model)
    for by in sizes_of:
        tables = {f"{model}, by {by}": model for other, model in curves if other == by}
        yield Chart(
            "curves",
            f"Accuracy over training sentences, by {by}",
            list(tables),
            "training sentences",
            "accuracy",
            options={"columns": 2, "panels": tables},
        )


@exhibit("", "models trained here", fills=TRAIN, reads=TABLES)
def every_group(page: Sygns) -> Iterator[Finding]:
    """All groups of runs, of any size and length, in exact matches."""
    meanings = page.meanings
    if not meanings.runs:
        yield Missing("Models trained here", TRAIN)
        return
    for members in groups(meanings.runs):
        params = members[0].params
        scheme = params.get("task.scheme", "")
        is_deep = scheme in ("productivity", "embedded_quantifiers")
        by, values = ("depth", ("1", "2", "3", "4")) if is_deep else ("quantifier", QUANTIFIERS)
        model = f"{params.get('seq2seq.architecture')} {params.get('seq2seq.size')}"
        epochs = params.get("num_train_epochs", "").removesuffix(".0")
        words = (
            *(scheme, params.get("task.primitive", "")),
            *(params.get("task.form", "").upper(), model, f"{epochs} epochs"),
            f"{params.get('train_examples')} sentences",
            f"{len(members)} runs" if len(members) > 1 else "1 run",
        )
        name = ", ".join(word for word in words if word)
        scores = {value: meanings.accuracy(members, by, value) for value in values}
        scores["valid"] = meanings.accuracy(members, "", "", "val")
        prefix = "depth " if is_deep else ""
        cells: CellValues = {
            (name, value if value == "valid" else f"{prefix}{value}"): share
            for value, share in scores.items()
            if share is not None
        }
        source = _source(meanings, model, members)
        caption = f"Every group of runs, newest first, by {by}"
        note = (
            f"Runs of at most {float(EPOCHS):g} epochs and 10M parameters are in the paper's "
            "tables above; runs of another length or size are only listed here."
        )
        yield Cells(caption, cells, unit="percent", note=note, **source)
