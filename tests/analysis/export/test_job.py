"""Each export can be open_dataset by the library for which it is made."""

import csv
from datetime import date
from pathlib import Path

import datasets
import mlcroissant
import pytest
import yaml

import adnominal
from adnominal import conf
from adnominal.analysis.export.job import Settings, export
from adnominal.analysis.export.provenance import Origin, edition_description
from adnominal.conf import UserError
from adnominal.etl.declaration import RELEASED
from adnominal.etl.published.asp import TUNING, WIDER
from adnominal.etl.published.reading import EDITION as PUBLISHED
from adnominal.etl.published.sygns import read as read_release
from adnominal.etl.registry import dataset
from tests import fork_server
from tests.analysis.export.conftest import EDITION, put
from tests.commands import run_python


def exported(small_lake: str, tmp_path: Path, dataset: str, format: str) -> Path:
    out = tmp_path / f"{dataset}_{format}"
    arguments = [f"dataset={dataset}", f"edition={EDITION}", f"format={format}"]
    export(conf.load(Settings, [*arguments, f"out={out}", f"lake={small_lake}"]))
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    assert "Licence: " in (out / "LICENSE.md").read_text()
    return out


def open_dataset(folder: Path, name: str, tmp_path: Path) -> datasets.DatasetDict:
    return datasets.load_dataset(str(folder), name, cache_dir=str(tmp_path / "cache"))


def test_adept_opens_as_a_hugging_face_dataset(small_lake, tmp_path):
    out = exported(small_lake, tmp_path, "adept", "huggingface")
    parts = open_dataset(out, "random", tmp_path)
    assert {name: part["item_id"] for name, part in parts.items()} == {
        "train": ["a", "b"],
        "validation": ["c"],
    }
    assert parts["train"].features["label"].names[4] == "necessarily true"
    assert parts["train"][0]["agreement"] == "unanimous"
    header, _, card = (out / "README.md").read_text()[4:].partition("\n---\n")
    assert yaml.safe_load(header)["license"] == "cc-by-sa-4.0"
    assert [c["config_name"] for c in yaml.safe_load(header)["configs"]] == [
        "random",
        "noun_disjoint",
    ]
    assert "| adept | 0 | test |" in card
    assert "| label | int32 | 0 impossible to 4 necessarily true (0 impossible, 1 less" in card


def test_rows_that_a_split_of_plane_names_twice_are_kept(small_lake, tmp_path):
    out = exported(small_lake, tmp_path, "plane", "huggingface")
    parts = open_dataset(out, "strict_1", tmp_path)
    assert parts["train"]["item_id"] == ["x1", "x2", "x2"]
    assert parts["test"]["item_id"] == ["x1", "x3"]
    assert open_dataset(out, "items", tmp_path)["full"].num_rows == 3


def test_asp_has_a_configuration_for_each_round(small_lake, tmp_path):
    out = exported(small_lake, tmp_path, "asp", "huggingface")
    rows = {
        name: {part: rows.num_rows for part, rows in open_dataset(out, name, tmp_path).items()}
        for name in ("entailment", "degree", "adjectives_0", "dimension_length")
    }
    assert rows == {
        "entailment": {"full": 2},
        "degree": {"full": 2},
        "adjectives_0": {"leaking": 1},
        "dimension_length": {"test": 1},
    }


def test_sygns_has_its_polarity_as_words(small_lake, tmp_path):
    out = exported(small_lake, tmp_path, "sygns", "huggingface")
    parts = open_dataset(out, "systematicity_one_two_every", tmp_path)
    assert parts["train"]["sentence"] == ["two dogs did not run"]
    assert parts["train"][0]["polarity_vf"] == ["dog:up", "run:down"]


@pytest.mark.parametrize("dataset", ["adept", "plane", "asp", "sygns"])
def test_croissant_is_valid_and_leads_to_the_rows(small_lake, tmp_path, dataset, caplog):
    out = exported(small_lake, tmp_path, dataset, "croissant")
    croissant = mlcroissant.Dataset(jsonld=out / "croissant.json")
    assert "is not standard" not in caplog.text
    issues = croissant.metadata.ctx.issues
    assert not issues.errors and not issues.warnings
    records = [record_set.name for record_set in croissant.metadata.record_sets]
    expected = {
        "adept": ("random_train", "sentence2", b"A fake gun kills."),
        "plane": ("strict_1_train", "premise", b"unfair gun"),
        "asp": ("entailment_full", "label", b"entailment"),
        "sygns": ("sentences_full", "vf", b"TWO DOG NOT RUN"),
    }
    name, column, value = expected[dataset]
    assert name in records
    first = next(iter(croissant.records(name)))
    assert first[f"{name}/{column}"] == value


def test_the_tsv_can_be_read_as_the_release(small_lake, tmp_path):
    out = exported(small_lake, tmp_path, "sygns", "tsv")
    lines = (out / "depth_0.tsv").read_text().splitlines()
    assert lines[0] == "id\tdepth\tsentence\tfol\tfolpol\tvf\tvfpol\ttags\tdrs"
    assert lines[1].split("\t")[4] == "[('two', 1), ('dog', 1), ('run', 0)]"
    assert lines[1].split("\t")[6] == "[[dog,pos],[run,neg]]"
    reading = read_release(out)
    assert not reading.dropped
    row = next(r for r in reading.tables["sygns"].to_pylist() if r["depth"] == 0)
    assert row["phenomena"] == ["sbj_quant", "negation"]
    assert row["polarity_vf"][1] == {"word": "run", "direction": "down"}


def test_only_published_editions_have_the_licence_of_the_release():
    assert {PUBLISHED, TUNING, WIDER} == set(RELEASED)
    declaration = dataset("asp")
    assert declaration.published.name != declaration.built.name
    licences = {
        name: edition_description("asp", name).licence
        for name in (*RELEASED, "published2", "clean")
    }
    released, built = declaration.published.name, declaration.built.name
    assert licences == dict.fromkeys(RELEASED, released) | {"published2": built, "clean": built}


def test_a_commit_can_name_a_source_of_its_rows():
    commit = Origin("adept", 3, "annotate_adept", None, None, "Labels of 3 annotators.", date.min)
    assert edition_description("adept", "mine", [commit]).made_of[-1] == "Labels of 3 annotators."


def test_published_rows_are_exported_unchanged(shared_data, tmp_path):
    source = shared_data / "sygns" / "sample.tsv"
    lake = str(tmp_path / "lake")
    rows = read_release(source).tables["sygns"].to_pylist()
    put(lake, "sygns", rows)
    out = tmp_path / "out"
    arguments = ["dataset=sygns", "edition=published", "format=tsv", f"out={out}", f"lake={lake}"]
    export(conf.load(Settings, arguments))
    exported_rows = [
        line.split("\t")[1:]
        for file in out.glob("*.tsv")
        for line in file.read_text().splitlines()[1:]
    ]
    with source.open(encoding="utf-8", newline="") as lines:
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        published = [row[1:] for row in list(reader)[1:]]
    assert sorted(exported_rows) == sorted(published)
    assert "cc-by-sa-4.0" in (out / "LICENSE.md").read_text()


def test_the_same_tables_give_the_same_files(small_lake, tmp_path):
    contents = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        out = exported(small_lake, tmp_path / name, "plane", "huggingface")
        contents.append(
            {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
        )
    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("dataset=mnli", "expected one of adept, plane, asp, sygns"),
        ("format=tsv", "dataset=adept format=tsv: expected dataset=sygns"),
        ("dataset=sygns format=lm_eval", "its answers are formulas"),
        ("edition=none", "edition=none: not in the table adept .* there is mine"),
        ("lake={out}", "adept"),
        ("out={lake}", "is there already"),
        ("out={out}/x/y", "no folder"),
    ],
)
def test_mistakes_are_reported_before_files_are_written(small_lake, tmp_path, arguments, message):
    words = {"dataset": "adept", "edition": EDITION, "format": "huggingface"}
    words |= {"out": f"{tmp_path}/new", "lake": small_lake}
    line = arguments.format(lake=small_lake, out=tmp_path)
    words |= dict(part.split("=") for part in line.split())
    with pytest.raises(UserError, match=message):
        export(conf.load(Settings, [f"{key}={value}" for key, value in words.items()]))
    assert not any(path.name != "x" for path in tmp_path.iterdir())


def test_splits_of_unknown_rows_are_refused(small_lake, tmp_path):
    lake = str(tmp_path / "lake")
    put(lake, "sygns", [{"sentence_id": "s1", "depth": 0, "sentence": "ann ran", "phenomena": []}])
    put(lake, "sygns_splits", [{"scheme": "productivity", "primitive": "", "sentence_id": "s9"}])
    arguments = ["dataset=sygns", f"edition={EDITION}", "format=huggingface"]
    with pytest.raises(UserError, match="productivity: 1 rows are not in the table sygns"):
        export(conf.load(Settings, [*arguments, f"out={tmp_path}/out", f"lake={lake}"]))


def test_the_command_line_reports_mistakes(small_lake, tmp_path):
    words = ("-m", "analysis.export", "dataset=adept", "edition=none", "format=huggingface")
    python = fork_server.python("libraries")
    folders = (f"out={tmp_path}/out", f"lake={small_lake}")
    process = run_python(*words, *folders, python=python, code=2)
    assert process.stderr.splitlines()[-1].startswith("error: edition=none: not in the table adept")


@pytest.mark.parametrize("dataset", ["adept", "plane", "asp", "sygns"])
def test_a_dataset_in_memory_equals_its_export(small_lake, tmp_path, dataset):
    out = exported(small_lake, tmp_path, dataset, "huggingface")
    header, _, _ = (out / "README.md").read_text()[4:].partition("\n---\n")
    names = [config["config_name"] for config in yaml.safe_load(header)["configs"]]
    default = adnominal.load_dataset(dataset, edition=EDITION, lake=small_lake)
    for name in names:
        from_files = open_dataset(out, name, tmp_path)
        in_memory = adnominal.load_dataset(dataset, edition=EDITION, config=name, lake=small_lake)
        assert list(in_memory) == list(from_files)
        for part, rows in from_files.items():
            assert in_memory[part].features == rows.features
            assert in_memory[part].to_list() == rows.to_list()
        if name == names[0]:
            assert {part: rows.to_list() for part, rows in default.items()} == {
                part: rows.to_list() for part, rows in from_files.items()
            }
