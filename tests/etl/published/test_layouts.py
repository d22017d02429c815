"""Whole releases in the layout of their authors.

They consist of published rows where available, and of rows of the same form elsewhere.
"""

import csv
import gzip
import json
import logging
import pickle
import shutil
from collections import Counter

import numpy as np
import pytest

from adnominal import conf
from adnominal.conf.numbers import count_of
from adnominal.etl.asp import TESTS
from adnominal.etl.asp.gold import HUMAN
from adnominal.etl.asp.lexicon import DIMENSIONS
from adnominal.etl.lake import arrow
from adnominal.etl.published import adept, asp, plane
from adnominal.etl.published.job import Settings, import_published
from tests.etl.published.test_plane import ROWS
from tests.etl.published.test_plane import write as write_plane
from tests.etl.published.test_sygns import ROW as SYGNS
from tests.etl.published.test_sygns import write as write_sygns

pytest.importorskip("scipy")

# Groups of each test and dimension; the release has 50.
GROUPS = 10
UNITS = {"length": " cm", "mass": " kg", "temperature": "°C", "price": "$"}
WORDS = {
    "length": ("tall", "short", "taller", "shorter", "tallest", "shortest", "hedge", "fence"),
    "mass": ("heavy", "light", "heavier", "lighter", "heaviest", "lightest", "crate", "drum"),
    "temperature": ("hot", "cold", "hotter", "colder", "hottest", "coldest", "soup", "stew"),
    "price": ("expensive", "cheap", "more expensive", "cheaper", "most expensive", "cheapest",
              "lamp", "vase"),
}  # fmt: skip


def quantity(dimension, figure):
    return f"${figure}" if dimension == "price" else f"{figure}{UNITS[dimension]}"


def degree_rows(test, dimension, low, high, groups):
    """Rows as in the release: 80 and 120 in the premise, hypotheses in steps of 2."""
    positive, negative, more, less, most, least, noun, other = WORDS[dimension]
    for group in range(groups):
        base = 20 * (group // 2)
        high_end, low_end = quantity(dimension, 120 + base), quantity(dimension, 80 + base)
        premise = f"A {high_end} {noun} is {positive}. A {low_end} {noun} is {negative}."
        if test == "dimension":
            premise = f"A {high_end} {noun} is ugly. A {low_end} {noun} is pretty."
        if test == "comparative":
            high_end = high_end.replace("°C", "°c")
            premise = f"{noun.title()}s {more} than {high_end} are {positive}. "
            premise += f"{noun.title()}s {less} than {low_end} are {negative}."
        if test == "superlative":
            ends = [quantity(dimension, figure + base) for figure in (138, 60)]
            premise = f"The {most} {noun} in the world is {ends[0]}. "
            premise += f"The {least} {noun} in the world is {ends[1]}."
        words = ("ugly", "pretty") if test == "dimension" else (positive, negative)
        mark = {"booster": "very ", "diminisher": "relatively ", "negation": "not "}.get(test, "")
        subject = other if test == "argument" else noun
        for z in range(low, high + 1, 2):
            figure = quantity(dimension, z + base)
            yield premise, f"A {figure} {subject} is {mark}{words[group % 2]}."


def put(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(row) for row in [header, *rows]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def asp_tree(source, root):
    """Write the repository of ASP with the published rows and invented tests and wider range."""
    for task in ("EntailmentInference", "DegreeEstimation"):
        shutil.copytree(source / task, root / "data" / task)
    tuning = root / "data" / "ASP_fine-tuning"
    shutil.copytree(source / "fine_tuning", tuning)
    for test in TESTS:
        text = (source / "EntailmentInference" / f"{test}.csv").read_text(encoding="utf-8")
        if test == "comparative":
            # An extra row, with a comparative that no lexicon lists.
            text += "The roof is crustier than the wall.\tThe roof is crusty.\tentailment\n"
        (tuning / "test" / "ei").mkdir(parents=True, exist_ok=True)
        (tuning / "test" / "ei" / f"{test}.csv").write_text(text, encoding="utf-8")
        for dimension in DIMENSIONS:
            for folder, low, high in (("test", 60, 138), ("wider", 40, 158)):
                rows = degree_rows(test, dimension, low, high, GROUPS)
                put(tuning / folder / dimension / f"{test}.csv", ("premise", "hypothesis"), rows)
    with (source / "human" / "human_scale_curves.tsv").open() as lines:
        table = list(csv.DictReader(lines, delimiter="\t"))
    (root / "human" / "pkl").mkdir(parents=True)
    for test in HUMAN:
        for end in ("pos", "neg"):
            curve = np.array([float(row[f"{test}_{end}"]) for row in table])
            file = root / "human" / "pkl" / f"{test}_{end}.pkl"
            bytes_ = pickle.dumps(curve, protocol=3)
            file.write_bytes(bytes_.replace(b"numpy._core.multiarray", b"numpy.core.multiarray"))
    (root / "human" / "result.csv").write_text("# Results on Monday\n1,2,3\n", encoding="utf-8")
    (root / "ASP_utils.py").write_text("", encoding="utf-8")


def test_the_repository_of_asp_is_read_whole(shared_data, tmp_path):
    root = tmp_path / "AdjectiveScaleProbe"
    asp_tree(shared_data / "asp", root)
    reading = asp.read(root)
    account = reading.account()
    rows = 8 * 1000 + 8 * 2000 + 4 * 3600 + 1200 + 300 + 4 * 862 + 8001
    rows += 32 * 40 * GROUPS + 32 * 60 * GROUPS + 12 * 500
    files = 16 + 10 + 8 + 64 + 12
    assert account[-1] == (
        f"in all {rows:,} rows read and 0 not read, of {files} files; 1 other file not read"
    )
    assert account[-2].startswith("human/result.csv: not read, 2 lines (answers of the experiment")
    name = "data/ASP_fine-tuning/wider/price/superlative.csv"
    assert f"{name}: {60 * GROUPS:,} rows read, 0 not read" in account
    degree = reading.tables["asp_degree"].to_pylist()
    wider = [row for row in degree if row["edition"] == "published_wider"]
    assert Counter(row["test"] for row in wider) == dict.fromkeys(TESTS, 4 * 60 * GROUPS)
    assert {row["z"] for row in wider} == {float(z) for z in range(40, 160, 2)}
    assert Counter(row["group"] for row in wider if row["test"] == "booster") == {
        1000 * dimension + group: 60 for dimension in range(4) for group in range(GROUPS)
    }
    judged = [row for row in wider if row["test"] not in ("dimension", "argument")]
    assert {row["extrapolated"] for row in judged if 60 <= row["z"] <= 138} == {False}
    assert {row["extrapolated"] for row in judged if not 60 <= row["z"] <= 138} == {True}
    unjudged = [row for row in wider if row["test"] in ("dimension", "argument")]
    assert Counter(row["label"] for row in unjudged) == {
        "discard": 8 * GROUPS,
        "not_entailment": (8 * 60 - 8) * GROUPS,
    }
    assert {row["z"] for row in unjudged if row["label"] == "discard"} == {80.0, 120.0}
    splits = reading.tables["asp_splits"].to_pylist()
    parts = Counter((s["edition"], s["scheme"], s["round"], s["part"]) for s in splits)
    for dimension in DIMENSIONS:
        key = ("published_tuning", "dimension", dimension)
        sizes = [parts[*key, part] for part in ("train", "val", "test")]
        assert sizes == [3600, 862, 8 * 40 * GROUPS]
        assert parts["published_wider", "dimension", dimension, "test"] == 8 * 60 * GROUPS
    tuned = [parts["published_tuning", "adjectives", "published", p] for p in ("train", "val")]
    assert tuned == [1200, 300]
    published = [r for r in reading.tables["asp_entailment"].to_pylist()
                 if r["edition"] == "published"]  # fmt: skip
    stops = [r["premise"][-1] == r["hypothesis"][-1] == "." for r in published]
    assert (len(stops), stops.count(False)) == (8000, 3000)
    assert reading.tables["asp_human"].num_rows == 12 * 500
    assert (reading.dropped, reading.notes) == ({}, [])
    # The folder data/ inside it gives the same folders.
    assert asp.Folders.of(root / "data") == asp.Folders.of(root)


def plane_tree(source, root):
    """Write twenty pickles: the first fold of each scheme as published, excerpts as the others."""
    for folder, name, text in (
        ("OoD", "OOV_{}_{}", "ood_{}_1.tsv.gz"),
        ("One-IT", "IT3_OoV_{}_{}", "one_it_{}_1.tsv.gz"),
    ):
        (root / "supervised_learning" / folder).mkdir(parents=True)
        for part in ("Train", "test"):
            with gzip.open(source / text.format(part.lower()), "rt", encoding="utf-8") as lines:
                records = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
            rows: list[list[str | int]] = [[row[0], int(row[1]), *row[2:]] for row in records]
            for number in range(1, 6):
                fold_rows = rows if number == 1 else rows[number : number + 36]
                file = root / "supervised_learning" / folder / (name.format(part, number) + ".pkl")
                file.write_bytes(pickle.dumps(fold_rows, protocol=4))


def test_the_pickles_of_plane_are_read_whole(shared_data, tmp_path):
    root = tmp_path / "PLANE"
    plane_tree(shared_data / "plane", root)
    reading = plane.read(root)
    splits = reading.tables["plane_splits"].to_pylist()
    assert len(splits) == 125_340 + 16 * 36
    assert {(s["scheme"], s["fold"], s["part"]) for s in splits} == {
        (scheme, str(fold), part)
        for scheme in ("published", "one_it")
        for fold in range(1, 6)
        for part in ("train", "test")
    }
    account = reading.account()
    assert account[-1] == (
        f"in all {len(splits):,} rows read and 0 not read, of 20 files; 0 other files not read"
    )
    name = "supervised_learning/One-IT/IT3_OoV_test_1.pkl"
    assert f"{name}: 2,016 rows read, 0 not read" in account
    assert (reading.dropped, reading.notes) == ({}, [])
    # The pickles and the text files give the same items.
    readings = (reading, plane.read(shared_data / "plane"))
    of_pickles, of_text = (set(r.tables["plane_items"]["item_id"].to_pylist()) for r in readings)
    assert of_pickles == of_text


def test_plane_text_has_priority_over_pickles_and_gaps_are_reported(tmp_path):
    write_plane(tmp_path / "OOV_Train_2.tsv", ROWS)
    (tmp_path / "OOV_Train_2.pkl").write_bytes(pickle.dumps([list(ROWS[0])]))
    (tmp_path / "IT3_OoV_test_2.pkl").write_bytes(pickle.dumps([list(ROWS[2]), ["short"], 3]))
    (tmp_path / "words.tsv").write_text("a\nb\n")
    reading = plane.read(tmp_path)
    places = [(s["scheme"], s["fold"], s["part"])
              for s in reading.tables["plane_splits"].to_pylist()]  # fmt: skip
    assert places == [("one_it", "2", "test")] + [("published", "2", "train")] * 3
    assert reading.account() == [
        "IT3_OoV_test_2.pkl: 1 row read, 2 not read",
        "OOV_Train_2.tsv: 3 rows read, 0 not read",
        "OOV_Train_2.pkl: not read, 0 lines (the same split is read from OOV_Train_2.tsv)",
        "words.tsv: not read, 2 lines (not a file of the release's layout)",
        "in all 4 rows read and 2 not read, of 2 files; 2 other files not read",
    ]
    assert reading.notes == [
        "scheme published: no train rows of fold 1, 3, 4, 5; no test rows of fold 1, 2, 3, 4, 5",
        "scheme one_it: no train rows of fold 1, 2, 3, 4, 5; no test rows of fold 1, 3, 4, 5",
    ]


def test_the_repository_of_sygns_is_read_and_other_files_are_reported(spark, tmp_path, caplog):
    root = tmp_path / "SyGNS" / "scripts"
    (root / "tmp").mkdir(parents=True)
    (root / "vocab.yaml").write_text("nouns: [dog]\n")
    for depth in range(5):
        (root / "tmp" / f"depth{depth}.scheme.txt").write_text("Q N IV\n" * (depth + 1))
    rows = [
        {**SYGNS, "id": str(n), "depth": str(n // 10), "sentence": f"two lions did not swim {n}"}
        for n in range(50)
    ]
    (root / "tmp_results").mkdir()
    write_sygns(root / "tmp_results" / "results.tsv", rows)
    names = [name for name in SYGNS if name not in ("folpol", "drs")]
    put(root / "tmp_results" / "results.tmp.tsv", names, [[r[n] for n in names] for r in rows])
    lake = str(tmp_path / "lake")
    with caplog.at_level(logging.INFO, logger="adnominal"):
        import_published(conf.load(Settings, [f"sygns={tmp_path / 'SyGNS'}", f"lake={lake}"]))
    assert Counter(arrow.read(lake, "sygns")["depth"].to_pylist()) == dict.fromkeys(range(5), 10)
    for line in (
        "sygns: a sample of 50 sentences and no training rows; etl/build_sygns.py preset=paper",
        "sygns: scripts/tmp_results/results.tsv: 50 rows read, 0 not read",
        "sygns: scripts/tmp_results/results.tmp.tsv: not read, 51 lines (the input of results.tsv",
        "sygns: scripts/tmp/depth4.scheme.txt: not read, 5 lines (templates of the grammar",
        "sygns: in all 50 rows read and 0 not read, of 1 file; 7 other files not read",
    ):
        assert line in caplog.text


def adept_row(number, label):
    return {
        "sentence1": f"A leg has {number} feet.",
        "sentence2": f"A dead leg has {number} feet.",
        "modifier": "dead",
        "noun": "leg",
        "label": label,
        "idx": number,
    }


@pytest.mark.parametrize("parts", [("train", "val", "test"), ("train", "val"), ("val",)])
def test_adept_is_read_with_and_without_each_file(shared_data, tmp_path, parts):
    root = tmp_path / "adept"
    root.mkdir()
    sizes = {"train": 12_892, "val": 1_611, "test": 1_612}
    for part in parts:
        if part == "test":
            rows = [adept_row(number, number % 5) for number in range(sizes[part])]
            (root / "test.json").write_text(json.dumps(rows))
        else:
            shutil.copy(shared_data / "adept" / f"{part}.json", root)
    reading = adept.read(root)
    counts = Counter(reading.tables["adept"]["split_random"].to_pylist())
    assert counts == {part: sizes[part] for part in parts}
    total = sum(counts.values())
    assert reading.account()[-1].startswith(
        f"in all {total:,} rows read and 0 not read, of {count_of(len(parts), 'file')};"
    )
    absent = [f"{part}.json" for part in sizes if part not in parts]
    note = f"not in this folder: {', '.join(absent)}"
    note += "" if "train" in parts else " (no training rows)"
    assert (note in reading.notes) == bool(absent)
