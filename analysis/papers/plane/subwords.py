"""PLANE's subword analyses of fine-tuned models: figures 2 and 3, and overlaps from section 6."""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from scipy import stats

from adnominal.analysis.papers.comparison import Missing, comparison
from adnominal.analysis.papers.page import exhibit, runs_text
from adnominal.analysis.papers.plane.sources import SCHEMES, TRAIN, FineTuned, Plane, Tokenize
from adnominal.analysis.regression import slope
from adnominal.analysis.rendering import figures
from adnominal.analysis.rendering.blocks import Block, FigureBlock, Table
from adnominal.analysis.rendering.figures import Channels, Plot
from adnominal.analysis.rendering.numbers import p_value
from adnominal.analysis.rows import distinct_values, is_right, lists, places, schema, where_equal
from adnominal.analysis.statistics import wilson
from adnominal.conf import UserError
from adnominal.etl.plane import CLASSES

_WORDS = ("adjective", "noun", "hypernym")
_TABLES = ("predictions", "plane_items")


def _is_split(items: pa.Table, tokenize: Tokenize) -> dict[str, list[bool]]:
    """Whether the tokenizer splits each item's adjective, noun and hypernym."""
    columns = lists(items, *_WORDS)
    split = {word: len(tokenize(word)) > 1 for word in {word for c in columns for word in c}}
    return {
        name: [split[word] for word in column] for name, column in zip(_WORDS, columns, strict=True)
    }


def subword_accuracy(
    items: pa.Table, correct: Sequence[bool], folds: Sequence[str], tokenize: Tokenize
) -> pa.Table:
    """Share of items with a split word, and accuracy, by class and fold (figures 2 and 3).

    `items` has the columns adjective, noun, hypernym and class (`analysis.slices.words`); `correct`
    tells whether each was answered correctly, `folds` gives its test split. Columns class, fold,
    rows, split (any word of the item), split_adjective, split_noun (noun or hypernym), accuracy,
    low, high.

    Raises:
        ValueError: lengths that differ.
    """
    if not items.num_rows == len(correct) == len(folds):
        raise ValueError(f"{items.num_rows} items, {len(correct)} answers, {len(folds)} folds")
    split = _is_split(items, tokenize)
    flags = {
        "class": items.column("class"),
        "fold": folds,
        "adjective": split["adjective"],
        "noun": list(map(max, split["noun"], split["hypernym"])),
        "correct": list(map(bool, correct)),
    }
    answers = pa.table(flags)
    groups = places(answers, "class", "fold")
    rows = []
    for kind, fold in sorted(groups, key=lambda key: (CLASSES.index(key[0]), key[1])):
        of_cell = answers.take(groups[kind, fold])
        adjectives, nouns, hits = lists(of_cell, "adjective", "noun", "correct")
        size = len(hits)
        rows.append(
            {
                "class": kind,
                "fold": fold,
                "rows": size,
                "split": sum(map(max, adjectives, nouns)) / size,
                "split_adjective": sum(adjectives) / size,
                "split_noun": sum(nouns) / size,
                **wilson(sum(hits), size).columns("accuracy"),
            }
        )
    return pa.Table.from_pylist(rows)


def subword_lines(data: pa.Table) -> dict[str, tuple[float, float]]:
    """(intercept, slope) of accuracy over the share of split items, by class (least squares).

    Classes with fewer than two distinct shares have none.
    """
    lines = {}
    for kind in CLASSES:
        x, y = lists(where_equal(data, "class", kind), "split", "accuracy")
        if len(set(x)) > 1:
            fit = stats.linregress(x, y)
            lines[kind] = (float(fit.intercept), float(fit.slope))
    return lines


def subword_figure(data: pa.Table) -> Plot:
    """Plot `subword_accuracy` as points with a regression line per class (figures 2 and 3)."""
    xlabel = "share of items with a word of several subwords"
    channels = Channels("split", "accuracy", xlabel, "accuracy", series="class")
    return figures.scatter(data, channels, lines=subword_lines(data))


def _effects(rows: pa.Table, tokenize: Tokenize) -> pa.Table:
    """The effect of splitting a word on the odds of a right answer, over items, in each class."""
    split = {
        name: [float(flag) for flag in flags] for name, flags in _is_split(rows, tokenize).items()
    }
    nouns = list(map(max, split["noun"], split["hypernym"]))
    correct = is_right(rows)
    kinds, adjectives = lists(rows, "class", "adjective")
    effects = []
    for kind in CLASSES:
        members = [place for place, item_class in enumerate(kinds) if item_class == kind]
        for name, values in (("adjective", split["adjective"]), ("noun or hypernym", nouns)):
            effect = slope(
                [values[place] for place in members],
                [correct[place] for place in members],
                [adjectives[place] for place in members],
            )
            effects.append(
                {
                    "class": kind,
                    "split_word": name,
                    "items": len(members),
                    "share_split": sum(values[place] for place in members) / max(1, len(members)),
                    "odds_ratio": None if effect is None else effect.text(),
                    "p": None if effect is None else p_value(effect.p),
                }
            )
    columns = schema("class split_word items:int share_split:float odds_ratio p")
    table = pa.Table.from_pylist(effects, columns)
    return table.rename_columns([name.replace("_", " ") for name in columns.names])


def _figure(answers: FineTuned) -> list[Block]:
    rows, tokenize = answers.rows, answers.tokenize()
    data = subword_accuracy(rows, is_right(rows), rows.column("fold").to_pylist(), tokenize)
    points = "Each point is a class and a test split; lines are least-squares fits."
    return [
        FigureBlock(f"{points} {answers.description()}", *subword_figure(data)),
        Table(
            "Odds ratio of a correct answer when a word of the item is split "
            "(logistic regression, standard errors clustered by adjective)",
            _effects(rows, tokenize),
        ),
        *runs_text(answers.runs),
    ]


@exhibit("Figure 2", "subwords, out of distribution", command=TRAIN["published"], tables=_TABLES)
def out_of_distribution(page: Plane) -> list[Block]:
    """Accuracy over the share of split items, with adjectives and nouns unseen in training."""
    return _figure(page.fine_tuned["published"])


@exhibit("Figure 3", "subwords, One-IT", command=TRAIN["one_it"], tables=_TABLES)
def one_inference_type(page: Plane) -> list[Block]:
    """Accuracy over the share of split items, for one inference type."""
    return _figure(page.fine_tuned["one_it"])


def subword_overlap(items: pa.Table, tokenize: Tokenize) -> pa.Table:
    """Overlap of the subwords of a class's adjectives with those of other words (section 6.1).

    Only subwords of split words count. Columns class, adjective_subwords, noun_subwords (of nouns
    and hypernyms in items of the class), with_nouns (share of the adjectives' subwords that are
    among noun_subwords), nouns_with_other_adjectives (share of noun_subwords that are among the
    subwords of other classes' adjectives), and with_I, with_S, with_O (share of the adjectives'
    subwords that are among those of another class's adjectives). Shares of empty sets are null.
    """

    def subwords(words: Iterable[str]) -> set[str]:
        parts = [tokenize(word) for word in set(words)]
        return {part for pieces in parts if len(pieces) > 1 for part in pieces}

    def share(pieces: set[str], other: set[str]) -> float | None:
        return len(pieces & other) / len(pieces) if pieces else None

    adjectives: dict[str, set[str]] = {}
    nouns: dict[str, set[str]] = {}
    for kind in CLASSES:
        of_adjectives, of_nouns, of_hypernyms = lists(where_equal(items, "class", kind), *_WORDS)
        adjectives[kind] = subwords(of_adjectives)
        nouns[kind] = subwords([*of_nouns, *of_hypernyms])
    rows = []
    for kind in CLASSES:
        of_other_classes = set().union(*(adjectives[other] for other in CLASSES if other != kind))
        row = {
            "class": kind,
            "adjective_subwords": len(adjectives[kind]),
            "noun_subwords": len(nouns[kind]),
            "with_nouns": share(adjectives[kind], nouns[kind]),
            "nouns_with_other_adjectives": share(nouns[kind], of_other_classes),
        }
        for other in CLASSES:
            same = other == kind
            row[f"with_{other}"] = None if same else share(adjectives[kind], adjectives[other])
        rows.append(row)
    return pa.Table.from_pylist(rows)


@exhibit(
    "Section 6",
    "overlap of subwords",
    command=TRAIN["published"],
    tables=_TABLES,
    beside=("section 6", "section 6.2"),
)
def overlap(page: Plane) -> list[Block]:
    """Shares of subwords that classes have in common in the test rows of each fold."""
    ours: dict[tuple[str, str], float] = {}
    subwords: dict[tuple[str, str], float] = {}
    blocks: list[Block] = []
    reason, model = "", ""
    for scheme, answers in page.fine_tuned.items():
        try:
            rows, tokenize = answers.rows, answers.tokenize()
        except UserError as error:
            reason = str(error)
            continue
        model = answers.model
        tables = []
        for fold in distinct_values(rows, "fold"):
            table = subword_overlap(where_equal(rows, "fold", fold), tokenize)
            tables.append({row["class"]: row for row in table.to_pylist()})
            caption = f"Shares of common subwords, test rows of {SCHEMES[scheme]}, fold {fold}"
            blocks.append(Table(caption, table))
        ours |= _extremes(scheme, tables)
        if scheme == "one_it":
            most = max(table["O"]["adjective_subwords"] for table in tables)
            subwords["O", "subwords"] = float(most)
    if not blocks:
        raise UserError(reason)
    caption = f"Overlap of subwords: the paper's for BERT, ours for {model}"
    missing = Missing(TRAIN["published"], reason)
    count_caption = "Subwords of the adjectives of One-IT, ours of the fold with most"
    return [
        *comparison("plane", "section 6", ours, caption, missing=missing),
        *comparison("plane", "section 6.2", subwords, count_caption),
        *blocks,
    ]


def _extremes(
    scheme: str, tables: Sequence[Mapping[str, Mapping[str, float]]]
) -> dict[tuple[str, str], float]:
    """The smallest and largest share over folds, for those that the paper gives."""
    printed = {
        "published": {
            "I": ("I", "with_nouns"),
            "S, of N/h(N) with I and O": ("S", "nouns_with_other_adjectives"),
            "O": ("O", "with_nouns"),
            "O, with I": ("O", "with_I"),
        },
        "one_it": {"I, one_it": ("I", "with_nouns")},
    }[scheme]
    cells = {}
    for row, (kind, column) in printed.items():
        shares = [table[kind][column] for table in tables if table[kind][column] is not None]
        if shares:
            cells[row, "to"] = max(shares)
            if row == "I":
                cells[row, "from"] = min(shares)
    return cells
