"""The declarations agree with the tables, the rules of the builds and the files of ``conf``."""

import re
from collections.abc import Iterator

import pytest
import yaml

from adnominal.conf import ROOT, UserError
from adnominal.etl import adept, plane
from adnominal.etl.adept import splits as adept_splits
from adnominal.etl.asp import splits as asp_splits
from adnominal.etl.declaration import Dataset, ItemTable
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.registry import (
    DATASET_OF,
    DATASETS,
    ITEM_TABLES,
    dataset,
    of_task,
    way_to_edition,
)
from adnominal.etl.sygns import splits as sygns_splits

DATASET_PARAMETERS = [pytest.param(dataset, id=name) for name, dataset in DATASETS.items()]


def columns_of(table: ItemTable, dataset: Dataset) -> Iterator[str]:
    yield table.item
    for texts in (table.pair, table.without_context):
        yield from texts or ()
    if table.single is not None:
        yield table.single
    yield from table.words.values()
    for group in (table.facts.counted, table.facts.distinct, table.facts.texts):
        yield from group
    if table in dataset.tables:
        yield from dataset.splits.columns
        yield from (dataset.report.audited if dataset.report else {}).values()
        for labels in (dataset.labels, dataset.trained_labels):
            if labels is not None:
                yield labels.column


@pytest.mark.parametrize("declared", DATASET_PARAMETERS)
def test_declared_columns_are_in_the_tables(declared):
    for table in (*declared.tables, *declared.unlabelled):
        schema = TABLES[table.name].schema
        assert set(columns_of(table, declared)) <= set(schema.names)
        assert "edition" in TABLES[table.name].partition_by


@pytest.mark.parametrize("declared", DATASET_PARAMETERS)
def test_split_tables_have_the_declared_keys_and_the_items(declared):
    splits = declared.splits
    if splits.table is not None:
        keys = {*splits.keys, declared.tables[0].item, "edition"}
        assert keys == set(TABLES[splits.table].schema.names)
    for scheme in splits.schemes:
        assert scheme.table is None or declared.table_of(scheme).name == scheme.table


def test_declared_schemes_are_those_of_the_rules():
    rules = {
        "adept": adept_splits.SCHEMES,
        "plane": plane.SCHEMES,
        "asp": asp_splits.SCHEMES,
        "sygns": sygns_splits.SCHEMES,
    }
    assert {name: dataset.splits.names for name, dataset in DATASETS.items()} == rules


def test_labels_are_in_the_order_of_their_numbers():
    assert DATASETS["adept"].label_names == adept.LABELS
    assert DATASETS["plane"].label_names == ("not entailed", "entailed")
    assert DATASETS["asp"].label_names == ("entailment", "not_entailment")
    assert DATASETS["sygns"].label_names == ()
    labels = DATASETS["plane"].labels
    assert labels is not None and labels.values == (0, 1)
    labels = DATASETS["asp"].labels
    assert labels is not None and labels.values == ("entailment", "not_entailment")


@pytest.mark.parametrize("declared", DATASET_PARAMETERS)
def test_prompts_have_words_for_the_labels(declared):
    prompts = declared.prompts
    if prompts is None:
        assert declared.labels is None
        return
    for name in {prompts.file, prompts.zero_shot or prompts.file}:
        file = yaml.safe_load((ROOT / "conf" / "prompts" / f"{name}.yaml").read_text())
        assert file["task"] == declared.name
        for words in file.get("verbalisers", {}).values():
            assert set(words) == set(declared.label_names)
        for instruction in file["generation"].values():
            assert set(instruction.get("words", {})) == set(declared.label_names)


@pytest.mark.parametrize("declared", DATASET_PARAMETERS)
def test_questions_use_declared_columns_and_labels(declared):
    for question in declared.questions:
        assert set(re.findall(r"\{\{(\w+)\}\}", question.text)) <= set(question.columns)
        if not isinstance(question.choices, str):
            assert set(question.choices) == set(declared.label_names)


def test_tables_are_found_by_name():
    assert ITEM_TABLES["asp_degree"].title == "ASP degrees"
    assert DATASET_OF["adept_items"] is DATASETS["adept"]
    assert of_task("sygns_fol") is DATASETS["sygns"]
    assert of_task("pairs_nli") is None
    with pytest.raises(UserError, match=r"dataset=planes: expected one of adept, plane, asp, syg"):
        dataset("planes")


def test_the_way_to_a_missing_edition_depends_on_its_name():
    way = way_to_edition("plane_items", "published", ["demo"], "etl/build_plane.py")
    assert way == "etl/import_published.py plane=FOLDER imports the release"
    assert way_to_edition("nli", "published", [], "etl/import_pairs.py").startswith("etl/import_p")
    for edition, meant in (("dmeo", "demo"), ("publised", "published")):
        way = way_to_edition("plane_items", edition, ["demo"], "etl/build_plane.py")
        assert way == f"etl/build_plane.py makes another; did you mean {meant!r}?"
