"""The settings of ``training/prompt.py``."""

from dataclasses import dataclass
from typing import Any, ClassVar

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_default, check_distinct, check_minimum
from adnominal.etl.prompts.files import SUBJECTS
from adnominal.training.settings import Recorded

CHAT_BACKENDS = (
    "local-chat-completions",
    "openai-chat-completions",
    "anthropic-chat-completions",
)
SERVER_BACKENDS = ("local-completions", *CHAT_BACKENDS)
CARD_BACKENDS = ("vllm", "sglang")
BACKENDS = ("hf", *CARD_BACKENDS, *SERVER_BACKENDS)
# A PLANE item is shown after the two other items of its group, in both orders (section 4).
GROUP_SHOTS = 2
MOST_SHOTS = 8
# The settings of the items that only some tasks have.
_OF_TASKS = {
    "plane": ("scheme", "fold"),
    "asp": ("fold", "tables", "variant"),
    "sygns": ("scheme", "fold", "meaning"),
}


@dataclass(frozen=True)
class _Model:
    """The model, and how it is asked."""

    model: str = setting(
        help="language model, masked, causal or encoder-decoder: a name on the hub, or a folder; "
        "with a server, its name there",
        example="model=bert-base-cased",
    )
    backend: str = setting(
        "hf",
        help="where the model runs, by lm-evaluation-harness's names: hf (this process), vllm or "
        "sglang (a GPU), or a server",
        choices=BACKENDS,
        example="backend=local-chat-completions base_url=http://localhost:8000/v1/chat/completions",
    )
    base_url: str | None = setting(None, help="address of the server")
    model_args: dict[str, Any] = setting(
        {},
        help="further arguments of the harness's backend",
        example="model_args.gpu_memory_utilization=0.8",
    )
    form: str = setting(
        "likelihood",
        help="likelihood: the most probable of the words that stand for the labels; generate: an "
        "answer that the model writes after an instruction",
        choices=("likelihood", "generate"),
    )
    chat: bool = setting(
        False, help="ask in the model's chat template, each example as a turn of the conversation"
    )
    instructions: str | None = setting(
        None, help="system message of the conversation", example="instructions='Answer briefly.'"
    )
    max_gen_toks: int = setting(256, help="tokens that an answer may have, reasoning included")
    temperature: float = setting(0.0, help="0: the most probable token; above: draws")
    stop: list[str] = setting(
        [], help="texts that end an answer, after the model's reasoning", example='stop=["\\n"]'
    )
    end_of_thinking: str = setting(
        "</think>", help="the mark between a model's reasoning and its answer"
    )
    price_in: float = setting(0.0, help="price of a token that is sent", identity=False)
    price_out: float = setting(0.0, help="price of a token that is written", identity=False)
    tokenizer: str | None = setting(
        None,
        help="likelihood from a server: name or folder of the model's tokenizer, or server for the "
        "server's own",
        example="tokenizer=Qwen/Qwen3-8B",
    )
    num_concurrent: int = setting(8, help="requests to a server at once", identity=False)
    batch_size: int = setting(64, help="prompts per process and batch", identity=False)
    precision: str = setting(
        "fp32", help="precision of weights and computation", choices=("fp32", "bf16")
    )
    split_model: bool = setting(
        False,
        help="spread the layers over the machine's GPUs, for models larger than one (one process)",
        identity=False,
    )


@dataclass(frozen=True)
class _Items:
    """The items and the prompts."""

    task: str = setting("plane", help="what to ask about", choices=tuple(SUBJECTS))
    shots: int = setting(
        0,
        help="examples before each item, 0 to 8, from the training part and balanced over the "
        "labels; PLANE with 2: the other items of its group, in both orders (section 4)",
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
    edition: str = setting(
        "clean", help="edition of the task's tables; source of nli and graded_pairs"
    )
    scheme: str = setting(
        "two_shot", help="PLANE, SyGNS: split scheme of the items", example="scheme=published"
    )
    fold: str = setting(
        "1", help="PLANE: fold of the scheme; SyGNS: primitive; ASP with shots=: round"
    )
    part: str = setting("test", help="part of the fold or of the split")
    tables: list[str] = setting(
        ["entailment", "degree"], help="ASP: tables to ask about", choices=("entailment", "degree")
    )
    variant: str = setting("base", help="ASP: variant of asp_degree", example="variant=numbers")
    meaning: str = setting("fol", help="SyGNS: form of the meanings", choices=("fol", "drs", "vf"))
    limit: int | None = setting(
        None,
        help="groups of each class (PLANE), rows of each test (ASP), or rows; all if not given",
    )
    seed: int = setting(0, help="seed for the choice by limit= and of examples")


# Fields come in the reverse order of the bases, so the model comes first in --help.
@dataclass(frozen=True)
class Settings(Recorded, _Items, _Model):
    FIRST: ClassVar[tuple[str, ...]] = (
        *("model", "task", "form", "shots", "backend", "base_url", "chat"),
        *("edition", "lake", "limit"),
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
        super().__post_init__()
        check_minimum(self, 1, "batch_size", "limit", "max_gen_toks", "num_concurrent")
        check_minimum(self, 0, "temperature", "price_in", "price_out")
        check_distinct(self, "templates", "verbalisers", "tables")
        if not self.tables:
            raise UserError("tables=[]: expected entailment, degree or both")
        if not 0 <= self.shots <= MOST_SHOTS:
            raise UserError(f"shots={self.shots}: expected 0 to {MOST_SHOTS}")
        self._check_task()
        self._check_backend()
        self._check_form()

    def _check_task(self) -> None:
        """Raise `UserError` for settings of the items that the task does not have."""
        of_task = _OF_TASKS.get(self.task, ())
        of_others = {name for names in _OF_TASKS.values() for name in names}.difference(of_task)
        reason = f"has no effect on task={self.task}; omit it"
        check_default(self, tuple(of_others), reason)

    def _check_backend(self) -> None:
        if self.is_server and self.base_url is None and self.backend.startswith("local-"):
            raise UserError(
                f"backend={self.backend}: expected base_url= with it, the server's address, such "
                "as base_url=http://localhost:8000/v1"
            )
        if self.base_url is not None and not self.is_server:
            servers = ", ".join(SERVER_BACKENDS)
            raise UserError(f"base_url= backend={self.backend}: expected one of {servers} with it")
        if self.model_args and self.backend == "hf":
            raise UserError("model_args= backend=hf: expected another backend with it")

    def _check_form(self) -> None:
        if self.instructions is not None and not self.is_chat:
            raise UserError(
                "instructions= chat=false: a system message is part of a conversation; expected "
                "chat=true with it"
            )
        if self.form == "generate":
            if self.calibration != "none":
                raise UserError(
                    f"form=generate calibration={self.calibration}: an answer that is written has "
                    "no probability to divide; expected calibration=none"
                )
            return
        if self.backend in CHAT_BACKENDS:
            raise UserError(
                f"form=likelihood backend={self.backend}: a chat server gives no probabilities of "
                "texts that it is sent; expected form=generate, or backend=local-completions"
            )
        if self.is_server and self.tokenizer is None:
            raise UserError(
                "form=likelihood: tokenizer= is missing; expected the name or folder of the "
                "model's tokenizer, or server for a server that has /tokenize, as vLLM"
            )

    @property
    def is_server(self) -> bool:
        """Whether the model answers at an address."""
        return self.backend in SERVER_BACKENDS

    @property
    def is_chat(self) -> bool:
        """Whether examples are turns of a conversation."""
        return self.chat or self.backend in CHAT_BACKENDS

    @property
    def shows_groups(self) -> bool:
        """Whether the examples are the other items of an item's group."""
        return self.shots == GROUP_SHOTS and SUBJECTS[self.task].declared.number is not None

    @property
    def prompt_file(self) -> str:
        """The prompts, by name or path."""
        declared = SUBJECTS[self.task].declared
        zero_shot = None if self.shots else declared.zero_shot
        return self.prompts or zero_shot or declared.file
