import gzip

import pyarrow as pa
import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.checks.split_rows import read_rows
from adnominal.etl.checks.splits import Part, Settings, check, run, text
from tests import rows as lake_rows

ROWS = """
1 train 1 red dog animal
1 train 1 red dog animal
1 train 0 big cat animal
1 test 1 blue owl dog
1 test 0 big owl bird
2 test 1 red dog animal
"""
NAMES = ("fold", "part", "label", "adjective", "noun", "hypernym")
WORDS = NAMES[3:]


def rows(lines: str = ROWS) -> pa.Table:
    split = [line.split() for line in lines.strip().splitlines()]
    return pa.Table.from_pylist([dict(zip(NAMES, line, strict=True)) for line in split])


def distinct_values(part: Part) -> dict[str, int]:
    """The number of distinct values of each column."""
    return {column: len(values) for column, values in part.values.items()}


def test_a_check_counts_labels_repetitions_and_shared_words():
    fold, other = check(rows(), WORDS, label="label", identity=WORDS, same_kind=WORDS[1:])
    train, test = fold.part("train"), fold.part("test")
    assert (fold.name, train.rows, train.repeated, train.labels) == ("1", 3, 1, {"0": 1, "1": 2})
    assert distinct_values(train) == {"adjective": 2, "noun": 2, "hypernym": 1}
    assert train.guess_accuracy == {"adjective": 1, "noun": 1, "hypernym": 2 / 3}
    assert test.guess_accuracy == {"adjective": 1, "noun": 0.5, "hypernym": 1}
    assert fold.shared == {
        ("train", "test", "adjective"): 1,
        ("train", "test", "noun"): 0,
        ("train", "test", "hypernym"): 0,
        ("train", "test", "rows"): 0,
        ("train", "test", "noun/hypernym"): 1,
    }
    assert other.shared == {} and [part.name for part in other.parts] == ["test"]
    assert sorted(train.values["noun"].to_pylist()) == ["cat", "dog"]
    lines = [line.split() for line in text([fold, other]).splitlines()]
    assert ["1", "train", "and", "test", "noun", "0", "disjoint"] in lines
    assert ["1", "train", "and", "test", "adjective", "1", "shared"] in lines


def test_a_check_tells_what_training_rows_say_about_test_rows():
    lines = """
    train yes red
    train no big
    train yes big
    test yes red
    test yes big
    test yes blue
    """
    cells = [line.split() for line in lines.strip().splitlines()]
    rows = pa.table(list(zip(*cells, strict=True)), names=["part", "label", "word"])
    (fold,) = check(rows, ["word"], label="label", identity=["word"])
    assert fold.known_rows == {("train", "test", "word"): 2}
    # "red" is yes in training, and "big" as often no as yes: the first in the alphabet counts.
    assert fold.right_guesses == {("train", "test", "word"): 1}
    last_line = text([fold]).splitlines()[-1].split()
    assert last_line == ["-", "train", "test", "word", "66.7", "%", "33.3", "%"]


def test_a_missing_label_is_never_guessed_right():
    rows = pa.table(
        {
            "part": ["train", "train", "train", "test", "test"],
            "label": pa.array([None, None, "yes", None, "yes"], pa.string()),
            "word": ["red"] * 5,
        }
    )
    (fold,) = check(rows, ["word"], label="label", identity=["word"])
    assert fold.part("train").guess_accuracy == {"word": 2 / 3}
    assert fold.right_guesses["train", "test", "word"] == 0


def test_rows_are_compared_cell_by_cell():
    rows = pa.table(
        {"part": ["train", "test"], "label": [1, 0], "a": ["x y", "x"], "b": ["z", "y z"]}
    )
    (fold,) = check(rows, ["a"], label="label", identity=["a", "b"])
    assert fold.name == "-" and fold.shared["train", "test", "rows"] == 0


def test_unknown_columns_and_empty_tables_are_refused():
    with pytest.raises(UserError, match="no column verb; there are fold, part, label, adjective"):
        check(rows(), ["verb"], label="label", identity=WORDS)
    with pytest.raises(UserError, match="no column round; there are fold, part, label"):
        check(rows(), WORDS, label="label", identity=WORDS, fold="round")
    with pytest.raises(UserError, match="no rows to check"):
        check(rows().slice(0, 0), WORDS, label="label", identity=WORDS)
    with pytest.raises(KeyError, match="val"):
        check(rows(), WORDS, label="label", identity=WORDS)[0].part("val")


def test_missing_values_are_not_shared_and_the_label_may_be_compared():
    empty = pa.array([None, None], pa.string())
    rows = pa.table({"part": ["train", "test"], "label": [1, 1], "a": empty})
    (fold,) = check(rows, ["a", "label"], label="label", identity=["label"], same_kind=["a"])
    assert distinct_values(fold.part("train")) == {"a": 0, "label": 1}
    shared = {column: count for (_, _, column), count in fold.shared.items()}
    assert shared == {"a": 0, "label": 1, "rows": 1}


def write(path, lines: str, part: str):
    cells = [line.split()[2:] for line in lines.strip().splitlines() if line.split()[1] == part]
    content = "\n".join("\t".join(line) for line in [NAMES[2:], *cells]) + "\n"
    data = content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def test_files_are_the_parts_of_one_fold(tmp_path, capsys):
    files = {
        part: write(tmp_path / f"{part}.tsv{end}", ROWS[:-1], part)
        for part, end in (("train", ""), ("test", ".gz"))
    }
    run(conf.load(Settings, [*(f"{part}={path}" for part, path in files.items())]))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1][:8] == ["-", "train", "3", "0:", "1,", "1:", "2", "1"]
    assert ["-", "train", "and", "test", "noun", "1", "shared"] in lines
    other = tmp_path / "other.tsv"
    other.write_text("label\tnoun\tpart\n1\tdog\tx\n", encoding="utf-8")
    run(conf.load(Settings, [f"val={other}", "columns=noun"]))
    assert "-     val      1  1: 1" in capsys.readouterr().out
    other.write_text("label\tnoun\n1\tdog\n", encoding="utf-8")
    with pytest.raises(UserError, match="the files have different columns"):
        run(conf.load(Settings, [f"train={files['train']}", f"test={other}"]))


def test_pickles_and_ragged_files_are_refused(tmp_path):
    pickled, ragged = tmp_path / "train.pkl", tmp_path / "train.tsv"
    pickled.write_bytes(b"\x80")
    ragged.write_text("a\tb\n1\n", encoding="utf-8")
    doubled = tmp_path / "doubled.tsv"
    doubled.write_text("a\tb\ta\n1\t2\t3\n", encoding="utf-8")
    wide = tmp_path / "wide.tsv"
    wide.write_text("a\tb\n1\t2\n", encoding="utf-16")
    for path, message in (
        (pickled, "a pickle, which could run any code"),
        (doubled, r"doubled\.tsv: more than one column a; rename all but one"),
        (ragged, "not readable as rows under a header: .*Row #2: Expected 2 columns"),
        (wide, "not readable as rows under a header: UTF-16; save it as UTF-8"),
        (tmp_path / "none.tsv", "not readable .*none.tsv"),
    ):
        with pytest.raises(UserError, match=message):
            read_rows(path)
    quoted = tmp_path / "rows.csv"
    quoted.write_text('a,b\n"1,5",""\n', encoding="utf-8")
    assert read_rows(quoted).to_pylist() == [{"a": "1,5", "b": ""}]


def test_tables_of_items_and_splits_are_joined(tmp_path, capsys):
    root = str(tmp_path)
    items = [
        {"item_id": f"{n}", "adjective": a, "noun": "dog", "hypernym": "animal", "label": n % 2}
        | {"class": "I", "edition": "mine"}
        for n, a in enumerate(("red", "big", "red"))
    ]
    parts = [
        {"scheme": "strict", "fold": "1", "part": part, "item_id": f"{n}", "edition": "mine"}
        for n, part in enumerate(("train", "train", "test"))
    ]
    for name, rows in (("plane_items", items), ("plane_splits", parts)):
        lake_rows.write(root, name, rows)
    arguments = ["items=plane_items", "splits=plane_splits", "edition=mine", f"lake={root}"]
    run(conf.load(Settings, [*arguments, "scheme=strict"]))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["1", "train", "and", "test", "adjective", "1", "shared"] in lines
    assert ["1", "train", "and", "test", "rows", "0", "disjoint"] in lines
    with pytest.raises(UserError, match="plane_splits: no scheme one_it of edition mine"):
        run(conf.load(Settings, [*arguments, "scheme=one_it"]))
    for option, message in (
        ("key=zz", r"plane_splits: no column zz; there are scheme, fold, part"),
        ("fold=zz", r"plane_splits: no column zz; there are scheme, fold, part"),
        ("columns=zz", r"plane_items: no column zz; there are item_id"),
    ):
        with pytest.raises(UserError, match=message):
            run(conf.load(Settings, [*arguments, "scheme=strict", option]))
    lake_rows.write(root, "plane_splits", [{**parts[0], "item_id": "9"}])
    with pytest.raises(UserError, match="plane_items: 3 of the 4 items of plane_splits"):
        run(conf.load(Settings, [*arguments, "scheme=strict"]))


def test_folds_are_those_of_the_column_that_the_splits_have(tmp_path, capsys):
    root = str(tmp_path)
    sentence = {"sentence_id": "s", "depth": 0, "sentence": "a", "fol": "b", "edition": "mine"}
    rows = [
        {"scheme": "systematicity", "primitive": word, "part": part, "sentence_id": "s"}
        for word, part in (("one", "train"), ("two", "test"))
    ]
    lake_rows.write(root, "sygns", [sentence])
    lake_rows.write(root, "sygns_splits", [{**row, "edition": "mine"} for row in rows])
    arguments = ["items=sygns", "splits=sygns_splits", "edition=mine", "scheme=systematicity"]
    arguments += ["key=sentence_id", "label=depth", "columns=fol", f"lake={root}"]
    run(conf.load(Settings, arguments))
    lines = [line.split()[:3] for line in capsys.readouterr().out.splitlines()]
    assert lines[1:] == [["one", "train", "1"], ["two", "test", "1"]]


@pytest.mark.parametrize("arguments", [["items=plane_items"], [], ["train=a.tsv", "edition=x"]])
def test_settings_must_name_either_files_or_tables(arguments):
    with pytest.raises(UserError, match=r"expected .*items="):
        conf.load(Settings, arguments)


def test_figures_of_the_published_splits(shared_data):
    expected = {
        "ood": ((60_012, 215, 2065, 0), (2016, 85, 91, 0), (0, 0, 59)),
        "one_it": ((61_296, 231, 917, 5973), (2016, 73, 123, 36), (0, 0, 0)),
    }
    for kind, (train, test, shared) in expected.items():
        parts = []
        for part in ("train", "test"):
            rows = read_rows(shared_data / "plane" / f"{kind}_{part}_1.tsv.gz")
            parts.append(rows.append_column("part", pa.array([part] * rows.num_rows)))
        identity = ["sentence", "label"]
        (fold,) = check(pa.concat_tables(parts), WORDS, label="label", identity=identity)
        for figures, name in ((train, "train"), (test, "test")):
            part_check = fold.part(name)
            sizes = distinct_values(part_check)
            distinct = (sizes["adjective"], sizes["noun"])
            assert (part_check.rows, *distinct, part_check.repeated) == figures
            assert part_check.labels == {"0": part_check.rows // 2, "1": part_check.rows // 2}
            assert part_check.guess_accuracy["noun"] == part_check.guess_accuracy["hypernym"] == 0.5
        assert tuple(fold.shared["train", "test", word] for word in WORDS) == shared
