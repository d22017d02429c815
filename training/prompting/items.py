"""The items that are asked about, and every question about them.

PLANE with examples (section 4): the three items of an adjective, noun and hypernym make six
questions a template and verbaliser. Each item is asked once after either order of the other two,
which stand before it with their right words.
"""

from __future__ import annotations

import itertools
import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from conf import UserError
from etl.plane import TYPES
from training import tasks
from training.batching import seed_of
from training.prompting.prompts import FIELDS, LABELS, Cloze, Prompt, Prompts, Verbaliser
from training.prompting.settings import Settings
from training.tasks import Source

_JOIN = " "
log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Items:
    """What is asked about, a row an item.

    `rows` has item_id, gold, fold, edition, version, group (rows that are each other's examples),
    the task's `FIELDS`, and the columns of groups: class and inference_type, test or agreement.
    """

    task: str
    scheme: str
    rows: pa.Table
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Question:
    """One way of asking about one item.

    `item` is its row; `order` the inference types of the examples, ``1,2``; `free` are the same
    questions without content, whose answers calibration divides by.
    """

    item: int
    prompt: Prompt
    verbaliser: Verbaliser
    order: str | None
    cloze: Cloze
    free: tuple[Cloze, ...]


def load(settings: Settings) -> Items:
    """The items that the settings ask about.

    Raises:
        UserError: a table, edition, scheme, fold or part that is not there; labels that are none of
            ours; no rows, or with examples no group with all three inference types.
    """
    values = {"name": settings.task, "edition": settings.edition}
    if settings.task == "plane":
        values |= {"scheme": settings.scheme, "fold": settings.fold, "input": "pair"}
    elif settings.task == "asp":
        values["scheme"] = "all"
    dataset = tasks.task(values).read(settings.lake)
    part = "test" if settings.task == "asp" else settings.part
    if part not in dataset.parts:
        parts = ", ".join(sorted(dataset.parts))
        raise UserError(f"part={part}: no such rows in {dataset.where}; there is {parts}")
    examples, sources = dataset.parts[part], dataset.sources
    if settings.task == "plane":
        # A published split may list an item twice.
        first = np.unique(examples.item_ids.to_numpy(zero_copy_only=False), return_index=True)[1]
        examples = examples.take(np.sort(first))
    assert examples.gold is not None
    read = [dataset.sources[at] for at in examples.origin]
    columns = {
        "item_id": examples.item_ids,
        **dict(zip(FIELDS[settings.task], (examples.first, examples.second), strict=True)),
        "gold": pa.array([LABELS[settings.task][at] for at in examples.gold]),
        "edition": pa.array([source.edition for source in read], pa.string()),
        "version": pa.array([source.version for source in read], pa.int64()),
        "fold": pa.array([""] * len(examples)),
        "group": examples.item_ids,
        **examples.groups,
    }
    rows, by = pa.table(columns), "fold"
    if settings.task == "plane":
        rows, by = _plane(rows, settings), "class"
    elif settings.task == "asp":
        rows, by = _asp(rows, settings), "test"
        sources = tuple(
            source for source in sources if source.table.removeprefix("asp_") in settings.tables
        )
    if settings.limit is not None:
        rows = _limited(rows, by, settings.limit, settings.seed)
    return Items(settings.task, "two_shot" if settings.shots else "zero_shot", rows, sources)


def _plane(rows: pa.Table, settings: Settings) -> pa.Table:
    """PLANE's rows with their fold and group; with examples, those whose group is whole."""
    size = rows.num_rows
    fold = settings.fold if settings.scheme == "two_shot" else f"{settings.scheme}/{settings.fold}"
    rows = _with(rows, fold=pa.array([fold] * size), group=rows["group_id"])
    rows = _with(rows, inference_type=rows["inference_type"].cast(pa.int64()))
    if not settings.shots:
        return rows
    types: dict[str, set[int]] = defaultdict(set)
    groups = rows["group"].to_pylist()
    for group, inference in zip(groups, rows["inference_type"].to_pylist(), strict=True):
        types[group].add(inference)
    complete = [types[group] == set(TYPES) for group in groups]
    if not any(complete):
        raise UserError(
            f"shots=2: no group of edition {settings.edition}, scheme {settings.scheme} has all "
            "three inference types, so that none can be another's example; expected shots=0, or "
            "another scheme"
        )
    if not all(complete):
        log.warning(
            "left out: %d of %d items whose group has not all three inference types",
            size - sum(complete),
            size,
        )
    return rows.filter(pa.array(complete))


def _asp(rows: pa.Table, settings: Settings) -> pa.Table:
    """ASP's rows of the tables and the variant that are asked, with the table as their fold."""
    tests = [test.partition(".")[2] for test in rows["test"].to_pylist()]
    rows = _with(rows, fold=rows["task"], test=pa.array(tests, pa.string()))
    selected = [
        fold in settings.tables and (fold == "entailment" or variant == settings.variant)
        for fold, variant in zip(rows["fold"].to_pylist(), rows["variant"].to_pylist(), strict=True)
    ]
    rows = rows.filter(pa.array(selected, pa.bool_()))
    for name in settings.tables:
        if name not in rows["fold"].to_pylist():
            raise UserError(
                f"variant={settings.variant}: no rows in the table asp_{name}, edition "
                f"{settings.edition}"
            )
    return rows


def _with(rows: pa.Table, **columns: Any) -> pa.Table:
    """Rows with other columns in the place of those of these names."""
    for name, column in columns.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, column)
    return rows


def _limited(rows: pa.Table, by: str, limit: int, seed: int) -> pa.Table:
    """Of each value of `by` and fold the `limit` groups that a hash with the seed puts first."""
    keys = zip(
        rows["fold"].to_pylist(), rows[by].to_pylist(), rows["group"].to_pylist(), strict=True
    )
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    places = list(keys)
    for fold, value, group in places:
        groups[fold, value].add(group)
    selected = {
        (*key, group)
        for key, members in groups.items()
        for group in sorted(members, key=lambda group: seed_of("prompt", seed, group))[:limit]
    }
    return rows.filter(pa.array([place in selected for place in places]))


def questions(items: Items, prompts: Prompts, settings: Settings) -> list[Question]:
    """Every question about every item, in the order of items, templates and verbalisers."""
    names = list(FIELDS[items.task])
    fields = items.rows.select(names).to_pylist()
    blanks = [dict.fromkeys(names, blank) for blank in prompts.content_free]
    contexts = _contexts(items, settings.shots)
    # What stands before and after the gap, of each template for each item.
    frames = [[prompt.around(item_fields) for item_fields in fields] for prompt in prompts.prompts]
    empty = [[prompt.around(blank) for blank in blanks] for prompt in prompts.prompts]
    questions = []
    for item in range(len(fields)):
        for order, examples in contexts[item]:
            for prompt, frame, free_of in zip(prompts.prompts, frames, empty, strict=True):
                for verbaliser in prompt.verbalisers:
                    words = verbaliser.all
                    shown_examples = "".join(
                        f"{frame[at][0]}{verbaliser.words[label][0]}{frame[at][1]}{_JOIN}"
                        for at, label in examples
                    )
                    text_before, text_after = frame[item]
                    free: tuple[Cloze, ...] = ()
                    if settings.calibration != "none":
                        context = shown_examples if settings.calibration == "contextual" else ""
                        free = tuple(Cloze(context + a, b, words) for a, b in free_of)
                    cloze = Cloze(shown_examples + text_before, text_after, words)
                    questions.append(Question(item, prompt, verbaliser, order, cloze, free))
    return questions


def _contexts(
    items: Items, shots: int
) -> Sequence[Sequence[tuple[str | None, Sequence[tuple[int, int]]]]]:
    """For each item the orders of its examples, these as (row, label)."""
    if not shots:
        return [[(None, ())]] * items.rows.num_rows
    labels = [LABELS[items.task].index(gold) for gold in items.rows["gold"].to_pylist()]
    types: list[int] = items.rows["inference_type"].to_pylist()
    groups: dict[Any, list[int]] = defaultdict(list)
    for at, group in enumerate(items.rows["group"].to_pylist()):
        groups[group].append(at)
    contexts = []
    for at, group in enumerate(items.rows["group"].to_pylist()):
        neighbours = sorted(
            (other for other in groups[group] if other != at), key=types.__getitem__
        )
        contexts.append(
            [
                (
                    ",".join(str(types[example]) for example in order),
                    [(example, labels[example]) for example in order],
                )
                for order in itertools.permutations(neighbours)
            ]
        )
    return contexts
