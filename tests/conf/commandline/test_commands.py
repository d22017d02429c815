"""The command line: settings of each job, help, completion, and errors for wrong commands."""

import importlib
import json
import logging
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from adnominal import conf
from adnominal.conf import ROOT, UserError
from adnominal.conf.commandline.__main__ import find, main
from adnominal.conf.commandline.commands import COMMANDS, settings_of
from adnominal.conf.commandline.completion import candidates, script
from adnominal.conf.help import fields_of
from tests.lake_of_pairs import write_lake
from tests.rows import adept_row, write


@pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))
def test_a_command_accepts_the_settings_of_its_script(command, capsys):
    module = importlib.import_module(command.module)
    for verb, settings in settings_of(command).items():
        assert module.main([*([verb] if verb else []), "--help"]) == 0
        text = capsys.readouterr().out
        assert [key for key, _, _ in fields_of(settings) if f"  {key}  (" not in text] == []


def test_every_script_has_a_command():
    scripts = {
        f"adnominal.{folder}.{path.stem}"
        for folder in ("etl", "training", "analysis")
        for path in (ROOT / folder).glob("*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    scripts |= {
        f"adnominal.{path.parent.relative_to(ROOT).as_posix().replace('/', '.')}.__main__"
        for folder in ("etl", "training", "analysis")
        for path in (ROOT / folder).rglob("__main__.py")
    }
    assert scripts == {command.module for command in COMMANDS.values()}


def test_next_steps_printed_by_scripts_are_valid_commands():
    scripts = [*(ROOT / "etl").glob("*.py"), *(ROOT / "training").glob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in scripts)
    steps = re.findall(r'"adnominal ([^"]+)"', text)
    assert len(steps) >= 12
    for step in steps:
        command, rest = find(step.split())
        files = [word for word in rest if word.endswith(".yaml")]
        assert all((ROOT / file).is_file() for file in files), step
        verbs = settings_of(command)
        keys = {key for cls in verbs.values() for key, _, _ in fields_of(cls)}
        assert {word.partition("=")[0] for word in rest if "=" in word} <= keys, step


def test_help_of_a_command_is_its_own(capsys):
    assert main(["help", "explore"]) == 0
    text = capsys.readouterr().out
    assert main(["explore", "--help"]) == 0
    assert text == capsys.readouterr().out
    assert main(["help", "lake", "show"]) == 0
    assert "rows shown" in capsys.readouterr().out
    assert main(["help", "exploer"]) == 2
    assert "explore" in capsys.readouterr().err


def test_help_lists_every_command(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in COMMANDS)
    assert ", ".join(settings_of(COMMANDS["lake"])) in text


def test_the_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith(f"adnominal {conf.package_version()}")


def test_a_command_may_have_two_words():
    command, rest = find(["build", "plane", "seed=1"])
    assert (command.module, rest) == ("adnominal.etl.build_plane", ["seed=1"])


@pytest.fixture
def port_in_use() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a lake, a broken lake, files with faults and a folder that is not empty."""
    folder = tmp_path_factory.mktemp("mistakes")
    write_lake(folder / "lake")
    log = folder / "broken" / "amod_association" / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("no JSON")
    (folder / "empty").mkdir()
    (folder / "file").write_text("text")
    (folder / "bad.yaml").write_text("a: [")
    (folder / "bad.json").write_text("{bad")
    (folder / "full").mkdir()
    (folder / "full" / "a.txt").write_text("The old dog saw a red car.\n")
    (folder / "pairs.csv").write_text("sentence1,sentence2,label\na,b,0\n")
    return folder


WRONG_COMMANDS = [
    ("", "expected a command"),
    ("extrat source=conllu", "did you mean 'extract'"),
    ("build adpet", "did you mean 'adept'"),
    ("import", "expected one of knowledge, published, pairs"),
    ("extract sorce=conllu input=x", "did you mean 'source'"),
    ("extract source=conlu input=x", "did you mean 'conllu'"),
    ("extract source=conllu", "missing setting 'input'"),
    ("extract source=conllu input=x examples=many", "expected a whole number"),
    ("extract source=conllu input={folder}/gone.conllu", "gone.conllu"),
    ("extract conllu", "expected key=value"),
    ("build plane preset=cleen", "did you mean 'clean'"),
    ("pipeline {folder}/gone.yaml", "no such file"),
    ("extract --config {folder}/bad.yaml", "not readable as YAML"),
    ("train conf/training/adept.yaml epoch=3", "did you mean 'num_train_epochs'"),
    ("annotate exprt batch=x.csv", "did you mean 'export'"),
    ("lake shwo amod_pairs", "did you mean 'show'"),
    ("lake show amod_pair lake={folder}/lake", "did you mean 'amod_pairs'"),
    ("lake show amod_association lake={folder}/broken", "cannot be read"),
    ("explore lake={folder}/gone", "no table amod_association in lake="),
    ("explore lake={folder}/file", "a file; expected a folder with the tables of a lake"),
    ("explore lake={folder}/broken", "cannot be read"),
    ("explore lake={folder}/lake port={port}", "choose another one, or port=0"),
    ("explore lake={folder}/lake measure=logdice", "did you mean 'log_dice'"),
    ("explore lake={folder}/lake noun=key corpus=newz", "did you mean 'news'"),
    ("explore lake={folder}/lake noun=key adjective=old", "expected only one"),
    ("explore lake={folder}/lake export={folder}/lake", "is there already"),
    ("completion tcsh", "expected one of bash, zsh, fish"),
    # Names of commands and settings
    ("expore", "did you mean 'explore'"),
    ("--verson", "did you mean '--version'"),
    ("report quey", "did you mean 'query'"),
    ("explore lake={folder}/lake noun=key measure=PMI", "did you mean 'pmi'"),
    ("finetune conf/training/adept.yaml", "did you mean 'train'"),
    ("knowledge", "did you mean 'import knowledge'"),
    ("lake", "expected one of list, show, history"),
    ("extract source conllu input={folder}/full", "did you mean 'source=conllu'"),
    ("build asp editon=mine lake={folder}/lake", "did you mean 'edition'"),
    ("import pairs file={folder}/pairs.csv sorce=x", "did you mean 'source'"),
    ("train conf/training/adept.yaml lr=1e-5", "this setting is called learning_rate"),
    ("train conf/training/adept.yaml classes=3", "this setting is called task.classes"),
    ("report editions=demo", "did you mean 'edition'"),
    # Values
    ("lake show amod_pairs limit=ten lake={folder}/lake", "limit=ten: expected a whole number"),
    ("extract source=text input={folder}/full parser=spacey", "did you mean 'spacy'"),
    ("build sygns per_depth=two", "per_depth=two: expected a whole number"),
    ("lake show amod_pairs where=noun=key lake={folder}/lake", "where=\"noun = 'key'\""),
    # Tables, editions, lakes
    ("lake list lake={folder}/file", "a file; expected a folder with the tables of a lake"),
    ("build adept lake={folder}/empty", "no table amod_pairs in lake="),
    ("build plane preset=paper lake={folder}/empty", "build it with: python etl/extract_amod.py"),
    (
        "export dataset=adept edition=dmeo format=huggingface out=x lake={folder}/lake",
        "mean 'demo'",
    ),
    (
        "export dataset=adept edition=published format=huggingface out=x lake={folder}/lake",
        "etl/import_published.py adept=FOLDER imports the release",
    ),
    ("audit dataset=adepts lake={folder}/lake", "did you mean 'adept'"),
    # Files and folders
    ("extract source=text input={folder}/gone/*.txt", "no file found"),
    ("import knowledge conceptnet={folder}/gone.csv", "no such file or folder"),
    ("import published adept={folder}/empty", "none of train.json, val.json, test.json there"),
    ("import pairs file={folder}/pairs.csv source=x premise=text", "expected either premise="),
    ("import predictions file={folder}/gone.jsonl run=x task=adept lake={folder}/lake", "gone"),
    ("report lake={folder}/lake out={folder}/full", "exists and is not a report"),
    ("lake export amod_pairs format=tsv out={folder}/full lake={folder}/lake", "a folder"),
]
# These start what imports torch.
WRONG_TRAINING = [
    ("train conf/training/adept.yaml task.clases=3 lake={folder}/lake", "did you mean 'classes'"),
    ("train conf/training/adept.yaml task.edition=dmeo lake={folder}/lake", "mean 'demo'"),
    ("train conf/training/adept.yaml lake={folder}/lake", "import_published.py adept=FOLDER"),
    ("train conf/training/adept.yaml lake={folder}/gone", "no table adept in lake="),
    ("train conf/training/adept.yaml deepspeed=zero4 lake={folder}/lake", "zero3"),
    (
        "train conf/training/adept.yaml task.edition=demo deepspeed={folder}/bad.json "
        "lake={folder}/lake",
        "bad.json",
    ),
    ("train conf/training/adpet.yaml", "no such file"),
    ("predict model={folder}/gone table=adept lake={folder}/lake", "gone"),
    ("predict model={folder}/empty table=adept lake={folder}/lake", "empty"),
    ("score conf/training/plane_score.yaml method=logprobs", "did you mean 'logprob'"),
    ("prompt conf/training/adept_chat.yaml model=x backend=vlm", "did you mean 'vllm'"),
]


def check_wrong_command(line, solution, capsys, caplog):
    """A wrong command prints its line and nothing else, neither before nor after it."""
    caplog.set_level(logging.INFO, "adnominal")
    code = main(shlex.split(line))
    output = capsys.readouterr()
    assert code == 2
    assert output.out == ""
    (message,) = output.err.splitlines()
    assert message.startswith("error: ") and solution in message
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("line", "solution"), WRONG_COMMANDS, ids=[line or "nothing" for line, _ in WRONG_COMMANDS]
)
def test_wrong_commands_are_answered_by_one_line_with_the_solution(
    line, solution, folder, port_in_use, capsys, caplog
):
    check_wrong_command(line.format(folder=folder, port=port_in_use), solution, capsys, caplog)


@pytest.mark.parametrize(("line", "solution"), WRONG_TRAINING)
def test_wrong_commands_of_training_are_answered_by_one_line(
    line, solution, folder, capsys, caplog
):
    check_wrong_command(line.format(folder=folder), solution, capsys, caplog)


def test_extract_without_settings_shows_its_most_common_commands(capsys):
    assert main(["extract"]) == 2
    lines = capsys.readouterr().err.splitlines()
    commands = [line.strip() for line in lines if line.startswith("  adnominal ")]
    assert lines[0].startswith("error: got no settings") and len(commands) == 3
    for command in commands:
        found, words = find(shlex.split(command)[1:])
        conf.load(settings_of(found)[""], words)


def test_a_server_that_refuses_the_connection_is_named(tmp_path, capsys):
    item = adept_row("a1", "false", "key", 1, split_random="val")
    write(tmp_path / "lake", "adept", [item])
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    words = f"""
        prompt conf/training/adept_chat.yaml model=x backend=local-chat-completions
        base_url=http://{address}/v1 model_args.max_retries=1 shots=0 tracking=none
        lake={tmp_path}/lake out={tmp_path}/runs cache={tmp_path}/cache
    """
    assert main(words.split()) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and address in line and "(1 try)" in line


def test_for_a_missing_package_its_extra_is_named(capsys):
    message = conf.missing_package(ModuleNotFoundError(name="torch"))
    assert message is not None and "adnominal[train]" in message
    assert conf.missing_package(ModuleNotFoundError(name="adnominal.etl.gone")) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("adnominal b", ["build"]),
        ("adnominal build ", ["adept", "asp", "plane", "sygns"]),
        ("adnominal extract sou", ["source="]),
        (
            "adnominal extract source=",
            ["source=conllu", "source=depcc", "source=text", "source=wikipedia"],
        ),
        ("adnominal extract lowercase=f", ["lowercase=false"]),
        ("adnominal lake w", ["why"]),
        ("adnominal lake list la", ["lake="]),
        ("adnominal completion f", ["fish"]),
        ("adnominal extract input=", []),
    ],
)
def test_words_are_completed(line, words):
    assert candidates(line) == words


def test_an_unknown_shell_is_refused():
    with pytest.raises(UserError, match="did you mean 'fish'"):
        script("fsh")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
def test_bash_completes_values_after_the_equals_sign(tmp_path):
    program = tmp_path / "adnominal"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m conf.commandline "$@"\n')
    program.chmod(0o755)
    line = "adnominal extract source=w"
    bash_script = f"""
{script("bash")}
PATH={tmp_path}:$PATH COMP_LINE={json.dumps(line)} COMP_POINT={len(line)}
_adnominal; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    process = subprocess.run(
        ["bash", "-c", bash_script],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=60,
    )
    assert process.stdout.strip() == "wikipedia"
