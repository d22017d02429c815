"""The table of SyGNS's runs in docs/sygns.md: recipe, model, form and seed, beside the paper."""

from collections.abc import Iterator

from adnominal.conf.markdown import table_text
from benchmarks.papers import Experiment, experiments
from benchmarks.results import Figures

SCORES = ("EXI", "NUM", "UNI", "valid")
_NAMES = ("recipe", "model", "form", "seed", *SCORES, "paper, in this order", "hours")
_RULES = ("---", "---", "---", *("--:" for _ in range(5)), "---", "--:")
_COMMAND = "python -m benchmarks papers run=true parts={}"


def section(figures: dict[str, Figures]) -> str:
    """The table, from the recorded figures of the case papers by experiment.

    An experiment without figures has a row that says so, and its command below the table.
    """
    rows: list[tuple[str, ...]] = []
    commands = []
    for name, experiment in sorted(experiments().items(), key=_order):
        if experiment.script.endswith("finetune.py") and name.startswith("sygns"):
            rows += _rows(experiment, figures.get(name))
            if name not in figures and not experiment.earlier:
                cost = f"about {experiment.hours:g} CPU hours"
                commands.append(f"- `{_COMMAND.format(name)}` ({cost})")
    table = table_text(_NAMES, _RULES, rows)
    if not commands:
        return table
    listed = "\n".join(commands)
    return f"{table}\n\nNot run, with the command and its cost on one core:\n\n{listed}"


def _order(entry: tuple[str, Experiment]) -> tuple[str, str]:
    name, experiment = entry
    return experiment.recipe, name


def _rows(experiment: Experiment, figures: Figures | None) -> Iterator[tuple[str, ...]]:
    """A row for each run: its seed, its scores in percent, the paper's, and the mean hours."""
    settings = dict(word.split("=", 1) for word in experiment.settings)
    size = settings.get("seq2seq.size", "10M")
    architecture = settings["seq2seq.architecture"]
    model = "GRU" if architecture == "gru" else architecture.capitalize()
    what = (experiment.recipe, f"{model}, {size}", settings["task.form"].upper())
    seeds = settings["seeds"].strip("[]").split(",")
    printed = experiment.printed_numbers()
    paper = " / ".join(printed[score] for score in SCORES)
    if figures is None:
        for seed in seeds:
            yield (*what, seed, *("not run" for _ in SCORES), paper, "–")
        return
    hours = figures["hours"]
    hours_text = "–" if hours is None else f"{hours / figures['runs']:.2f}"
    for place, seed in enumerate(seeds[: figures["runs"]]):
        scores = (figures["scores"][score][place] for score in SCORES)
        yield (*what, seed, *(f"{100 * value:.1f}" for value in scores), paper, hours_text)
