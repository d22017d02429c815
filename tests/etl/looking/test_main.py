import csv
import datetime
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from adnominal.etl.lake import arrow, tables
from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.looking.commands import main
from adnominal.etl.looking.layout import cell, format_table, size, width
from tests.commands import run_python_unread
from tests.etl.lake.compare import assert_same_rows
from tests.etl.lake.literals import rows

PAIRS = [("uk", "false", "key", 3), ("uk", "red", "key", 9), ("de", "new", "moon", 2)]
TABLES_OF_LAKE = ["amod_pairs", "amod_association", "amod_examples"]


@pytest.fixture
def lake(tmp_path):
    """A lake of three small tables."""
    root = str(tmp_path / "lake")
    arrow.append(root, "amod_pairs", rows("amod_pairs", PAIRS), job="extract", metadata={"n": "1"})
    association = [("uk", "false", "key", 3, 3, 12, 1.25, 0.5, 8.1)]
    arrow.append(root, "amod_association", rows("amod_association", association), job="extract")
    examples = [("uk", "false", "key", "A false\nkey.", "Locks"), ("uk", "red", "key", "X", "Y")]
    arrow.append(root, "amod_examples", rows("amod_examples", examples), job="extract")
    return root


@pytest.fixture
def call(lake, capsys):
    """A function that runs a command on the lake: exit code, standard output, standard error."""

    def run(*words):
        code = main([*words, f"lake={lake}"])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_list_names_tables_with_rows_size_and_meaning(call):
    code, out, err = call("list")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split()[:5] == ["table", "rows", "size", "version", "partitions"]
    assert [line.split()[0] for line in lines[1:]] == TABLES_OF_LAKE
    assert lines[1].split()[1] == "3"
    assert "extract" in lines[1]
    assert lines[1].endswith("pairs of a corpus with their counts.")


def test_list_shows_a_table_that_cannot_be_read(call, lake):
    log_file = Path(lake, "amod_pairs", "_delta_log", f"{0:020}.json")
    log_file.write_text(log_file.read_text().replace('\\"long\\"', '\\"integer\\"'))
    code, out, _ = call("list")
    assert code == 0
    assert "count is int32, declared int64" in out


@pytest.fixture
def undeclared_table(lake):
    """The folder of a Delta table that an earlier version declared, with its files."""
    folder = Path(lake, "listed_counts")
    counts = pa.table({"corpus": ["uk", "uk"], "adjective": ["a", "b"], "amod": [1, 0]})
    write_deltalake(str(folder), counts, partition_by=["corpus"])
    write_deltalake(str(folder), counts, partition_by=["corpus"], mode="overwrite")
    return folder


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_undeclared_table_is_listed_as_unknown_and_left_alone(call, undeclared_table):
    before = contents(undeclared_table)
    code, out, _ = call("list")
    lines = out.splitlines()
    assert code == 0
    assert [line.split()[0] for line in lines[1:4]] == TABLES_OF_LAKE
    assert lines[4].split()[:2] == ["listed_counts", "?"]
    assert lines[4].endswith("unknown table: not declared by this version, left alone")
    for words in (["verify"], ["compact"], ["vacuum", "older_than=0s"]):
        code, out, _ = call(*words)
        note = "note: listed_counts is no declared table, so it is left alone"
        assert (code, out.splitlines()[-1]) == (0, note)
        assert [line.split()[0] for line in out.splitlines()[1:4]] == TABLES_OF_LAKE
        code, out, _ = call(words[0], "amod_pairs")
        assert (code, "note: listed_counts" in out) == (0, False)
    assert contents(undeclared_table) == before
    code, _, err = call("show", "listed_counts")
    assert code == 2 and "no table 'listed_counts'; did you mean 'amod_counts'" in err


def test_a_lake_of_undeclared_tables_alone_can_be_listed(undeclared_table, tmp_path, capsys):
    root = tmp_path / "other"
    root.mkdir()
    undeclared_table.rename(root / "listed_counts")
    (root / "notes").mkdir()
    (root / "README.txt").touch()
    assert main(["list", f"lake={root}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["table", "listed_counts"]


def test_show_describes_columns_partitions_and_highest_counts(call):
    code, out, _ = call("show", "amod_pairs", "limit=2")
    assert code == 0
    assert "version 0, 3 rows in 2 files" in out
    assert "lower-cased surface form of the dependent" in out
    assert "corpus (partition)  string" in out
    blocks = out.split("\n\n")
    assert blocks[2].splitlines() == [
        "corpus  rows  files",
        "uk         2      1",
        "de         1      1",
    ]
    assert blocks[3].splitlines() == [
        "highest counts",
        "corpus  adjective  noun  count",
        "uk      red        key       9",
        "uk      false      key       3",
    ]


def test_show_takes_a_version_and_a_condition(call, lake):
    arrow.append(lake, "amod_pairs", rows("amod_pairs", PAIRS[:1]), job="more")
    assert "version 0 (newest: 1), 3 rows" in call("show", "amod_pairs", "version=0")[1]
    out = call("show", "amod_pairs", "where=noun = 'moon'")[1]
    assert "highest counts where noun = 'moon'" in out
    assert out.rstrip().splitlines()[-1].split() == ["de", "new", "moon", "2"]
    assert "no rows" in call("show", "amod_pairs", "where=noun = 'x'")[1]


def test_history_lists_versions_newest_first(call, lake):
    arrow.append(lake, "amod_pairs", rows("amod_pairs", PAIRS[:1]), job="more")
    code, out, _ = call("history", "amod_pairs")
    lines = out.splitlines()
    assert code == 0
    assert [line.split()[0] for line in lines] == ["version", "1", "0"]
    assert lines[2].rstrip().endswith("n=1")
    assert len(call("history", "amod_pairs", "limit=1")[1].splitlines()) == 2
    code, _, err = call("history", "amod_pairs", f"limit={10**22}")
    assert code == 2 and "expected at most 18 digits" in err


def test_why_takes_any_word_that_a_corpus_may_have(call, lake):
    pairs = [("uk", "little", "help", 3), ("uk", "x=y", "--no", 2)]
    arrow.append(lake, "amod_pairs", rows("amod_pairs", pairs), job="extract")
    for _, adjective, noun, _ in pairs:
        code, out, err = call("why", adjective, noun)
        assert (code, err, out.splitlines()[0]) == (0, "", f"{adjective} {noun}")
    for words in (["why", "little"], ["why", "little", "limit=3"], ["why", "--limit", "3"]):
        code, _, err = call(*words)
        assert code == 2 and "why needs ADJECTIVE NOUN" in err
    for words in (["why", "little", "--help"], ["why", "-h"], ["help"], ["show", "help"]):
        code, out, _ = call(*words)
        assert code == 0 and ("Settings" in out or "--help lists its settings" in out)


def test_why_shows_counts_measures_and_examples(call):
    code, out, _ = call("why", "false", "key")
    assert code == 0
    assert out.splitlines()[0] == "false key"
    line = out.splitlines()[3]
    assert line.split() == ["uk", "3", "2", "of", "2", "3", "12", "1.25", "0.5", "8.1"]
    assert "A false key.\n    Locks (uk)" in out
    assert call("why", "False", "KEY")[1] == out


def test_why_reports_missing_examples_and_measures(call):
    code, out, _ = call("why", "new", "moon")
    assert code == 0
    assert "no example sentences" in out
    assert "null" in out


def test_why_suggests_similar_words_for_an_absent_pair(call):
    code, out, err = call("why", "fales", "key")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "no pair 'fales' 'key'" in err
    assert "the adjective 'fales' is in no pair" in err
    assert "adjectives seen with 'key', near: false" in err
    assert "nouns seen with 'false', most often: key" in call("why", "false", "moon")[2]
    assert call("why", "o'er", "k'y")[0] == 1
    assert "no pair 'new' 'key'" in call("why", "New", "key")[2]


@pytest.fixture
def odd_lake(lake, monkeypatch):
    """The lake with a further table, whose values need escaping."""
    declared = Table(
        "odd",
        "Values that need escaping.",
        pa.schema(
            [
                ("edition", pa.string()),
                ("text", pa.string()),
                ("when", pa.timestamp("us", tz="UTC")),
                ("scores", pa.list_(pa.float64())),
                ("digest", pa.binary()),
                ("end", pa.float64()),
            ]
        ),
        ("edition",),
    )
    monkeypatch.setitem(tables.TABLES, "odd", declared)
    moment = datetime.datetime(2024, 2, 29, 1, 2, 3, 456789, tzinfo=datetime.UTC)
    records = [
        ("a", 'tab\t "quote", \\ line\nnext\r', moment, [1.0, float("nan")], b"\x00\xff", 0.5),
        ("a", "", None, [], None, float("inf")),
        ("a", None, None, None, None, None),
    ]
    arrow.append(lake, "odd", rows("odd", records), job="test")
    return lake


def test_export_escapes_tsv(call, odd_lake, tmp_path):
    out = tmp_path / "o.tsv"
    code, text, _ = call("export", "odd", "format=tsv", f"out={out}")
    assert (code, text) == (0, f"3 rows of odd written to {out}\n")
    assert out.read_text().split("\n") == [
        "edition\ttext\twhen\tscores\tdigest\tend",
        'a\ttab\\t "quote", \\\\ line\\nnext\\r\t2024-02-29T01:02:03.456789Z\t[1.0, null]\t00ff'
        "\t0.5",
        "a\t\t\\N\t[]\t\\N\tinf",
        "a\t\\N\t\\N\t\\N\t\\N\t\\N",
        "",
    ]


def test_export_quotes_csv(call, odd_lake, tmp_path):
    out = tmp_path / "o.csv"
    assert call("export", "odd", "format=csv", f"out={out}")[0] == 0
    with out.open(newline="") as stream:
        csv_rows = list(csv.reader(stream))
    assert csv_rows[1][1] == 'tab\t "quote", \\ line\nnext\r'
    assert csv_rows[1][3] == "[1.0, null]"
    assert out.read_text().splitlines()[-2:] == ['a,"",,[],,inf', "a,,,,,"]


def test_export_writes_json_lines(call, odd_lake, tmp_path):
    out = tmp_path / "o.jsonl"
    assert call("export", "odd", "format=jsonl", f"out={out}", "where=text = ''")[0] == 0
    assert json.loads(out.read_text()) == {
        "edition": "a",
        "text": "",
        "when": None,
        "scores": [],
        "digest": None,
        "end": None,
    }


@pytest.mark.parametrize("where", [None, '"end" IS NULL OR "end" > 0'])
def test_export_writes_parquet_with_the_schema(call, odd_lake, tmp_path, where):
    out = tmp_path / "o.parquet"
    words = [] if where is None else [f"where={where}"]
    assert call("export", "odd", "format=parquet", f"out={out}", *words)[0] == 0
    assert pq.read_schema(out).equals(TABLES["odd"].schema)
    assert_same_rows(pq.read_table(out), arrow.read(odd_lake, "odd"))


@pytest.mark.parametrize(
    ("where", "ends"),
    [('"end" NOT IN (1, NULL)', []), ("text = '' AND NULL", []), ('"end" IN (0.5, NULL)', [0.5])],
)
def test_a_condition_that_is_null_selects_no_row(call, odd_lake, tmp_path, where, ends):
    out = tmp_path / "o.jsonl"
    code, _, _ = call("export", "odd", "format=jsonl", f"out={out}", f"where={where}")
    assert code == (0 if ends else 1)
    lines = out.read_text().splitlines() if ends else []
    assert [json.loads(line)["end"] for line in lines] == ends


def test_export_overwrites_only_on_request(call, tmp_path):
    out = tmp_path / "o.tsv"
    out.write_text("mine")
    code, _, err = call("export", "amod_pairs", "format=tsv", f"out={out}")
    assert (code, out.read_text()) == (2, "mine")
    assert "already exists; choose another name or overwrite=true" in err
    assert call("export", "amod_pairs", "format=tsv", f"out={out}", "overwrite=true")[0] == 0
    assert len(out.read_text().splitlines()) == 4


def test_export_writes_to_the_target_of_a_link(call, tmp_path):
    out, link = tmp_path / "o.tsv", tmp_path / "link.tsv"
    out.write_text("mine")
    link.symlink_to(out)
    words = ("export", "amod_pairs", "format=tsv", f"out={link}")
    assert call(*words)[0] == 2
    assert call(*words, "overwrite=true")[0] == 0
    assert link.is_symlink() and len(out.read_text().splitlines()) == 4


@pytest.mark.parametrize("words", [[], ["overwrite=true"]])
def test_export_leaves_devices_and_pipes_alone(call, tmp_path, words):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for out in (pipe, link):
        code, _, err = call("export", "amod_pairs", "format=tsv", f"out={out}", *words)
        assert code == 2 and "a device or a pipe; expected the name of a file" in err
    assert pipe.is_fifo() and link.is_symlink()


def test_export_without_rows_fails(call, tmp_path):
    out = tmp_path / "o.tsv"
    code, _, err = call("export", "amod_pairs", "format=tsv", f"out={out}", "where=count > 99")
    assert code == 1
    assert "none satisfies where='count > 99'" in err
    assert not [path for path in tmp_path.iterdir() if path.is_file()]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "got nothing; expected one of list, show, history, export, why"),
        (["shew"], "got 'shew'"),
        (["show"], "show needs TABLE"),
        (["show", "limit=3"], "show needs TABLE"),
        (["why", "false"], "why needs ADJECTIVE NOUN"),
        (["show", "pairs"], "no table 'pairs'; did you mean 'amod_pairs'"),
        (["show", "sentences"], "no table sentences in lake="),
        (["show", "amod_pairs", "limit=0"], "limit=0: expected 1 or more"),
        (["show", "amod_pairs", "version=7"], "no version 7; expected 0 to 0"),
        (["show", "amod_pairs", f"version={10**17}"], f"no version {10**17}; expected 0 to 0"),
        (["show", "amod_pairs", f"version={10**20}"], f"={10**20}: expected at most 18 digits"),
        (["show", "amod_pairs", "format=tsv"], "unknown setting 'format'"),
        (["show", "amod_pairs", "where=verb = 1"], "No field named verb"),
        (["show", "amod_pairs", "where=count >"], "amod_pairs: the query failed"),
        (["export", "amod_pairs", "format=xls", "out=x"], "format=xls: expected one of tsv"),
        (["export", "amod_pairs", "format=tsv"], "missing setting 'out'"),
        (["export", "amod_pairs", "format=tsv", "out=/nowhere/x"], "no folder /nowhere"),
        (["export", "amod_pairs", "format=tsv", "out=/tmp"], "a folder"),
        (["vacuum", "amod_pairs", "older_than=99999999999d"], "too long"),
        (["vacuum", "amod_pairs", "older_than=9999999d"], "too long"),
    ],
)
def test_mistakes_give_one_line_and_exit_code_2(lake, capsys, words, message):
    code = main([*words, f"lake={lake}"] if len(words) > 1 else words)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


def test_the_error_for_an_empty_lake_says_how_to_fill_it(tmp_path, capsys):
    lake = tmp_path / "my lake"
    assert main(["list", f"lake={lake}"]) == 1
    command = f"python etl/extract_amod.py source=… input=… lake='{lake}'\n"
    assert f"build the first with: {command}" in capsys.readouterr().err
    assert main(["show", "amod_pairs", f"lake={lake}"]) == 2
    assert f"build it with: {command}" in capsys.readouterr().err


def test_help_lists_commands_and_settings(capsys):
    assert main(["--help"]) == 0
    assert "why ADJECTIVE NOUN" in capsys.readouterr().out
    assert main(["export", "--help"]) == 0
    assert "overwrite" in capsys.readouterr().out


def test_a_closed_pipe_ends_the_output_without_an_error(lake):
    assert run_python_unread("-m", "etl.lake", "show", "amod_pairs", f"lake={lake}") == (0, "")


def test_columns_align_in_any_script():
    text = format_table(("noun", "n"), [["日本", 1], ["é" + "a\u0301", 22], ["x" * 70, None]])
    lines = text.splitlines()
    assert {width(line) for line in lines} == {60 + 2 + 4}
    assert lines[3].startswith("x" * 59 + "…")


def test_cells_and_sizes_are_short_and_printable():
    assert cell("a\n\tb") == "a b"
    assert cell([1, "ü"]) == '[1, "ü"]'
    assert cell(b"\xff") == "ff"
    assert cell(1234567.0) == "1.235e+06"
    assert (size(999), size(1500), size(2.5e12)) == ("999 B", "1.5 kB", "2.5 TB")
