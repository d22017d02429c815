"""ASP's page: tables 1 to 4, figures 2 to 4, and degree estimation against numerical reasoning."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analysis import asp, published
from analysis.asp import Answers
from analysis.interval import Interval
from analysis.reporting.answers import answered, rows_of, runs_text
from analysis.reporting.examples import drawn
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
from analysis.significance import bootstrap, wilson
from conf import UserError
from etl.asp import ENTAILMENT, TESTS
from etl.asp.gold import HUMAN, JUDGED, POLARITIES, rises
from etl.lake import arrow

_IMPORT = "python etl/import_published.py asp=DIR lake=LAKE"
_BUILD = "python etl/build_asp.py preset=clean lake=LAKE"
_TRAIN = "python training/finetune.py conf/training/asp.yaml lake=LAKE"
_SCORE = "python training/score.py conf/training/asp_score.yaml lake=LAKE"
_PROMPT = "python training/prompt.py conf/training/asp_prompt.yaml lake=LAKE"

_TASKS = {"entailment": "entailment inference", "degree": "degree estimation"}
_TABLES = {"entailment": "asp_entailment", "degree": "asp_degree"}
# What training/finetune.py calls natural-language inference.
_NLI = "pairs_nli"
# Runs that these part are the rounds of one training.
_AXES = ("task.round", "task.dimension")
# Models whose curves are drawn; further ones have their numbers in the tables.
_DRAWN = 4


@dataclass(frozen=True)
class _Answered:
    """A model's answers in test parts: columns kind, test, gold, predicted, group, part, polarity,
    z, and `run`, the number of its run."""

    model: str
    job: str
    settings: Mapping[str, str]
    runs: Sequence[Run]
    rows: pa.Table

    @property
    def row(self) -> str | None:
        """The paper's row that the model stands for: that of what was trained on MNLI for a model
        that was scored, and none for one that was taught another task."""
        if self.job != "score" or "trained_on" not in self.settings:
            return row_name(self.model)
        if self.settings["trained_on"] != _NLI:
            return None
        return row_name(_short(self.settings.get("trained_from", "")))

    def accuracy(self, kind: str, test: str, part: str = "test") -> Interval | None:
        """Mean accuracy over the runs; None where no run has such rows."""
        own = self.rows.filter(
            (pc.field("kind") == kind) & (pc.field("test") == test) & (pc.field("part") == part)
        )
        numbers = sorted(pc.unique(own.column("run")).to_pylist())
        scores = [_accuracy(own.filter(pc.field("run") == number)) for number in numbers]
        return mean_over_runs(scores) if scores else None


def _accuracy(rows: pa.Table) -> Interval:
    gold, predicted = (rows.column(name).to_pylist() for name in ("gold", "predicted"))
    of = rows.column("group").to_pylist()
    if len(set(of)) > 1 and len(set(of)) < len(of):
        # Forty numbers of a premise are not forty observations.
        return bootstrap("accuracy", gold, predicted, groups=of)
    return wilson(sum(a == b for a, b in zip(gold, predicted, strict=True)), len(gold))


def sections(lake: Lake, runs: Runs) -> list[Section]:
    """ASP's sections; what its tables or runs are not there for is `NotRun`."""

    @cache
    def zero_shot() -> list[_Answered]:
        return _models(lake, runs, ("score", "prompt"))

    @cache
    def tuned() -> list[_Answered]:
        return _models(lake, runs, ("finetune",))

    section = partial(section_of, "asp")
    return [
        section("Table 1", "entailment inference, examples", _BUILD, lambda: _entailment(lake)),
        section("Table 2", "degree estimation, examples", _BUILD, lambda: _degree(lake)),
        section(
            "Table 3", "models without training on ASP", _SCORE, lambda: _table(lake, 3, zero_shot)
        ),
        section(
            "Figure 2",
            "ordering, comparative and superlative: people and models",
            _SCORE,
            lambda: _curves(lake, 2, zero_shot, f"{_SCORE} && {_PROMPT}"),
        ),
        section(
            "Figure 3",
            "booster, diminisher and negation: people and models",
            _SCORE,
            lambda: _curves(lake, 3, zero_shot, f"{_SCORE} && {_PROMPT}"),
        ),
        section(
            "",
            "thresholds of people and models",
            _IMPORT,
            lambda: _thresholds(lake, lambda: [*zero_shot(), *tuned()]),
        ),
        section(
            "",
            "degree estimation against numerical reasoning",
            _SCORE,
            lambda: _numerical(lambda: [*zero_shot(), *tuned()]),
        ),
        section("Table 4", "models trained on ASP", _TRAIN, lambda: _table(lake, 4, tuned)),
        section(
            "Figure 4", "people and trained models", _TRAIN, lambda: _tuned_curves(lake, tuned)
        ),
        section("", "what training rows give away", _TRAIN, lambda: _leaks(tuned)),
        section("", "appendix", "", _appendix),
    ]


def _appendix() -> list[Block]:
    why = "The appendix is not part of the published paper, and its numbers are in no release."
    return [
        Unavailable("Appendix figures 2 to 4, 6 and 7: further curves of the paper's models", why),
        Unavailable("Appendix figure 5: numerical reasoning of the paper's models", why),
        Unavailable(
            "Appendix tables 3 and 4: templates",
            f"{why} Our templates are in etl/asp/templates.py and docs/asp.md.",
        ),
    ]


def _read(lake: Lake, table: str, columns: Sequence[str]) -> tuple[str, pa.Table]:
    edition = lake.edition(table)
    where = [("edition", "=", edition)]
    return edition, arrow.read(lake.root, table, where=where, columns=columns)


def _entailment(lake: Lake) -> list[Block]:
    names = ["item_id", "test", "premise", "hypothesis", "label", "adjective_type"]
    edition, table = _read(lake, "asp_entailment", names)
    rows = table.to_pylist()
    labels = {(row["test"], row["premise"], row["hypothesis"]): row["label"] for row in rows}
    found = []
    for test in TESTS:
        own = [row for row in rows if row["test"] == test]
        # Comparative and negation depend on the type of the adjective: one row of each.
        kinds: dict[str | None, dict[str, Any]] = {}
        for row in drawn(own, lake.seed, lambda row: row["item_id"]):
            apart = row["adjective_type"] if test in ("comparative", "negation") else None
            kinds.setdefault(apart, row)
        for kind in sorted(kinds, key=str):
            row = kinds[kind]
            back = labels.get((test, row["hypothesis"], row["premise"]))
            found.append(
                {
                    "test": test if kind is None else f"{test} ({kind})",
                    "premise": row["premise"],
                    "hypothesis": row["hypothesis"],
                    "entailed": _letter(row["label"]),
                    "the other way round": "–" if back is None else _letter(back),
                }
            )
    text = "E: entailment; N: not entailment; –: the table does not have the pair turned round."
    caption = f"Drawn from edition {edition}"
    return [Table(caption, pa.Table.from_pylist(found)), Text(text)]


def _letter(label: str) -> str:
    return "E" if label == ENTAILMENT else "N"


def _degree(lake: Lake) -> list[Block]:
    names = ["item_id", "test", "variant", "group", "polarity", "alpha", "unit"]
    edition, table = _read(lake, "asp_degree", [*names, "premise", "hypothesis", "label"])
    rows = table.filter(pc.field("variant") == "base").to_pylist()
    by: dict[tuple[str, str], dict[int, list[dict[str, Any]]]] = {}
    for row in rows:
        of_test = by.setdefault((row["test"], row["polarity"]), {})
        of_test.setdefault(row["group"], []).append(row)
    found = []
    for test in TESTS:
        for polarity in POLARITIES:
            if (test, polarity) not in by:
                continue
            own = drawn(by[test, polarity].values(), lake.seed, lambda rows: rows[0]["item_id"])[0]
            shown = drawn(own, lake.seed, lambda row: row["item_id"])[0]
            entailed = [row["alpha"] for row in own if row["label"] == ENTAILMENT]
            up = rises(test, polarity)
            edge = (min if up else max)(entailed) if entailed else None
            sign = "≥" if up else "≤"
            found.append(
                {
                    "test": test,
                    "premise": shown["premise"],
                    "hypothesis": shown["hypothesis"],
                    "entailed for": f"α {sign} {edge:g} {shown['unit']}" if entailed else "no α",
                    "numbers asked": f"{min(r['alpha'] for r in own):g} to "
                    f"{max(r['alpha'] for r in own):g}",
                }
            )
    caption = f"A group of numbers of each test and polarity, drawn from edition {edition}"
    return [Table(caption, pa.Table.from_pylist(found))]


def row_name(model: str) -> str | None:
    """The paper's name of a model (rows of tables 3 and 4); None of any other."""
    name = model.lower().replace("_", "-")
    if found := re.match(r"(bert|deberta)(?:-v3)?-(base|large)\b", name):
        return f"{'BERT' if found[1] == 'bert' else 'DeBERTa'}-{found[2]}"
    return {"t0-3b": "T0 3B", "t0pp": "T0 pp", "t0-pp": "T0 pp"}.get(name)


def _models(lake: Lake, runs: Runs, jobs: Sequence[str]) -> list[_Answered]:
    """Models with answers to the editions shown, newest first; runs of several rounds are one."""
    editions = {
        table: lake.edition(table) for table in _TABLES.values() if lake.editions.get(table)
    }
    if not editions:
        return []
    items = _items(lake, editions)
    found = []
    for members in groups(answered(lake, runs.of(jobs, {"task.name": "asp"})), _AXES):
        by_model: dict[str, list[pa.Table]] = {}
        for number, run in enumerate(members):
            rows = _joined(lake, run, editions, items)
            for model in pc.unique(rows.column("model")).to_pylist():
                own = rows.filter(pc.field("model") == model)
                own = own.append_column("run", pa.array([number] * own.num_rows, pa.int64()))
                by_model.setdefault(model, []).append(own)
        found += [
            _Answered(
                _short(model),
                members[0].job,
                members[0].params,
                members,
                pa.concat_tables(tables),
            )
            for model, tables in sorted(by_model.items())
        ]
    return found


def _short(model: str) -> str:
    return model.rstrip("/").rsplit("/", 1)[-1]


def _items(lake: Lake, editions: Mapping[str, str]) -> pa.Table:
    """Every row that can be asked, degree estimation in its base variant alone."""
    pieces = []
    schema = pa.schema(
        [
            ("item_id", pa.string()),
            ("kind", pa.string()),
            ("test", pa.string()),
            ("group", pa.int64()),
            ("polarity", pa.string()),
            ("z", pa.float64()),
        ]
    )
    for kind, table in _TABLES.items():
        if table not in editions:
            continue
        where: Any = [("edition", "=", editions[table])]
        names = ["item_id", "test"]
        if kind == "degree":
            where.append(("variant", "=", "base"))
            names += ["group", "polarity", "z"]
        own = arrow.read(lake.root, table, where=where, columns=names)
        own = own.append_column("kind", pa.array([kind] * own.num_rows, pa.string()))
        for field in schema:
            if field.name not in own.column_names:
                own = own.append_column(field.name, pa.nulls(own.num_rows, field.type))
        pieces.append(own.select(schema.names).cast(schema))
    return pa.concat_tables(pieces)


def _joined(lake: Lake, run: Run, editions: Mapping[str, str], items: pa.Table) -> pa.Table:
    """A run's answers to rows of the editions shown, with the part of its split each was in."""
    rows = rows_of(lake, run)
    rows = rows.filter(pc.field("edition").isin(sorted(set(editions.values()))))
    at = pc.index_in(rows.column("item_id"), value_set=items.column("item_id").combine_chunks())
    rows, at = rows.filter(at.is_valid()), at.drop_null()
    known = items.take(at)
    parts = _parts(lake, run, sorted(set(editions.values())))
    joined = known.append_column(
        "part", pa.array([parts.get(i, "test") for i in known.column("item_id").to_pylist()])
    )
    for name in ("gold", "predicted", "model"):
        joined = joined.append_column(name, rows.column(name))
    return joined.filter(pc.field("part").isin(["test", "leaking"]))


def _parts(lake: Lake, run: Run, editions: Sequence[str]) -> dict[str, str]:
    """The part of each item in the rounds that the run was trained on; rows of no round (all of
    them, for a model that was not trained on ASP) are tested on."""
    if run.job != "finetune" or not lake.has("asp_splits"):
        return {}
    rounds = {run.params.get("task.round"), run.params.get("task.dimension")}
    rounds |= set(_folds(lake, run))
    found: dict[str, str] = {}
    where = [
        ("edition", "in", list(editions)),
        ("round", "in", sorted(own for own in rounds if own)),
    ]
    for batch in arrow.batches(lake.root, "asp_splits", where=where, columns=["item_id", "part"]):
        found.update(
            zip(batch.column("item_id").to_pylist(), batch.column("part").to_pylist(), strict=True)
        )
    return found


def _folds(lake: Lake, run: Run) -> list[str]:
    """The rounds that the run's own rows name: ``0+length`` is two."""
    table = arrow.read(lake.root, "predictions", where=[("run_id", "=", run.id)], columns=["fold"])
    return [
        own
        for fold in pc.unique(table.column("fold")).to_pylist()
        for own in (fold or "").split("+")
    ]


def _table(lake: Lake, number: int, models: Callable[[], list[_Answered]]) -> list[Block]:
    command = _TRAIN if number == 4 else f"{_SCORE} && {_PROMPT}"
    try:
        found = models()
    except UserError:
        found = []
    blocks: list[Block] = []
    for kind, task in _TASKS.items():
        name = f"table {number}, {task}"
        ours: dict[tuple[str, str], float | Interval] = {}
        reason = ""
        try:
            edition = lake.edition(_TABLES[kind])
            baseline = asp.baseline_table(lake.root, _TABLES[kind], edition, f"table {number}")
            for row in baseline.to_pylist():
                ours[row["baseline"], row["test"]] = row["percent"] / 100
        except UserError as error:
            edition, reason = "", str(error)
        printed = {row for row, _ in published.table("asp", name)}
        for model in reversed(found):  # the newest last: it stands for the row
            row = model.row
            if row in printed:
                for test in TESTS:
                    own = model.accuracy(kind, test)
                    if own is not None:
                        ours[row, test] = own
        blocks += comparison(
            "asp",
            name,
            ours,
            caption=f"{task.capitalize()}, accuracy",
            edition=edition,
            command=command,
            reason=reason,
        )
        mine = _mine(found, kind)
        if mine is not None:
            where = "trained here" if number == 4 else "scored here"
            caption = f"{task.capitalize()}: models {where}, accuracy in percent"
            blocks.append(Table(caption, mine))
    return [*blocks, *runs_text(run for model in found for run in model.runs)]


def _mine(found: Sequence[_Answered], kind: str) -> pa.Table | None:
    rows = []
    for model in found:
        scores = {test: model.accuracy(kind, test) for test in TESTS}
        if any(scores.values()):
            rows.append(
                {
                    "model": f"{model.model} ({model.job})",
                    "runs": len(model.runs),
                    **{
                        t: "–" if s is None else percent(s).replace(" ", "\n", 1)
                        for t, s in scores.items()
                    },
                    "newest run": model.runs[0].id,
                }
            )
    return pa.Table.from_pylist(rows) if rows else None


def _sources(lake: Lake) -> list[str]:
    if not lake.has("asp_human"):
        raise UserError(f"no table asp_human in {lake.root}")
    found = arrow.read(lake.root, "asp_human", columns=["source"]).column("source")
    names: list[str] = sorted(pc.unique(found).to_pylist(), key=lambda s: (s != "published", s))
    return names


def _answers(model: _Answered) -> Answers | None:
    rows = model.rows.filter((pc.field("kind") == "degree") & pc.field("test").isin(list(HUMAN)))
    if not rows.num_rows:
        return None
    columns = (rows.column(n).to_pylist() for n in ("test", "polarity", "z", "predicted"))
    tests, polarities, z, predicted = columns
    return Answers(model.model, tests, polarities, z, predicted)


def _curves(
    lake: Lake, number: int, models: Callable[[], list[_Answered]], command: str
) -> list[Block]:
    source = _sources(lake)[0]
    people = asp.human_curves(lake.root, source)
    figure, data = asp.curves_figure(people, number)
    blocks: list[Block] = [
        FigureBlock(f"What people said (source {source}) and the curve fitted to it", figure, data)
    ]
    return [*blocks, *_model_curves(people, number, models, command)]


def _model_curves(
    people: pa.Table, number: int, models: Callable[[], list[_Answered]], command: str
) -> list[Block]:
    found = [model for model in models() if _answers(model) is not None]
    said = [own for model in found if (own := _answers(model)) is not None]
    if not said:
        tests = ", ".join(asp.FIGURES[number])
        return [NotRun(f"Curves of models: {tests}", command)]
    blocks: list[Block] = []
    fitted = people.filter(pc.field("answer") == "people, fitted")
    for own in said[:_DRAWN]:
        curves = asp.model_curves(own)
        figure, data = asp.curves_figure(pa.concat_tables([fitted, curves]), number)
        caption = f"{own.model}: its answers, the psychometric curve where one fits, and people's"
        blocks.append(FigureBlock(caption, figure, data))
    if len(said) > _DRAWN:
        blocks.append(Text(f"{len(said) - _DRAWN} further models are in the tables alone."))
    return [*blocks, *runs_text(run for own in found for run in own.runs)]


def _tuned_curves(lake: Lake, models: Callable[[], list[_Answered]]) -> list[Block]:
    people = asp.human_curves(lake.root, _sources(lake)[0])
    blocks: list[Block] = []
    for number in (3, 2):  # the paper draws booster, diminisher and negation; the others too here
        blocks += _model_curves(people, number, models, _TRAIN)
    return blocks


def _thresholds(lake: Lake, models: Callable[[], list[_Answered]]) -> list[Block]:
    tables = [asp.human_thresholds(lake.root, source) for source in _sources(lake)[:1]]
    said = [own for model in models() if (own := _answers(model)) is not None]
    tables += [asp.model_thresholds(own) for own in said]
    by: dict[tuple[str, str], dict[str, str]] = {}
    for row in pa.concat_tables(tables).to_pylist():
        threshold, error = row["threshold"], row["standard_error"]
        if threshold is None:
            text = "no curve fits"
        elif error < JUDGED[1] - JUDGED[0]:
            text = f"{threshold:.1f} ± {error:.1f}"
        else:  # between two numbers anything fits as well
            text = f"{threshold:.1f}, a step"
        by.setdefault((row["test"], row["polarity"]), {}).setdefault(row["answer"], text)
    names = list(dict.fromkeys(name for own in by.values() for name in own))
    rows = [
        {"test": test, "polarity": polarity, **{name: own.get(name, "–") for name in names}}
        for (test, polarity), own in by.items()
    ]
    text = (
        "Where half say yes, with the standard error of the fit; premises stand at 120 and 80. "
        "The shares are scaled by their least and greatest, so that a threshold is that of the "
        "curve's shape (the paper's appendix B); a step has no error, since every number between "
        "two that were asked fits as well."
    )
    blocks: list[Block] = [Table("Thresholds", pa.Table.from_pylist(rows)), Text(text)]
    return blocks if said else [*blocks, NotRun("Thresholds of models", f"{_SCORE} && {_TRAIN}")]


def _numerical(models: Callable[[], list[_Answered]]) -> list[Block]:
    try:
        found = models()
    except UserError:
        found = []
    blocks = comparison("asp", "section Result", {}, caption="Correlation over models and tests")
    blocks.append(
        Text(
            "The comparative rows state the threshold itself, so that they ask for the comparison "
            "of two numbers and nothing else. Below, a model's accuracy there stands for its "
            "numerical reasoning, and is correlated (Pearson) with its accuracy on each other test "
            "with human gold, over models and tests; the interval is Fisher's. Points of "
            "one model are not independent, so that interval and p are optimistic."
        )
    )
    printed = published.table("asp", "table 3, degree estimation")
    tests = [test for test in HUMAN if test != "comparative"]
    scores: dict[str, dict[str, float]] = {}
    for (row, test), own in printed.items():
        if row not in ("chance", "majority"):
            scores.setdefault(row, {})[test] = own.value / 100
    mine: dict[str, dict[str, float]] = {}
    for model in found:
        for test in (*tests, "comparative"):
            share = model.accuracy("degree", test)
            if share is not None:
                mine.setdefault(f"{model.model} {model.runs[0].id}", {})[test] = share.estimate
    rows = []
    for name, accuracies in (("the paper's models, of table 3", scores), ("our models", mine)):
        points = [
            (by["comparative"], by[test])
            for by in accuracies.values()
            for test in tests
            if "comparative" in by and test in by
        ]
        several = len({x for x, _ in points}) > 2
        if several:
            rows.append({"accuracies": name, "points": len(points), **asp.correlation(points)})
    blocks.append(Table("Comparing numbers against the other tests", pa.Table.from_pylist(rows)))
    if len(rows) < 2:
        needed = "The same of our models: three or more with answers to degree estimation"
        blocks.append(NotRun(needed, f"{_SCORE} && {_TRAIN}"))
    return blocks


def _leaks(models: Callable[[], list[_Answered]]) -> list[Block]:
    rows = []
    for model in models():
        for test in TESTS:
            unseen = model.accuracy("entailment", test)
            seen = model.accuracy("entailment", test, "leaking")
            if seen is not None:
                rows.append(
                    {
                        "model": model.model,
                        "full stops": model.settings.get("task.full_stops", "kept"),
                        "test": test,
                        "no adjective trained on (%)": "–" if unseen is None else percent(unseen),
                        "with one that was (%)": percent(seen),
                    }
                )
    text = (
        "Of the published rows of entailment inference more than half hold an adjective that is "
        "trained on, and in ordering a missing full stop gives the label away. Tables above count "
        "rows without such an adjective; full stops normalised are runs that wrote every one."
    )
    command = (
        "python training/finetune.py conf/training/asp_published.yaml lake=LAKE "
        "grid.task.full_stops=[kept,normalised]"
    )
    if not rows:
        return [Text(text), NotRun("Accuracy with and without adjectives trained on", command)]
    return [Text(text), Table("Accuracy by whether an adjective leaks", pa.Table.from_pylist(rows))]
