"""The commands by name, each with its script and settings.

A command runs its script: the module is imported, and its ``main`` gets the words that follow. The
modules of a job are imported only when its command is chosen, so that help and errors appear at
once and the core runs without the packages of the extras.
"""

import dataclasses
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Command:
    """A command of one or two words.

    Attributes:
        name: its words.
        module: the script's module, with a function ``main(argv)`` that returns the exit code.
        settings: ``module:name`` of the settings class, or of a mapping from the command's verbs to
            tuples that contain a settings class.
        help: what it does, in one line.
        group: heading of the list of commands.
    """

    name: str
    module: str
    settings: str
    help: str
    group: str


# fmt: off
_GROUPS: Mapping[str, Sequence[tuple[str, str, str, str]]] = {
    "From corpora to pairs": (
        ("extract", "etl.extract_amod", "etl.amod.settings:Settings",
         "count the adjective–noun pairs of a corpus"),
        ("import knowledge", "etl.import_knowledge", "etl.knowledge.job:Settings",
         "ConceptNet, WordNet and the lexicons"),
        ("import published", "etl.import_published", "etl.published.job:Settings",
         "the released datasets, MNLI, SNLI and AddOne"),
        ("import pairs", "etl.import_pairs", "etl.published.pairs:Settings",
         "labelled pairs of sentences, or people's ratings of pairs"),
        ("parser sparknlp", "etl.train_sparknlp", "etl.parsing.sparknlp_training:Settings",
         "a pipeline for parser=sparknlp, trained on a treebank"),
        ("pipeline", "etl.pipeline", "etl.jobs:Settings",
         "several jobs from one YAML file"),
    ),
    "From pairs to datasets": (
        ("build adept", "etl.build_adept", "etl.adept.settings:Settings",
         "ADEPT's items, for annotation"),
        ("build plane", "etl.build_plane", "etl.plane.settings:Settings",
         "PLANE's phrases and splits"),
        ("build asp", "etl.build_asp", "etl.asp.settings:Settings",
         "ASP's entailment and degree tests"),
        ("build sygns", "etl.build_sygns", "etl.sygns.settings:Settings",
         "SyGNS's sentences with their meanings"),
        ("annotate", "etl.annotate_adept", "etl.annotation.job:VERBS",
         "ADEPT's labels: export, import, simulate, finish"),
        ("annotate asp", "etl.annotate_asp", "etl.annotation.degrees:VERBS",
         "people's judgements of ASP's degrees: export, import, finish"),
        ("check", "etl.check_splits", "etl.checks.splits:Settings",
         "what the parts of a split share"),
    ),
    "Models": (
        ("train", "training.finetune", "training.settings:Settings",
         "fine-tune a model on a task"),
        ("prompt", "training.prompt", "training.asking.settings:Settings",
         "prompt a language model, here or behind a server"),
        ("score", "training.score", "training.answering.settings:ScoreSettings",
         "a model on labelled rows of a task"),
        ("predict", "training.predict", "training.answering.settings:PredictSettings",
         "a model on the rows of a table"),
        ("import predictions", "etl.import_predictions", "etl.external.settings:Settings",
         "answers of models that were asked elsewhere"),
        ("convert", "training.convert", "training.models.packaged:Settings",
         "a model from PyPI as a folder"),
    ),
    "Looking at it": (
        ("explore", "analysis.explore", "analysis.exploring.job:Settings",
         "word sketches in a browser, in a folder, or as rows"),
        ("report", "analysis.report", "analysis.reporting:Settings",
         "the papers' tables and figures, ours beside them"),
        ("report query", "analysis.report_query", "analysis.querying:Settings",
         "a question in SQL about the report's numbers"),
        ("audit", "analysis.audit", "analysis.audit:Settings",
         "how well a part of the input alone predicts the label"),
        ("graded", "analysis.graded", "analysis.graded:Settings",
         "people's ratings of pairs beside counts, association and scores"),
        ("semantics", "analysis.semantics.__main__", "analysis.semantics.job:Settings",
         "SyGNS's predictions by provers and clause matching"),
        ("export", "analysis.export.__main__", "analysis.export.job:Settings",
         "a dataset for Hugging Face, lm-eval or Croissant"),
        ("lake", "etl.lake.__main__", "etl.looking.commands:COMMANDS",
         "tables: list, show, history, export, why, lookup, compact, vacuum, repair, verify"),
    ),
}
# fmt: on
"""Name, module, settings (both inside `adnominal`) and help, by the headings of the help."""

COMMANDS: Mapping[str, Command] = {
    name: Command(name, f"adnominal.{module}", f"adnominal.{settings}", help, group)
    for group, rows in _GROUPS.items()
    for name, module, settings, help in rows
}
"""The commands by their words, in the order of the help."""


def lookup(words: Sequence[str]) -> tuple[Command, list[str]] | None:
    """The command that the first words name, and the words after them; None if there is none."""
    for length in (2, 1):
        if command := COMMANDS.get(" ".join(words[:length])):
            return command, list(words[length:])
    return None


def settings_of(command: Command) -> dict[str, type]:
    """The settings classes of a command by verb; the key is ``""`` if it has no verbs."""
    module, _, name = command.settings.partition(":")
    value: Any = getattr(importlib.import_module(module), name)
    if dataclasses.is_dataclass(value):
        return {"": value if isinstance(value, type) else type(value)}
    return {
        verb: next(part for part in parts if isinstance(part, type))
        for verb, parts in value.items()
    }
