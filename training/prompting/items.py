"""The rows that are asked, and every question about them.

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

import pyarrow as pa
import pyarrow.compute as pc

from conf import UserError
from etl.asp import DISCARD
from etl.plane import TYPES
from training.batching import seed_of
from training.prompting.prompts import FIELDS, LABELS, Cloze, Prompt, Prompts, Verbaliser
from training.prompting.settings import Settings
from training.tasks import Source, adept, reading

_JOIN = " "
log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Items:
    """What is asked about, a row an item.

    `rows` has item_id, gold, fold, edition, version, group (rows that are each other's examples),
    the task's `FIELDS`, and what results are told by: class and inference_type, test or agreement.
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
    items = {"plane": _plane, "asp": _asp, "adept": _adept}[settings.task](settings)
    if settings.limit is None:
        return items
    by = {"plane": "class", "asp": "test", "adept": "fold"}[settings.task]
    kept = _limited(items.rows, by, settings.limit, settings.seed)
    return Items(items.task, items.scheme, kept, items.sources)


def _plane(settings: Settings) -> Items:
    own = settings
    splits, parts = reading.split_parts(
        own.lake, "plane_splits", own.edition, own.scheme, ("fold", own.fold), "item_id"
    )
    if own.part not in parts:
        raise UserError(
            f"part={own.part}: not in the table plane_splits, edition {own.edition}, scheme "
            f"{own.scheme}, fold {own.fold}; there is {', '.join(sorted(parts))}"
        )
    # A published split may list an item twice.
    wanted = pc.unique(parts[own.part])
    of = reading.source(own.lake, "plane_items", own.edition)
    names = ["group_id", "class", "inference_type", *FIELDS["plane"], "label"]
    rows = reading.lookup(
        own.lake, of, "item_id", wanted, names, f"{own.part} rows of plane_splits"
    )
    gold = reading.class_ids(rows["label"], (0, 1), f"table plane_items, {own.edition}", wanted)
    rows = rows.drop_columns("label").rename_columns({"group_id": "group"})
    rows = rows.append_column("gold", pa.array([LABELS["plane"][at] for at in gold]))
    fold = own.fold if own.scheme == "two_shot" else f"{own.scheme}/{own.fold}"
    rows = _told(rows, fold, of)
    if own.shots:
        rows = _whole_groups(rows, f"edition {own.edition}, scheme {own.scheme}")
    return Items("plane", "two_shot" if own.shots else "zero_shot", rows, (of, splits))


def _whole_groups(rows: pa.Table, where: str) -> pa.Table:
    types: dict[str, set[int]] = defaultdict(set)
    groups = rows["group"].to_pylist()
    for group, inference in zip(groups, rows["inference_type"].to_pylist(), strict=True):
        types[group].add(inference)
    whole = [types[group] == set(TYPES) for group in groups]
    if not any(whole):
        raise UserError(
            f"shots=2: no group of {where} has all three inference types, so that none can be "
            "another's example; expected shots=0, or another scheme"
        )
    if not all(whole):
        log.warning(
            "left out: %d of %d items whose group has not all three inference types",
            len(whole) - sum(whole),
            len(whole),
        )
    return rows.filter(pa.array(whole))


def _asp(settings: Settings) -> Items:
    own, pieces, sources = settings, [], []
    for name in own.tables:
        of = reading.source(own.lake, f"asp_{name}", own.edition)
        where = [("variant", "=", own.variant)] if name == "degree" else []
        names = ["item_id", "test", *FIELDS["asp"], "label"]
        rows = reading.rows(own.lake, of, names, where)
        rows = rows.filter(pc.not_equal(rows["label"], DISCARD)).sort_by("item_id")
        if not rows.num_rows:
            raise UserError(
                f"variant={own.variant}: no rows in the table asp_{name}, edition {own.edition}"
            )
        labels, ids = LABELS["asp"], reading.strings(rows["item_id"])
        gold = reading.class_ids(rows["label"], labels, f"table asp_{name}, {own.edition}", ids)
        rows = rows.drop_columns("label")
        rows = rows.append_column("gold", pa.array([labels[at] for at in gold]))
        rows = rows.append_column("group", ids)
        pieces.append(_told(rows, name, of))
        sources.append(of)
    return Items("asp", "zero_shot", pa.concat_tables(pieces), tuple(sources))


def _adept(settings: Settings) -> Items:
    own = settings
    dataset = adept.Adept(adept.Settings(edition=own.edition)).load(own.lake)
    if own.part not in dataset.parts:
        raise UserError(
            f"part={own.part}: no such rows in the table adept, edition {own.edition}; there is "
            f"{', '.join(sorted(dataset.parts))}"
        )
    examples = dataset.parts[own.part]
    assert examples.gold is not None
    rows = pa.table(
        {
            "item_id": examples.item_ids,
            "sentence1": examples.first,
            "sentence2": examples.second,
            "agreement": examples.groups["agreement"],
            "gold": pa.array([LABELS["adept"][at] for at in examples.gold]),
            # A sentence may be in the table with two labels; each row is asked about once.
            "group": examples.item_ids,
        }
    )
    return Items("adept", "zero_shot", _told(rows, "", dataset.sources[0]), dataset.sources)


def _told(rows: pa.Table, fold: str, of: Source) -> pa.Table:
    """The rows with what the table predictions says of where they are from."""
    size = rows.num_rows
    rows = rows.append_column("fold", pa.array([fold] * size, pa.string()))
    rows = rows.append_column("edition", pa.array([of.edition] * size, pa.string()))
    return rows.append_column("version", pa.array([of.version] * size, pa.int64()))


def _limited(rows: pa.Table, by: str, limit: int, seed: int) -> pa.Table:
    """Of each value of `by` and fold the `limit` groups that a hash with the seed puts first."""
    keys = zip(
        rows["fold"].to_pylist(), rows[by].to_pylist(), rows["group"].to_pylist(), strict=True
    )
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    places = list(keys)
    for fold, value, group in places:
        groups[fold, value].add(group)
    kept = {
        (*key, group)
        for key, own in groups.items()
        for group in sorted(own, key=lambda group: seed_of("prompt", seed, group))[:limit]
    }
    return rows.filter(pa.array([place in kept for place in places]))


def questions(items: Items, prompts: Prompts, settings: Settings) -> list[Question]:
    """Every question about every item, in the order of items, templates and verbalisers."""
    names = list(FIELDS[items.task])
    fields = items.rows.select(names).to_pylist()
    blanks = [dict.fromkeys(names, blank) for blank in prompts.content_free]
    contexts = _contexts(items, settings.shots)
    # What stands before and after the gap, of each template for each item.
    frames = [[prompt.around(own) for own in fields] for prompt in prompts.prompts]
    empty = [[prompt.around(blank) for blank in blanks] for prompt in prompts.prompts]
    found = []
    for item in range(len(fields)):
        for order, examples in contexts[item]:
            for prompt, own, free_of in zip(prompts.prompts, frames, empty, strict=True):
                for verbaliser in prompt.verbalisers:
                    words = verbaliser.all
                    shown = "".join(
                        f"{own[at][0]}{verbaliser.words[label][0]}{own[at][1]}{_JOIN}"
                        for at, label in examples
                    )
                    before, after = own[item]
                    free: tuple[Cloze, ...] = ()
                    if settings.calibration != "none":
                        kept = shown if settings.calibration == "contextual" else ""
                        free = tuple(Cloze(kept + a, b, words) for a, b in free_of)
                    cloze = Cloze(shown + before, after, words)
                    found.append(Question(item, prompt, verbaliser, order, cloze, free))
    return found


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
    found = []
    for at, group in enumerate(items.rows["group"].to_pylist()):
        others = sorted((other for other in groups[group] if other != at), key=types.__getitem__)
        found.append(
            [
                (",".join(str(types[one]) for one in order), [(one, labels[one]) for one in order])
                for order in itertools.permutations(others)
            ]
        )
    return found
