"""Leak-free splits against the published ones: what sharing words with training is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from analysis import leakage
from analysis.leakage import Answers, Row
from analysis.reporting.answers import answered, rows_of
from analysis.reporting.cross_runs import TITLES, answers_of
from analysis.reporting.lake import Lake
from analysis.reporting.page import Block, Section, Table, Text, section_of
from analysis.reporting.printed import signed
from analysis.reporting.runs import Run, Runs, groups
from conf import UserError
from etl.lake import arrow

_ADEPT = (
    "python training/finetune.py conf/training/adept.yaml "
    "grid.task.split=[random,noun_disjoint,adjective_disjoint] lake=LAKE"
)
_PLANE = (
    "python training/finetune.py conf/training/plane.yaml task.edition=clean "
    "grid.task.scheme=[published,strict] lake=LAKE"
)
# Of each dataset: the setting that names the split, the published split, and the leak-free ones
# with the words that are drawn for testing there.
_SPLITS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "adept": (
        "task.split",
        "random",
        {"noun_disjoint": "noun", "adjective_disjoint": "adjective"},
    ),
    "plane": ("task.scheme", "published", {"strict": "adjective"}),
}


def sections(lake: Lake, runs: Runs) -> list[Section]:
    """One model on two splits; and one test set, parted by what training had seen."""
    section = partial(section_of, "cross")
    return [
        section(
            "",
            "leak-free splits against published ones",
            f"{_ADEPT} && {_PLANE}",
            partial(_between, lake, runs),
        ),
        section(
            "",
            "what training had seen of the test rows",
            "python training/finetune.py conf/training/adept.yaml lake=LAKE",
            partial(_within, lake, runs),
        ),
    ]


def _percent(rows: Sequence[Row], names: tuple[str, str]) -> pa.Table:
    """`leakage.table` as it is read, its two sides under these names."""
    found = []
    for row in leakage.table(rows).to_pylist():
        shown = {"dataset": row["dataset"], "model": row["model"]}
        for side, name in zip(("leaking", "leak_free"), names, strict=True):
            shown[name] = (
                f"{row[side]}\n{100 * row[f'{side}_accuracy']:.1f} "
                f"(majority {100 * row[f'{side}_majority']:.1f}; {row[f'{side}_rows']:,} rows)"
            )
        low, high = signed(100 * row["low"]), signed(100 * row["high"])
        shown["difference"] = f"{signed(100 * row['difference'])} [{low}, {high}]"
        found.append(shown)
    return pa.Table.from_pylist(found)


# One model, two splits


def _between(lake: Lake, runs: Runs) -> list[Block]:
    rows: list[Row] = []
    for dataset, (setting, leaking, others) in _SPLITS.items():
        there = answered(lake, runs.of("finetune", {"task.name": dataset}))
        done: set[str] = set()
        for members in groups(there, (setting, "task.fold", "train_examples")):
            by: dict[str, list[Run]] = {}
            for run in members:
                by.setdefault(run.params.get(setting, ""), []).append(run)
            free = [name for name in others if name in by]
            if leaking not in by or not free or members[0].model in done:
                continue
            done.add(members[0].model)
            answers = {name: answers_of(lake, dataset, by[name]) for name in (leaking, *free)}
            for name in free:
                word = others[name]
                sides = [(own, _answers(answers[own], word)) for own in (leaking, name)]
                row = leakage.split_rows(TITLES[dataset], members[0].model, sides[0], sides[1])
                rows.append(row)
    if not rows:
        raise UserError(
            "no finished fine-tuning runs with the same settings on a published and a leak-free "
            "split"
        )
    return [
        Text(
            "The same model and settings, trained and tested on either split. Test rows differ, so "
            "the difference is unpaired (Newcombe's interval, rows of one noun or adjective taken "
            "together); splits differ in their labels too, hence the majority beside each."
        ),
        Table(
            "Accuracy in percent, published less leak-free",
            _percent(rows, ("published", "leak-free")),
        ),
    ]


def _answers(rows: pa.Table, group: str) -> Answers:
    columns = [rows.column(name).to_pylist() for name in ("gold", "predicted", group)]
    return Answers(columns[0], [own or "" for own in columns[1]], [str(own) for own in columns[2]])


# One test set, parted


def _within(lake: Lake, runs: Runs) -> list[Block]:
    rows = [*_words(lake, runs), *_asp_adjectives(lake, runs), *_asp_dimensions(lake, runs)]
    if not rows:
        raise UserError("no finished fine-tuning run on a published split with answers here")
    return [
        Text(
            "Answers to one test set, parted by whether training had the word of the item, or both "
            "together. The parts differ in more than that: words that training has are frequent "
            "ones. ASP's adjectives: the release's test rows whose adjective is trained on; its "
            "dimensions: validation rows of the dimensions trained on against the one held out, on "
            "the three tests that are trained on."
        ),
        Table("Accuracy in percent, seen less unseen", _percent(rows, ("seen", "unseen"))),
    ]


def _newest(lake: Lake, runs: Runs, settings: Mapping[str, str | Sequence[str]]) -> list[list[Run]]:
    """The newest group of runs of each model."""
    there = answered(lake, runs.of("finetune", settings))
    found: dict[str, list[Run]] = {}
    for members in groups(there):
        found.setdefault(members[0].model, members)
    return list(found.values())


def _words(lake: Lake, runs: Runs) -> Iterator[Row]:
    tables = {"adept": "adept", "plane": "plane_items"}
    for dataset, (setting, leaking, _) in _SPLITS.items():
        for members in _newest(lake, runs, {"task.name": dataset, setting: leaking}):
            rows = answers_of(lake, dataset, members)
            edition, fold = (rows.column(name)[0].as_py() for name in ("edition", "fold"))
            trained = leakage.trained_words(lake.root, tables[dataset], edition, leaking, fold)
            own = leakage.word_columns(rows)
            parted = leakage.parted(own, trained)
            for name, sides in parted.items():
                group = "noun" if name == "pair" else name
                yield from leakage.seen_rows(
                    TITLES[dataset], members[0].model, _answers(rows, group), {name: sides}
                )


def _asp_adjectives(lake: Lake, runs: Runs) -> Iterator[Row]:
    schemes = {"task.name": "asp", "task.scheme": ("adjectives", "both")}
    for members in _newest(lake, runs, schemes):
        params = members[0].params
        edition = params.get("task.edition", "")
        parts = _parts(lake, edition, "adjectives", params.get("task.round", ""))
        if "leaking" not in set(parts.values()):
            continue
        rows = answers_of(lake, "asp", members)
        # Validation rows are of the edition trained on, and may be rows of this one as well.
        rows = rows.filter(pc.equal(rows.column("edition"), edition))
        of = [parts.get(item, "") for item in rows.column("item_id").to_pylist()]
        names = {"leaking": "seen", "test": "unseen"}
        sides = {"adjective": [names.get(part) for part in of]}
        answers = _answers(rows, "adjective")
        yield from leakage.seen_rows("ASP", members[0].model, answers, sides)


def _asp_dimensions(lake: Lake, runs: Runs) -> Iterator[Row]:
    for members in _newest(lake, runs, {"task.name": "asp", "task.scheme": "dimension"}):
        run = members[0]
        rows = pa.concat_tables([rows_of(lake, own) for own in members])
        trained = run.params.get("task.train_edition") or ""
        edition = run.params.get("task.edition", "")
        fold = rows.column("fold")[0].as_py()
        parts = _parts(lake, edition if trained in ("", "null") else trained, "dimension", fold)
        wanted = rows.column("item_id").combine_chunks()
        tests: dict[str, tuple[str, str]] = {}
        for own in sorted(set(rows.column("edition").to_pylist())):
            for batch in arrow.batches(
                lake.root,
                "asp_degree",
                where=[("edition", "=", own)],
                columns=["item_id", "test", "group"],
            ):
                kept = batch.filter(pc.is_in(batch.column("item_id"), value_set=wanted))
                for item, test, group in zip(*(c.to_pylist() for c in kept.columns), strict=True):
                    tests[item] = (test, f"{own} {test} {group}")
        ids = rows.column("item_id").to_pylist()
        # What was not held back for validation is of the dimension held out.
        known = {tests[item][0] for item in ids if parts.get(item) == "val" and item in tests}
        sides = [
            None
            if item not in tests or tests[item][0] not in known
            else "seen"
            if parts.get(item) == "val"
            else "unseen"
            for item in ids
        ]
        premises = [tests[item][1] if item in tests else item for item in ids]
        rows = rows.append_column("premise", pa.array(premises, pa.string()))
        name, parted = f"ASP, {fold} held out", {"dimension": sides}
        yield from leakage.seen_rows(name, run.model, _answers(rows, "premise"), parted)


def _parts(lake: Lake, edition: str, scheme: str, number: str) -> dict[str, str]:
    """The part of each item of a round of ASP."""
    if not lake.has("asp_splits"):
        return {}
    where = [("edition", "=", edition), ("scheme", "=", scheme), ("round", "=", number)]
    found = arrow.read(lake.root, "asp_splits", where=where, columns=["item_id", "part"])
    return dict(zip(*(column.to_pylist() for column in found.columns), strict=True))
