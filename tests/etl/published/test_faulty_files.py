"""A fault in a file of a release or of labelled pairs costs its row, or is one line with place."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adnominal.conf import UserError
from adnominal.conf.texts import NO_TEXT
from adnominal.etl.asp.gold import HUMAN
from adnominal.etl.published import adept, asp, nli, pairs, sygns
from tests.etl.published.test_sygns import ROW as SYGNS_ROW

NLI = ("gold_label", "sentence1", "sentence2")
CURVES = [f"{test}_{end}" for test in HUMAN for end in ("pos", "neg")]


def nli_text(root, content):
    (root / "snli_1.0_train.txt").write_bytes(content)
    return nli.read(root)


def nli_lines(root, content):
    (root / "snli_1.0_train.jsonl").write_bytes(content)
    return nli.read(root)


def addone(root, content):
    (root / "data.train").write_bytes(content)
    return nli.read_addone(root)


def sygns_rows(root, content):
    (root / "results.tsv").write_bytes(content)
    return sygns.read(root)


def adept_entries(root, content):
    (root / "train.json").write_bytes(content)
    return adept.read(root)


def asp_rows(root, content):
    (root / "data/EntailmentInference").mkdir(parents=True)
    (root / "data/EntailmentInference/ordering.csv").write_bytes(content)
    return asp.read(root)


def labelled_pairs(root, content, suffix="csv"):
    file = root / f"pairs.{suffix}"
    file.write_bytes(content)
    columns = {"premise": "p", "hypothesis": "h", "label": "l"}
    return pairs.read(pairs.Settings(str(file), source="s", **columns))


READERS = [nli_text, nli_lines, addone, sygns_rows, adept_entries, asp_rows, labelled_pairs]
HEADS = {
    nli_text: b"gold_label\tsentence1\tsentence2\n",
    sygns_rows: "\t".join(SYGNS_ROW).encode() + b"\n",
    asp_rows: b"premise\thypothesis\tlabel\n",
    labelled_pairs: b"p,h,l\n",
}


@pytest.mark.parametrize("read", READERS)
def test_undecodable_bytes_are_reported_with_the_line(tmp_path, read):
    with pytest.raises(UserError, match=r"not UTF-8 at byte \d+, in line 2; save it as UTF-8"):
        read(tmp_path, HEADS.get(read, b"\n") + b"A caf\xe9 is open\n")


@pytest.mark.parametrize("read", HEADS)
def test_two_columns_of_one_name_are_refused(tmp_path, read):
    head = HEADS[read]
    mark = b"," if b"," in head else b"\t"
    name = head.split(mark)[0]
    with pytest.raises(UserError, match=f"more than one column {name.decode()}"):
        read(tmp_path, head.strip() + mark + name + b"\n")


@pytest.mark.parametrize("read", HEADS)
def test_fields_that_are_too_long_are_reported_with_the_line(tmp_path, read):
    with pytest.raises(UserError, match="line 2: field larger than field limit"):
        read(tmp_path, HEADS[read] + b"x" * 200_000 + b"\n")


def test_rows_with_more_fields_than_the_header_are_dropped(tmp_path):
    rows = b"neutral\tA\tB\nneutral\tC\tD\tcontradiction\n"
    reading = nli_text(tmp_path, HEADS[nli_text] + rows)
    assert reading.tables["nli"]["premise"].to_pylist() == ["A"]
    assert reading.dropped == {("nli", "more fields than columns"): (1, "snli_1.0_train.txt:3 C D")}


def test_surplus_fields_are_dropped_by_the_other_readers_too(tmp_path):
    good = "\t".join(SYGNS_ROW.values()).encode()
    reading = sygns_rows(tmp_path, HEADS[sygns_rows] + good + b"\n" + good + b"\tmore\n")
    assert [reason for _, reason in reading.dropped] == ["more fields than columns"]
    rows = b"The bag is big.\tThe bag is huge.\tnot_entailment\n"
    reading = asp_rows(tmp_path, HEADS[asp_rows] + rows + rows.strip() + b"\tmore\n")
    assert [reason for _, reason in reading.dropped] == ["more fields than columns"]
    reading = labelled_pairs(tmp_path, b"p,h,l\na,b,neutral\nc,d,neutral,entailment\n")
    assert [reason for _, reason in reading.dropped] == ["more fields than columns"]


@pytest.mark.parametrize("depth", ["99999999999999999999", "100"])
def test_a_depth_that_no_sentence_has_drops_the_row(tmp_path, depth):
    rows = [SYGNS_ROW, {**SYGNS_ROW, "depth": depth}]
    content = "".join("\t".join(row.values()) + "\n" for row in rows).encode()
    assert [reason for _, reason in sygns_rows(tmp_path, HEADS[sygns_rows] + content).dropped] == [
        "depth is too large"
    ]


def test_deep_nesting_is_reported_with_the_line(tmp_path):
    deep = b'{"p": "a", "h": "b", "l": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    with pytest.raises(UserError, match=r"line 1: not JSON \(nested too deeply\)"):
        labelled_pairs(tmp_path, deep, "jsonl")
    with pytest.raises(UserError, match=r"train\.json: not readable as JSON: nested too deeply"):
        adept_entries(tmp_path, b"[" * 100_000)


def test_a_name_twice_in_an_object_is_refused(tmp_path):
    line = b'{"p": "a", "h": "b", "l": "neutral", "l": "entailment"}\n'
    with pytest.raises(UserError, match=r"line 1: not JSON .*the name 'l' twice"):
        labelled_pairs(tmp_path, line, "jsonl")


def test_two_columns_of_one_name_in_parquet_are_refused(tmp_path):
    columns = [pa.array(["a"])] * 4
    file = tmp_path / "pairs.parquet"
    pq.write_table(pa.Table.from_arrays(columns, names=["p", "h", "l", "l"]), file)
    settings = pairs.Settings(str(file), source="s", premise="p", hypothesis="h", label="l")
    with pytest.raises(UserError, match="more than one column l"):
        pairs.read(settings)


@pytest.mark.parametrize(
    ("scale", "share", "fault"),
    [
        ("n/a", "0.5", "scale_value is 'n/a'; expected a number"),
        ("nan", "0.5", "scale_value is 'nan'; expected a number"),
        ("60", "half", "ordering_pos is 'half'; expected a number"),
        ("60", "inf", "ordering_pos is 'inf'; expected a number"),
        ("6_0", "0.5", "scale_value is '6_0'; expected a number"),
        ("60", "99.97", "ordering_pos is 99.97; expected shares from 0 to 1"),
        ("60", "-0.1", "ordering_pos is -0.1; expected shares from 0 to 1"),
    ],
)
def test_curves_that_are_no_shares_are_refused_with_the_line(tmp_path, scale, share, fault):
    (tmp_path / "human").mkdir()
    rows = ["\t".join(["scale_value", *CURVES]), "\t".join([scale, *[share] * len(CURVES)])]
    (tmp_path / "human/human_scale_curves.tsv").write_text("\n".join(rows) + "\n")
    with pytest.raises(UserError, match=rf"human_scale_curves\.tsv: line 2: {fault}"):
        asp_rows(tmp_path, HEADS[asp_rows] + b"The bag is big.\tThe bag is huge.\tnot_entailment\n")


def test_a_number_of_the_scale_that_occurs_twice_is_refused(tmp_path):
    (tmp_path / "human").mkdir()
    row = "\t".join(["60", *["0.5"] * len(CURVES)])
    rows = ["\t".join(["scale_value", *CURVES]), row, row]
    (tmp_path / "human/human_scale_curves.tsv").write_text("\n".join(rows) + "\n")
    with pytest.raises(UserError, match="line 3: scale_value 60 is in an earlier line"):
        asp_rows(tmp_path, HEADS[asp_rows] + b"The bag is big.\tThe bag is huge.\tnot_entailment\n")


def test_nul_is_no_text(tmp_path):
    content = b'{"p": "a\\u0000", "h": "b", "l": "neutral"}\n{"p": "a", "h": "b", "l": "neutral"}\n'
    assert list(labelled_pairs(tmp_path, content, "jsonl").dropped) == [("nli", NO_TEXT)]
    row = "\t".join({**SYGNS_ROW, "sentence": "one\0dog ran"}.values()).encode() + b"\n"
    assert list(sygns_rows(tmp_path, HEADS[sygns_rows] + row).dropped) == [("sygns", NO_TEXT)]


def test_true_is_no_sentence(tmp_path):
    content = b'{"gold_label": "neutral", "sentence1": true, "sentence2": "A"}\n'
    assert list(nli_lines(tmp_path, content).dropped) == [("nli", "empty sentence")]


def test_labels_of_another_type_are_named(tmp_path):
    entry = {"sentence1": "A.", "sentence2": "B.", "modifier": "red", "noun": "car", "label": "3"}
    with pytest.raises(UserError, match=r"label is not one of 0 to 4, as train\.json, object 1"):
        adept_entries(tmp_path, json.dumps([entry]).encode())
    with pytest.raises(UserError, match=r"Extra data.*; expected one array of objects"):
        adept_entries(tmp_path, b"{}\n{}\n")


def test_a_folder_named_as_a_column_changes_nothing(tmp_path):
    folder = tmp_path / "split=1"
    folder.mkdir()
    columns = {"p": ["a"], "h": ["b"], "l": ["neutral"], "split": ["train"]}
    pq.write_table(pa.table(columns), folder / "pairs.parquet")
    settings = pairs.Settings(
        str(folder / "pairs.parquet"), "s", premise="p", hypothesis="h", label="l", split="split"
    )
    assert pairs.read(settings).tables["nli"]["split"].to_pylist() == ["train"]


def test_words_of_rated_pairs_have_no_invisible_characters(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text("a,n,s\nRed\u200b,do\u00adg,3\n", encoding="utf-8")
    settings = pairs.Settings(str(file), source="s", adjective="a", noun="n", score="s")
    (row,) = pairs.read(settings).tables["graded_pairs"].to_pylist()
    assert (row["adjective"], row["noun"]) == ("red", "dog")


def test_not_a_number_is_no_sentence(tmp_path):
    content = b'{"gold_label": "neutral", "sentence1": NaN, "sentence2": "A"}\n'
    assert nli_lines(tmp_path, content).dropped == {
        ("nli", "empty sentence"): (1, "snli_1.0_train.jsonl:1  A")
    }


def test_objects_without_a_field_are_reported_with_the_line(tmp_path):
    lines = [dict.fromkeys(NLI, "x"), {"gold_label": "neutral", "sentence1": "A"}]
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    with pytest.raises(UserError, match=r"jsonl: line 2 has no sentence2; expected gold_label"):
        nli_lines(tmp_path, content)
