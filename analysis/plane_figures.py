"""PLANE's figures of prompts, of models for NLI, and of the length sweep (Bertolini et al. 2022).

`analysis.prompts` and `analysis.transfer` make the numbers; figures 2 to 4 are `analysis.plane`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from analysis import figures
from analysis.figures import Plot
from analysis.plane import CLASSES, TYPES
from analysis.transfer import f1_by_group
from analysis.unpaired import clustered

NLI = ("entailment", "neutral", "contradiction", "not_entailment")


def _spread(row: Mapping[str, Any]) -> dict[str, float]:
    """Ends of a whisker: a standard deviation about the mean, within 0 and 1."""
    reach = row["deviation"] or 0.0
    return {"low": max(0.0, row["mean"] - reach), "high": min(1.0, row["mean"] + reach)}


def _class_name(kind: str) -> str:
    return {"I": "intersective", "S": "subsective", "O": "intensional"}[kind]


def _templates(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Names of prompts by their template alone (``plane/internal@1``), where that is enough."""
    prompts = sorted({row["prompt"] for row in rows})
    short = [prompt.rsplit("/", 1)[-1].split("@")[0] for prompt in prompts]
    return dict(zip(prompts, short if len(set(short)) == len(prompts) else prompts, strict=True))


def variance_figure(data: pa.Table) -> Plot:
    """`prompts.template_variance` as points, a deviation to either side (figures 5 and 6).

    Of prompts with several verbalisers a panel is a class and template and a series a verbaliser
    (figure 6), else a panel is a template and a series a class (figure 5).
    """
    rows = data.to_pylist()
    several = len({row["verbaliser"] for row in rows}) > 1
    templates = _templates(rows)
    for row in rows:
        kind = _class_name(row["class"])
        row |= _spread(row)
        template = templates[row["prompt"]]
        row["panel"] = f"{template}, {kind}" if several else template
        row["series"] = row["verbaliser"] if several else kind
    rows.sort(key=lambda row: (row["prompt"], CLASSES.index(row["class"]), row["inference_type"]))
    return figures.intervals(
        pa.Table.from_pylist(rows),
        x="inference_type",
        y="mean",
        low="low",
        high="high",
        series="series",
        panel="panel",
        xlabel="inference type of the item asked about",
        ylabel="mean F1",
    )


def recency_figure(data: pa.Table) -> Plot:
    """`prompts.recency` as points, a deviation to either side (figure 7).

    A panel is a class and template, a series a verbaliser; the last type of a sequence is that of
    the item asked about.
    """
    rows = data.to_pylist()
    templates = _templates(rows)
    for row in rows:
        row |= _spread(row)
        row["panel"] = f"{templates[row['prompt']]}, {_class_name(row['class'])}"
    rows.sort(key=lambda row: (row["prompt"], CLASSES.index(row["class"]), row["sequence"]))
    return figures.intervals(
        pa.Table.from_pylist(rows),
        x="sequence",
        y="mean",
        low="low",
        high="high",
        series="verbaliser",
        panel="panel",
        xlabel="inference types of the two examples and of the item asked about",
        ylabel="mean F1",
    )


def transfer_variance(
    predictions: pa.Table, classes: Mapping[str, str], types: Mapping[str, str]
) -> pa.Table:
    """F1 of models for NLI by class of adjective and inference type (figure 1).

    `predictions` are rows as `transfer.read` gives them, `classes` and `types` say what each item
    is (`transfer.groups_of`). Columns model, class, inference_type, rows, f1 (a third label is
    always wrong, as in table 5).
    """
    cells = {item: f"{kind} {types[item]}" for item, kind in classes.items() if item in types}
    found = []
    for model, own in _by_model(predictions):
        rows = {row["group"]: row for row in f1_by_group(own, cells).to_pylist()}
        for kind in CLASSES:
            for inference in TYPES:
                row = rows.get(f"{kind} {inference}")
                if row is not None:
                    found.append(
                        {
                            "model": model,
                            "class": kind,
                            "inference_type": inference,
                            "rows": row["rows"],
                            "f1": row["f1"],
                        }
                    )
    return pa.Table.from_pylist(found)


def _by_model(predictions: pa.Table) -> list[tuple[str, pa.Table]]:
    models = predictions.column("model").to_pylist()
    names = sorted(set(models))
    return [
        (
            name.rstrip("/").rsplit("/", 1)[-1],
            predictions.take([at for at, own in enumerate(models) if own == name]),
        )
        for name in names
    ]


def transfer_figure(data: pa.Table) -> Plot:
    """`transfer_variance` as points, a panel a model (figure 1)."""
    named = data.append_column(
        "kind", pa.array([_class_name(kind) for kind in data.column("class").to_pylist()])
    )
    return figures.intervals(
        named,
        x="inference_type",
        y="f1",
        low="f1",
        high="f1",
        series="kind",
        panel="model",
        xlabel="inference type",
        ylabel="F1",
    )


def errors_figure(data: pa.Table) -> Plot:
    """`transfer.answers_by_group` of one model, by class: a bar a class and gold label, cut by what
    the model said (figure 9, whose confusion matrices hold the same counts)."""
    rows = [
        {**row, "bar": f"{_class_name(row['group'])}, {row['gold']}"}
        for row in data.to_pylist()
        if row["group"] in CLASSES
    ]
    answers = [*NLI, *sorted({row["answer"] for row in rows} - set(NLI))]
    rows.sort(
        key=lambda row: (
            CLASSES.index(row["group"]),
            row["gold"] != "entailed",
            answers.index(row["answer"]),
        )
    )
    return figures.shares(
        pa.Table.from_pylist(rows),
        row="bar",
        part="answer",
        share="share",
        xlabel="share of the items of a class and gold label",
        ylabel="class of the adjective, gold label",
    )


def lengths(runs: Sequence[tuple[int, Sequence[float], Sequence[str]]]) -> pa.Table:
    """Accuracy by the greatest number of tokens of an input (figure 8).

    `runs` has the maximum length of each run, whether its answers are right, and the group of each
    item; runs of one length are taken together. Columns max_length, rows, accuracy, low, high.
    """
    by: dict[int, tuple[list[float], list[str]]] = {}
    for length, right, groups in runs:
        own = by.setdefault(length, ([], []))
        own[0].extend(right)
        own[1].extend(groups)
    found = []
    for length, (right, groups) in sorted(by.items()):
        share = clustered(right, groups)
        found.append(
            {
                "max_length": length,
                "rows": len(right),
                "accuracy": share.estimate,
                "low": share.low,
                "high": share.high,
            }
        )
    return pa.Table.from_pylist(found)


def length_figure(data: pa.Table) -> Plot:
    """`lengths` as a line (figure 8)."""
    named = data.append_column("model", pa.array(["accuracy"] * data.num_rows))
    return figures.curves(
        named,
        x="max_length",
        y="accuracy",
        series="model",
        low="low",
        high="high",
        xlabel="longest input (tokens)",
        ylabel="accuracy (share of items)",
    )
