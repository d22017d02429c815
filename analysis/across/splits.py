"""How much accuracy owes to words shared between training and test: leak-free against published.

ADEPT's published split is random over instances and shares 890 of its 1,002 test nouns with
training; PLANE's shares hypernyms, contrary to the paper's text; most adjectives of ASP's published
entailment rows occur in training. `seen_and_unseen` divides one test set by the words that training
has; `compare_splits` compares one model's accuracies on two splits. The splits have different
items, so their difference is unpaired (`estimates.difference`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import pyarrow as pa

from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.estimates import clustered_interval, difference
from adnominal.analysis.papers.exhibits import Finding, Note, exhibit
from adnominal.analysis.predictions import labelled_predictions
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.analysis.rows import (
    distinct_values,
    is_right,
    lists,
    tuples,
    where_equal,
    with_column,
)
from adnominal.analysis.slices import by_training_word
from adnominal.conf import UserError
from adnominal.etl.checks.split_rows import (
    check_complete,
    declared_tables,
    read_parts,
    with_items,
)
from adnominal.etl.declaration import Dataset
from adnominal.etl.lake import arrow
from adnominal.etl.registry import DATASET_OF, DATASETS, ITEM_TABLES
from adnominal.training.finished_runs import Run, groups

_ADEPT = (
    "python training/finetune.py conf/training/adept.yaml "
    "grid.task.split=[random,noun_disjoint,adjective_disjoint] lake=LAKE"
)
_PLANE = (
    "python training/finetune.py conf/training/plane.yaml task.edition=clean "
    "grid.task.scheme=[published,strict] lake=LAKE"
)
_TABLES = ("predictions", "adept", "plane_items")
_WORDS = ("adjective", "noun", "hypernym")

# The name of a side of a comparison, and its answers.
Side = tuple[str, pa.Table]


def compare_splits(
    caption: str, dataset: str, model: str, leaking: Side, leak_free: Side
) -> Iterator[Cells]:
    """One model's accuracy on the test rows of two splits, and the numbers of these rows.

    Answers have the columns gold, predicted and group: the unit that was drawn as a whole (a noun,
    an adjective, a premise), whose rows are not independent. The rows of several runs are
    concatenated; the answers of several runs to one item belong to one group too.

    The difference is leaking minus leak-free, with its 95 % interval. The majority is included
    because splits differ in their labels too.

    Raises:
        ValueError: a split without answers.
    """
    name = f"{dataset}, {model}: {leaking[0]} less {leak_free[0]}"
    accuracies: CellValues = {}
    sizes: CellValues = {}
    shares = []
    for side, (_, answers) in (("leaking", leaking), ("leak-free", leak_free)):
        gold, groups = lists(answers, "gold", "group")
        share = clustered_interval(is_right(answers), groups)
        shares.append(share)
        accuracies[name, side] = share.estimate
        most_frequent = max(Counter(gold).values())
        accuracies[name, f"majority, {side}"] = most_frequent / len(gold)
        sizes[name, f"rows, {side}"] = float(len(gold))
    accuracies[name, "difference"] = difference(*shares)
    yield Cells(caption, accuracies, unit="percent", model=model)
    yield Cells(caption, sizes, decimals=0, model=model)


def seen_and_unseen(
    dataset: str, model: str, answers: pa.Table, word: str, sides: Sequence[str | None]
) -> Iterator[Cells]:
    """One model's answers to a test set, divided by whether training had seen the row's `word`.

    `sides` has ``seen`` or ``unseen`` for each row (`analysis.slices.by_training_word`). Nothing
    without rows on both sides.
    """
    seen = [place for place, side in enumerate(sides) if side == "seen"]
    unseen = [place for place, side in enumerate(sides) if side == "unseen"]
    if seen and unseen:
        seen_side = (f"seen {word}", answers.take(seen))
        unseen_side = (f"unseen {word}", answers.take(unseen))
        caption = "Accuracy, seen less unseen"
        yield from compare_splits(caption, dataset, model, seen_side, unseen_side)


def trained_words(
    lake: str, name: str, edition: str, scheme: str, fold: str = ""
) -> dict[str, set[str]]:
    """The words of a split's training rows, by the columns of `word_columns`.

    `name` is ``adept`` (scheme: random, noun_disjoint, adjective_disjoint) or ``plane_items``
    (scheme and fold of plane_splits).

    Raises:
        UserError: no training rows, or the lake lacks items of the split.
    """
    tables = declared_tables(DATASET_OF[name], scheme)
    only_fold = None if tables.splits is None else fold
    parts = read_parts(lake, tables, edition, scheme, only_fold)
    if "train" not in distinct_values(parts, "part"):
        where = f"split_{scheme}=train"
        if tables.splits is not None:
            where = f"scheme={scheme} {tables.fold}={fold} part=train"
        raise UserError(
            f"edition={edition} {where}: no rows in the table {tables.splits or name} of {lake}"
        )
    columns_by_role = ITEM_TABLES[name].words
    roles = {role: columns_by_role[role] for role in _WORDS if role in columns_by_role}
    rows = with_items(lake, tables, edition, parts, list(roles.values()))
    check_complete(tables, parts, rows)
    trained = where_equal(rows, "part", "train").select(list(roles.values()))
    columns = word_columns(trained.rename_columns(list(roles)))
    return {column: set(words) for column, words in columns.items()}


def word_columns(items: pa.Table) -> dict[str, list[str]]:
    """The words of items, lower-cased as in `trained_words`."""
    columns = {
        column: [str(word).lower() for word in items.column(column).to_pylist()]
        for column in _WORDS
        if column in items.column_names
    }
    pairs = zip(columns["adjective"], columns["noun"], strict=True)
    return {**columns, "pair": [f"{adjective} {noun}" for adjective, noun in pairs]}


def _answers(rows: pa.Table, group: str) -> pa.Table:
    """The answers as `compare_splits` expects them; `group` is the column with the groups."""
    return rows.select(["gold", "predicted", group]).rename_columns(["gold", "predicted", "group"])


def _leaky_splits() -> Iterator[tuple[Dataset, dict[str, str]]]:
    """The datasets whose published split shares words, with their leak-free schemes by the word
    that each holds out for testing."""
    for dataset in DATASETS.values():
        disjoint = {
            scheme.name: scheme.disjoint for scheme in dataset.splits.schemes if scheme.disjoint
        }
        if disjoint:
            yield dataset, disjoint


@exhibit(
    "", "leak-free splits against published ones", fills=f"{_ADEPT} && {_PLANE}", reads=_TABLES
)
def accuracy_by_split(page: Across) -> Iterator[Finding]:
    """How much of a model's accuracy is lost on a split whose test words are not in training?

    The same model and settings, trained and tested on each split.
    """
    compared: list[Cells] = []
    for dataset, disjoint in _leaky_splits():
        setting, published = f"task.{dataset.splits.setting}", dataset.splits.published
        compared_models: set[str] = set()
        runs = page.fine_tuned(name=dataset.name)
        for members in groups(runs, (setting, "task.fold", "train_examples")):
            by_split: dict[str, list[Run]] = {}
            for run in members:
                by_split.setdefault(run.params.get(setting, ""), []).append(run)
            leak_free = [name for name in disjoint if name in by_split]
            model = members[0].model
            if published not in by_split or not leak_free or model in compared_models:
                continue
            compared_models.add(model)
            leaking = page.answers(dataset, by_split[published])
            for name in leak_free:
                word = disjoint[name]
                sides = [
                    (published, _answers(leaking, word)),
                    (name, _answers(page.answers(dataset, by_split[name]), word)),
                ]
                caption = "Accuracy, published less leak-free"
                compared += compare_splits(caption, dataset.title, model, *sides)
    if not compared:
        raise UserError(
            "no finished fine-tuning runs with the same settings on both a published and a "
            "leak-free split"
        )
    yield Note(
        "Test rows differ, so the difference is unpaired (Newcombe's interval, clustered by noun "
        "or adjective); splits differ in their labels too, so the majority is shown for each."
    )
    yield from compared


@exhibit(
    "",
    "what training had seen of the test rows",
    fills="python training/finetune.py conf/training/adept.yaml lake=LAKE",
    reads=(*_TABLES, "plane_splits", "asp_entailment", "asp_degree", "asp_splits"),
)
def accuracy_by_seen_words(page: Across) -> Iterator[Finding]:
    """Are answers better where training contains the item's word, or both words together?"""
    compared = [*_by_word(page), *_by_adjective(page), *_by_dimension(page)]
    if not compared:
        raise UserError("no finished fine-tuning run on a published split with answers here")
    yield Note(
        "The parts differ in other ways too: words in training tend to be frequent. ASP's "
        "adjectives: the release's test rows whose adjective is in training; its dimensions: "
        "validation rows of the training dimensions against the held-out one, on the three "
        "training tests."
    )
    yield from compared


def _newest_group_by_model(page: Across, **settings: str | tuple[str, ...]) -> list[list[Run]]:
    """The newest group of runs of each model."""
    newest: dict[str, list[Run]] = {}
    for members in groups(page.fine_tuned(**settings)):
        newest.setdefault(members[0].model, members)
    return list(newest.values())


def _by_word(page: Across) -> Iterator[Cells]:
    for dataset, _ in _leaky_splits():
        scheme = dataset.splits.published
        settings: dict[str, str | tuple[str, ...]] = {dataset.splits.setting: scheme}
        for members in _newest_group_by_model(page, name=dataset.name, **settings):
            model = members[0].model
            rows = page.answers(dataset, members)
            edition = rows.column("edition")[0].as_py()
            fold = rows.column("fold")[0].as_py()
            table_name = dataset.tables[0].name
            trained = trained_words(page.lake.root, table_name, edition, scheme, fold)
            for name, words in word_columns(rows).items():
                answers = _answers(rows, "noun" if name == "pair" else name)
                sides = by_training_word(words, trained[name])
                yield from seen_and_unseen(dataset.title, model, answers, name, sides)


def _by_adjective(page: Across) -> Iterator[Cells]:
    """ASP's published test rows, by whether their adjective occurs in training."""
    for members in _newest_group_by_model(page, name="asp", scheme=("adjectives", "both")):
        params = members[0].params
        edition = params.get("task.edition", "")
        parts = _parts(page, edition, "adjectives", params.get("task.round", ""))
        if "leaking" not in set(parts.values()):
            continue
        # Validation rows belong to the training edition, and may be rows of this one as well.
        rows = where_equal(page.answers(DATASETS["asp"], members), "edition", edition)
        kinds = {"leaking": "seen", "test": "unseen"}
        sides = [kinds.get(parts.get(item, "")) for item in rows.column("item_id").to_pylist()]
        answers = _answers(rows, "adjective")
        yield from seen_and_unseen("ASP", members[0].model, answers, "adjective", sides)


def _by_dimension(page: Across) -> Iterator[Cells]:
    """ASP's rows of the held-out dimension, compared with validation rows of the others."""
    for members in _newest_group_by_model(page, name="asp", scheme="dimension"):
        params = members[0].params
        rows = pa.concat_tables([labelled_predictions(page.lake.root, run.id) for run in members])
        trained = params.get("task.train_edition") or ""
        edition = params.get("task.edition", "") if trained in ("", "null") else trained
        fold = rows.column("fold")[0].as_py()
        parts = _parts(page, edition, "dimension", fold)
        tests = _tests(page, rows)
        ids = rows.column("item_id").to_pylist()
        # Rows outside the validation part belong to the held-out dimension.
        validated = [item for item in ids if parts.get(item) == "val"]
        known = {tests[item][0] for item in validated if item in tests}
        sides = [
            None
            if item not in tests or tests[item][0] not in known
            else "seen"
            if parts.get(item) == "val"
            else "unseen"
            for item in ids
        ]
        premises = [tests[item][1] if item in tests else item for item in ids]
        answers = _answers(with_column(rows, "premise", premises), "premise")
        name = f"ASP, {fold} held out"
        yield from seen_and_unseen(name, members[0].model, answers, "dimension", sides)


def _tests(page: Across, rows: pa.Table) -> dict[str, tuple[str, str]]:
    """The test and the premise of each item of degree estimation."""
    ids = rows.column("item_id").combine_chunks()
    columns = ["item_id", "test", "group"]
    return {
        item: (test, f"{edition} {test} {group}")
        for edition in distinct_values(rows, "edition")
        for item, test, group in tuples(
            arrow.read_items(page.lake.root, "asp_degree", ids, columns, edition)
        )
    }


def _parts(page: Across, edition: str, scheme: str, number: str) -> dict[str, str]:
    """The part of each item of a round of ASP."""
    if not page.lake.has("asp_splits"):
        return {}
    tables = declared_tables(DATASETS["asp"], scheme)
    parts = read_parts(page.lake.root, tables, edition, scheme, number)
    return dict(tuples(parts, tables.key, "part"))
