"""The release of ASP, laid out as a clone of its repository.

Files are tab-separated under a header and named ``.csv``. A user names the repository's root or its
``data/``:

- ``data/EntailmentInference/TEST.csv`` and ``data/DegreeEstimation/TEST.csv``: edition
  ``published``;
- ``data/ASP_fine-tuning/{train,validation}/leave_*.csv`` and ``test/{ei,DIMENSION}/TEST.csv``:
  edition ``published_tuning`` with its splits;
- ``data/ASP_fine-tuning/wider/DIMENSION/TEST.csv``, sixty numbers per premise: edition
  ``published_wider``;
- ``human/pkl/TEST_pos.pkl`` and ``TEST_neg.pkl``, arrays of NumPy, or
  ``human/human_scale_curves.tsv``: the table asp_human, source ``published``.

Sentences stay unchanged, even without full stops (docs/asp.md). The folder ``ASP_fine-tuning`` may
also be named ``fine_tuning``.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from adnominal.conf import UserError
from adnominal.conf.delimited import SURPLUS, Row, read_rows
from adnominal.etl.asp import (
    CONTRADICTION,
    DISCARD,
    ENTAILMENT,
    NEUTRAL,
    NOT_ENTAILMENT,
    TESTS,
    labels,
)
from adnominal.etl.asp.gold import HUMAN, POLARITIES, Gold, published_gold
from adnominal.etl.asp.judgements import human_rows
from adnominal.etl.asp.lexicon import DIMENSIONS, Lexicon, load_lexicon
from adnominal.etl.asp.templates import item_id, parse
from adnominal.etl.lake.tables import table
from adnominal.etl.published.curves import shares_of_pickle, shares_of_rows
from adnominal.etl.published.reading import EDITION, Reading, relative

TUNING = "published_tuning"
WIDER = "published_wider"
_TASKS = ("EntailmentInference", "DegreeEstimation")
_TUNING_FOLDERS = ("ASP_fine-tuning", "fine_tuning")
_PARTS = {"train": "train", "validation": "val"}
_PAIR = ("premise", "hypothesis")
_TRAINING = ("sentence1", "sentence2", "gold_label")
# Rows of one premise and adjective: z from 60 to 138 by 2, and from 40 to 158.
_NUMBERS, _WIDER_NUMBERS = 40, 60
_UNITS = {"m": "length", "cm": "length", "g": "mass", "kg": "mass", "°C": "temperature"}
_FIGURE = r"-?\d+(?:\.\d+)?"
_QUANTITY = rf"(?:\$(?P<price>{_FIGURE})|(?P<size>{_FIGURE}) ?(?P<unit>cm|m|kg|g|°[cC]))"
_HYPOTHESIS = re.compile(rf"A {_QUANTITY} (?P<noun>.+?) is (?P<rest>.+?)\.?")
_NUMBER = re.compile(rf"\$?({_FIGURE})")
_PREMISE = re.compile(rf"A {_QUANTITY} (?P<noun>.+?) is .+")
_MODIFIERS = {"booster": "very ", "diminisher": "relatively ", "negation": "not "}
_LOG_REASON = "answers of the experiment; their shares are read from human/pkl"
# The curves of people's answers by the names that the release gives them.
_CURVES = {(test, end): f"{test}_{end[:3]}" for test in HUMAN for end in POLARITIES}


@dataclass(frozen=True)
class Folders:
    """The folders of the parts of a release; none, or None, for a part that it lacks."""

    root: Path
    tasks: Mapping[str, Path]
    tuning: Path | None
    human: Path | None

    @classmethod
    def of(cls, path: Path) -> Folders:
        """The folders of a clone of the repository, from its root or its ``data/``."""
        data = path / "data" if (path / "data").is_dir() else path
        root = path.parent if path.name == "data" and (path.parent / "human").is_dir() else path
        return cls(
            root,
            {name: data / name for name in _TASKS if (data / name).is_dir()},
            next((data / name for name in _TUNING_FOLDERS if (data / name).is_dir()), None),
            root / "human" if (root / "human").is_dir() else None,
        )


@dataclass
class _Rows:
    """The rows of the three tables read so far, and the label of each row of each edition.

    `trained` counts the rows of tests that the rule discards, but whose label is that of training.
    """

    tables: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {"asp_entailment": [], "asp_degree": [], "asp_splits": []}
    )
    labels: dict[tuple[str, str], str] = field(default_factory=dict)
    trained: int = 0

    def add(self, row: dict[str, Any], split: tuple[str, str, str] | None = None) -> None:
        """Add a row, once to its table however many files have it, and its split for every file."""
        key = (row["edition"], row["item_id"])
        if key not in self.labels:
            self.labels[key] = row["label"]
            self.tables["asp_degree" if "alpha" in row else "asp_entailment"].append(row)
        if row["label"] == DISCARD != self.labels[key]:
            self.trained += 1
        elif split is not None:
            names = dict(zip(("scheme", "round", "part"), split, strict=True))
            ids = {"item_id": row["item_id"], "edition": row["edition"]}
            self.tables["asp_splits"].append(names | ids)


def read(path: Path) -> Reading:
    """The rows of a release, in the tables of ASP.

    Rows that do not match the templates of their test are dropped by reason. Degree files without
    labels get those of the human curves if the release has them, else those of the published
    thresholds; the tests dimension and argument get the labels of their rules.

    Raises:
        UserError: no such folder, nothing of the layout in it, a file without its columns, or a
            pickle that does not contain numbers.
    """
    folders = Folders.of(path)
    if folders.tuning is None and not folders.tasks:
        raise UserError(
            f"asp={path}: no folder {', '.join(_TASKS)} or {_TUNING_FOLDERS[0]} in it or in its "
            "data/; expected a clone of the release's repository"
        )
    words, reading, rows = load_lexicon(), Reading(), _Rows()
    reader = _Files(folders.root, reading)
    human = _human(folders.human, reader)
    gold = published_gold()
    if human:
        reading.tables["asp_human"] = pa.Table.from_pylist(human, table("asp_human").schema)
        gold = Gold("sigmoid", {(r["test"], r["polarity"]): r["threshold"] for r in human})
    training_adjectives = _training_adjectives(folders.tuning)
    for task, folder in folders.tasks.items():
        for test in TESTS:
            file = folder / f"{test}.csv"
            if task == _TASKS[0]:
                for row in reader.entailment(file, test, words, EDITION):
                    rows.add(row, ("adjectives", "published", _part(row, training_adjectives)))
            else:
                for row in reader.degree(file, test, gold, EDITION):
                    rows.add(row)
    if folders.tuning is not None:
        _tuning(folders.tuning, words, gold, training_adjectives, reader, rows)
    _notes(folders, reader, has_curves=bool(human))
    if rows.trained:
        reading.notes.append(
            f"{rows.trained} test rows that their rule discards are training rows as well, and in "
            "no test"
        )
    reading.pass_over_others(folders.root, reader.files)
    for name, table_rows in rows.tables.items():
        if table_rows:
            reading.tables[name] = pa.Table.from_pylist(table_rows, table(name).schema)
    return reading


def _tuning(
    folder: Path,
    words: Lexicon,
    gold: Gold,
    training_adjectives: set[str],
    reader: _Files,
    rows: _Rows,
) -> None:
    """Add the rows of the fine-tuning experiments: training, validation, tests and wider range.

    ``ei`` is entailment inference, whose split holds out adjectives; the others are degree
    estimation, each with one dimension held out.
    """
    for name, part in _PARTS.items():
        for file in sorted((folder / name).glob("leave_*.csv")):
            held_out = file.stem.removeprefix("leave_")
            split = ("adjectives", "published") if held_out == "ei" else ("dimension", held_out)
            for row in reader.training(file, words, gold):
                rows.add(row, (*split, part))
    for test in TESTS:
        for row in reader.entailment(folder / "test" / "ei" / f"{test}.csv", test, words, TUNING):
            rows.add(row, ("adjectives", "published", _part(row, training_adjectives)))
        for number, dimension in enumerate(DIMENSIONS):
            for name, edition in (("test", TUNING), ("wider", WIDER)):
                file = folder / name / dimension / f"{test}.csv"
                for row in reader.degree(file, test, gold, edition, number):
                    rows.add(row, ("dimension", dimension, "test"))


def _part(row: Mapping[str, Any], training_adjectives: set[str]) -> str:
    """``leaking`` if an adjective of the row occurs in the training rows, else ``test``.

    Half of the adjectives that the release tests are in its training rows.
    """
    adjectives = {row["adjective"], row["other_adjective"] or row["adjective"]}
    return "test" if adjectives.isdisjoint(training_adjectives) else "leaking"


def _notes(folders: Folders, reader: _Files, *, has_curves: bool) -> None:
    """A line for each part of the layout that the folder lacks."""
    missing_folders = [f"{name}/" for name in _TASKS if name not in folders.tasks]
    if folders.tuning is None:
        missing_folders.append(f"{_TUNING_FOLDERS[0]}/ (no training rows)")
    else:
        names = ["train (no training rows)", "validation", "test", "wider"]
        missing_folders += [
            f"{folders.tuning.name}/{name}"
            for name in names
            if not (folders.tuning / name.split()[0]).is_dir()
        ]
    if not has_curves:
        missing_folders.append("human/ (labels by the published thresholds)")
    missing_folders += sorted(reader.absent)
    if missing_folders:
        reader.reading.notes.append(f"not in this folder: {', '.join(missing_folders)}")


def _training_adjectives(tuning: Path | None) -> set[str]:
    """The adjectives of the release's training rows of entailment inference."""
    adjectives = set()
    file = tuning / "train" / "leave_ei.csv" if tuning else None
    if file is not None and file.exists():
        for row in _lines(file, _TRAINING):
            for text in (row.fields["sentence1"], row.fields["sentence2"]):
                adjectives.add(text.rstrip(".").partition(" is ")[2])
    return adjectives


def _lines(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """The rows of a file, with fields without white space around them."""
    for row in read_rows(path, str(path), columns, tabs=True):
        fields = {name: text.strip() for name, text in row.fields.items()}
        yield row._replace(fields=fields)


@dataclass
class _Files:
    """Reads the files of a release and accounts for their rows."""

    root: Path
    reading: Reading
    files: dict[Path, str] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)

    def lines(self, path: Path, columns: Sequence[str]) -> Iterator[Row]:
        """The rows of a file; a missing file is noted if its folder exists."""
        if not path.exists():
            if path.parent.is_dir():
                self.absent.add(relative(path, self.root))
            return
        self.reading.rows_of(self.name(path))
        yield from _lines(path, columns)

    def name(self, path: Path) -> str:
        """The path of a file that is read, within the release."""
        if path not in self.files:
            self.files[path] = relative(path, self.root)
        return self.files[path]

    def take(self, path: Path, rows: int = 1) -> None:
        """Count rows that were read."""
        self.reading.rows_of(self.name(path)).read += rows

    def entailment(
        self, path: Path, test: str, words: Lexicon, edition: str
    ) -> Iterator[dict[str, Any]]:
        """The rows of a test of entailment inference."""

        def parse(_: int, texts: tuple[str, str], row: Mapping[str, str]) -> dict[str, Any]:
            if row["label"] not in (ENTAILMENT, NOT_ENTAILMENT):
                raise ValueError(f"label {row['label']!r}" if row["label"] else "no label")
            return _entailment_row(test, texts, row["label"], words)

        return self.parsed_pair(path, (*_PAIR, "label"), "asp_entailment", edition, parse)

    def degree(
        self, path: Path, test: str, gold: Gold, edition: str, dimension: int = 0
    ) -> Iterator[dict[str, Any]]:
        """The rows of a test of degree estimation; each dimension has its own group numbers."""
        size = _WIDER_NUMBERS if edition == WIDER else _NUMBERS

        def parse(number: int, texts: tuple[str, str], row: Mapping[str, str]) -> dict[str, Any]:
            group = 1000 * dimension + number // size
            return {**_degree_row(test, texts, row.get("label"), gold), "group": group}

        return self.parsed_pair(path, _PAIR, "asp_degree", edition, parse)

    def training(self, path: Path, words: Lexicon, gold: Gold) -> Iterator[dict[str, Any]]:
        """The rows of a training or validation file."""
        name = "asp_entailment" if path.stem == "leave_ei" else "asp_degree"

        def parse(_: int, texts: tuple[str, str], row: Mapping[str, str]) -> dict[str, Any]:
            return _tuning_row(name, texts, row["gold_label"], words, gold)

        return self.parsed_pair(path, _TRAINING, name, TUNING, parse)

    def parsed_pair(
        self,
        path: Path,
        columns: Sequence[str],
        name: str,
        edition: str,
        parse: Callable[[int, tuple[str, str], Mapping[str, str]], dict[str, Any]],
    ) -> Iterator[dict[str, Any]]:
        """The rows of a file for the table `name`, with their ids.

        The first two columns are the texts. `parse` gets the number of a row, its texts and its
        fields; a row for which it raises a `ValueError` is dropped with the message as its reason.
        """
        occurrences: Counter[tuple[str, str]] = Counter()
        for number, (line, row, is_surplus) in enumerate(self.lines(path, columns)):
            texts = (row[columns[0]], row[columns[1]])
            try:
                if is_surplus:
                    raise ValueError(SURPLUS)
                parsed_row = parse(number, texts, row)
            except ValueError as error:
                file = self.name(path)
                self.reading.drop(name, str(error), f"{file}:{line} {' '.join(texts)}", file)
            else:
                self.take(path)
                identifier = item_id(
                    parsed_row["test"],
                    parsed_row["premise"],
                    parsed_row["hypothesis"],
                    occurrences[texts],
                )
                yield {**parsed_row, "item_id": identifier, "edition": edition}
            occurrences[texts] += 1


def _human(folder: Path | None, reader: _Files) -> list[dict[str, Any]]:
    """Rows of asp_human: shares of yes at 0, 1, … on the scale whose premises are 80 and 120."""
    if folder is None:
        return []
    curves: dict[tuple[str, str], dict[float, float]] = {}
    curve_file = folder / "human_scale_curves.tsv"
    rows = reader.lines(curve_file, ("scale_value",)) if curve_file.exists() else iter(())
    for z, shares_at in shares_of_rows(rows, list(_CURVES.values()), curve_file):
        reader.take(curve_file)
        for key, name in _CURVES.items():
            if name in shares_at:
                curves.setdefault(key, {})[z] = shares_at[name]
    for key, name in _CURVES.items():
        file = folder / "pkl" / f"{name}.pkl"
        if file.exists() and key not in curves:
            shares = shares_of_pickle(file)
            curves[key] = {float(z): share for z, share in enumerate(shares)}
            reader.take(file, len(shares))
    for name in ("cloze.csv", "result.csv"):
        if (folder / name).exists():
            reader.reading.pass_over(folder / name, reader.root, _LOG_REASON)
    missing = [name for key, name in _CURVES.items() if key not in curves]
    if curves and missing:
        raise UserError(f"{folder}: no curve of {', '.join(missing)}; expected all twelve")
    return human_rows(curves, {}, "published")


def _entailment_row(
    test: str, texts: tuple[str, str], label: str, words: Lexicon
) -> dict[str, Any]:
    """A row of entailment inference, with the words that its sentences are made of."""
    pair = parse(test, *texts, words)
    has_modifier = test in ("booster", "diminisher")
    return {
        "test": test,
        "premise": texts[0],
        "hypothesis": texts[1],
        "label": label,
        "label3": labels.label3(test, label),
        "adjective": pair.adjective,
        "other_adjective": pair.other_adjective,
        "noun": pair.noun,
        "other_noun": pair.other_noun,
        "modifier": (pair.premise_mark or pair.hypothesis_mark) if has_modifier else None,
        "adjective_type": words.standards.get(pair.adjective),
    }


def _degree_row(test: str, texts: tuple[str, str], label: str | None, gold: Gold) -> dict[str, Any]:
    """A row of degree estimation, with adjective, unit and numbers read from its sentences.

    Rows without a label get that of the human judgements, or the rule's. `ValueError` if the
    sentences have another form.
    """
    premise, hypothesis = texts
    question = _HYPOTHESIS.fullmatch(hypothesis)
    numbers = [float(figure) for figure in _NUMBER.findall(premise)]
    sentences = premise.rstrip(".").split(". ")
    if question is None or len(numbers) != 2 or len(sentences) != 2:
        raise ValueError("not of the form of degree estimation")
    adjective = question["rest"].removeprefix(_MODIFIERS.get(test, ""))
    alpha = float(question["price"] or question["size"])
    unit = "$" if question["price"] else question["unit"].replace("°c", "°C")
    # Superlative has superlative forms: the adjective of the hypothesis is matched by its letters.
    polarity, opposite = _polarity(test, adjective, sentences)
    larger, smaller = numbers
    if larger == smaller:
        raise ValueError("the premise has one number twice")
    if test == "superlative":
        # The premise has the ends of the range, z = 138 and 60 (in the wider range as well): 39
        # steps of 2. The other tests have 120 and 80, 30 and 10 steps above the lower end.
        step = (larger - smaller) / 39
        larger, smaller = smaller + 30 * step, smaller + 10 * step
    z = round(80 + 40 * (alpha - smaller) / (larger - smaller), 6)
    if not all(map(math.isfinite, (alpha, larger, smaller, z))):
        raise ValueError("a number that is too large")
    is_judged = (test, polarity) in gold.thresholds
    if not label and is_judged:
        label = labels.name(gold.entails(test, polarity, z))
    elif not label:
        number_of_polarity = larger if polarity == "positive" else smaller
        # The number of the premise itself: the test does not ask whether it carries over.
        label = DISCARD if alpha == number_of_polarity else NOT_ENTAILMENT
    elif label not in (ENTAILMENT, NOT_ENTAILMENT, DISCARD):
        raise ValueError(f"label {label!r}")
    noun = _PREMISE.fullmatch(sentences[0])
    premise_noun = noun["noun"] if noun else question["noun"]
    return {
        "test": test,
        "variant": "base",
        "dimension": "price" if unit == "$" else _UNITS[unit],
        "unit": unit,
        "adjective": adjective,
        "other_adjective": opposite,
        "noun": premise_noun,
        "other_noun": question["noun"] if question["noun"] != premise_noun else None,
        "polarity": polarity,
        "positive_value": larger,
        "negative_value": smaller,
        "alpha": alpha,
        "z": z,
        "premise": premise,
        "hypothesis": hypothesis,
        "label": label,
        "label3": labels.label3(test, label),
        "gold": gold.kind if is_judged else "rule",
        "extrapolated": is_judged and gold.is_extrapolated(test, polarity, z),
    }


def _polarity(test: str, adjective: str, sentences: list[str]) -> tuple[str, str | None]:
    """The sentence of the premise that has the adjective, and the adjective of the other one."""
    if test == "superlative":
        # Tallest, heaviest, hottest, most expensive: the stem is the start of the form.
        stems = [s.split(" in the world")[0].removeprefix("The ") for s in sentences]
        start = adjective[:-1] if adjective.endswith("y") else adjective
        matches = [stem.removeprefix("most ").startswith(start) for stem in stems]
        other = None
    else:
        adjectives = [re.split(r" (?:is|are) ", sentence)[-1] for sentence in sentences]
        matches = [name == adjective for name in adjectives]
        other = adjectives[0] if matches[1] else adjectives[1]
    if sum(matches) != 1:
        raise ValueError("adjective is not of one sentence of the premise")
    return ("positive" if matches[0] else "negative"), other


def _tuning_row(
    name: str,
    texts: tuple[str, str],
    label: str,
    words: Lexicon,
    gold: Gold,
) -> dict[str, Any]:
    """A row of the fine-tuning files, which do not name the test: the first that fits."""
    if label not in (ENTAILMENT, CONTRADICTION, NEUTRAL):
        raise ValueError("no label")
    two_way = ENTAILMENT if label == ENTAILMENT else NOT_ENTAILMENT
    # Neutral rows are of dimension or argument; the noun decides which.
    tests = ("dimension", "argument") if label == NEUTRAL else ("ordering",)
    for test in tests:
        try:
            if name == "asp_entailment":
                row = _entailment_row(test, texts, two_way, words)
            else:
                row = _degree_row(test, texts, two_way, gold)
                if (test == "argument") != (row["other_noun"] is not None):
                    raise ValueError("not of the form of degree estimation")
        except ValueError:
            if test == tests[-1]:
                raise
        else:
            return row
    raise ValueError(f"a row of {DISCARD}")
