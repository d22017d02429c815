"""Models trained on the releases: what finished runs scored, beside what the papers print.

    python -m benchmarks.papers [lake=DIR] [tracking=URI]
    python -m benchmarks.papers run=true [only=NAME,…] [models=DIR]

Writes a section of the page from the finished runs of an MLflow store and their predictions in the
lake. With run=true the experiments of benchmarks/papers.yaml that have no finished run are done
first, longest first; one that was killed goes on at its last checkpoint. What another store gave
earlier stays on the page until a run of the same settings takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import conf
from analysis import prompts, transfer
from analysis.published import value as printed
from analysis.reporting.numbers import student
from analysis.reporting.runs import Run, Runs, find_runs, groups
from analysis.semantics.evaluate import evaluate, summarise
from analysis.semantics.job import run_items
from benchmarks import results
from benchmarks.papers_runs import Progress, do, experiments, states
from conf import JobFailed, setting

KEY = "papers"
# Settings that tell runs of a task apart.
TOLD = {
    "adept": ("task.classes", "task.context", "freeze"),
    "plane": ("task.scheme", "task.fold", "max_length"),
    "asp": ("task.round", "task.full_stops"),
    "sygns": ("task.form", "task.primitive", "seq2seq.architecture", "seq2seq.size"),
}
# Of a task and a part: the paper, its table, row and column.
PRINTED = {
    ("adept", "5", "val"): ("adept", "table 5", "RoBERTa", "5-class"),
    ("adept", "3", "val"): ("adept", "table 5", "RoBERTa", "3-class"),
    ("plane", "published", "test"): ("plane", "table 6", "accuracy", "GOoD"),
    ("plane", "one_it", "test"): ("plane", "table 6", "accuracy", "One-IT"),
}
COLUMNS = {"gru": "GRU", "transformer": "Transformer"}
MEANINGS = ("EXI", "NUM", "UNI")


@dataclass(frozen=True)
class Settings:
    """Settings of ``python -m benchmarks.papers``."""

    lake: str = setting("lake", help="folder or URI of the lake")
    tracking: str = setting("sqlite:///mlflow.db", help="MLflow's store")
    run: bool = setting(False, help="do the experiments that are not finished, longest first")
    only: list[str] = setting([], help="names in benchmarks/papers.yaml; all if empty")
    models: str = setting("models", help="folder that training/convert.py wrote models to")
    out: str = setting("runs/papers", help="folder of the runs")


def classified(runs: Runs) -> list[dict[str, Any]]:
    """A row for each part that runs of classification were scored on; seeds are one row."""
    found = []
    for task in ("adept", "plane", "asp"):
        for members in groups(
            runs.of("finetune", {"task.name": task, "task.edition": "published"})
        ):
            found += list(_parts(task, members))
    return sorted(found, key=lambda row: (row["task"], row["settings"], row["part"]))


def _parts(task: str, members: Sequence[Run]) -> Iterator[dict[str, Any]]:
    first = members[0]
    names = [key for key in first.metrics if key.startswith("final/") and key.endswith("/accuracy")]
    for key in sorted(names):
        if key.count("/") != 2:  # of a group within a part
            continue
        part = key.split("/")[1]
        own = {
            name: [run.metrics[f"final/{part}/{name}"] for run in members]
            for name in ("accuracy", "macro_f1", "majority")
        }
        which = first.params.get("task.classes" if task == "adept" else "task.scheme", "")
        place = PRINTED.get((task, which, part))
        if place is not None and first.params.get("task.context") == "false":
            place = (*place[:2], f"{place[2]}, no context", place[3])
        yield {
            "task": task,
            "settings": _settings(task, first),
            "model": first.model,
            "part": part,
            "runs": len(members),
            "examples": int(first.params["train_examples"]),
            "paper": printed(*place).printed if place is not None else None,
            **own,
        }


def _settings(task: str, run: Run) -> str:
    told = [(key.split(".")[-1], run.params.get(key, "null")) for key in TOLD[task]]
    silent = {("freeze", "false")}
    return ", ".join(
        f"{name} {text}"
        for name, text in told
        if text not in ("null", "") and (name, text) not in silent
    )


def generated(lake: str, runs: Runs) -> list[dict[str, Any]]:
    """A row for each group of runs on SyGNS that differ in their seeds: of each run the exact
    matches by quantifier on what it was not trained on."""
    found = []
    mine = runs.of("finetune", {"task.name": "sygns", "task.scheme": "systematicity"})
    for members in groups(mine):
        run = members[0]
        form, architecture = run.params["task.form"], run.params["seq2seq.architecture"]
        scores: dict[str, list[float]] = {}
        for member in sorted(members, key=lambda own: own.params.get("seeds", "")):
            for part in ("test", "val"):
                items = run_items(lake, member.id, form, part)
                for own in summarise(items, evaluate(items, form)):
                    if part == "test" and own.group == "quantifier":
                        scores.setdefault(own.name, []).append(100 * own.exact)
                    elif part == "val" and own.group == "all":
                        scores.setdefault("valid", []).append(100 * own.exact)
        column = f"{COLUMNS[architecture]} {form.upper()}"
        primitive = run.params["task.primitive"].strip('[]"')
        found.append(
            {
                "settings": _settings("sygns", run),
                "parameters": int(run.params["parameters"]),
                "epochs": int(run.params["epochs"]),
                "scores": scores,
                "paper": {
                    name: printed("sygns", f"table 4, {primitive}", name, column).printed
                    for name in (*MEANINGS, "valid")
                },
            }
        )
    return sorted(found, key=lambda row: str(row["settings"]))


def _each(values: Sequence[float]) -> str:
    """``99.2 of 98.5, 99.9``; one value by itself."""
    average = f"{sum(values) / len(values):.1f}"
    return f"{average} of {', '.join(f'{v:.1f}' for v in values)}" if len(values) > 1 else average


def transferred(lake: str, runs: Runs) -> list[dict[str, Any]]:
    """The cells of the transfer matrix: the newest run of each model on each task."""
    newest: dict[tuple[str, ...], Run] = {}
    for run in runs.of("score"):
        asked = [run.params.get(key, "") for key in ("task.name", "task.scheme", "task.fold")]
        newest.setdefault((run.params.get("model_name", ""), *asked), run)
    if not newest:
        return []
    cells = transfer.matrix(transfer.read(lake, [run.id for run in newest.values()]))
    # Without the folder of a model, which is this machine's.
    return [
        {**cell, "model": cell["model"].rstrip("/").split("/")[-1]} for cell in cells.to_pylist()
    ]


def prompted(lake: str, runs: Runs) -> list[dict[str, Any]]:
    """Mean F1 of PLANE prompts by class: of each model the newest run with and without examples."""
    found, seen = [], set()
    for run in runs.of("prompt", {"task.name": "plane"}):
        rows = prompts.read(lake, run.id)
        scheme = rows.column("scheme")[0].as_py()
        if (scheme, run.model) in seen:
            continue
        seen.add((scheme, run.model))
        sides = {
            "first token": prompts.cells(rows),
            "restricted choice": prompts.cells(rows, "restricted"),
            "always entailed": prompts.always(rows, "entailed"),
        }
        for side, cells in sides.items():
            table = {row["row"]: row for row in prompts.class_table(cells).to_pylist()}
            found.append(
                {
                    "scheme": scheme,
                    "model": run.model,
                    "side": side,
                    "questions": rows.num_rows,
                    "classes": {n: (own["mean"], own["deviation"]) for n, own in table.items()},
                }
            )
    return found


# What tells rows of the page apart.
_KEYS = {
    "classified": ("task", "settings", "model", "part"),
    "generated": ("settings",),
    "transferred": ("model", "task", "scheme", "fold", "edition", "answers"),
    "prompted": ("scheme", "model", "side"),
    "experiments": ("name",),
}


def merged(earlier: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The rows found, and those recorded earlier: of two with the same settings the one of more
    runs, else the one found."""
    kept: dict[str, Any] = {}
    for name, keys in _KEYS.items():
        rows: dict[tuple[str, ...], dict[str, Any]] = {}
        for row in (*earlier.get(name, ()), *found.get(name, ())):
            place = tuple(str(row.get(key)) for key in keys)
            before = rows.get(place)
            if before is None or name == "experiments" or _runs(row) >= _runs(before):
                rows[place] = row
        kept[name] = [rows[place] for place in sorted(rows)]
    return kept


def _runs(row: dict[str, Any]) -> int:
    return int(row.get("runs", len(row.get("scores", {}).get("valid", ())) or 1))


def _experiment(own: Progress) -> dict[str, Any]:
    return {
        "name": own.experiment.name,
        "cells": own.experiment.cells,
        "command": own.experiment.command,
        "estimate": own.experiment.hours,
        "runs": own.experiment.runs(),
        "finished": own.finished,
        "hours": own.hours,
        "begun_hours": own.begun_hours,
        "share": own.share,
    }


def _experiment_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What is finished and what is not, with its command and what it took so far."""
    table: list[tuple[object, ...]] = [("experiment", "printed cells", "runs", "state", "hours")]
    commands = []
    for own in sorted(rows, key=lambda own: (-own["estimate"], own["name"])):
        if own["finished"] >= own["runs"]:
            state, hours = "finished", f"{own['hours']:.2f}"
        elif own["share"]:
            state = f"{own['finished']} finished, one at {100 * own['share']:.0f} %"
            hours = f"{own['begun_hours']:.2f} so far"
        else:
            state = f"{own['finished']} finished" if own["finished"] else "not run"
            hours = f"{own['estimate']:.1f} estimated"
        table.append((own["name"], own["cells"], own["runs"], state, hours))
        if own["finished"] < own["runs"]:
            commands.append(own["command"])
    lines = ["", "Experiments of `benchmarks/papers.yaml`:", "", results.table(table), ""]
    lines.append(
        "Hours of the clock of runs, on a machine that other work shared; estimates are CPU hours "
        "of one core."
    )
    if commands:
        told = "What is not finished: `python -m benchmarks.papers run=true`, or one by one"
        lines += ["", told, ""]
        lines += ["```bash", *commands, "```"]
    return lines


def mean(values: Sequence[float]) -> str:
    """Shares as percent: the mean, and of several Student's 95 % interval."""
    if len(values) == 1:
        return f"{100 * values[0]:.1f}"
    middle, reach = student(values)
    return f"{100 * middle:.1f} ± {100 * reach:.1f}"


def _classified_lines(kept: Sequence[dict[str, Any]]) -> list[str]:
    rows: list[tuple[object, ...]] = [
        ("task", "settings", "model", "examples", "runs", "part", "accuracy %", "macro-F1 %",
         "majority %", "paper")
    ]  # fmt: skip
    rows += [
        (
            own["task"],
            own["settings"],
            own["model"],
            f"{own['examples']:,}",
            own["runs"],
            own["part"],
            mean(own["accuracy"]),
            mean(own["macro_f1"]),
            f"{100 * own['majority'][0]:.1f}",
            own["paper"] or "-",
        )
        for own in kept
    ]
    return [
        results.table(rows),
        "",
        "Of several runs (seeds) the mean and Student's 95 % interval. The paper's models are "
        "larger; its ADEPT figures are those of its dev part.",
        "",
    ]


def _generated_lines(kept: Sequence[dict[str, Any]]) -> list[str]:
    names = (*MEANINGS, "valid")
    rows: list[tuple[object, ...]] = [("SyGNS", "parameters", "epochs", *names)]
    for own in kept:
        cells = [f"{_each(own['scores'][n])} ({own['paper'][n]})" for n in names]
        rows.append((own["settings"], f"{own['parameters']:,}", own["epochs"], *cells))
    return [
        results.table(rows),
        "",
        "Exact matches in percent; of several runs (seeds) the mean, and each. In parentheses "
        "those of the paper's table 4 (10 M parameters, mean of five runs).",
    ]


def _transferred_lines(kept: Sequence[dict[str, Any]]) -> list[str]:
    cells = pa.Table.from_pylist(list(kept))
    least = min(cells["rows"].to_pylist())
    return [
        "",
        "Each model on each task, as `training/score.py` asks it (percent right, Wilson's 95 % "
        f"interval; {least:,} rows a cell or more; how labels are read across tasks: "
        "docs/scoring.md):",
        "",
        transfer.markdown(transfer.grid(cells)),
    ]


def _prompted_lines(kept: Sequence[dict[str, Any]]) -> list[str]:
    # JSON keeps no order of classes.
    classes = [name for name in ("I", "S", "O", "average") if name in kept[0]["classes"]]
    rows: list[tuple[object, ...]] = [("PLANE, prompts", "model", "questions", "answer", *classes)]
    for own in kept:
        pairs = [own["classes"][name] for name in classes]
        scores = [f"{100 * m:.1f} ± {100 * d:.1f}" for m, d in pairs]
        rows.append((own["scheme"], own["model"], f"{own['questions']:,}", own["side"], *scores))
    return [
        "",
        results.table(rows),
        "",
        "Mean F1 and its deviation over templates and verbalisers, in percent.",
    ]


def page(kept: dict[str, Any]) -> str:
    """The section of the page."""
    lines = ["## Models on the published data", ""]
    parts = {
        "classified": _classified_lines,
        "generated": _generated_lines,
        "transferred": _transferred_lines,
        "prompted": _prompted_lines,
        "experiments": _experiment_lines,
    }
    for name, told in parts.items():
        if kept.get(name):
            lines += told(kept[name])
    return "\n".join(lines)


def main(settings: Settings) -> None:
    """Do what is missing (run=true), read the runs, record their scores, write the page.

    Raises:
        JobFailed: no finished run on the releases.
    """
    chosen = experiments(settings.only)
    if settings.run:
        for progress in states(settings.tracking, chosen):
            if not progress.done:
                do(progress, settings.lake, settings.tracking, settings.models, settings.out)
    runs = find_runs(settings.tracking)
    found = {
        "classified": classified(runs),
        "generated": generated(settings.lake, runs),
        "transferred": transferred(settings.lake, runs),
        "prompted": prompted(settings.lake, runs),
    }
    if not any(found.values()):
        raise JobFailed(f"tracking={settings.tracking}: no finished run. {runs.note}")
    found["experiments"] = [_experiment(own) for own in states(settings.tracking, chosen)]
    kept = merged(results.recorded().get(KEY, {}), found)
    results.record(KEY, kept)
    text = page(kept)
    results.write_section(KEY, text, packages=["torch", "transformers", "deepspeed"])
    print(text)


if __name__ == "__main__":
    raise SystemExit(conf.run(Settings, main))
