"""The fields of transformers' TrainingArguments that users may set, as settings.

``conf/training_arguments.json`` has their names, types, defaults and meaning, so that ``--help``,
completion and errors need no torch. It is written by ``python -m tests.training.arguments_file``
from the pinned version of transformers.
"""

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from adnominal.conf import ROOT, setting

FILE = ROOT / "conf" / "training_arguments.json"
_GENERATED: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
LIBRARY_DEFAULTS: dict[str, Any] = {
    field["name"]: field["library_default"]
    for field in _GENERATED["fields"]
    if "library_default" in field
}
"""The library's defaults of the arguments that have another default here."""
_TYPES: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "list": list[str],
    "dict": dict[str, Any],
}


def _declaration(field: dict[str, Any]) -> tuple[str, Any, Any]:
    """The name, the type and the setting of a field of the file."""
    hint = _TYPES[field["type"]]
    if field["default"] is None:
        hint = hint | None
    declared_setting = setting(
        field["default"],
        help=field["help"],
        choices=field.get("choices", ()),
        identity=field.get("identity", True),
    )
    return field["name"], hint, declared_setting


if TYPE_CHECKING:

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class PassedArguments:
        """Arguments of transformers' Trainer; here, for mypy, those that this package reads."""

        activation_checkpointing: bool | None = None
        dataloader_pin_memory: bool = True
        ddp_backend: str | None = None
        ddp_timeout: int = 0
        eval_strategy: str = ""
        fp16: bool = False
        gradient_accumulation_steps: int = 1
        label_smoothing_factor: float = 0.0
        learning_rate: float = 0.0
        max_grad_norm: float = 0.0
        metric_for_best_model: str = ""
        num_train_epochs: float = 0.0
        per_device_train_batch_size: int | None = None
        save_strategy: str = ""
        torch_compile: bool = False
        train_sampling_strategy: str = ""
        use_cpu: bool = False

else:
    PassedArguments = dataclasses.make_dataclass(
        "PassedArguments",
        [_declaration(field) for field in _GENERATED["fields"]],
        namespace={
            "__doc__": "Arguments of transformers' Trainer, under its own names and meanings.",
            "__module__": __name__,
            "HELP_TITLE": "Arguments of transformers' Trainer (TrainingArguments)",
        },
        frozen=True,
        kw_only=True,
    )
