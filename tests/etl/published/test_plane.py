import csv
import gzip
import pickle
from collections import defaultdict
from itertools import combinations

import pyarrow.compute as pc
import pytest

from adnominal.conf import UserError
from adnominal.conf.texts import NO_TEXT
from adnominal.etl.knowledge import wordnet
from adnominal.etl.plane.rules import item_id, label
from adnominal.etl.published.plane import COLUMNS, read

ROWS = [
    ("A weekly load is a load", "1", "I", "weekly", "load", "weight"),
    ("A artificial load is a artificial weight", "1", "O", "artificial", "load", "weight"),
    ("A direct load is a direct weight", "0", "N", "direct", "load", "weight"),
]


def write(path, rows, columns=COLUMNS):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(row) for row in [columns, *rows]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_release_gives_items_splits_and_drops(tmp_path, caplog):
    bad = [
        ("A weekly load is an load", "1", "I", "weekly", "load", "weight"),
        (ROWS[0][0], "1", "X", *ROWS[0][3:]),
        (ROWS[0][0], "yes", *ROWS[0][2:]),
    ]
    write(tmp_path / "splits" / "ood_train_2.tsv", [*ROWS, *bad])
    write(tmp_path / "one_it_test_1.tsv", [ROWS[2], ROWS[2]])
    (tmp_path / "notes.txt").write_text("not a split", encoding="utf-8")
    with caplog.at_level("INFO", logger="adnominal"):
        reading = read(tmp_path)
    items = reading.tables["plane_items"].to_pylist()
    assert [row["class"] for row in items] == ["S", "I", "O"]
    subsective = items[0]
    assert subsective["inference_type"] == 3 and subsective["distance"] is None
    assert subsective["item_id"] == item_id("published", 3, "direct", "load", "weight")
    assert (subsective["premise"], subsective["conclusion"]) == ("direct load", "direct weight")
    splits = reading.tables["plane_splits"].to_pylist()
    places = [(row["scheme"], row["fold"], row["part"]) for row in splits]
    assert places == [("one_it", "1", "test")] * 2 + [("published", "2", "train")] * 3
    assert {reason: count for (_, reason), (count, _) in reading.dropped.items()} == {
        "sentence is none of the three inferences of its words": 1,
        "class 'X', not I, S, N or O": 1,
        "label 'yes', not 0 or 1": 1,
    }
    drop = reading.dropped["plane_items", "label 'yes', not 0 or 1"]
    assert drop == (1, "splits/ood_train_2.tsv:7 A weekly load is a load")
    assert "what scheme one_it shares" in caplog.text


def test_class_n_is_the_class_that_has_the_label_of_its_row(tmp_path):
    rows = [
        ("A direct load is a direct weight", "0", "N", "direct", "load", "weight"),
        ("A direct load is a load", "1", "N", "direct", "load", "weight"),
        ("A fake load is a load", "0", "N", "fake", "load", "weight"),
        ("A fake load is a weight", "0", "N", "fake", "load", "weight"),
        ("A fake load is a fake weight", "1", "N", "fake", "load", "weight"),
    ]
    write(tmp_path / "ood_train_1.tsv", rows)
    assert read(tmp_path).tables["plane_items"]["class"].to_pylist() == ["S", "S", "O", "O", "O"]


def test_a_row_with_half_a_surrogate_pair_is_dropped(tmp_path):
    sentence, _, *words = ROWS[0]
    rows = [[sentence, 1, *words], [sentence, 1, *words[:-1], "weight\ud800"]]
    (tmp_path / "OOV_Train_1.pkl").write_bytes(pickle.dumps(rows, protocol=4))
    reading = read(tmp_path)
    assert reading.tables["plane_items"].num_rows == 1
    assert reading.dropped == {("plane_items", NO_TEXT): (1, f"OOV_Train_1.pkl:2 {sentence}")}


@pytest.mark.parametrize(
    "value", [10**5000, None, 1.0, ["x"]], ids=lambda value: type(value).__name__
)
def test_a_row_of_other_values_than_texts_and_integers_is_dropped(tmp_path, value):
    sentence, _, *words = ROWS[0]
    rows = [[sentence, value, *words], [sentence, 1, *words]]
    (tmp_path / "OOV_Train_1.pkl").write_bytes(pickle.dumps(rows, protocol=4))
    reading = read(tmp_path)
    assert reading.tables["plane_items"].num_rows == 1
    assert list(reading.dropped) == [("plane_items", "row is not a list of six or seven texts")]


def test_an_item_has_one_label(tmp_path):
    sentence, _, *words = ROWS[0]
    write(tmp_path / "ood_train_1.tsv", [ROWS[0], (sentence, "0", *words), ROWS[1]])
    reading = read(tmp_path)
    assert reading.tables["plane_items"]["label"].to_pylist() == [1, 1]
    assert reading.tables["plane_splits"].num_rows == 2
    (drop,) = reading.drops()
    assert (drop.reason, drop.count) == ("another label than an earlier row of the same item", 1)


def test_folders_without_a_release_are_refused(tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        read(tmp_path / "none")
    with pytest.raises(UserError, match="no file named as supervised_learning/OoD/OOV_Train_1"):
        read(tmp_path)
    (tmp_path / "ood_test_2.pkl").write_bytes(b"\x80")
    with pytest.raises(UserError, match=r"ood_test_2\.pkl: not readable as a pickle"):
        read(tmp_path)
    write(tmp_path / "ood_test_1.tsv", [row[:5] for row in ROWS], COLUMNS[:5])
    with pytest.raises(UserError, match="no column hypernym; expected sentence, label"):
        read(tmp_path)


def test_the_rows_of_the_release_have_the_labels_of_the_rules(shared_data):
    reading = read(shared_data / "plane")
    assert reading.dropped == {}
    assert reading.tables["plane_splits"].num_rows == 125_340
    rows = reading.tables["plane_items"]
    assert rows.num_rows == len(rows["item_id"].unique())
    columns = (rows[name].to_pylist() for name in ("class", "inference_type", "label"))
    for kind, inference, gold in zip(*columns, strict=True):
        assert label(kind, inference) == gold


def test_one_it_has_wordnets_chains_of_a_noun_and_three_hypernyms(shared_data, wordnet_hypernyms):
    """Each adjective occurs in all six pairs of a chain, from which preset=paper builds One-IT."""
    files = wordnet.find()
    exceptions = defaultdict(list)
    for row in wordnet.exceptions(files).to_pylist():
        if row["pos"] == "n":
            exceptions[row["form"]].append(row["lemma"])
    above = defaultdict(set)  # direct hypernyms of a synset, with a word of each
    synset_of = {}  # of a noun's first sense
    direct = pc.field("first_lemma") & (pc.field("distance") == 1)
    for row in wordnet_hypernyms.filter(direct).to_pylist():
        above[row["noun_synset"]].add((row["hypernym_synset"], row["hypernym"].lower()))
        if row["sense"] == 1:
            synset_of[row["noun"].lower()] = row["noun_synset"]
    path = shared_data / "plane" / "one_it_train_1.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    chains = set()
    for start in range(0, len(rows), 6):
        six = rows[start : start + 6]
        chain = (six[0]["noun"], *(row["hypernym"] for row in six[:3]))
        assert [(row["noun"], row["hypernym"]) for row in six] == list(combinations(chain, 2))
        assert len({(row["adjective"], row["adj_class"]) for row in six}) == 1
        chains.add(chain)
    for noun, *hypernyms_of_noun in chains:
        forms = wordnet.base_forms(noun, "n", exceptions)
        reached = {next(synset_of[form] for form in forms if form in synset_of)}
        for hypernym in hypernyms_of_noun:
            reached = {up for synset in reached for up, word in above[synset] if word == hypernym}
        assert reached, (noun, *hypernyms_of_noun)
    assert len(chains) > 450


def test_a_class_beside_the_class_of_the_adjective_is_another_column(tmp_path):
    rows = [(*ROWS[0], "S")]
    write(tmp_path / "ood_train_1.tsv", rows, (*COLUMNS, "class"))
    assert read(tmp_path).tables["plane_items"]["class"].to_pylist() == ["I"]


def test_other_content_is_named(tmp_path):
    file = tmp_path / "ood_train_1.tsv"
    write(file, ROWS)
    for content, fault in [
        (file.read_text().encode("utf-16"), "UTF-16"),
        (gzip.compress(file.read_bytes()), "gzip data; unpack it"),
    ]:
        file.write_bytes(content)
        with pytest.raises(UserError, match=fault):
            read(tmp_path)
        write(file, ROWS)
