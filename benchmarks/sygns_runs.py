"""The tables of SyGNS's runs in docs/sygns.md: split, recipe, model, form, seeds, the paper."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from adnominal.conf.markdown import table_text
from benchmarks.papers import Experiment, sygns_experiments
from benchmarks.results import Figures


def section(figures: Mapping[str, Figures]) -> str:
    """A table of the finished runs under each title.

    Args:
        figures: the recorded figures of the case papers by experiment.

    Returns:
        Markdown. Runs of an earlier version and trials are in RESULTS.md alone, as is the list of
        what was not run.
    """
    finished = [entry for entry in sygns_experiments() if entry.name in figures]
    finished.sort(key=lambda entry: entry.name)
    # By quantifier comes before by depth, as in the paper.
    finished.sort(key=lambda entry: entry.title, reverse=True)
    return "\n\n".join(
        f"**{title}**\n\n{_table(list(entries), figures)}"
        for title, entries in groupby(finished, key=lambda entry: entry.title)
    )


def _table(entries: Sequence[Experiment], figures: Mapping[str, Figures]) -> str:
    """One row an experiment; a score that not all of them have is empty for the others."""
    rows = [_row(entry, figures[entry.name]) for entry in entries]
    row_with_all_scores = max(rows, key=len)
    columns = list(row_with_all_scores)
    scores = {score for entry in entries for score in entry.scores}
    rules = ["--:" if name in {"seeds", *scores} else "---" for name in columns]
    return table_text(columns, rules, [[row.get(name, "") for name in columns] for row in rows])


def _row(entry: Experiment, figures: Figures) -> dict[str, str]:
    """How the models were trained, their scores in percent in the order of seeds, the paper's."""
    settings = dict(word.split("=", 1) for word in entry.settings)
    architecture = settings["seq2seq.architecture"]
    row = {
        "split": entry.split_and_model[0],
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
