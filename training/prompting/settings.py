"""The settings of ``training/prompt.py``."""

from dataclasses import dataclass

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_distinct, check_minimum
from adnominal.etl.registry import DATASETS
from adnominal.training.settings import Recorded

PROMPTS = {name: dataset.prompts for name, dataset in DATASETS.items() if dataset.prompts}
"""The declared prompts of each dataset."""


@dataclass(frozen=True)
class Settings(Recorded):
    model: str = setting(
        help="language model, masked, causal or encoder-decoder: a name on the hub, or a folder",
        example="model=bert-base-cased",
    )
    task: str = setting("plane", help="dataset to ask about", choices=tuple(PROMPTS))
    shots: int = setting(
        0, help="examples before each item: 2 (PLANE, section 4: the other items of its group) or 0"
    )
    prompts: str | None = setting(
        None,
        help="name of a file in conf/prompts, or a path, also of promptsource; by default the "
        "task's file",
        example="prompts=my_prompts.yaml",
    )
    templates: list[str] = setting(
        [], help="templates of the file to use; by default all", example="templates=internal"
    )
    verbalisers: list[str] = setting(
        [], help="verbalisers of the file to use; by default all", example="verbalisers=good/poor"
    )
    calibration: str = setting(
        "none",
        help="divide a word's probability by that without content: in the same prompt with a "
        "content-free item (contextual; Zhao et al. 2021), or in only the template, without "
        "examples (domain; Holtzman et al. 2021)",
        choices=("none", "contextual", "domain"),
    )
    length_normalised: bool = setting(
        True, help="log-likelihood per token instead of per answer (causal, encoder-decoder)"
    )
    edition: str = setting("clean", help="edition of the task's tables")
    scheme: str = setting(
        "two_shot", help="PLANE: split scheme of the items", example="scheme=published"
    )
    fold: str = setting("1", help="PLANE: fold of the scheme")
    part: str = setting("test", help="PLANE: part of the fold; ADEPT: part of the split")
    tables: list[str] = setting(
        ["entailment", "degree"], help="ASP: tables to ask about", choices=("entailment", "degree")
    )
    variant: str = setting("base", help="ASP: variant of asp_degree", example="variant=numbers")
    limit: int | None = setting(
        None,
        help="groups of each class (PLANE), rows of each test (ASP), or rows (ADEPT); all if not "
        "given",
    )
    seed: int = setting(0, help="seed for the choice by limit=")
    batch_size: int = setting(64, help="prompts per process and batch", identity=False)
    precision: str = setting(
        "fp32", help="precision of weights and computation", choices=("fp32", "bf16")
    )
    split_model: bool = setting(
        False,
        help="spread the layers over the machine's GPUs, for models larger than one (one process)",
        identity=False,
    )
    out: str | None = setting(
        None,
        help="folder of the runs; by default runs/TASK_prompt",
        example="out=runs/prompts",
        identity=False,
    )
    predictions: bool = setting(
        True, help="write every answer to the table predictions", identity=False
    )
    cache: str | None = setting(
        "~/.cache/adnominal/prompts",
        help="folder for caching answers; none disables it",
        identity=False,
    )

    def __post_init__(self) -> None:
        shots = sorted(PROMPTS[self.task].shots, reverse=True)
        if self.shots not in shots:
            expected = " or ".join(map(str, shots))
            raise UserError(f"task={self.task} shots={self.shots}: expected {expected}")
        check_minimum(self, 1, "batch_size", "limit")
        check_distinct(self, "templates", "verbalisers", "tables")
        if not self.tables:
            raise UserError("tables=[]: expected entailment, degree or both")

    @property
    def prompt_file(self) -> str:
        """The prompts, by name or path."""
        declared = PROMPTS[self.task]
        zero_shot = None if self.shots else declared.zero_shot
        return self.prompts or zero_shot or declared.file
