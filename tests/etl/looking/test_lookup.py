"""Counts and association of given pairs, from a file or a table, zeros included."""

import json
import random
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adnominal.conf.commandline.__main__ import main as adnominal
from adnominal.etl.lake import arrow
from adnominal.etl.looking.commands import main
from adnominal.etl.looking.lookup import SCHEMA, counts_of
from tests.lake_of_pairs import COUNTS, write_pairs

PAIRS = "small\tkey\nFalse\tKey\nwooden\tkey\nblue\tdoor\nsmall\tkey\nold\tmoon\n"
COUNTED = ("corpus", "adjective", "noun", "count", "adjective_count", "noun_count")
MEASURES = ("pmi", "npmi", "log_dice")


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """The pairs of two corpora, news and web."""
    root = str(tmp_path_factory.mktemp("lookup") / "lake")
    write_pairs(root, COUNTS)
    return root


@pytest.fixture
def look_up(lake, tmp_path, capsys):
    """Look up a text of pairs; the exit code, the standard output and the standard error."""

    def run(content, *words, name="pairs.tsv"):
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        code = main(["lookup", str(path), f"lake={lake}", *words])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def rows_of(look_up, tmp_path):
    """Look up a text of pairs; all rows, as written to a file."""

    def run(content, *words):
        out = tmp_path / "counts.jsonl"
        code, _, err = look_up(content, f"out={out}", "format=jsonl", "overwrite=true", *words)
        assert (code, err) == (0, "")
        return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]

    return run


def counts(rows):
    return [tuple(row[name] for name in COUNTED) for row in rows]


def test_each_pair_has_a_row_in_each_corpus_in_the_order_of_the_file(rows_of):
    assert counts(rows_of(PAIRS)) == [
        ("news", "small", "key", 2, 2, 15),
        ("web", "small", "key", 0, 0, 9),
        ("news", "false", "key", 4, 7, 15),
        ("web", "false", "key", 1, 1, 9),
        ("news", "wooden", "key", 0, 7, 15),
        ("web", "wooden", "key", 0, 2, 9),
        ("news", "blue", "door", 0, 0, 12),
        ("web", "blue", "door", 0, 0, 2),
        ("news", "old", "moon", 0, 14, 0),
        ("web", "old", "moon", 0, 0, 0),
    ]


def test_measures_are_those_of_the_table_and_null_for_pairs_that_never_occur(rows_of, lake):
    stored = {
        (row["corpus"], row["adjective"], row["noun"]): row
        for row in arrow.read(lake, "amod_association").to_pylist()
    }
    rows = rows_of(PAIRS)
    assert sum(row["count"] > 0 for row in rows) == 3
    for row in rows:
        if row["count"]:
            assert row == stored[row["corpus"], row["adjective"], row["noun"]]
        else:
            assert [row[name] for name in MEASURES] == [None, None, None]


def test_corpora_can_be_chosen(rows_of, look_up):
    assert counts(rows_of("false\tkey\n", "corpus=web")) == [("web", "false", "key", 1, 1, 9)]
    assert [row["corpus"] for row in rows_of("false\tkey\n", "corpus=web,news,web")] == [
        "news",
        "web",
    ]
    code, _, err = look_up("false\tkey\n", "corpus=wep")
    assert code == 2
    assert err == "error: corpus=wep: expected one of news, web; did you mean 'web'?\n"


def test_a_header_may_name_further_columns(rows_of):
    content = "\ufeffnoun\tnote\tadjective\r\nkey\tx\tfalse\r\ndoor\t\told\r\n"
    assert counts(rows_of(content, "corpus=news")) == [
        ("news", "false", "key", 4, 7, 15),
        ("news", "old", "door", 5, 14, 12),
    ]


def test_words_are_lower_cased_unless_the_corpus_is_not(rows_of):
    assert counts(rows_of("OLD\tDoor\n", "corpus=news"))[0][3] == 5
    assert counts(rows_of("OLD\tDoor\n", "corpus=news", "lowercase=false")) == [
        ("news", "OLD", "Door", 0, 0, 0)
    ]
    assert counts(rows_of("na\u00efve\tquestion\n", "corpus=news"))[0][3] == 2
    # Words are looked up as they are written, without lemmatisation.
    assert counts(rows_of("old\tdoors\n", "corpus=news"))[0][3] == 0


def test_the_pairs_can_be_those_of_a_table(lake, capsys):
    words = ["where=corpus = 'web' AND count > 1", "corpus=news", f"lake={lake}"]
    assert main(["lookup", "amod_pairs", *words]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [line[:4] for line in lines] == [
        ["news", "public", "key", "0"],
        ["news", "wooden", "door", "7"],
    ]


def test_the_first_rows_are_printed(look_up, lake, tmp_path, capsys):
    code, out, _ = look_up(PAIRS, "limit=3")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split() == SCHEMA.names
    assert lines[2].split() == ["web", "small", "key", "0", "0", "9", "null", "null", "null"]
    assert lines[4:] == ["… and 7 more rows; out=FILE format=tsv writes all"]
    assert adnominal(["lake", "lookup", str(tmp_path / "pairs.tsv"), f"lake={lake}"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 11


def test_all_rows_are_written_to_a_file(look_up, tmp_path):
    out = tmp_path / "o.parquet"
    words = ("limit=1", f"out={out}", "format=parquet")
    code, text, _ = look_up(PAIRS, *words)
    source = tmp_path / "pairs.tsv"
    assert (code, text) == (0, f"10 rows of {source} written to {out}\n")
    assert pq.read_table(out).schema.equals(SCHEMA)
    assert pq.read_table(out).num_rows == 10
    code, _, err = look_up(PAIRS, *words)
    assert code == 2 and "already exists; choose another name or overwrite=true" in err
    tsv = tmp_path / "o.tsv"
    assert look_up("blue\tdoor\n", f"out={tsv}", "format=tsv", "corpus=web")[0] == 0
    assert tsv.read_text().splitlines()[1] == "web\tblue\tdoor\t0\t0\t2\t\\N\t\\N\t\\N"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "pairs.tsv: no pairs; expected an adjective and a noun separated by a tab in each"),
        ("adjective\tnoun\n", "pairs.tsv: no pairs"),
        ("old\tkey\nfalse key\n", "pairs.tsv: line 2: got 'false key\\t'; expected an adjective"),
        ("\tkey\n", "pairs.tsv: line 1: got '\\tkey'; expected an adjective and a noun"),
        ("old\tkey\tx\n", "pairs.tsv: line 1: more fields than the 2 columns; remove a tab"),
        (b"caf\xe9\tkey\n", "pairs.tsv: not UTF-8 at byte 3"),
        ("a\tb\n" + "c" * 200_000 + "\td", "pairs.tsv: line 2: field larger than field limit"),
    ],
)
def test_files_that_cannot_be_used_are_refused_in_one_line(look_up, content, message):
    code, out, err = look_up(content)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ") and message in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "lookup needs FILE"),
        (["corpus=web"], "lookup needs FILE"),
        (["none.tsv"], "lookup none.tsv: no such file, nor a table of this name; expected a file"),
        (["amod_pair"], "nor a table of this name; did you mean 'amod_pairs'?"),
        (["adept"], "no table adept in lake="),
        (["/tmp"], "/tmp: Is a directory"),
        (["amod_pairs", "where=verb = 1"], "No field named verb"),
        (
            ["amod_pairs", "where=count > 99"],
            "lookup amod_pairs: no pair satisfies where=count > 9",
        ),
        (["amod_pairs", "out=x.tsv"], "out= and format= belong together; give both, or neither"),
        (["amod_pairs", "limit=0"], "limit=0: expected 1 or more"),
    ],
)
def test_mistakes_give_one_line_and_exit_code_2(lake, capsys, words, message):
    code = main(["lookup", *words, f"lake={lake}"])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ") and message in err


def test_a_condition_needs_a_table(look_up):
    code, _, err = look_up(PAIRS, "where=count > 1")
    assert code == 2
    assert "where=count > 1: needs a table of the lake" in err


def test_a_lake_without_counts_is_reported(tmp_path, look_up, capsys):
    look_up(PAIRS)
    assert main(["lookup", str(tmp_path / "pairs.tsv"), f"lake={tmp_path / 'empty'}"]) == 2
    assert "no table amod_association in lake=" in capsys.readouterr().err
    root = str(tmp_path / "emptied")
    write_pairs(root, {"news": [("old", "key", 1)]})
    no_rows = SCHEMA.empty_table()
    arrow.replace(root, "amod_association", no_rows, {"corpus": "news"}, job="x", allow_empty=True)
    assert main(["lookup", str(tmp_path / "pairs.tsv"), f"lake={root}"]) == 1
    assert "no corpus has been counted; run etl/extract_amod.py first" in capsys.readouterr().err


def test_random_lists_have_the_counts_of_a_plain_loop(tmp_path):
    chance = random.Random(4)
    adjectives, nouns = [f"a{i}" for i in range(40)], [f"n{i}" for i in range(60)]
    occurring = {
        corpus: {
            (chance.choice(adjectives), chance.choice(nouns)): chance.randint(1, 9)
            for _ in range(400)
        }
        for corpus in ("one", "two")
    }
    root = str(tmp_path / "lake")
    write_pairs(root, {name: [(*p, n) for p, n in c.items()] for name, c in occurring.items()})
    every_pair = [(adjective, noun) for adjective in adjectives for noun in nouns]
    listed = chance.sample(every_pair, 300)
    expected = []
    for adjective, noun in listed:
        for corpus, counted in occurring.items():
            marginals: Counter[str] = Counter()
            for (one, other), count in counted.items():
                marginals[one] += count
                marginals[other] += count
            count = counted.get((adjective, noun), 0)
            words = (corpus, adjective, noun)
            expected.append((*words, count, marginals[adjective], marginals[noun]))
    names, other_names = zip(*listed, strict=True)
    pairs = pa.table({"adjective": names, "noun": other_names})
    assert counts(counts_of(root, pairs, ["one", "two"]).to_pylist()) == expected
