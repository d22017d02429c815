"""SyGNS's page: tables 1 to 18 and figure 2."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache as once
from functools import partial
from importlib.resources import files
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from analysis import published, sygns
from analysis.interval import Interval
from analysis.reporting.answers import runs_text
from analysis.reporting.examples import drawn
from analysis.reporting.lake import Lake
from analysis.reporting.meanings import EPOCHS, Meanings
from analysis.reporting.numbers import comparison, percent
from analysis.reporting.page import (
    Block,
    FigureBlock,
    NotRun,
    Section,
    Table,
    Text,
    section_of,
)
from analysis.reporting.runs import Run, Runs, groups
from analysis.semantics import drs_matching, polarity
from conf import UserError
from etl.lake import arrow
from etl.sygns.fol import ParseError
from etl.sygns.polarity import Direction
from etl.sygns.splits import quantifier_class

_BUILD = "python etl/build_sygns.py preset=paper lake=LAKE"
_TRAIN = "python training/finetune.py conf/training/sygns.yaml lake=LAKE"
_ALL = "grid.task.form=[fol,drs,vf] grid.seq2seq.architecture=[gru,transformer]"
_BOTH = "grid.seq2seq.architecture=[gru,transformer]"
_MODELS = {"GRU": "gru", "Transformer": "transformer"}
_FORMS = {"FOL": "fol", "DRS": "drs", "DRS (cnt)": "drs", "VF": "vf"}
# Each printed table of accuracies by form: its scheme, primitive, and what its rows are.
_ACCURACIES = {
    "table 4, one": ("systematicity", "one", "quantifier"),
    "table 4, two": ("systematicity", "two", "quantifier"),
    "table 4, every": ("systematicity", "every", "quantifier"),
    "table 4, one two every": ("systematicity", "one,two,every", "quantifier"),
    "table 5": ("systematicity", "one", "modifier"),
    "table 9": ("productivity", "", "depth"),
    "table 10": ("embedded_quantifiers", "", "depth"),
    "table 14, two": ("systematicity", "two", "modifier"),
    "table 14, every": ("systematicity", "every", "modifier"),
    "table 16, one": ("quantifier_negation", "one", "quantifier"),
    "table 16, two": ("quantifier_negation", "two", "quantifier"),
    "table 16, every": ("quantifier_negation", "every", "quantifier"),
    "table 17, one": ("quantifier_negation", "one", "modifier"),
    "table 17, two": ("quantifier_negation", "two", "modifier"),
    "table 17, every": ("quantifier_negation", "every", "modifier"),
}
_ARROWS = {"up": "↑", "down": "↓"}

Ours = dict[tuple[str, str], float | Interval]


def sections(
    lake: Lake, runs: Runs, *, prover: str = "none", cache: str | None = None
) -> list[Section]:
    """SyGNS's sections; what its tables or runs are not there for is `NotRun`.

    `prover` and `cache` are asked for table 6 alone.
    """

    @once
    def made() -> Meanings | None:
        try:
            edition = lake.edition("sygns", "sygns_splits")
        except UserError:
            return None
        return Meanings(lake, runs, edition, prover, cache)

    section = partial(section_of, "sygns")

    def of_runs(build: Callable[[Meanings | None], list[Block]]) -> Callable[[], list[Block]]:
        """The blocks of `build`, and which runs it took."""

        def blocks() -> list[Block]:
            if meanings := made():
                meanings.used.clear()
            return [*build(meanings), *runs_text(meanings.used if meanings else ())]

        return blocks

    def accuracies(number: str) -> Callable[[], list[Block]]:
        names = [n for n in _ACCURACIES if n == number or n.startswith(f"{number}, ")]
        return of_runs(lambda own: [b for name in names for b in _accuracies(own, name)])

    return [
        section("Table 1", "what systematicity trains and tests on", _BUILD, lambda: _one(lake)),
        section("Table 2", "what productivity trains and tests on", _BUILD, lambda: _two(lake)),
        section("Section 3.4", "sizes", _BUILD, lambda: _sizes(lake)),
        section("Table 3", "polarity, examples", _BUILD, lambda: _polarities(lake, ("fol",))),
        section("Table 4", "accuracy by quantifier", _TRAIN, accuracies("table 4")),
        section("Table 5", "accuracy by modifier", _TRAIN, accuracies("table 5")),
        section("Figure 2", "learning curves", _TRAIN, of_runs(_learning)),
        section("Table 6", "entailment by provers", _TRAIN, of_runs(_entailment)),
        section("Table 7", "typical errors", _TRAIN, lambda: _errors(lake, made())),
        section("Table 8", "polarity of FOL", _TRAIN, of_runs(_polarity_f)),
        section("Table 9", "productivity", _TRAIN, accuracies("table 9")),
        section("Table 10", "embedded quantifiers", _TRAIN, accuracies("table 10")),
        section("Table 11", "accuracy by number of parameters", _TRAIN, of_runs(_of_size)),
        section("Table 12", "grammar and composition", _BUILD, lambda: _grammar(lake)),
        section(
            "Table 13", "FOL and VF with polarity", _BUILD, lambda: _polarities(lake, ("fol", "vf"))
        ),
        section(
            "Table 14", "accuracy by modifier, other primitives", _TRAIN, accuracies("table 14")
        ),
        section("Table 15", "polarity of FOL and VF", _TRAIN, of_runs(_polarity_all)),
        section("Table 16", "quantifiers and negation", _TRAIN, accuracies("table 16")),
        section("Table 17", "quantifiers and negation by modifier", _TRAIN, accuracies("table 17")),
        section("Table 18", "clauses of a wrong DRS", _TRAIN, lambda: _clauses(lake, made())),
        section("", "models trained here", _TRAIN, lambda: _mine(made())),
    ]


def _one(lake: Lake) -> list[Block]:
    edition = lake.edition("sygns")
    data = sygns.pattern_table(lake.root, edition)
    return [Table(f"Patterns with the primitive one, edition {edition}", data)]


def _two(lake: Lake) -> list[Block]:
    edition = lake.edition("sygns")
    data = sygns.embedding_table(lake.root, edition)
    text = "NON: without embedded clause; PER: peripheral; CEN: centre-embedded."
    return [Table(f"Patterns of embedding, edition {edition}", data), Text(text)]


def _sizes(lake: Lake) -> list[Block]:
    edition = lake.edition("sygns", "sygns_splits")
    data = sygns.split_sizes(lake.root, edition)
    counts = {
        (row["scheme"], row["primitive"], row["part"]): row["sentences"] for row in data.to_pylist()
    }
    own = {part: counts.get(("systematicity", "one", part), 0) for part in ("train", "val", "test")}
    ours: Ours = {}
    # The release is a sample of fifty, the demo as small as asked: no sizes to compare.
    whole = edition not in ("published", "demo")
    if whole and sum(own.values()):
        ours["systematicity", "sentences"] = float(sum(own.values()))
        ours["systematicity, train", "sentences"] = float(own["train"] + own["val"])
        ours["systematicity, test", "sentences"] = float(own["test"])
    by_depth = _by_depth(lake, edition)
    deeper = [number for depth, number in by_depth.items() if depth > 0]
    if whole and deeper:
        ours["productivity, each depth", "sentences"] = float(min(deeper))
    depths = pa.table({"depth": list(by_depth), "sentences": list(by_depth.values())})
    return [
        *comparison(
            "sygns",
            "section 3.4",
            ours,
            caption="Sizes, training with its validation part",
            edition=edition,
            command=_BUILD,
        ),
        Table("Sentences of productivity by depth", depths),
        Table("Sentences by scheme, primitive and part", data),
    ]


def _by_depth(lake: Lake, edition: str) -> dict[int, int]:
    """Sentences of the scheme productivity by depth."""
    where = [("edition", "=", edition), ("scheme", "=", "productivity")]
    ids = arrow.read(lake.root, "sygns_splits", where=where, columns=["sentence_id"])
    of = sygns.classes(lake.root, edition)
    known = pc.is_in(of.column("sentence_id"), value_set=ids.column(0).combine_chunks())
    counted = of.filter(known).group_by("depth").aggregate([([], "count_all")]).sort_by("depth")
    return {row["depth"]: row["count_all"] for row in counted.to_pylist()}


def _polarities(lake: Lake, forms: Sequence[str]) -> list[Block]:
    """Sentences of depth 0 with one quantifier each, one of each class, one of them negated."""
    edition = lake.edition("sygns")
    names = ["sentence_id", "sentence", "phenomena", "fol", "vf", "polarity_fol", "polarity_vf"]
    where = [("edition", "=", edition), ("depth", "=", 0)]
    rows = arrow.read(lake.root, "sygns", where=where, columns=names).to_pylist()
    found = []
    for wanted, negated in (("EXI", False), ("UNI", False), ("UNI", True)):
        own = [
            row
            for row in rows
            if quantifier_class(row["sentence"]) == wanted
            and ("negation" in row["phenomena"]) == negated
        ]
        found += [
            {"sentence": row["sentence"]}
            | {form.upper(): _marked(row[form], row[f"polarity_{form}"]) for form in forms}
            for row in drawn(own, lake.seed, lambda row: row["sentence_id"])[:1]
        ]
    if not found:
        raise UserError(f"edition={edition}: no sentences of depth 0 with a quantifier")
    caption = f"Content words that stand upward (↑) or downward (↓), edition {edition}"
    return [Table(caption, pa.Table.from_pylist(found))]


def _marked(formula: str, directions: Sequence[Mapping[str, str]]) -> str:
    """The formula with an arrow after each of the words, which are in its order."""
    left = list(directions)

    def arrow_after(word: re.Match[str]) -> str:
        if left and left[0]["word"].lower() == word[0].lower():
            return word[0] + _ARROWS[left.pop(0)["direction"]]
        return word[0]

    return re.sub(r"[A-Za-z]+", arrow_after, formula)


def _command(scheme: str, primitive: str, rest: str) -> str:
    return f"{_TRAIN} task.scheme={scheme} task.primitive={primitive} {rest}"


def _accuracies(made: Meanings | None, name: str) -> list[Block]:
    """A printed table of exact matches (and clause matching) by form and architecture."""
    scheme, primitive, by = _ACCURACIES[name]
    printed = published.table("sygns", name)
    rows = list(dict.fromkeys(row for row, _ in printed))
    ours: Ours = {}
    for column in dict.fromkeys(column for _, column in printed):
        model, _, form = column.partition(" ")
        if made is None:
            break
        runs = made.group(scheme, primitive, _FORMS[form], _MODELS[model])
        if not runs:
            continue
        if form.endswith("(cnt)"):
            values = {row.removeprefix("depth "): row for row in rows}
            for value, own in made.clauses(runs, by, values).items():
                ours[values[value], column] = own
            continue
        for row in rows:
            valid = row == "valid"
            value = "" if valid else row.removeprefix("depth ")
            share = made.accuracy(runs, "" if valid else by, value, "val" if valid else "test")
            if share is not None:
                ours[row, column] = share
    of = f", primitive {primitive.replace(',', ', ')}" if primitive else ""
    return comparison(
        "sygns",
        name,
        ours,
        caption=f"Accuracy by {by}{of}",
        edition=made.edition if made else "",
        command=_command(scheme, primitive, _ALL),
    )


def _entailment(made: Meanings | None) -> list[Block]:
    command = _command("systematicity", "one", _BOTH)
    ours: Ours = {}
    reason = ""
    for model, architecture in _MODELS.items():
        runs = made.group("systematicity", "one", "fol", architecture) if made else []
        if made is None or not runs:
            continue
        if made.prover == "none":
            command = "python -m analysis.report lake=LAKE prover=eprover cache=proofs.db"
            reason = "There are runs; provers are asked on request, since they take minutes."
            continue
        for row, shares in made.entailment(runs).items():
            for kind, share in zip(("G⇒P", "P⇒G", "G⇔P"), shares, strict=True):
                ours[row, f"{model} {kind}"] = share
    return comparison(
        "sygns",
        "table 6",
        ours,
        caption="Entailment between gold (G) and predicted (P) formulas, primitive one",
        edition=made.edition if made else "",
        command=command,
        reason=reason,
    )


_DIRECTIONS: tuple[Direction, ...] = ("up", "down")


def _polarity_f(made: Meanings | None) -> list[Block]:
    ours: Ours = {}
    for model, architecture in _MODELS.items():
        runs = made.group("systematicity", "one", "fol", architecture) if made else []
        for direction in _DIRECTIONS if made and runs else ():
            assert made is not None
            for row, (_, _, f) in made.polarity(runs, "fol", direction).items():
                ours[row, f"{model} {direction}"] = f
    return comparison(
        "sygns",
        "table 8",
        ours,
        caption="F of polarity, FOL, primitive one",
        edition=made.edition if made else "",
        command=_command("systematicity", "one", _BOTH),
    )


def _polarity_all(made: Meanings | None) -> list[Block]:
    blocks: list[Block] = []
    for name, form in (("table 15, FOL", "fol"), ("table 15, VF", "vf")):
        ours: Ours = {}
        for model, architecture in _MODELS.items():
            runs = made.group("systematicity", "one", form, architecture) if made else []
            if made is None or not runs:
                continue
            for row in ("EXI", "NUM", "UNI"):
                share = made.accuracy(runs, "quantifier", row)
                if share is not None:
                    ours[row, f"{model} exact"] = share
            for direction in _DIRECTIONS:
                for row, scores in made.polarity(runs, form, direction).items():
                    for kind, score in zip("PRF", scores, strict=True):
                        ours[row, f"{model} {direction} {kind}"] = score
        blocks += comparison(
            "sygns",
            name,
            ours,
            caption=f"Polarity of {form.upper()}, primitive one",
            edition=made.edition if made else "",
            command=_command("systematicity", "one", f"task.form={form} {_BOTH}"),
        )
    return blocks


def _of_size(made: Meanings | None) -> list[Block]:
    ours: Ours = {}
    for row, column in published.table("sygns", "table 11"):
        model, _, size = column.partition(" ")
        runs = made.group("systematicity", "one", "fol", _MODELS[model], size) if made else []
        if made is not None and runs:
            valid = row == "valid"
            by, value = ("", "") if valid else ("quantifier", row)
            share = made.accuracy(runs, by, value, "val" if valid else "test")
            if share is not None:
                ours[row, column] = share
    return comparison(
        "sygns",
        "table 11",
        ours,
        caption="Accuracy by number of parameters, FOL, primitive one",
        edition=made.edition if made else "",
        command="python training/finetune.py conf/training/sygns_sizes.yaml lake=LAKE",
    )


def _learning(made: Meanings | None) -> list[Block]:
    command = "python training/finetune.py conf/training/sygns_curve.yaml lake=LAKE"
    points: dict[str, list[dict[str, Any]]] = {"quantifier": [], "modifier": []}
    sizes = sorted({run.params.get("train_size", "[]") for run in made.runs}) if made else []
    for model, architecture in _MODELS.items():
        for size in sizes:
            assert made is not None
            runs = made.group("systematicity", "one", "fol", architecture, train_size=size)
            if not runs:
                continue
            sentences = int(runs[0].params.get("train_examples", "0"))
            for by, values in (
                ("quantifier", ("EXI", "NUM", "UNI")),
                ("modifier", ("ADJ", "ADV", "CON")),
            ):
                for value in values:
                    own = made.accuracy(runs, by, value)
                    if own is None:
                        continue
                    points[by].append(
                        {
                            "model": model,
                            "test": value,
                            "sentences": sentences,
                            "accuracy": own.estimate,
                            "low": own.low,
                            "high": own.high,
                        }
                    )
    if len({point["sentences"] for point in points["quantifier"]}) < 2:
        return [NotRun("Learning curves on FOL, primitive one", command)]
    blocks: list[Block] = []
    for by, own_points in points.items():
        if not own_points:
            continue
        figure, data = sygns.learning_curves(pa.Table.from_pylist(own_points))
        blocks.append(FigureBlock(f"Accuracy over training sentences, by {by}", figure, data))
    return blocks


def _newest(made: Meanings, scheme: str, primitive: str, form: str) -> dict[str, Run]:
    """The newest run of each architecture, of whatever size and length."""
    found: dict[str, Run] = {}
    for run in made.runs:
        same = (
            run.params.get("task.scheme") == scheme
            and run.params.get("task.form") == form
            and (not primitive or run.params.get("task.primitive") == primitive)
        )
        if same:
            found.setdefault(run.params.get("seq2seq.architecture", ""), run)
    return {name: found[own] for name, own in _MODELS.items() if own in found}


def _wrong(
    lake: Lake, made: Meanings, runs: Mapping[str, Run], by: str, values: Sequence[str]
) -> tuple[str, str, dict[str, str]] | None:
    """(id, gold, answers by model) of a drawn test sentence that as many models as possible have
    wrong."""
    wrong: dict[str, dict[str, str]] = {}
    gold: dict[str, str] = {}
    for model, run in runs.items():
        rows = made.rows(run)
        kept = rows.filter(
            (pc.field("part") == "test")
            & pc.field(by).cast(pa.string()).isin(list(values))
            & ~pc.field("exact")
        )
        for row in kept.select(["item_id", "gold", "text"]).to_pylist():
            wrong.setdefault(row["item_id"], {})[model] = row["text"] or ""
            gold[row["item_id"]] = row["gold"]
    if not wrong:
        return None
    most = max(map(len, wrong.values()))
    (chosen, *_) = drawn([i for i, own in wrong.items() if len(own) == most], lake.seed, str)
    return chosen, gold[chosen], wrong[chosen]


def _sentence(lake: Lake, made: Meanings, sentence_id: str) -> str:
    where = [("edition", "=", made.edition), ("sentence_id", "=", sentence_id)]
    found = arrow.read(lake.root, "sygns", where=where, columns=["sentence"])
    return str(found.column("sentence")[0])


def _directed(formula: str) -> str:
    try:
        own = polarity.polarities("fol", formula)
    except ParseError:
        return formula
    return _marked(formula, [{"word": word, "direction": direction} for word, direction in own])


def _errors(lake: Lake, made: Meanings | None) -> list[Block]:
    command = _command("systematicity", "one", _BOTH)
    runs = _newest(made, "systematicity", "one", "fol") if made else {}
    found = _wrong(lake, made, runs, "quantifier", ("UNI",)) if made and runs else None
    if made is None or found is None:
        return [NotRun("A universal sentence that models have wrong, FOL", command)]
    chosen, gold, answers = found
    rows = [("Input", _sentence(lake, made, chosen)), ("Gold", _directed(gold))]
    rows += [(f"{model} ({runs[model].id})", _directed(text)) for model, text in answers.items()]
    data = pa.table({"": [a for a, _ in rows], "formula": [b for _, b in rows]})
    caption = "A universal sentence that models have wrong, drawn"
    return [Table(caption, data), *runs_text(runs.values())]


def _clauses(lake: Lake, made: Meanings | None) -> list[Block]:
    blocks = comparison(
        "sygns", "table 18", {}, caption="F over matching clauses of the paper's sentence"
    )
    blocks.append(Text("That F is of the paper's own models; what follows is of ours."))
    command = f"{_TRAIN} task.scheme=productivity task.primitive= task.form=drs {_BOTH}"
    runs = _newest(made, "productivity", "", "drs") if made else {}
    found = _wrong(lake, made, runs, "depth", ("2",)) if made and runs else None
    if made is None or found is None:
        return [*blocks, NotRun("The DRS of a sentence of depth 2 that models have wrong", command)]
    chosen, gold, answers = found
    columns = {"gold": gold.replace(" [SEP] ", "\n")}
    for model, text in answers.items():
        own = drs_matching.match(gold, text)
        columns[f"{model}, F {own.f:.2f}"] = text.replace(" [SEP] ", "\n")
    data = pa.table({name: [text] for name, text in columns.items()})
    ours = Table(f"Ours: {_sentence(lake, made, chosen)}", data)
    return [*blocks, ours, *runs_text(runs.values())]


def _grammar(lake: Lake) -> list[Block]:
    try:
        edition = lake.edition("sygns")
    except UserError:
        edition = "clean"
    text = (files("conf") / "sygns" / "grammar.yaml").read_text(encoding="utf-8")
    kind = "paper" if edition in ("paper", "published") else "clean"
    rows = [
        {
            "rule": rule["rule"],
            "FOL": rule.get("fol", ""),
            "VF": rule.get("vf", ""),
            "phenomena": ", ".join(rule.get("tags", ())),
        }
        for rule in yaml.safe_load(text)["rules"]
        if rule.get("only") in (None, kind)
    ]
    told = "A rule without composition passes its only child on; the words are in conf/sygns."
    caption = f"Rules of the {kind} grammar"
    return [Table(caption, pa.Table.from_pylist(rows)), Text(told)]


def _mine(made: Meanings | None) -> list[Block]:
    if made is None or not made.runs:
        return [NotRun("Models trained here", _TRAIN)]
    rows = []
    for members in groups(made.runs):
        first = members[0].params
        scheme = first.get("task.scheme", "")
        by = "depth" if scheme in ("productivity", "embedded_quantifiers") else "quantifier"
        values = ("1", "2", "3", "4") if by == "depth" else ("EXI", "NUM", "UNI")
        scores = []
        for value in values:
            own = made.accuracy(members, by, value)
            if own is not None:
                scores.append(f"{'depth ' if by == 'depth' else ''}{value}: {percent(own)}")
        valid = made.accuracy(members, "", "", "val")
        rows.append(
            {
                "test": f"{scheme}\n{first.get('task.primitive', '')}".strip(),
                "form": first.get("task.form", "").upper(),
                "model": f"{first.get('seq2seq.architecture')} {first.get('seq2seq.size')}",
                "epochs": first.get("epochs"),
                "training sentences": first.get("train_examples"),
                "runs": len(members),
                "valid (%)": "–" if valid is None else percent(valid),
                "test, exact match (%)": "\n".join(scores),
                "newest run": members[0].id,
            }
        )
    text = (
        f"Runs of {EPOCHS} epochs at most and 10M parameters stand in the papers' tables above; "
        "runs of another length or size are listed here alone."
    )
    return [Table("Every group of runs, newest first", pa.Table.from_pylist(rows)), Text(text)]
