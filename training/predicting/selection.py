"""Select the items that are most worth annotating, from models' predictions.

Uncertainty sampling selects items of which one model is least certain, by the entropy of its scores
or the margin between the best two. Query by committee selects items that several models answer
differently, by the entropy of their votes (Settles 2009, sections 3.1 and 3.2).
"""

import logging
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.training.files import check_folder, replace_text
from adnominal.training.scoring.label_map import plain

MEASURES = ("entropy", "margin")
_BY_ITEM = [("item_id", "ascending"), ("edition", "ascending")]
_COLUMNS = ("item_id", "edition", "predicted", "scores")

# Probabilities may be those of half precision.
_TOLERANCE = 0.01
log = logging.getLogger("adnominal")

_Floats = npt.NDArray[np.float64]


def uncertainty(scores: _Floats, measure: str) -> _Floats:
    """Return the uncertainty of rows of probabilities, from 0 (certain) to 1 (uniform).

    `entropy` is relative to its maximum; `margin` is one minus the difference between the best two.
    """
    if measure == "entropy":
        shares: _Floats = _entropy(scores) / math.log2(scores.shape[1])
        return shares
    best = np.sort(scores, axis=1)[:, -2:]
    return 1.0 - (best[:, 1] - best[:, 0])


def votes(answers: npt.NDArray[np.int64]) -> _Floats:
    """Return the entropy, in bits, of several models' answers (rows, models): 0 if they agree."""
    counts = np.stack([(answers == label).sum(axis=1) for label in np.unique(answers)], axis=1)
    return _entropy(counts / answers.shape[1])


def _entropy(shares: _Floats) -> _Floats:
    """Return the entropy of each row in bits."""
    from scipy.special import entr

    bits: _Floats = entr(shares).sum(axis=1) / math.log(2)
    return bits


def uncertain(lake: str, run: str, count: int, measure: str = "entropy") -> pa.Table:
    """Return the `count` items of a run that its model was least certain of, least first.

    The columns are item_id, edition, predicted and the measure. The run is streamed: memory holds
    `count` rows and a batch. Ties are in the order of ids.

    Raises:
        UserError: the run has no predictions, or none with scores of at least two classes.
    """
    best: pa.Table | None = None
    for batch in _batches(lake, run):
        value = uncertainty(_scores(batch["scores"], run), measure)
        candidates = pa.table([*(batch[n] for n in _COLUMNS[:3]), value], [*_COLUMNS[:3], measure])
        joined = candidates if best is None else pa.concat_tables([best, candidates])
        best = joined.sort_by(_order(measure)).slice(0, count)
    if best is None:
        raise _no_run(lake, run)
    return best


def disputed(lake: str, runs: Sequence[str], count: int) -> pa.Table:
    """Return the `count` items that runs answer most differently, most disputed first.

    The columns are item_id, edition, predicted (the answers in the order of the runs), votes (the
    entropy of the answers in bits) and divergence (the Jensen–Shannon divergence of the scores in
    bits), which breaks ties of votes. Items on which all runs agree are excluded. Memory holds ids,
    answers and scores of all runs.

    Raises:
        UserError: a run has no predictions, or runs differ in their classes or share no item.
    """
    tables = []
    for run in runs:
        batches = list(_batches(lake, run))
        if not batches:
            raise _no_run(lake, run)
        tables.append(pa.Table.from_batches(batches))
    places = _places(tables, runs)
    in_common = [table.take(rows) for table, rows in zip(tables, places, strict=True)]
    matrices = _aligned_scores(tables, runs)
    scores = [matrix[rows.to_numpy()] for matrix, rows in zip(matrices, places, strict=True)]
    names = pa.chunked_array([_plain(table["predicted"]) for table in in_common])
    codes = names.combine_chunks().dictionary_encode().indices.to_numpy()
    entropy = votes(codes.astype(np.int64).reshape(len(runs), -1).T)
    mean = np.mean(scores, axis=0)
    divergence = _entropy(mean) - np.mean([_entropy(matrix) for matrix in scores], axis=0)
    answers = pc.binary_join_element_wise(*(table["predicted"] for table in in_common), " | ")
    items = pa.table(
        {
            "item_id": in_common[0]["item_id"],
            "edition": in_common[0]["edition"],
            "predicted": answers,
            "votes": entropy,
            "divergence": np.maximum(0.0, divergence),
        }
    )
    items = items.filter(pc.greater(items["votes"], 0.0))
    return items.sort_by(_order("votes", "divergence")).slice(0, count)


def _places(tables: Sequence[pa.Table], runs: Sequence[str]) -> list[pa.Array]:
    """The rows, in each run's table, of the items that are in all of them."""
    keys = [_keys(table) for table in tables]
    common = keys[0].filter(pc.is_in(keys[0], value_set=keys[1]))
    for other in keys[2:]:
        common = common.filter(pc.is_in(common, value_set=other))
    common = pc.unique(common)
    if not len(common):
        raise UserError(
            f"runs={','.join(runs)}: no item in common; expected runs over rows of one table"
        )
    if any(len(run_keys) != len(common) for run_keys in keys):
        log.info(
            "%d items are in all runs (of %s)", len(common), ", ".join(str(len(k)) for k in keys)
        )
    # index_in gives the first of equal keys: a row that a run has twice counts once.
    return [pc.index_in(common, value_set=run_keys) for run_keys in keys]


def _aligned_scores(tables: Sequence[pa.Table], runs: Sequence[str]) -> list[_Floats]:
    """The scores of each run, their columns in the order of the first run's classes.

    Raises:
        UserError: runs with different classes, or with an order that their answers do not show.
    """
    matrices = [_scores(table["scores"], run) for table, run in zip(tables, runs, strict=True)]
    widths = {run: matrix.shape[1] for run, matrix in zip(runs, matrices, strict=True)}
    if len(set(widths.values())) > 1:
        listed = ", ".join(f"{run} {width}" for run, width in widths.items())
        raise UserError(
            f"runs with different numbers of classes ({listed}); expected the same classes"
        )
    labels = [
        _labels(matrix, table["predicted"]) for matrix, table in zip(matrices, tables, strict=True)
    ]
    order = [labels[0][place] for place in sorted(labels[0])]
    known: dict[int, tuple[str, str]] = {}
    for number, run in enumerate(runs):
        places = {label: place for place, label in labels[number].items()}
        if len(places) == widths[run] and sorted(places) == sorted(order):
            matrices[number] = matrices[number][:, [places[label] for label in order]]
            labels[number] = labels[0]
        for place, label in sorted(labels[number].items()):
            other, other_run = known.setdefault(place, (label, run))
            if label != other:
                raise UserError(
                    f"class {place + 1} is {other!r} in run {other_run} and {label!r} in run "
                    f"{run}; expected runs of models with the same classes"
                )
    return matrices


def _labels(scores: _Floats, predicted: pa.ChunkedArray) -> dict[int, str]:
    """What is answered where each class has the best score; without classes that never have it."""
    answers = pa.table({"class": scores.argmax(axis=1), "label": _plain(predicted)}).drop_null()
    counts = answers.group_by(["class", "label"]).aggregate([([], "count_all")])
    rows = counts.sort_by("count_all").select(["class", "label"]).to_pylist()
    # The most frequent label is the last, and stays.
    return {row["class"]: row["label"] for row in rows}


def _plain(labels: pa.ChunkedArray) -> pa.Array:
    """Labels as `label_map` compares them; each distinct one is converted once."""
    encoded = labels.combine_chunks().dictionary_encode()
    names = [plain(name) for name in encoded.dictionary.to_pylist()]
    return pa.array(names, pa.string()).take(encoded.indices)


def check(lake: str, runs: Sequence[str], path: Path) -> None:
    """Raise `UserError` if nothing can be selected from a run or written to `path`."""
    check_folder("out", path.parent)
    if path.is_dir():
        raise UserError(f"out={path}: a folder; expected a .tsv or .csv file")
    for run in runs:
        first = next(_batches(lake, run), None)
        if first is None:
            raise _no_run(lake, run)
        _scores(first["scores"], run)


def write(table: pa.Table, path: Path) -> None:
    """Write the table with a header line: tab-separated for .tsv, else comma-separated."""
    separator = "\t" if path.suffix == ".tsv" else ","
    text = table.to_pandas().to_csv(None, sep=separator, index=False, float_format="%.6f")
    replace_text(path, text)


def _order(*values: str) -> list[tuple[str, str]]:
    """Sort highest values first, then by item, so that row order has no effect."""
    return [*((value, "descending") for value in values), *_BY_ITEM]


def _batches(lake: str, run: str) -> Iterator[pa.RecordBatch]:
    return arrow.batches(lake, "predictions", where=[("run_id", "=", run)], columns=_COLUMNS)


def _keys(table: pa.Table) -> pa.Array:
    edition = pc.fill_null(table["edition"], "")
    return pc.binary_join_element_wise(edition, table["item_id"], "\x1f").combine_chunks()


def _scores(column: pa.Array | pa.ChunkedArray, run: str) -> _Floats:
    """Convert lists of one length to a matrix of probabilities.

    Raises:
        UserError: the lists differ in length, or hold other numbers, such as the log-probabilities
            of prompts.
    """
    widths = pc.unique(pc.list_value_length(column)).to_pylist()
    if len(widths) != 1 or widths[0] is None or widths[0] < 2:
        raise UserError(
            f"run {run}: predictions with {', '.join(str(width) for width in widths)} scores per "
            "row; expected a score for each of two or more classes"
        )
    matrix: _Floats = pc.list_flatten(column).to_numpy().reshape(-1, widths[0])
    if matrix.min() < 0 or np.abs(matrix.sum(axis=1) - 1).max() > _TOLERANCE:
        raise UserError(
            f"run {run}: its scores are not probabilities of classes; expected a run of "
            "training/predict.py, finetune.py or score.py (prompts have log-probabilities)"
        )
    return matrix


def _no_run(lake: str, run: str) -> UserError:
    return UserError(
        f"run {run}: no rows in the table predictions of {lake}; expected the id of a run of "
        "training/predict.py"
    )
