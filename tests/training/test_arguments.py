"""Settings under the names of transformers' TrainingArguments."""

import ast
import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest
import torch
from transformers import TrainingArguments

from adnominal import conf
from adnominal.conf import IMPORT_ROOT, UserError
from adnominal.training import argument_lists, arguments
from adnominal.training.fitting import predicting, training_arguments
from adnominal.training.planning import identity, prepare
from adnominal.training.settings import Lora, Recorded, Seq2Seq, Settings
from tests.training import arguments_file

FIELDS = {field.name for field in dataclasses.fields(TrainingArguments) if field.init}
PASSED = {field.name for field in dataclasses.fields(arguments.PassedArguments)}


def settings(*words: str) -> Settings:
    return conf.load(Settings, ["task.name=adept", *words])


def test_the_generated_file_is_of_the_installed_version():
    text = arguments.FILE.read_text(encoding="utf-8")
    message = "run: python -m tests.training.arguments_file"
    assert arguments_file.content() == text, message


def test_types_that_mypy_knows_are_those_of_the_file():
    tree = ast.parse(Path(arguments.__file__).read_text(encoding="utf-8"))
    (declared_class,) = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    hints = get_type_hints(arguments.PassedArguments)
    for line in declared_class.body:
        if isinstance(line, ast.AnnAssign):
            hint = hints[ast.unparse(line.target)]
            name = hint.__name__ if isinstance(hint, type) else str(hint)
            assert ast.unparse(line.annotation) == name


def test_each_field_is_in_exactly_one_list():
    lists = (PASSED, set(argument_lists.SET_BY_US), set(argument_lists.DECLARED_BY_US))
    assert set.union(*lists) == FIELDS
    assert sum(map(len, lists)) == len(FIELDS)
    assert argument_lists.WITHOUT_INFLUENCE <= PASSED
    assert set(argument_lists.OUR_DEFAULTS) <= PASSED
    assert not set(argument_lists.RENAMED) & FIELDS


def test_there_are_few_settings_of_ours():
    theirs = PASSED | argument_lists.DECLARED_BY_US
    names = {field.name for field in dataclasses.fields(Settings)} - theirs
    # The task's and PEFT's are not counted; those of seq2seq are the model of one task.
    assert len(names - {"task", "lora", "seq2seq"}) <= 26
    assert len(dataclasses.fields(Lora)) == 7
    assert len(dataclasses.fields(Seq2Seq)) == 6
    recorded = {field.name for field in dataclasses.fields(Recorded)}
    assert recorded - names == {"run_name"}


@pytest.mark.parametrize("name", sorted(argument_lists.SET_BY_US))
def test_fields_that_we_set_are_refused_with_the_reason(name):
    with pytest.raises(UserError, match=rf"^{name}=: not a setting; \w+"):
        settings(f"{name}=1")


@pytest.mark.parametrize("name", sorted(argument_lists.RENAMED))
def test_other_names_are_refused_with_the_right_one(name):
    new = argument_lists.RENAMED[name]
    with pytest.raises(
        UserError, match=f"^{name}=: this setting is called {new.split('=')[0][:9]}"
    ):
        settings(f"{name}=1")
    first_name = new.split("=")[0].split(" ")[0]
    conf.setting_type(Settings, first_name)


def test_help_needs_no_torch_and_has_our_settings_first():
    code = (
        "import sys\nfrom adnominal import conf\nfrom adnominal.training.settings import Settings\n"
        "print(conf.help_text(Settings))\nassert not {'torch', 'transformers'} & set(sys.modules)"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], cwd=IMPORT_ROOT, capture_output=True, text=True, check=True
    ).stdout
    title = "Arguments of transformers' Trainer (TrainingArguments):"
    ours, theirs = output.split(title)
    assert "\n  batch_size " in ours
    assert "\n  dataloader_num_workers " in theirs
    assert "(transformers' own default: 0.0)" in theirs


def test_arguments_reach_the_trainer(tmp_path):
    words = ["lr_scheduler_type=cosine_with_min_lr", "lr_scheduler_kwargs.min_lr=1e-6"]
    words += ["adam_beta2=0.98", "optim=adamw_torch", "warmup_steps=0", "dataloader_num_workers=2"]
    args = training_arguments(settings(*words), tmp_path, 4)
    assert args.lr_scheduler_type == "cosine_with_min_lr"
    assert args.lr_scheduler_kwargs == {"min_lr": 1e-6}
    assert (args.adam_beta2, args.warmup_steps, args.per_device_train_batch_size) == (0.98, 0, 4)
    assert args.dataloader_num_workers == 2
    assert args.optim_target_modules is None
    assert args.bf16 is torch.cuda.is_available()


def test_what_transformers_refuses_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"^transformers' arguments: .*eval_steps") as error:
        training_arguments(settings(), tmp_path, 4, eval_strategy="steps", logging_steps=0)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("word", ["adam_beta1=2", "lr_scheduler_kwargs.speed=1"])
def test_what_transformers_refuses_later_is_one_line(adept_lake, tiny_encoder, tmp_path, word):
    words = [f"lake={adept_lake}", f"model={tiny_encoder}", f"out={tmp_path}", word]
    (run,) = prepare(settings(*words))
    run.learner.prepare()
    message = r"^transformers' arguments: .*(beta|speed)"
    with (
        predicting(run.settings, run.learner, lambda: run.learner.model(0), tmp_path) as trainer,
        pytest.raises(UserError, match=message) as error,
    ):
        trainer.create_optimizer_and_scheduler(10)
    assert "\n" not in str(error.value)


def test_identity_has_what_decides_a_result():
    plain = identity(settings("batch_size=32"))
    same = [
        ["per_device_train_batch_size=8"],
        ["logging_steps=3", "save_strategy=steps", "save_steps=7"],
        ["deepspeed=zero3", "activation_checkpointing=true", "torch_compile=true"],
        ["dataloader_num_workers=4", "run_name=x", "devices=2"],
        ["adam_beta1=0.9"],
    ]
    for words in same:
        assert identity(settings("batch_size=32", *words)) == plain
    for words in (["adam_beta1=0.8"], ["bf16=true"], ["lora.r=4"], ["seeds=[1]"], ["optim=sgd"]):
        assert identity(settings("batch_size=32", *words)) != plain
    # The size of an update counts, not how it is written.
    more = ["per_device_train_batch_size=8", "gradient_accumulation_steps=4"]
    assert identity(settings(*more)) == plain
    assert "adam_epsilon" not in plain


def test_settings_that_came_later_leave_the_identity_of_earlier_runs():
    plain = identity(settings("batch_size=32"))
    assert "labels" not in plain and "padding_loss" not in plain["seq2seq"]
    later = identity(settings("batch_size=32", "labels=soft", "seq2seq.padding_loss=true"))
    assert later["labels"] == "soft" and later["seq2seq"]["padding_loss"] is True
