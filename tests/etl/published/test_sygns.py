import pytest

from adnominal.conf import UserError
from adnominal.conf.delimited import read_rows
from adnominal.etl.published.sygns import COLUMNS, read

TAGS = (
    "sbj_quant:yes;obj_quant:no;negation:yes;adjective:no;peripheral:no;center:no;adverb:no;"
    "conjunction:no;disjunction:no"
)
ROW = {
    "id": "1",
    "depth": "0",
    "sentence": "two lions did not swim",
    "fol": "exists x1.(two(x1) & lion(x1) & -swim(x1))",
    "folpol": "[('two', 1), ('lion', 1), ('swim', 0)]",
    "vf": "TWO LION NOT SWIM",
    "vfpol": "[[lion,pos],[swim,neg]]",
    "tags": TAGS,
    "drs": "b1 REF x1 [SEP] b1 two x1 [SEP] b1 lion x1 [SEP] b1 NOT b2 [SEP] b2 swim x1",
}


def write(path, rows):
    lines = ["\t".join(COLUMNS), *("\t".join(row[c] for c in COLUMNS) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_row_gets_its_polarity_phenomena_and_splits(tmp_path):
    write(tmp_path / "results.tsv", [ROW])
    reading = read(tmp_path)
    (row,) = reading.tables["sygns"].to_pylist()
    assert row["sentence"] == ROW["sentence"]
    assert row["polarity_fol"][0] == {"word": "two", "direction": "up"}
    assert row["polarity_vf"] == [
        {"word": "lion", "direction": "up"},
        {"word": "swim", "direction": "down"},
    ]
    assert row["phenomena"] == ["sbj_quant", "negation"]
    assert reading.dropped == {}
    schemes = {(s["scheme"], s["primitive"]) for s in reading.tables["sygns_splits"].to_pylist()}
    assert ("systematicity", "one") in schemes and ("productivity", "") in schemes


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"fol": ""}, "no fol"),
        ({"depth": "x"}, "depth is not a number"),
        ({"depth": "²"}, "depth is not a number"),
        ({"folpol": "[('two', 2)]"}, "folpol is not a list of words and 0 or 1"),
        ({"folpol": "[('\\ud800', 1)]"}, "folpol is not a list of words and 0 or 1"),
        ({"folpol": "[(['two'], 1)]"}, "folpol is not a list of words and 0 or 1"),
        ({"folpol": "two"}, "folpol is not a list of words and 0 or 1"),
        ({"vfpol": "[[lion,up]]"}, "vfpol is not a list of words and pos or neg"),
        ({"tags": TAGS.replace("yes", "true")}, "other tags than the grammar's"),
        ({"tags": "negation:yes"}, "other tags than the grammar's"),
        ({}, "repeated sentence"),
    ],
)
def test_invalid_rows_are_dropped_by_reason(tmp_path, change, reason):
    write(tmp_path / "results.tsv", [ROW, {**ROW, "id": "2", **change}])
    reading = read(tmp_path / "results.tsv")
    assert reading.tables["sygns"].num_rows == 1
    assert reading.dropped == {("sygns", reason): (1, f"results.tsv:3 {ROW['sentence']}")}


def test_files_with_other_columns_are_ignored(tmp_path):
    write(tmp_path / "results.tsv", [ROW])
    (tmp_path / "train_fol.tsv").write_text("id\tsentence\tfol\n1\tann ran\t\n")
    assert read(tmp_path).tables["sygns"].num_rows == 1


def test_a_byte_order_mark_is_not_part_of_a_column(tmp_path):
    write(tmp_path / "results.tsv", [ROW])
    (tmp_path / "results.tsv").write_text("\ufeff" + (tmp_path / "results.tsv").read_text())
    assert read(tmp_path).tables["sygns"].num_rows == 1
    rows = read_rows(tmp_path / "results.tsv", "sygns", ["id"], tabs=True)
    assert [row.fields["id"] for row in rows] == [ROW["id"]]


def test_folders_without_a_release_are_refused(tmp_path):
    with pytest.raises(UserError, match="no such file or folder"):
        read(tmp_path / "nowhere")
    with pytest.raises(UserError, match="no TSV file with the columns id, depth"):
        read(tmp_path)


def test_all_rows_of_the_release_are_read(shared_data):
    reading = read(shared_data / "sygns")
    assert reading.tables["sygns"].num_rows == 25
    assert reading.dropped == {}
