"""The command line: settings of each job, help, completion, and errors for wrong commands."""

import importlib
import json
import re
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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a lake, a broken lake, a file and a broken settings file."""
    write_lake(tmp_path / "lake")
    log = tmp_path / "broken" / "amod_association" / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("no JSON")
    (tmp_path / "file").write_text("text")
    (tmp_path / "bad.yaml").write_text("a: [")
    return tmp_path


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
]


@pytest.mark.parametrize(
    ("line", "solution"), WRONG_COMMANDS, ids=[line or "nothing" for line, _ in WRONG_COMMANDS]
)
def test_wrong_commands_are_answered_by_one_line_with_the_solution(
    line, solution, folder, port_in_use, capsys
):
    words = line.format(folder=folder, port=port_in_use).split()
    assert main(words) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line]
    assert len([line for line in lines if line.startswith("error: ")]) == 1
    assert lines[-1].startswith("error: ") and solution in lines[-1]
    assert not any("Traceback" in line for line in lines)


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
