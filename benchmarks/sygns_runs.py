"""The tables of SyGNS's runs in docs/sygns.md: recipe, model, form, seeds, beside the paper."""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby

from adnominal.conf.markdown import table_text
from benchmarks.papers import Experiment, experiments
from benchmarks.results import Figures

_NAME = re.compile("sygns-(.+)-((?:vf|fol|drs)-.+)")
_LEFT = """**Not run**, with hours of one core, by
`python -m benchmarks papers run=true "parts=[sygns-SPLIT-MODEL,…]"`:"""


def section(figures: Mapping[str, Figures]) -> str:
    """A table of the finished runs under each title, then what was not run.

    Args:
        figures: the recorded figures of the case papers by experiment.

    Returns:
        Markdown: for each title of papers.yaml its runs, or none; at the end the command of the
        experiments with runs to come, and their costs.
    """
    # Those of an earlier version, and those in batches of like lengths, are in RESULTS.md.
    known = [entry for entry in experiments().values() if entry.title and not entry.earlier]
    known.sort(key=lambda entry: (_table_number(entry), entry.title, entry.name))
    parts = []
    for title, members in groupby(known, key=lambda entry: entry.title):
        done = [entry for entry in members if entry.name in figures]
        if done:
            parts.append(f"**{title}**\n\n{_table(done, figures)}")
    costs = _costs(known, figures)
    if costs:
        parts.append(f"{_LEFT}\n\n{costs}")
    return "\n\n".join(parts)


def _table_number(entry: Experiment) -> int:
    """The first of the paper's tables that the title names."""
    numbers = re.findall(r"tables? (\d+)", entry.title)
    return int(numbers[0])


def _table(entries: Sequence[Experiment], figures: Mapping[str, Figures]) -> str:
    """One row an experiment; all record the same scores."""
    rows = [_row(entry, figures[entry.name]) for entry in entries]
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    numbers = {"seeds", *entries[0].scores}
    rules = ["--:" if name in numbers else "---" for name in columns]
    return table_text(columns, rules, [[row[name] for name in columns] for row in rows])


def _row(entry: Experiment, figures: Figures) -> dict[str, str]:
    """How the models were trained, their scores in percent in the order of seeds, the paper's.

    Splits of other schemes than systematicity and quantifiers with negation have no primitive.
    """
    settings = dict(word.split("=", 1) for word in entry.settings)
    architecture = settings["seq2seq.architecture"]
    row = {
        "primitive": settings.get("task.primitive", "one").strip("'"),
        "recipe": entry.recipe,
        "model": "GRU" if architecture == "gru" else architecture.capitalize(),
        "form": settings["task.form"].upper(),
        "seeds": ", ".join(entry.seeds[: figures["runs"]]),
    }
    for score in entry.scores:
        row[score] = ", ".join(f"{100 * value:.1f}" for value in figures["scores"][score])
    printed = entry.printed_numbers()
    row["paper, in this order"] = "/".join(printed[score] for score in entry.scores)
    return row


def _costs(entries: Sequence[Experiment], figures: Mapping[str, Figures]) -> str:
    """A table of the hours of the experiments with runs to come; empty if there are none.

    An experiment's name is ``sygns-SPLIT-MODEL``: the splits are rows, in the order of `entries`,
    the models columns.
    """
    hours: dict[tuple[str, str], float] = {}
    for entry in entries:
        done = figures[entry.name]["runs"] if entry.name in figures else 0
        if done < entry.runs:
            split, model = _NAME.fullmatch(entry.name).groups()  # type: ignore[union-attr]
            hours[split, model] = (entry.runs - done) * entry.hours
    if not hours:
        return ""
    splits = list(dict.fromkeys(split for split, _ in hours))
    models = sorted({model for _, model in hours})
    rows = [
        [split, *(f"{hours[split, m]:.2f}" if (split, m) in hours else "" for m in models)]
        for split in splits
    ]
    return table_text(["SPLIT", *models], ["---", *["--:"] * len(models)], rows)
