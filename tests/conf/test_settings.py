"""Loading settings: precedence, types, errors and help; exit codes of jobs."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import pytest

from adnominal import conf
from adnominal.conf import JobFailed, UserError, load, setting
from adnominal.training.settings import Settings as TrainingSettings


@dataclass(frozen=True)
class Grid:
    rate: float = 0.1


@dataclass(frozen=True)
class Settings:
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"clean": {}, "paper": {"count": 10}}

    input: list[str] = setting(help="files to read", example="input=dump/*.gz")
    count: int = setting(1, help="least count")
    share: float | None = setting(None, help="share")
    keep_text: bool = setting(False, help="keep the text")
    name: str = setting("x", help="a name")
    kind: str = setting("a", help="a kind", choices=("a", "b"))
    preset: str = setting("clean", help="preset")
    grid: Grid = setting(Grid(), help="nested")


def test_lists_may_have_commas_brackets_repetition_or_bare_words():
    for words in (["input=a,b"], ["input=[a,b]"], ["input=a", "input=b"], ["input=a", "b"]):
        assert load(Settings, words).input == ["a", "b"]


def test_settings_may_be_written_as_options():
    assert load(Settings, ["--input", "a", "--count=3"]) == load(Settings, ["input=a", "count=3"])


def test_precedence_is_command_line_file_preset_default(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text("count: 20\nname: from file\n")
    assert load(Settings, ["input=a"]).count == 1
    assert load(Settings, ["input=a", "preset=paper"]).count == 10
    assert load(Settings, ["input=a", "preset=paper", "--config", str(file)]).count == 20
    loaded = load(Settings, ["input=a", "--config", str(file), "count=30"])
    assert (loaded.count, loaded.name) == (30, "from file")


def test_texts_that_look_like_numbers_stay_texts():
    assert load(Settings, ["input=1e5,2", "name=007"]).name == "007"
    assert load(Settings, ["input=1e5,2"]).input == ["1e5", "2"]


WORDS = ["007", "2024_01", "1.10", "12:30", "1e3", "no", "on", "true", "0x1F", "2024-01-01", "3"]


@pytest.mark.parametrize("word", WORDS)
def test_a_text_is_spelled_as_in_the_file_list_or_mapping(word, tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(f"name: {word}  # a comment\ninput:\n- {word}\n")
    assert (load(Settings, [str(file)]).name, load(Settings, [str(file)]).input) == (word, [word])
    assert load(Settings, [f"input=[{word},'a, b']"]).input == [word, "a, b"]
    free = load(Outer, [f"free.x={word}", f"free.y=[{word}]"]).free
    text = word if word not in ("true", "3") else json.loads(word)
    assert free == {"x": text, "y": [text]}
    file.write_text(f"free: {{x: {word}, y: [{word}]}}\n")
    assert load(Outer, [str(file)]).free == free


@pytest.mark.parametrize("text", ["a: b", "a #b", "*a", "&a", "@a", "a, b", "- a", "!a", "| a"])
def test_a_text_of_a_mapping_is_not_read_as_yaml(text):
    assert load(Outer, [f"free.x={text}"]).free == {"x": text}


def test_numbers_and_truth_values_of_a_file(tmp_path):
    file = tmp_path / "s.yaml"
    for share, value in (("1e-5", 1e-5), ("3", 3.0), (".5", 0.5), ("null", None), ("~", None)):
        for truth in ("yes", "on", "True", "true"):
            file.write_text(f"input: [a]\nshare: {share}\nkeep_text: {truth}\ncount: 1_000\n")
            loaded = load(Settings, [str(file)])
            assert (loaded.share, loaded.keep_text, loaded.count) == (value, True, 1000)


def test_a_file_with_words_merge_keys_and_texts_of_several_lines(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text("free:\n  a: &a {it's: on}\n  b:\n    <<: *a\n    c: no\n     yes\n")
    a, b = load(Outer, [str(file)]).free.values()
    assert (a, b) == ({"it's": "on"}, {"it's": "on", "c": "no yes"})
    file.write_text("free:\n  a: &a no\n  b: *a\n  c: !!str 1e3\n  d: &d 3\n  e: x\n\n   y\n")
    assert load(Outer, [str(file)]).free == {"a": "no", "b": "no", "c": "1e3", "d": 3, "e": "x\ny"}
    file.write_text("size: 1\nfree: {a: on}\nsize: 2\n")
    with pytest.raises(UserError, match=r"duplicate key size.*line 3"):
        load(Outer, [str(file)])


def test_aliases_that_expand_to_a_million_values_are_refused(tmp_path):
    lists = [
        f"  {name}: &{name} [{', '.join(['*' + below] * 10)}]" for below, name in pairwise("abcdef")
    ]
    file = tmp_path / "s.yaml"
    file.write_text("\n".join(["free:", "  a: &a [x, x, x, x, x, x, x, x, x, x]", *lists]))
    message = (
        r"s\.yaml: not readable .* aliases stand for more than 10000 values; use fewer .*name\)$"
    )
    with pytest.raises(UserError, match=message):
        load(Outer, [str(file)])


def test_files_of_the_package_are_found_outside_a_checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load(TrainingSettings, ["conf/training/asp.yaml"]).task["name"] == "asp"
    with pytest.raises(UserError, match=r"--config conf/training/own\.yaml: no such file"):
        load(TrainingSettings, ["conf/training/own.yaml"])
    (tmp_path / "conf/training").mkdir(parents=True)
    (tmp_path / "conf/training/asp.yaml").write_text("task: {name: adept}\n")
    assert load(TrainingSettings, ["conf/training/asp.yaml"]).task == {"name": "adept"}


def test_an_empty_text_is_refused(tmp_path):
    with pytest.raises(UserError, match="name= is empty; expected a text"):
        load(Settings, ["input=a", "name="])
    file = tmp_path / "s.yaml"
    file.write_text("input: [a]\nname: ''\n")
    with pytest.raises(UserError, match="name= is empty"):
        load(Settings, [str(file)])


@pytest.mark.parametrize("words", [["name=\udcff"], ["--name", "\udcff"], ["input=a", "b\udcff"]])
def test_arguments_that_are_not_utf8_are_refused(words):
    with pytest.raises(UserError, match=r"\\udcff': not UTF-8; expected UTF-8"):
        load(Settings, ["input=a", *words])


def test_a_path_in_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    for text, path in (("~/x", "/home/me/x"), ("~", "~"), ("a/~/x", "a/~/x")):
        loaded = load(Settings, [f"input=b,{text}", f"name={text}"])
        assert (loaded.name, loaded.input) == (path, ["b", path])


def test_nested_settings_and_null():
    loaded = load(Settings, ["input=a", "grid.rate=0.5", "share=0.2"])
    assert loaded.grid == Grid(0.5)
    assert loaded.share == 0.2
    assert load(Settings, ["input=a", "share=null"]).share is None


def test_null_and_none_are_words_in_free_text(tmp_path):
    @dataclass(frozen=True)
    class Words:
        noun: str | None = setting("key", help="a noun", free_text=True)
        column: str | None = setting("text", help="a column")

    assert load(Words, ["noun=null", "column=null"]) == Words("null", None)
    assert load(Words, ["noun=none", "column=none"]) == Words("none", None)
    assert load(Words, ["noun=", "column="]) == Words(None, None)
    file = tmp_path / "s.yaml"
    file.write_text("noun: null\n")
    assert load(Words, [str(file)]).noun is None


def test_the_local_rank_of_a_launcher_is_ignored():
    assert load(Settings, ["--local_rank=1", "input=a"]).input == ["a"]
    assert load(Settings, ["--local_rank", "1", "input=a"]).input == ["a"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["inptu=a"], "did you mean 'input'"),
        (["input=a", "grid.rat=1"], "grid.rat"),
        (["count=3"], "missing setting 'input'; write input=dump/*.gz"),
        (["input=a", "count=three"], "expected a whole number"),
        (["input=a", "keep_text=perhaps"], "expected true or false"),
        (["input=a", "kind=c"], "expected one of a, b"),
        (["input=a", "preset=cleen"], "expected one of clean, paper"),
        (["stray"], "expected key=value"),
        (["--input"], "has no value"),
        (["input=[a"], "not a list"),
        (["input=a", "name=???"], "name=...: expected a value"),
        (["input=a", "grid=${x}"], "expected a group of settings"),
        (["input=a", "--config", "/no/such.yaml"], "no such file"),
    ],
)
def test_mistakes_are_reported(words, message):
    with pytest.raises(UserError, match=message.replace("[", r"\[").replace("*", r"\*")):
        load(Settings, words)


@pytest.mark.parametrize(
    "text", ["${x}", "a ${oc.env:HOME} b", r"\${x}", r"\\${x}\\", "${", r"a\b", "{}", "$"]
)
def test_texts_on_the_command_line_are_not_interpreted(text, tmp_path):
    loaded = load(Settings, [f"input={text}", "input=b", f"name={text}"])
    assert (loaded.name, loaded.input) == (text, [text, "b"])
    assert conf.with_changes(loaded, {"count": 3}).name == text
    file = tmp_path / "resolved.yaml"
    file.write_text(conf.as_yaml(loaded))
    assert load(Settings, [str(file)]) == loaded


def test_settings_files_support_interpolation(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text("kind: b\nname: ${kind} and \\${kind}\n")
    assert load(Settings, [str(file), "input=a"]).name == "b and ${kind}"


@pytest.mark.parametrize("text", ["- a\n- b\n", "count: [\n", "cuont: 3\n"])
def test_a_broken_settings_file_is_named(tmp_path, text):
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(UserError, match=r"s\.yaml"):
        load(Settings, ["input=a", "--config", str(file)])


def test_resolved_settings_can_be_read_back(tmp_path):
    loaded = load(Settings, ["input=a,b", "share=0.25", "name=x: y"])
    file = tmp_path / "resolved.yaml"
    file.write_text(conf.as_yaml(loaded))
    assert load(Settings, ["--config", str(file)]) == loaded


def test_the_hash_depends_on_the_selected_values():
    first, second = load(Settings, ["input=a"]), load(Settings, ["input=b"])
    assert conf.settings_hash(first) != conf.settings_hash(second)
    assert conf.settings_hash(first, names=["count"]) == conf.settings_hash(second, names=["count"])


def test_help_lists_every_setting_with_its_default():
    text = conf.help_text(Settings, "What it does.")
    parts = ("What it does.", "input", "must be given", "dump/*.gz", "default 1", "a|b", "paper")
    assert [part for part in parts if part not in text] == []


def test_torch_reports_no_caches_where_its_import_is_interrupted(monkeypatch):
    monkeypatch.setattr(logging.getLogger("torch"), "level", logging.NOTSET)
    assert conf.run(Settings, lambda _: None, ["input=a"]) == 0
    assert logging.getLogger("torch").level == logging.WARNING


def test_exit_codes_distinguish_mistakes_and_failures(capsys):
    def refused(_: Settings) -> None:
        raise UserError("got this,\nexpected that")

    def failed(_: Settings) -> None:
        raise JobFailed("one file failed")

    def broken(_: Settings) -> None:
        raise ZeroDivisionError

    assert conf.run(Settings, lambda _: None, ["input=a"]) == 0
    capsys.readouterr()
    assert conf.run(Settings, refused, ["input=a"]) == 2
    assert capsys.readouterr().err.endswith("error: got this, expected that\n")
    assert conf.run(Settings, failed, ["input=a"]) == 1
    assert conf.run(Settings, lambda _: None, ["inputs=a"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert conf.run(Settings, broken, ["input=a"]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert conf.run(Settings, refused, ["--help"]) == 0


@dataclass(frozen=True)
class Inner:
    rate: float = setting(0.1, help="a rate")
    words: list[str] = setting([], help="some words", choices=("a", "b"))


@dataclass(frozen=True)
class Outer:
    inner: Inner = setting(Inner(), help="nested")
    free: dict[str, Any] = setting({}, help="anything")
    size: int | None = setting(None, help="a size")


def test_nested_settings_are_written_with_a_dot():
    words = ["inner.rate=0.5", "inner.words=a,b", "free.x=[1,2.5,y]", "free.y.z=true", "size=none"]
    loaded = load(Outer, words)
    assert loaded.inner == Inner(0.5, ["a", "b"])
    assert loaded.free == {"x": [1, 2.5, "y"], "y": {"z": True}}
    assert loaded.size is None
    assert "inner.rate" in conf.help_text(Outer)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("inner.rte=1", "did you mean 'inner.rate'"),
        ("inner.rate=x", "inner.rate=x: expected a number"),
        ("inner.words=c", "inner.words=c: expected one of a, b"),
        ("size.x=1", "size: has no settings|size.x: size has no settings of its own"),
        ("inner=3", "inner=3: expected a group of settings, as inner.KEY=VALUE"),
        ("free=x", "free=x: expected a mapping, as free.KEY=VALUE"),
        ("size.free=1", "size has no settings of its own; did you mean 'free'"),
    ],
)
def test_nested_mistakes_are_reported(word, message):
    with pytest.raises(UserError, match=message):
        load(Outer, [word])


def test_the_first_word_may_be_a_settings_file(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text("inner:\n  rate: 0.25\nsize: 3\n")
    assert load(Outer, [str(path), "size=4"]) == Outer(Inner(0.25), size=4)
    path.write_text("inner:\n  rte: 0.25\n")
    with pytest.raises(UserError, match=r"own\.yaml: unknown setting 'inner\.rte'"):
        load(Outer, [str(path)])


def test_changed_settings_are_checked_like_loaded_ones():
    original = Outer(Inner(0.25, ["a"]), {"x": 1}, 3)
    replaced = conf.with_changes(original, {"inner.rate": "0.5", "free.y": 2})
    assert replaced == Outer(Inner(0.5, ["a"]), {"x": 1, "y": 2}, 3)
    assert original.free == {"x": 1}
    for changes in ({"inner.rate": "x"}, {"nothing": 1}, {"inner.words": ["c"]}):
        with pytest.raises(UserError):
            conf.with_changes(original, changes)


def test_resolved_settings_are_printed(caplog):
    def job(_: Settings) -> None:
        logging.getLogger("adnominal").info("at work")

    with caplog.at_level(logging.INFO, logger="adnominal"):
        conf.run(Settings, job, ["input=a", "count=7"])
    settings, at_work = caplog.messages
    assert "count: 7" in settings and "keep_text" not in settings and at_work == "at work"


def test_all_settings_are_printed_at_once_on_request(caplog):
    with caplog.at_level(logging.INFO, logger="adnominal"):
        conf.run(Settings, lambda _: None, ["input=a", "--show-settings"])
    assert "count: 1" in caplog.text and "keep_text: false" in caplog.text


def test_a_mapping_is_loaded_like_a_file(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text("input: [a]\npreset: paper\ngrid: {rate: 0.5}\n")
    values = {"input": ["a"], "preset": "paper", "grid": {"rate": 0.5}}
    assert conf.from_dict(Settings, values) == load(Settings, [str(file)])
    assert conf.from_dict(Settings, values).count == 10


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"inptu": ["a"]}, "did you mean 'input'"),
        ({"input": ["a"], "grid": {"rat": 1}}, "grid.rat"),
        ({}, "missing setting 'input'"),
        ({"input": ["a"], "count": "three"}, "expected a whole number"),
        ({"input": ["a"], "preset": "none"}, "expected one of clean, paper"),
    ],
)
def test_a_mapping_is_checked(values, message):
    with pytest.raises(UserError, match=message):
        conf.from_dict(Settings, values)


def test_a_successful_job_names_the_next_step(caplog):
    def failed(_: Settings) -> None:
        raise JobFailed("no")

    with caplog.at_level("INFO"):
        assert conf.run(Settings, lambda _: None, ["input=a", "count=3"], "look at {count}") == 0
        assert "next: look at 3" in caplog.text
        caplog.clear()
        next_steps = {3: "look at three", 4: "look at {count}"}
        for count, text in ((3, "next: look at three"), (4, "next: look at 4")):
            words = ["input=a", f"count={count}"]
            assert conf.run(Settings, lambda _: None, words, lambda s: next_steps[s.count]) == 0
            assert text in caplog.text
            caplog.clear()
        words = ["input=a", "name=my lake"]
        assert conf.run(Settings, lambda _: None, words, "look at lake={name}") == 0
        assert "next: look at lake='my lake'" in caplog.text
        caplog.clear()
        assert conf.run(Settings, failed, ["input=a"], "look at {count}") == 1
        assert "next:" not in caplog.text
