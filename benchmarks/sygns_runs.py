"""The tables of SyGNS's runs in docs/sygns.md: recipe, model, form and seed, beside the paper."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from adnominal.conf.markdown import table_text
from benchmarks.papers import Experiment, experiments
from benchmarks.results import Figures

_NAMES = ("recipe", "model", "form", "seed")
_LEFT = (
    'Not run: parts of `python -m benchmarks papers run=true "parts=[…]"`, with hours of one core:'
)


def section(figures: Mapping[str, Figures]) -> str:
    """A table of the finished runs under each title, then what was not run.

    Args:
        figures: the recorded figures of the case papers by experiment.

    Returns:
        Markdown: for each title of papers.yaml its runs, or none; at the end the commands of the
        experiments with runs to come, and their cost.
    """
    # Those of an earlier version, and those in batches of like lengths, are in RESULTS.md.
    known = [entry for entry in experiments().values() if entry.title and not entry.earlier]
    known.sort(key=lambda entry: (_table_number(entry), entry.title, entry.recipe, entry.name))
    parts = []
    for title, members in groupby(known, key=lambda entry: entry.title):
        done = [entry for entry in members if entry.name in figures]
        if done:
            parts.append(f"**{title}**\n\n{_table(done, figures)}")
    left = list(_commands(known, figures))
    if left:
        parts.append(f"{_LEFT}\n\n" + "\n".join(left))
    return "\n\n".join(parts)


def _table_number(entry: Experiment) -> int:
    """The first of the paper's tables that the title names."""
    numbers = re.findall(r"tables? (\d+)", entry.title)
    return int(numbers[0])


def _table(entries: Sequence[Experiment], figures: Mapping[str, Figures]) -> str:
    """One row a run; the experiments record the same scores."""
    scores = list(entries[0].scores)
    names = (*_NAMES, *scores, "paper, in this order")
    rules = ("---", "---", "---", "--:", *("--:" for _ in scores), "---")
    rows = [row for entry in entries for row in _rows(entry, figures[entry.name])]
    return table_text(names, rules, rows)


def _rows(entry: Experiment, figures: Figures) -> Iterator[tuple[str, ...]]:
    """A row for each run: its seed, its scores in percent, and the paper's."""
    settings = dict(word.split("=", 1) for word in entry.settings)
    architecture = settings["seq2seq.architecture"]
    model = "GRU" if architecture == "gru" else architecture.capitalize()
    printed = entry.printed_numbers()
    paper = "/".join(printed[score] for score in entry.scores)
    for place, seed in enumerate(entry.seeds[: figures["runs"]]):
        values = [figures["scores"][score][place] for score in entry.scores]
        texts = [f"{100 * value:.1f}" for value in values]
        yield (entry.recipe, model, settings["task.form"].upper(), seed, *texts, paper)


def _commands(entries: Sequence[Experiment], figures: Mapping[str, Figures]) -> Iterator[str]:
    """For each title one line: its experiments with runs to come, cheapest first, and the cost."""

    def missing(entry: Experiment) -> int:
        done: int = figures[entry.name]["runs"] if entry.name in figures else 0
        return entry.runs - done

    for title, members in groupby(entries, key=lambda entry: entry.title):
        left = [entry for entry in members if missing(entry) > 0]
        if left:
            left.sort(key=lambda entry: (entry.hours, entry.name))
            hours = sum(missing(entry) * entry.hours for entry in left)
            names = ",".join(entry.name for entry in left)
            subject = title.partition(" (")[0]
            yield f"- {subject}: `{names}` ({hours:.1f})"
