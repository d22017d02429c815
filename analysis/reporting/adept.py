"""ADEPT's page: tables 1 to 6, figures 1 to 4, and adjectives of identity."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analysis import adept, published, slices
from analysis.interval import Interval
from analysis.labels import ADEPT as LABELS
from analysis.reporting import adept_annotations
from analysis.reporting.answers import answered, rows_of, runs_text
from analysis.reporting.examples import bracketed, drawn
from analysis.reporting.lake import Lake
from analysis.reporting.numbers import comparison, mean_over_runs, percent
from analysis.reporting.page import (
    Block,
    FigureBlock,
    NotRun,
    Section,
    Table,
    Text,
    Unavailable,
    section_of,
)
from analysis.reporting.runs import Run, Runs, groups
from analysis.significance import compare, holm, scores_by_slice, wilson
from conf import UserError
from etl.knowledge import lexicons
from etl.lake import arrow

_IMPORT = "python etl/import_published.py adept=DIR lake=LAKE"
_BUILD = "python etl/build_adept.py preset=clean lake=LAKE"
_TRAIN = "python training/finetune.py conf/training/adept.yaml lake=LAKE"
# Labels of 3 classes have the names of the middle ones: docs/training_tasks.md.
_OUTCOMES = {5: LABELS, 4: LABELS[1:], 3: LABELS[1:4]}
_FAMILIES = {"bert": "BERT", "roberta": "RoBERTa", "deberta": "DeBERTa"}
# How many rows tables of examples have.
_ADJECTIVES, _EACH, _ERRORS = 4, 3, 3


@dataclass(frozen=True)
class _Scored:
    """Runs that differ by their seed alone; `answers` are those of the best on val."""

    runs: Sequence[Run]
    classes: int
    context: bool
    accuracy: Interval
    answers: pa.Table

    @property
    def model(self) -> str:
        return self.runs[0].model


def sections(lake: Lake, runs: Runs) -> list[Section]:
    """ADEPT's sections; what its tables or runs are not there for is `NotRun`."""

    @cache
    def rows() -> pa.Table:
        return adept.read(lake.root, lake.edition("adept"))

    @cache
    def scored() -> list[_Scored]:
        try:
            return _scored(lake, runs, rows())
        except UserError:
            return []

    section = partial(section_of, "adept")
    return [
        section("Table 1", "examples", _IMPORT, lambda: _examples(lake, rows())),
        section("Figure 1", "counts by stage of the construction", _BUILD, lambda: _stages(lake)),
        section("Table 2", "how an item is made", _BUILD, lambda: _pipeline(lake)),
        section("Table 3", "what annotators label", _IMPORT, lambda: _questions(lake, rows())),
        section("Table 4", "agreement, labels and sizes", _IMPORT, lambda: _labels(lake, rows)),
        section(
            "Section 4.2",
            "agreement of experts and crowd",
            _IMPORT,
            lambda: adept_annotations.kappas(lake),
        ),
        section(
            "Table 5",
            "accuracy on the development set",
            _TRAIN,
            lambda: _accuracy(lake, rows, scored),
        ),
        section(
            "Figure 2",
            "confusion matrix of five classes",
            _TRAIN,
            lambda: _confusion("figure 2", 5, scored()),
        ),
        section(
            "Figure 3",
            "confusion matrix of three classes",
            f"{_TRAIN} task.classes=3",
            lambda: _confusion("figure 3", 3, scored()),
        ),
        section("Figure 4", "labels by class of modifier", _IMPORT, lambda: _by_class(rows())),
        section(
            "Table 6",
            "answers on the development set",
            _TRAIN,
            lambda: _answers(lake, rows(), scored()),
        ),
        section("", "adjectives of identity", _IMPORT, lambda: _identity(rows(), scored)),
    ]


def family(model: str) -> str | None:
    """The paper's name of a model's kind: BERT, RoBERTa or DeBERTa; None of any other."""
    found = re.match(r"(bert|roberta|deberta)(?:-|$)", model.lower())
    return _FAMILIES[found[1]] if found else None


def _kind(modifier: str) -> str:
    own = lexicons.nonsubsective().get(modifier.lower())
    return "NS" if own else "S"


def _examples(lake: Lake, rows: pa.Table) -> list[Block]:
    by: dict[str, list[dict[str, Any]]] = {}
    for row in rows.to_pylist():
        by.setdefault(row["modifier"], []).append(row)
    diverse = [m for m, own in by.items() if len({row["label"] for row in own}) >= _EACH]
    if not diverse:
        raise UserError(f"no adjective with {_EACH} labels in the table adept of {lake.root}")
    # Half of them non-subsective, as in the paper's table.
    order = drawn(diverse, lake.seed, str)
    half = _ADJECTIVES // 2
    chosen = [m for m in order if _kind(m) == "NS"][:half]
    chosen += [m for m in order if _kind(m) == "S"][: _ADJECTIVES - len(chosen)]
    found = []
    for modifier in chosen:
        seen: set[int] = set()
        for row in drawn(by[modifier], lake.seed, lambda row: row["item_id"]):
            if row["label"] not in seen and len(seen) < _EACH:
                seen.add(row["label"])
                found.append(
                    {
                        "instance": bracketed(row["sentence2"], modifier),
                        "modifier (class)": f"{modifier} ({_kind(modifier)})",
                        "plausibility change": LABELS[row["label"]],
                    }
                )
    edition = rows.column("edition")[0]
    caption = f"Adjectives with labels of {_EACH} kinds, drawn from edition {edition}"
    return [
        Table(caption, pa.Table.from_pylist(found)),
        Text("S: subsective; NS: non-subsective (Nayak et al.'s sixty and dead)."),
    ]


def _stages(lake: Lake) -> list[Block]:
    edition = lake.edition("adept_items")
    data = adept.stages(lake.root, edition)
    ours = {
        (row["stage"], "entries"): float(row["entries"])
        for row in data.to_pylist()
        if row["entries"] is not None
    }
    known = published.table("adept", "figure 1")
    there = data.filter(data.column("entries").is_valid())
    figure, plotted = adept.stages_figure(there)
    return [
        FigureBlock(
            f"Entries that each stage has left, edition {edition}; pairs of all corpora here",
            figure,
            plotted,
        ),
        *comparison(
            "adept",
            "figure 1",
            {key: value for key, value in ours.items() if key in known},
            caption="Entries by stage",
            edition=edition,
        ),
        *comparison("adept", "section 4.1", {}, caption="Sizes named in the text"),
    ]


def _pipeline(lake: Lake) -> list[Block]:
    edition = lake.edition("adept_items", "adept_entries")
    where = [("edition", "=", edition)]
    names = ["item_id", "noun", "relation", "predicate", "adjective", "sentence"]
    items = arrow.read(
        lake.root, "adept_items", where=where, columns=[*names, "chosen", "modified_sentence"]
    ).to_pylist()
    by: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in items:
        by.setdefault((row["noun"], row["sentence"]), []).append(row)
    most = max(map(len, by.values()))
    noun, sentence = drawn([key for key, own in by.items() if len(own) == most], lake.seed, str)[0]
    variants = drawn(by[noun, sentence], lake.seed, lambda row: row["item_id"])
    entries = arrow.read(
        lake.root, "adept_entries", where=[*where, ("noun", "=", noun)], columns=["adjectives"]
    )
    counts = {
        own["adjective"]: own["count"]
        for adjectives in entries.column("adjectives").to_pylist()
        for own in adjectives or ()
    }
    chosen = [row for row in variants if row["chosen"]]
    labels: dict[str, int] = {}
    if chosen and edition in lake.editions.get("adept", ()):
        known = [*where, ("item_id", "=", chosen[0]["item_id"])]
        labelled = arrow.read(lake.root, "adept", where=known, columns=["item_id", "label"])
        labels = {row["item_id"]: row["label"] for row in labelled.to_pylist()}
    first = variants[0]
    steps = [
        ("extraction", f"{row['adjective']} {noun}: {_count(counts.get(row['adjective']))}")
        for row in variants
    ]
    steps += [
        ("predicate", f"{first['relation']}: {first['predicate']}"),
        ("sentence", sentence),
    ]
    steps += [
        (f"variant {number}", bracketed(row["modified_sentence"], row["adjective"]))
        for number, row in enumerate(variants, 1)
    ]
    for row in chosen:
        label = labels.get(row["item_id"])
        told = "not labelled yet" if label is None else LABELS[label]
        steps.append(("chosen for labelling", f"{row['adjective']}: {told}"))
    data = pa.table({"step": [a for a, _ in steps], "result": [b for _, b in steps]})
    return [Table(f"One entry on its way through the pipeline, edition {edition}", data)]


def _count(value: int | None) -> str:
    return "not counted" if value is None else "once" if value == 1 else f"{value:,} times"


def _questions(lake: Lake, rows: pa.Table) -> list[Block]:
    by: dict[int, dict[str, Any]] = {}
    for row in drawn(rows.to_pylist(), lake.seed, lambda row: ("table 3", row["item_id"])):
        by.setdefault(row["label"], row)
    found = [
        {
            "original": by[label]["sentence1"],
            "modified": by[label]["sentence2"],
            **{name: "✓" if at == label else "" for at, name in enumerate(LABELS)},
        }
        for label in sorted(by)
    ]
    text = (
        "Annotators see the original and the modified sentence and choose how the adjective "
        "changes what is said; one item of each label."
    )
    return [Text(text), Table("Items as they are labelled", pa.Table.from_pylist(found))]


def _labels(lake: Lake, read: Callable[[], pa.Table]) -> list[Block]:
    try:
        rows = read()
    except UserError as error:
        told = {"command": _IMPORT, "reason": str(error)}
        return [
            *comparison("adept", "table 4", {}, caption="Labels", **told),
            *comparison("adept", "table 4, sizes", {}, caption="Rows", **told),
            *adept_annotations.agreement(lake),
        ]
    edition = rows.column("edition")[0].as_py()
    data = adept.label_table(rows)
    whole = [row for row in data.to_pylist() if row["part"] == "all"]
    ours: dict[tuple[str, str], float | Interval] = {}
    for row in whole:
        total = rows.num_rows
        ours["label distribution", row["label"]] = wilson(row["count"], total)
        if row["unanimous"] is not None:
            ours["unanimous", row["label"]] = row["unanimous"]
            ours["majority", row["label"]] = 1 - row["unanimous"]
    parts = rows.column("split_random").to_pylist()
    sizes: dict[tuple[str, str], float | Interval] = {
        (part, "rows"): float(parts.count(part)) for part in adept.PARTS if part in parts
    }
    agreement = rows.column("agreement").to_pylist()
    for name in ("unanimous", "majority"):
        if name in agreement:
            sizes[name, "rows"] = float(agreement.count(name))
    there = [part for part in adept.PARTS if part in parts]
    held = "" if "test" in there else "; the lake has no test part"
    others = []
    for other in lake.editions.get("adept", ()):
        if other != edition and lake.wanted is None:
            own = adept.label_table(adept.read(lake.root, other))
            others += [
                {
                    "edition": other,
                    "label": row["label"],
                    "rows": row["count"],
                    "share": row["share"],
                }
                for row in own.to_pylist()
                if row["part"] == "all"
            ]
    blocks: list[Block] = [
        *comparison(
            "adept",
            "table 4",
            ours,
            caption=f"Labels of {', '.join(there)}{held}",
            edition=edition,
        ),
        *comparison("adept", "table 4, sizes", sizes, caption="Rows", edition=edition),
        Table("Labels by part of the split", data, digits=3),
        *adept_annotations.agreement(lake),
    ]
    if others:
        blocks.append(Table("Labels of the other editions", pa.Table.from_pylist(others), digits=3))
    return blocks


def _scored(lake: Lake, runs: Runs, rows: pa.Table) -> list[_Scored]:
    """Every group of fine-tuning runs on the edition's random split, with its answers on val."""
    edition = rows.column("edition")[0].as_py()
    wanted = {"task.name": "adept", "task.edition": edition, "task.split": "random"}
    val = rows.filter(pc.equal(rows.column("split_random"), "val")).column("item_id")
    found = []
    for members in groups(answered(lake, runs.of("finetune", wanted))):
        scores = []
        for run in members:
            own = rows_of(lake, run)
            own = own.filter(pc.is_in(own.column("item_id"), value_set=val.combine_chunks()))
            if own.num_rows:
                right = pc.sum(pc.equal(own.column("gold"), own.column("predicted"))).as_py()
                scores.append((run, wilson(right or 0, own.num_rows), own))
        if not scores:
            continue
        _, _, best = max(scores, key=lambda one: (one[1].estimate, one[0].id))
        found.append(
            _Scored(
                [run for run, _, _ in scores],
                int(members[0].params.get("task.classes", "5")),
                members[0].params.get("task.context", "true") == "true",
                mean_over_runs([score for _, score, _ in scores]),
                best,
            )
        )
    return found


def _best(found: Sequence[_Scored], classes: int, context: bool = True) -> _Scored | None:
    """The best on val: the paper's figures are of the best of a grid there (section 5.4)."""
    own = [one for one in found if (one.classes, one.context) == (classes, context)]
    return max(own, key=lambda one: one.accuracy.estimate, default=None)


def _accuracy(
    lake: Lake, read: Callable[[], pa.Table], scored: Callable[[], list[_Scored]]
) -> list[Block]:
    people, annotators = adept_annotations.human(lake)
    try:
        rows = read()
    except UserError as error:
        caption = "Accuracy on val"
        return comparison(
            "adept", "table 5", people, caption=caption, command=_IMPORT, reason=str(error)
        )
    edition = rows.column("edition")[0].as_py()
    baselines = adept.baselines(rows, lexicons.nonsubsective())
    found = scored()
    models = sorted({one.model for one in found})
    best = [
        own
        for model in models
        for classes in (5, 4, 3)
        for context in (True, False)
        if (own := _best([one for one in found if one.model == model], classes, context))
    ]
    ours: dict[tuple[str, str], float | Interval] = dict(people)
    ours |= {
        (name, f"{classes}-class"): share
        for (name, classes), share in baselines.items()
        if classes in (3, 5)
    }
    ours |= _of_families(best)
    four: dict[tuple[str, str], float | Interval] = {}
    for own in best:
        if family(own.model) == "RoBERTa" and own.classes == 4 and own.context:
            four["RoBERTa", "4-class"] = own.accuracy
    command = f"{_TRAIN} model=roberta-base task.classes=5 task.context=true"
    blocks = comparison(
        "adept", "table 5", ours, caption="Accuracy on val", edition=edition, command=command
    )
    if annotators:
        blocks.append(Text(annotators))
    blocks += comparison(
        "adept",
        "section 7",
        four,
        caption="Without the label impossible",
        command=f"{_TRAIN} model=roberta-base task.classes=4",
    )
    if best:
        caption = "Models trained here, each at the settings that are best on val"
        blocks.append(Table(caption, _trained(best, baselines)))
    else:
        blocks.append(NotRun("Models trained here", _TRAIN))
    blocks += runs_text(run for one in found for run in one.runs)
    return [*blocks, *_pairwise(found, models)]


def _of_families(best: Sequence[_Scored]) -> dict[tuple[str, str], Interval]:
    """Cells of table 5: of each of the paper's families the best model of ours."""
    cells: dict[tuple[str, str], Interval] = {}
    for own in best:
        kind = family(own.model)
        if kind is None or own.classes == 4:
            continue
        key = (f"{kind}{'' if own.context else ', no context'}", f"{own.classes}-class")
        if key not in cells or cells[key].estimate < own.accuracy.estimate:
            cells[key] = own.accuracy
    return cells


def _trained(best: Sequence[_Scored], baselines: Mapping[tuple[str, int], Interval]) -> pa.Table:
    """Every model with its accuracy beside the baselines."""
    rows = [
        {
            "model": own.model,
            "classes": own.classes,
            "input": "sentences" if own.context else "noun and adjective",
            "runs": len(own.runs),
            "accuracy (%)": percent(own.accuracy),
            "majority (%)": percent(baselines["majority", own.classes]),
            "rule (%)": percent(baselines["normative rule", own.classes]),
            "newest run": own.runs[0].id,
        }
        for own in best
    ]
    return pa.Table.from_pylist(rows)


def _pairwise(found: Sequence[_Scored], models: Sequence[str]) -> list[Block]:
    """Every two models of five classes on the same items of val; the paper finds no difference
    between its own (section 6)."""
    there = []
    for model in models:
        for context in (True, False):
            best = _best([one for one in found if one.model == model], 5, context)
            if best is not None:
                there.append((model if context else f"{model}, no context", best.answers))
    compared = []
    for (one, first), (two, second) in itertools.combinations(there, 2):
        if first.column("item_id") != second.column("item_id"):
            continue
        gold, a, b = (
            own.column(name).to_pylist()
            for own, name in ((first, "gold"), (first, "predicted"), (second, "predicted"))
        )
        compared.append((one, two, compare("accuracy", gold, a, b)))
    if not compared:
        return []
    corrected = holm([own.p for _, _, own in compared])
    rows = [
        {
            "first": one,
            "second": two,
            "first less second (%)": percent(own.difference),
            "p (permutation)": own.p,
            "p (Holm)": p,
            "p (McNemar, exact)": own.mcnemar.exact,
        }
        for (one, two, own), p in zip(compared, corrected, strict=True)
    ]
    caption = "Models of five classes compared, each by its best run on val, item by item"
    return [Table(caption, pa.Table.from_pylist(rows), digits=3)]


def _confusion(figure: str, classes: int, found: Sequence[_Scored]) -> list[Block]:
    labels = _OUTCOMES[classes]
    printed = published.table("adept", figure)
    counts = pa.table(
        {
            "gold": [row for row, _ in printed],
            "predicted": [column for _, column in printed],
            "count": [int(own.value) for own in printed.values()],
        }
    )
    model = {"figure 2": "RoBERTa", "figure 3": "DeBERTa"}[figure]
    drawn_, data = adept.confusion_figure(counts)
    blocks: list[Block] = [FigureBlock(f"As published: {model}", drawn_, data)]
    best = _best(found, classes)
    if best is None:
        command = _TRAIN if classes == 5 else f"{_TRAIN} task.classes={classes}"
        return [*blocks, NotRun(f"The same of a model of ours, {classes} classes", command)]
    gold, predicted = (best.answers.column(name).to_pylist() for name in ("gold", "predicted"))
    own = adept.confusion(gold, [guess or "" for guess in predicted], labels)
    ours_, plotted = adept.confusion_figure(own)
    told = f"{best.model}, the best of our models on val: {percent(best.accuracy)} % right"
    blocks.append(FigureBlock(told, ours_, plotted))
    if sum(counts.column("count").to_pylist()) == len(gold):
        cells: Mapping[tuple[str, str], float] = {
            (row["gold"], row["predicted"]): float(row["count"]) for row in own.to_pylist()
        }
        caption = f"Items by true label (rows) and answer: {model} as published, {best.model}"
        blocks += comparison("adept", figure, cells, caption=caption)
    return [*blocks, *runs_text(best.runs)]


def _by_class(rows: pa.Table) -> list[Block]:
    modifiers = rows.column("modifier").to_pylist()
    listed = lexicons.nonsubsective()
    data = adept.label_shares(rows, slices.subsective(modifiers, listed))
    figure, plotted = adept.label_shares_figure(data)
    # What the sixty and dead have, of which the paper counts one class.
    apart = [
        "dead" if word.lower() == "dead" else "of the sixty" if word.lower() in listed else None
        for word in modifiers
    ]
    edition = rows.column("edition")[0]
    blocks: list[Block] = [
        FigureBlock(f"Labels by class of modifier, edition {edition}", figure, plotted)
    ]
    if any(apart):
        detail = adept.label_shares(rows, apart)
        blocks.append(Table("Non-subsective modifiers in two", detail, digits=3))
    blocks.append(
        Unavailable(
            "The numbers of the paper's figure 4",
            "It is drawn without numbers; ours are recomputed from the rows.",
        )
    )
    return blocks


def _answers(lake: Lake, rows: pa.Table, found: Sequence[_Scored]) -> list[Block]:
    best = _best(found, 5)
    if best is None:
        return [NotRun("Answers of the best model", _TRAIN)]
    by = {row["item_id"]: row for row in rows.to_pylist()}
    answers = drawn(best.answers.to_pylist(), lake.seed, lambda row: ("table 6", row["item_id"]))
    chosen = []
    for correct in (True, False):
        own = [row for row in answers if (row["gold"] == row["predicted"]) == correct]
        # Labels differ as far as they can: most items are equally likely.
        first = {row["gold"]: row for row in reversed(own)}.values()
        rest = [row for row in own if row not in first]
        chosen += [*drawn(first, lake.seed, lambda row: row["item_id"]), *rest][:_ERRORS]
    data = [
        {
            "instance": bracketed(by[row["item_id"]]["sentence2"], by[row["item_id"]]["modifier"]),
            "annotated": row["gold"],
            "predicted": row["predicted"],
            "correct": row["gold"] == row["predicted"],
        }
        for row in chosen
    ]
    caption = f"Drawn from the answers of {best.model} on val"
    return [Table(caption, pa.Table.from_pylist(data)), *runs_text(best.runs)]


def _identity(rows: pa.Table, scored: Callable[[], list[_Scored]]) -> list[Block]:
    modifiers = rows.column("modifier").to_pylist()
    kinds = slices.identity(modifiers, lexicons.identity())
    data = adept.label_shares(rows, kinds)
    figure, plotted = adept.label_shares_figure(data)
    blocks: list[Block] = [
        Text(
            "The paper's ethics section asks for a look at adjectives that say who somebody is "
            "(black, old, female): do they lower the plausibility of what a person does, in the "
            "labels or in what a model answers?"
        ),
        FigureBlock("Labels by what the adjective speaks of", figure, plotted),
        Table("Labels by what the adjective speaks of, with 95 % intervals", data, digits=3),
    ]
    best = _best(scored(), 5)
    if best is None:
        return [*blocks, NotRun("Errors of a model by what the adjective speaks of", _TRAIN)]
    kind_of = dict(zip(rows.column("item_id").to_pylist(), kinds, strict=True))
    answers = best.answers.to_pylist()
    gold = [row["gold"] for row in answers]
    predicted = [row["predicted"] or "" for row in answers]
    of = [kind_of[row["item_id"]] for row in answers]
    found = []
    for score in scores_by_slice(gold, predicted, {"identity": of}):
        own = [
            (LABELS.index(a), LABELS.index(b))
            for a, b, kind in zip(gold, predicted, of, strict=True)
            if score.slice == "all" or kind == score.value
        ]
        lower, higher = (
            wilson(sum(sign * (b - a) > 0 for a, b in own), len(own)) for sign in (-1, 1)
        )
        found.append(
            {
                "adjectives": "all" if score.slice == "all" else score.value,
                "items": len(own),
                "accuracy (%)": percent(score.accuracy),
                "macro-F1 (%)": percent(score.macro_f1),
                "less plausible than labelled (%)": percent(lower),
                "more plausible than labelled (%)": percent(higher),
            }
        )
    told = f"Errors of {best.model} on val, by what the adjective speaks of"
    return [*blocks, Table(told, pa.Table.from_pylist(found))]
