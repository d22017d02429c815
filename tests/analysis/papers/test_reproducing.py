"""The commands of docs/reproducing.md have a model for each printed column or row.

SyGNS's commands are grids, which are expanded as ``dry_run=`` does it.
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import prod
from typing import NamedTuple

import pytest
import yaml

from adnominal import conf
from adnominal.analysis.papers.adept import models as adept
from adnominal.analysis.papers.asp import models as asp
from adnominal.analysis.papers.asp.sources import row_name
from adnominal.analysis.papers.plane import inference, prompting
from adnominal.analysis.papers.published import table
from adnominal.analysis.papers.sygns import models as sygns
from adnominal.conf import ROOT
from adnominal.training.finished_runs import short_name
from adnominal.training.grid import axes, points
from adnominal.training.settings import Settings

PAGE = (ROOT / "docs" / "reproducing.md").read_text(encoding="utf-8")


class Command(NamedTuple):
    """A command with a settings file of conf/training, by the file's name without its suffix."""

    file: str
    settings: dict[str, str]

    @property
    def model(self) -> str:
        """The model in the command, or that of the file."""
        if "model" in self.settings:
            return self.settings["model"]
        text = (ROOT / "conf" / "training" / f"{self.file}.yaml").read_text(encoding="utf-8")
        return str(yaml.safe_load(text)["model"])


def training_commands(text: str) -> Iterator[Command]:
    """The commands in the bash blocks of a page; one in a loop, once for each of its models."""
    for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL):
        looped_models = [""]
        for line in block.replace("\\\n", " ").splitlines():
            if loop := re.fullmatch(r"for model in (.*); do", line.strip()):
                looped_models = loop[1].split()
            elif line.strip() == "done":
                looped_models = [""]
            elif file := re.search(r"conf/training/(\w+)\.yaml", line):
                for model in looped_models:
                    words = shlex.split(line.replace("$model", model), comments=True)
                    settings = dict(word.split("=", 1) for word in words if "=" in word)
                    yield Command(file[1], settings)


def models(*files: str, text: str = PAGE) -> list[str]:
    """The models of the commands with one of these files."""
    return [command.model for command in training_commands(text) if command.file in files]


def commands_of(text: str, *files: str) -> list[Command]:
    """The commands with these files (with any, if none is named), without lake and edition, which
    the report completes for its lake."""
    commands = []
    for command in training_commands(text):
        settings = {
            key: value
            for key, value in command.settings.items()
            if key not in ("lake", "edition", "task.edition")
        }
        if command.file in files or not files:
            commands.append(Command(command.file, settings))
    return commands


class Trained(NamedTuple):
    """What distinguishes the runs of SyGNS's tables."""

    scheme: str
    primitive: str
    form: str
    architecture: str
    size: str
    train_size: int | None


@cache
def sygns_runs(text: str, file: str) -> Counter[Trained]:
    """The runs of SyGNS's commands with a file in a page, each with the number of its seeds."""
    runs: Counter[Trained] = Counter()
    for command in training_commands(text):
        if command.file != file:
            continue
        settings = conf.load(Settings, _words(command))
        # The seeds share everything else, so the grid is expanded for one of them.
        for point in points(replace(settings, seeds=settings.seeds[:1])):
            single = point.settings
            run = Trained(
                scheme=single.task["scheme"],
                primitive=single.task["primitive"] or "",
                form=single.task["form"],
                architecture=single.seq2seq.architecture,
                size=single.seq2seq.size,
                train_size=single.size,
            )
            runs[run] += len(settings.seeds)
    return runs


def page_of(commands: str) -> str:
    """The report's commands for a table as a page."""
    return "```bash\n{}```".format("\n".join(commands.split(" && ")))


def names(table_name: str, paper: str, *, rows: bool = False) -> set[str]:
    """The names of the printed columns, or of the rows that are models."""
    index = 0 if rows else 1
    printed = {cell[index] for cell in table(paper, table_name)}
    return printed - {"chance", "majority"}


def test_loops_and_continued_lines_are_read():
    text = """```bash
for model in a/b c; do
    python training/score.py conf/training/asp_score.yaml model=$model  # table 3
done
deepspeed training/finetune.py conf/training/asp.yaml \\
    register=mine
```"""
    assert models("asp_score", text=text) == ["a/b", "c"]
    assert models("asp", text=text) == ["microsoft/deberta-v3-base"]
    registered = [command.settings.get("register") for command in training_commands(text)]
    assert registered == [None, None, "mine"]


@pytest.mark.parametrize(
    ("file", "number", "entry"),
    [
        ("plane_prompt", "table 4", prompting.two_shot),
        ("plane_zero_shot", "table 8", prompting.zero_shot),
    ],
)
def test_planes_prompts_are_given_to_each_model_of_the_paper(file, number, entry):
    columns = [prompting._PAPERS_MODELS[short_name(model)] for model in models(file)]
    assert sorted(columns) == sorted(names(number, "plane"))
    assert commands_of(page_of(entry.fills)) == commands_of(PAGE, file)


def test_planes_table_5_has_each_of_its_models():
    columns = [inference._column(model) for model in models("plane_score")]
    assert sorted(map(str, columns)) == sorted(names("table 5", "plane"))
    # The report's command for the table has the same models.
    block = "\n".join(inference.accuracy.fills.split(" && "))
    assert models("plane_score", text=f"```bash\n{block}```") == models("plane_score")


def adept_cells(text: str) -> list[tuple[str, str]]:
    """The cells of table 5 and section 6 that ADEPT's grids fill, sorted."""
    cells = []
    for command in training_commands(text):
        if command.file != "adept_grid":
            continue
        settings = conf.load(Settings, _words(command))
        # All combinations of the other axes belong to the same cell.
        of_task = {"task": settings.grid.get("task", {})}
        for point in points(replace(settings, grid=of_task, seeds=settings.seeds[:1])):
            task = point.settings.task
            row = str(adept.family(short_name(command.model)))
            row += "" if task.get("context", True) else ", no context"
            cells.append((row, f"{task['classes']}-class"))
    return sorted(cells)


def test_adepts_table_5_has_each_of_its_models():
    of_models = {name for name in names("table 5", "adept", rows=True) if name[0].isupper()}
    needed = [(row, column) for row in of_models for column in ("3-class", "5-class")]
    needed.append(("RoBERTa", "4-class"))  # section 6
    assert adept_cells(PAGE) == sorted(needed)
    assert adept_cells(page_of(adept.accuracy.fills)) == sorted(needed)
    assert models("adept_grid")[:3] == models("adept_frozen")


@pytest.mark.parametrize(
    ("name", "cell"),
    [("five_classes", ("RoBERTa", "5-class")), ("three_classes", ("DeBERTa", "3-class"))],
)
def test_adepts_matrices_are_of_models_of_table_5(name, cell):
    fills = getattr(adept, name).fills
    assert cell in adept_cells(page_of(fills))
    assert fills in adept.accuracy.fills.split(" && ")


def test_asps_table_3_has_each_of_its_models():
    trained = {
        f"models:/{command.settings['register']}/1": command.model
        for command in training_commands(PAGE)
        if command.file.startswith("mnli")
    }
    # A model that is scored has the row of the one that it was trained from.
    bases = [trained[model] for model in models("asp_score")]
    rows = [row_name(short_name(model)) for model in (*bases, *models("asp_prompt"))]
    assert sorted(map(str, rows)) == sorted(names("table 3, degree estimation", "asp", rows=True))
    files = ("mnli", "mnli_deberta_large", "mnli_bert_base", "mnli_bert_large")
    of_page = commands_of(PAGE, *files, "asp_score", "asp_prompt")
    assert commands_of(page_of(asp.untrained_models.fills)) == of_page


def test_asps_table_4_has_each_of_its_models():
    files = ("asp", "asp_deberta_large", "asp_bert_base", "asp_bert_large")
    rows = [row_name(short_name(model)) for model in models(*files)]
    assert sorted(map(str, rows)) == sorted(names("table 4, degree estimation", "asp", rows=True))
    assert commands_of(page_of(asp.trained_models.fills)) == commands_of(PAGE, *files)


# Of each exhibit with these columns: its scheme, and the primitives of its parts.
_SYGNS = {
    "table_4": ("systematicity", ("one", "two", "every", "one,two,every")),
    "table_5": ("systematicity", ("one",)),
    "table_9": ("productivity", ("",)),
    "table_10": ("embedded_quantifiers", ("",)),
    "table_14": ("systematicity", ("two", "every")),
    "table_16": ("quantifier_negation", ("one", "two", "every")),
    "table_17": ("quantifier_negation", ("one", "two", "every")),
}
_SEEDS = 5


@pytest.mark.parametrize("name", _SYGNS)
def test_sygns_commands_have_all_columns_of_their_tables(name):
    scheme, primitives = _SYGNS[name]
    entry = getattr(sygns, name)
    assert len(entry.printed) == len(primitives)
    needed = set()
    for part, primitive in zip(entry.printed, primitives, strict=True):
        for column in names(part, "sygns"):
            model, form = column.removesuffix(" (cnt)").lower().split()
            needed.add(Trained(scheme, primitive, form, model, "10M", None))
    assert needed and {run.form for run in needed} == {"fol", "drs", "vf"}
    runs = sygns_runs(PAGE, "sygns")
    assert {run: runs[run] for run in needed} == dict.fromkeys(needed, _SEEDS)
    # The report's command for the table has exactly these runs.
    assert sygns_runs(page_of(entry.fills), "sygns") == dict.fromkeys(needed, _SEEDS)


@pytest.mark.parametrize("name", ["entailment", "polarity_of_fol", "polarity_of_forms"])
def test_sygns_tables_of_further_scores_use_runs_of_table_4(name):
    runs = sygns_runs(page_of(getattr(sygns, name).fills), "sygns")
    assert runs and runs.keys() <= sygns_runs(PAGE, "sygns").keys()
    assert {run.architecture for run in runs} == {"gru", "transformer"}


def test_sygns_sizes_and_curves_have_each_model():
    columns = names("table 11", "sygns")
    sizes = sygns_runs(PAGE, "sygns_sizes")
    shown = {f"{'GRU' if run.architecture == 'gru' else 'Transformer'} {run.size}" for run in sizes}
    assert shown == columns and set(sizes.values()) == {_SEEDS}
    curves = sygns_runs(PAGE, "sygns_curve")
    assert {run.architecture for run in curves} == {"gru", "transformer"}
    assert len({run.train_size for run in curves}) > 1
    for name, file in (("by_size", "sygns_sizes"), ("learning_curves", "sygns_curve")):
        assert sygns_runs(page_of(getattr(sygns, name).fills), file) == sygns_runs(PAGE, file)


def test_the_page_states_the_number_of_runs():
    counts = []
    for command in training_commands(PAGE):
        if command.file.startswith("sygns"):
            settings = conf.load(Settings, _words(command))
            lists = axes(settings).values()
            sizes = [len(values) for values in lists if isinstance(values, list)]
            counts.append(prod(sizes) * len(settings.seeds) * max(1, len(settings.train_size)))
    stated = re.search(r"The commands are ([\d, and]+) runs", PAGE)
    assert stated and [int(number) for number in re.findall(r"\d+", stated[1])] == counts


def _words(command: Command) -> list[str]:
    file = str(ROOT / "conf" / "training" / f"{command.file}.yaml")
    return [file, *(f"{key}={value}" for key, value in command.settings.items())]


def test_registered_models_are_registered_by_a_command_before():
    registered: set[str] = set()
    unknown = []
    for command in training_commands(PAGE.partition("## Across the papers")[0]):
        if address := re.fullmatch(r"models:/(\w+)/1", command.settings.get("model", "")):
            unknown += [address[1]] if address[1] not in registered else []
        registered.add(command.settings.get("register", ""))
    assert unknown == []
