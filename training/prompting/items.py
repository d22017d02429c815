"""The items to ask about and the questions about them.

For PLANE with examples (section 4), the three items of an adjective, noun and hypernym give six
questions per template and verbaliser: each item is presented once after either order of the other
two, which precede it with their correct words.
"""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from adnominal.conf import UserError
from adnominal.training import tasks
from adnominal.training.batching import seed_of
from adnominal.training.prompting.prompts import FIELDS, LABELS, Cloze, Prompt, Prompts, Verbaliser
from adnominal.training.prompting.settings import PROMPTS, Settings
from adnominal.training.tasks import Source, Task

_JOIN = " "


@dataclass(frozen=True)
class Items:
    """The items to ask about, one per row.

    `rows` has item_id, gold, fold, edition, version, group (of rows that serve as each other's
    examples), the task's `FIELDS`, and group columns: class and inference_type, test or agreement.
    """

    task: Task
    scheme: str
    rows: pa.Table
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Question:
    """One way of asking about one item.

    `item` is its row; `order` has the numbers of the examples (inference types), such as ``1,2``;
    `content_free` are the same questions without content, by whose answers calibration divides.
    """

    item: int
    prompt: Prompt
    verbaliser: Verbaliser
    order: str | None
    cloze: Cloze
    content_free: tuple[Cloze, ...]


def load(settings: Settings) -> Items:
    """Load the items for the settings.

    Raises:
        UserError: a table, edition, scheme, fold or part does not exist, labels are unknown, there
            are no rows or, with examples, no group has all three inference types.
    """
    values = tasks.TASKS[settings.task].prompt_values(settings)
    task = tasks.task({"name": settings.task, "edition": settings.edition, **values})
    dataset = task.read(settings.lake)
    if settings.part not in dataset.parts:
        parts = ", ".join(sorted(dataset.parts))
        raise UserError(f"part={settings.part}: no such rows in {dataset.where}; there is {parts}")
    examples = dataset.parts[settings.part]
    assert examples.gold is not None
    row_sources = [dataset.sources[number] for number in examples.origin]
    columns = {
        "item_id": examples.item_ids,
        **dict(zip(FIELDS[settings.task], (examples.first, examples.second), strict=True)),
        "gold": pa.array([LABELS[settings.task][number] for number in examples.gold]),
        "edition": pa.array([source.edition for source in row_sources], pa.string()),
        "version": pa.array([source.version for source in row_sources], pa.int64()),
        "fold": pa.array([""] * len(examples)),
        "group": examples.item_ids,
        **examples.groups,
    }
    rows = task.with_prompt_columns(
        pa.table(columns).append_column("origin", [examples.origin]), settings
    )
    # A table without any selected rows is not a source.
    asked_sources = {*rows["origin"].to_pylist()} | {*range(len(dataset.sources))} - {
        *examples.origin
    }
    sources = [source for number, source in enumerate(dataset.sources) if number in asked_sources]
    rows = rows.drop_columns("origin")
    if settings.limit is not None:
        column = PROMPTS[settings.task].group or "fold"
        rows = _first_groups(rows, column, settings.limit, settings.seed)
    return Items(task, "two_shot" if settings.shots else "zero_shot", rows, tuple(sources))


def _first_groups(rows: pa.Table, column: str, limit: int, seed: int) -> pa.Table:
    """Select, for each value of `column` and fold, the `limit` groups first by a seeded hash."""
    names = ("fold", column, "group")
    places = list(zip(*(rows[name].to_pylist() for name in names), strict=True))
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    for fold, value, group in places:
        groups[fold, value].add(group)
    selected = {
        (*key, group)
        for key, members in groups.items()
        for group in sorted(members, key=lambda group: seed_of("prompt", seed, group))[:limit]
    }
    return rows.filter(pa.array([place in selected for place in places]))


def questions(items: Items, prompts: Prompts, settings: Settings) -> list[Question]:
    """Return every question, in the order of items, templates and verbalisers."""
    names = list(FIELDS[items.task.name])
    fields = items.rows.select(names).to_pylist()
    blanks = [dict.fromkeys(names, blank) for blank in prompts.content_free]
    contexts = _contexts(items, settings.shots)
    # The text before and after the gap, for each template and item.
    frames = [
        [prompt.text_around_gap(item_fields) for item_fields in fields]
        for prompt in prompts.prompts
    ]
    empty = [[prompt.text_around_gap(blank) for blank in blanks] for prompt in prompts.prompts]
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
                    content_free: tuple[Cloze, ...] = ()
                    if settings.calibration != "none":
                        context = shown_examples if settings.calibration == "contextual" else ""
                        content_free = tuple(Cloze(context + a, b, words) for a, b in free_of)
                    cloze = Cloze(shown_examples + text_before, text_after, words)
                    questions.append(Question(item, prompt, verbaliser, order, cloze, content_free))
    return questions


def _contexts(
    items: Items, shots: int
) -> Sequence[Sequence[tuple[str | None, Sequence[tuple[int, int]]]]]:
    """Return the orders of examples of each item, with examples as (row, label)."""
    if not shots:
        return [[(None, ())]] * items.rows.num_rows
    name, number = items.task.name, PROMPTS[items.task.name].number
    assert number is not None
    labels = [LABELS[name].index(gold) for gold in items.rows["gold"].to_pylist()]
    numbers: list[int] = items.rows[number].to_pylist()
    groups: dict[Any, list[int]] = defaultdict(list)
    for at, group in enumerate(items.rows["group"].to_pylist()):
        groups[group].append(at)
    contexts = []
    for at, group in enumerate(items.rows["group"].to_pylist()):
        neighbours = sorted(
            (other for other in groups[group] if other != at), key=numbers.__getitem__
        )
        contexts.append(
            [
                (
                    ",".join(str(numbers[example]) for example in order),
                    [(example, labels[example]) for example in order],
                )
                for order in itertools.permutations(neighbours)
            ]
        )
    return contexts
