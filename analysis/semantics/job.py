"""The job of ``python -m analysis.semantics``: scores of files or of the predictions of a run."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from adnominal.analysis import predictions
from adnominal.analysis.rows import tuples
from adnominal.analysis.semantics.drs_matching import VARIANTS
from adnominal.analysis.semantics.evaluate import (
    FORMS,
    Item,
    ItemScores,
    Summary,
    evaluate,
    summarise,
)
from adnominal.analysis.semantics.prover import Outcome, Proving, provers
from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_minimum
from adnominal.conf.delimited import text_of
from adnominal.conf.numbers import percent
from adnominal.etl.lake import arrow
from adnominal.etl.sygns.fol import ParseError
from adnominal.etl.sygns.grammar import TAGS

# A cell in quotes, as pandas writes one that holds quotes: "[""negation""]".
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


@dataclass(frozen=True)
class Settings:
    form: str | None = setting(
        None,
        help="form of the meanings in files; a run's form is known",
        choices=FORMS,
        example="form=fol",
    )
    gold: str | None = setting(
        None,
        help="gold meanings: one per line, or a .tsv with header and a column named like the form "
        "(sentence, depth and phenomena or tags give scores by class)",
        example="gold=test.tsv",
    )
    predicted: str | None = setting(
        None, help="predicted meanings, one per line", example="predicted=out.txt"
    )
    run: str | None = setting(
        None, help="instead of files: a run of the table predictions", example="run=3f2a…"
    )
    part: str = setting(
        "test",
        help="with run=: the part of its split to score; val is the papers' Valid",
        choices=("test", "val", "train", "all"),
    )
    lake: str = setting("lake", help="folder or URI of the lake, for run=")
    prover: str = setting(
        "auto",
        help="provers to call in order (eprover, vampire, cvc5); none; auto: eprover for fol, vf",
        example="prover=eprover,cvc5",
    )
    seconds: float = setting(5.0, help="time limit per problem")
    workers: int | None = setting(None, help="concurrent problems; default: the number of cores")
    cache: str | None = setting(None, help="SQLite file that stores the answers of the provers")
    search: str = setting(
        "exact",
        help="clause matching: the best mapping, or COUNTER's search for it",
        choices=("exact", "hill_climbing"),
    )
    matching: str = setting(
        "exact",
        help="clauses of DRSs: every variable mapped, or as SyGNS's copy of COUNTER reads them "
        "(the paper's cnt columns; docs/sygns.md)",
        choices=VARIANTS,
    )
    rounding: int | None = setting(
        None, help="decimals of a sentence's polarity scores (published: 2)", example="rounding=2"
    )
    out: str | None = setting(None, help="folder for scores.json and items.jsonl")

    def __post_init__(self) -> None:
        files = self.gold is not None and self.predicted is not None
        if files == (self.run is not None):
            raise UserError(
                "expected either gold=FILE and predicted=FILE, or run=ID of the table predictions"
            )
        if files and self.form is None:
            raise UserError(f"form is missing: expected form= with one of {', '.join(FORMS)}")
        if self.seconds <= 0:
            raise UserError(f"seconds={self.seconds:g}: expected more than 0")
        check_minimum(self, 1, "workers")
        check_minimum(self, 0, "rounding")


def score(settings: Settings) -> None:
    """Score predicted meanings (SyGNS): exact match, entailment, DRS clauses, polarity.

    Reads a gold and a predicted file, or the rows of a run in the table predictions, prints scores
    over all sentences and by quantifier, modifier and depth, and with out= writes scores.json and
    items.jsonl.
    """
    if settings.run is not None:
        form = settings.form or run_form(settings.lake, settings.run)
        items = run_items(settings.lake, settings.run, form, settings.part)
    else:
        assert settings.gold and settings.predicted and settings.form
        form = settings.form
        items = text_items(Path(settings.gold), Path(settings.predicted), form)
    out = _folder(settings.out)
    names = settings.prover
    if names == "auto":
        names = "none" if form == "drs" else "eprover"
    proving = None
    if names != "none":
        cache = Path(settings.cache) if settings.cache else None
        proving = Proving(provers(names.split(",")), settings.seconds, settings.workers, cache)
    try:
        scores = evaluate(
            items,
            form,
            proving=proving,
            search=settings.search,
            rounding=settings.rounding,
            matching=settings.matching,
        )
    except ParseError as error:
        raise UserError(f"a gold meaning cannot be read as {form}: {error}") from error
    finally:
        if proving is not None:
            proving.close()
    summaries = summarise(items, scores)
    print(report(summaries))
    if out is not None:
        _write(out, items, scores, summaries)


def _folder(out: str | None) -> Path | None:
    """The folder for the scores, which is created before any work starts."""
    if out is None:
        return None
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"out={out}: {error.strerror}; expected a folder, or a new name") from error
    return Path(out)


def text_items(gold: Path, predicted: Path, form: str) -> list[Item]:
    """The items of a gold and a predicted file; only a line feed ends a line.

    Raises:
        UserError: a file or a column is missing; a file is not UTF-8; a line of a .tsv has a
            different number of cells than its header, a depth that is not a number, or unknown
            phenomena; or the numbers of lines differ.
    """
    for path in (gold, predicted):
        if not path.is_file():
            raise UserError(f"{path}: no such file")
    answers = _lines(predicted)
    if gold.suffix == ".tsv":
        items = _tsv_items(gold, form)
    else:
        items = [Item(line, "", str(number)) for number, line in enumerate(_lines(gold), 1)]
    if len(items) != len(answers):
        raise UserError(
            f"{gold} has {len(items)} meanings, {predicted} {len(answers)}; expected as many lines"
        )
    if not items:
        raise UserError(f"{gold}: no meanings")
    return [replace(item, predicted=answer) for item, answer in zip(items, answers, strict=True)]


def _lines(path: Path) -> list[str]:
    lines = text_of(path, str(path)).split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _tsv_items(path: Path, form: str) -> list[Item]:
    """The gold items, without predictions. Cells may be quoted; blank lines are skipped."""
    names, *rows = [
        [
            match[1].replace('""', '"') if (match := _QUOTED.fullmatch(cell)) else cell
            for cell in line.split("\t")
        ]
        for line in _lines(path) or [""]
    ]
    if form not in names:
        raise UserError(f"{path}: no column {form!r}; it has {', '.join(names)}")
    items: list[Item] = []
    for number, cells in enumerate(rows, 2):
        if cells == [""]:
            continue
        try:
            if len(cells) != len(names):
                raise ValueError(f"{len(cells)} cells; expected {len(names)}, as in the header")
            row = dict(zip(names, cells, strict=True))
            item_id = row.get("sentence_id") or row.get("id") or str(len(items) + 1)
            items.append(
                Item(row[form], "", item_id, row.get("sentence"), _depth(row), _phenomena(row))
            )
        except ValueError as error:
            raise UserError(f"{path}, line {number}: {error}") from error
    return items


def _depth(row: Mapping[str, str]) -> int | None:
    depth = row.get("depth") or None
    if depth is not None and not depth.isdecimal():
        raise ValueError(f"depth {depth!r}; expected a whole number, or nothing")
    return None if depth is None else int(depth)


def _phenomena(row: Mapping[str, str]) -> tuple[str, ...] | None:
    """From `phenomena` (a JSON list, or names with commas) or the published `tags` (name:yes)."""
    if "tags" in row:
        tags = row["tags"].split(";")
        names = [tag.removesuffix(":yes") for tag in tags if tag.endswith(":yes")]
    elif "phenomena" in row:
        text = row["phenomena"]
        try:
            names = json.loads(text) if text.startswith("[") else text.replace(",", " ").split()
        except (json.JSONDecodeError, RecursionError):
            names = [text]
    else:
        return None
    if unknown := [name for name in names if name not in TAGS]:
        raise ValueError(
            f"phenomenon {unknown[0]!r}; expected a JSON list, or names with commas, of "
            f"{', '.join(TAGS)}"
        )
    return tuple(names)


def run_form(lake: str, run: str) -> str:
    """The form of the meanings that a run predicted, according to its task in the predictions.

    Raises:
        UserError: the run has no rows, or none with a form of meanings.
    """
    tasks = {str(task) for (task,) in tuples(_predictions(lake, run, "task"))}
    forms = [form for form in FORMS if f"sygns_{form}" in tasks]
    if len(forms) != 1:
        raise UserError(
            f"run={run}: predictions of {', '.join(sorted(tasks))}; expected a run on SyGNS, or "
            f"form= with one of {', '.join(FORMS)}"
        )
    return forms[0]


def _predictions(lake: str, run: str, *columns: str) -> pa.Table:
    table = predictions.read(lake, [run], columns)
    if not table.num_rows:
        raise UserError(f"run={run}: no rows in the table predictions of {lake}")
    return table


def run_items(lake: str, run: str, form: str, part: str = "all") -> list[Item]:
    """The predictions of a run, joined with the table sygns, in the order of their ids.

    Only rows of `part` of the run's split are returned; rows without a split are always returned. A
    model is trained and validated on sentences with every modifier, so that parts are scored
    together only with ``all``.

    Raises:
        UserError: the run has no rows, or none of the part, or rows of sentences that the table
            does not have, or its predictions are of another form.
    """
    columns = ("item_id", "task", "edition", "scheme", "fold", "predicted", "text")
    predicted = _predictions(lake, run, *columns).sort_by("item_id").to_pylist()
    forms = {str(row["task"]).removeprefix("sygns_") for row in predicted}
    if other := sorted(forms & set(FORMS) - {form}):
        raise UserError(f"form={form}: run={run} predicted {other[0]}; write form={other[0]}")
    predicted = _of_part(lake, run, predicted, part)
    editions = sorted({str(row["edition"]) for row in predicted})
    names = ["sentence_id", "edition", "sentence", "depth", "phenomena", form]
    sentences_by_id: dict[tuple[str, str], dict[str, Any]] = {}
    for edition in editions:
        sentences = arrow.read(lake, "sygns", where=[("edition", "=", edition)], columns=names)
        sentences_by_id.update(
            {(row["edition"], row["sentence_id"]): row for row in sentences.to_pylist()}
        )
    items = []
    for row in predicted:
        sentence = sentences_by_id.get((row["edition"], row["item_id"]))
        if sentence is None:
            raise UserError(
                f"run={run}: item {row['item_id']} is not in the table sygns, edition "
                f"{row['edition']}; expected predictions of SyGNS sentences"
            )
        items.append(
            Item(
                sentence[form],
                row["text"] if row["text"] is not None else row["predicted"] or "",
                row["item_id"],
                sentence["sentence"],
                sentence["depth"],
                tuple(sentence["phenomena"]),
            )
        )
    return items


def _of_part(
    lake: str, run: str, predicted: list[dict[str, Any]], part: str
) -> list[dict[str, Any]]:
    """The predictions of items that their split has in a part; all of them for ``all``."""
    if part == "all":
        return predicted
    # The part of each (edition, scheme, primitive, sentence); a row's fold is its primitive.
    parts: dict[tuple[Any, ...], str] = {}
    split_columns = ("edition", "scheme", "primitive")
    columns = (*split_columns, "sentence_id")
    splits = {(r["edition"], r["scheme"], r["fold"] or "") for r in predicted if r["scheme"]}
    for split in sorted(splits):
        where = [(name, "=", value) for name, value in zip(split_columns, split, strict=True)]
        rows = arrow.read(lake, "sygns_splits", where=where, columns=[*columns, "part"])
        parts |= {tuple(key): name for *key, name in tuples(rows, *columns, "part")}

    def part_of(row: dict[str, Any]) -> str | None:
        key = (row["edition"], row["scheme"], row["fold"] or "", row["item_id"])
        return parts.get(key) if row["scheme"] else part

    members = [row for row in predicted if part_of(row) == part]
    if not members:
        parts_of_run = ", ".join(sorted({str(part_of(row)) for row in predicted}))
        raise UserError(f"part={part}: run={run} has none; its rows are of {parts_of_run}")
    return members


def report(summaries: Sequence[Summary]) -> str:
    """The summaries as a table of aligned columns, shares in percent."""
    has_polarity = any(summary.polarity for summary in summaries)
    rows = []
    for summary in summaries:
        row = {"items": str(summary.items), "exact": _percent(summary.exact)}
        row |= _entailment_columns(summary)
        row |= _clause_columns(summary)
        if has_polarity:
            row["F up"] = _percent(summary.polarity.get("up", {}).get("f"))
            row["F down"] = _percent(summary.polarity.get("down", {}).get("f"))
        rows.append(row)
    classes = [
        summary.name if summary.group == "all" else f"{summary.group} {summary.name}"
        for summary in summaries
    ]
    table = pd.DataFrame(rows, classes).rename_axis(columns="class")
    return table.to_string(na_rep="")


def _entailment_columns(summary: Summary) -> dict[str, str]:
    if not summary.entailment:
        return {}
    forward, backward, both = summary.entailment.values()
    columns = {}
    for direction, counts in (("G⇒P", forward), ("P⇒G", backward), ("G⇔P", both)):
        columns[direction] = _percent(counts[Outcome.THEOREM] / summary.items)
    columns["timeout"] = str(forward[Outcome.TIMEOUT] + backward[Outcome.TIMEOUT])
    columns["unparseable"] = str(forward[Outcome.UNPARSEABLE])
    return columns


def _clause_columns(summary: Summary) -> dict[str, str]:
    clauses = summary.clauses
    if clauses is None:
        return {}
    return {
        "precision": _percent(clauses.precision),
        "recall": _percent(clauses.recall),
        "F": _percent(clauses.f),
        "F/item": _percent(summary.clauses_f),
        "ill-formed": str(clauses.ill_formed),
    }


_percent = partial(percent, absent="-")


def _write(
    out: Path, items: Sequence[Item], scores: Sequence[ItemScores], summaries: Sequence[Summary]
) -> None:
    """Write scores.json, the summaries, and items.jsonl, the scores of each item."""
    records = [summary.record() for summary in summaries]
    (out / "scores.json").write_text(
        json.dumps(records, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )
    with (out / "items.jsonl").open("w", encoding="utf-8") as lines:
        for item, item_scores in zip(items, scores, strict=True):
            record = {
                "item_id": item.item_id,
                "sentence": item.sentence,
                "gold": item.gold,
                "predicted": item.predicted,
                **item_scores.record(),
            }
            lines.write(json.dumps(record, ensure_ascii=False) + "\n")
