"""Training on a few sentences, and the file of the model."""

import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adnominal.conf import UserError

pytest.importorskip(
    "adnominal.etl.parsing.fast._fast", reason="the compiled extractor was not built"
)

from adnominal.etl.parsing.fast import clusters, model, train
from adnominal.etl.parsing.fast.train import NAME_FLAG, NO_HEAD, UNKNOWN_HEAD

SENTENCES = [
    ["The/DT/2", "red/JJ/3/amod", "dog/NN/4", "barked/VBD/0", "././4"],
    ["A/DT/2", "big/JJ/3/amod", "cat/NN/4", "slept/VBD/0", "././4"],
    ["The/DT/2", "old/JJ/3/amod", "Paris/NNP/4", "slept/VBD/0", "././4"],
    ["The/DT/2", "dog/NN/3", "is/VBZ/0", "red/JJ/3/xcomp", "././3"],
    ["Cafés/NNS/2", "sold/VBD/0", "good/JJ/4/amod", "tea/NN/2", "././2"],
]


def treebank(path: Path, times: int = 1) -> Path:
    """Write a treebank of these sentences, without a space before the period; its path."""
    lines = []
    for _ in range(times):
        for words in SENTENCES:
            rows = [(word.rsplit("/", 3 if word.count("/") == 3 else 2)) for word in words]
            rows[-1] = [".", ".", words[-1].rsplit("/", 1)[1]]
            lines.append("# text = " + " ".join(row[0] for row in rows[:-1]) + ".")
            for number, (form, tag, head, *relation) in enumerate(rows, 1):
                gap = "SpaceAfter=No" if number == len(rows) - 1 else "_"
                name = relation[0] if relation else "dep"
                lines.append(f"{number}\t{form}\t{form}\t_\t{tag}\t_\t{head}\t{name}\t_\t{gap}")
            lines.append("")
    content = "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    return path


def test_labels_are_aligned_with_the_tokens_of_the_extractor(tmp_path):
    bank = train.read_treebank([treebank(tmp_path / "a.conllu")])
    labels = train.align(train_extractor(), bank)
    assert labels.aligned == 1
    tags = [model.TAGS[tag] for tag in labels.tags]
    assert tags[:5] == ["DT", "JJ", "NN", "VBD", "."]
    assert labels.heads[1] == 2
    assert labels.heads[0] == NO_HEAD
    assert labels.heads[11] == 12 + NAME_FLAG
    assert UNKNOWN_HEAD not in labels.heads


def train_extractor():
    from adnominal.etl.parsing.fast._fast import Extractor

    empty = {"words": b"", "word_hash": b"", "word_at": b""}
    return Extractor({**model.characters(), **model.lexicon(), **model.cluster_tables({}), **empty})


def test_training_learns_its_sentences_and_is_reproducible(tmp_path, capsys):
    gold = treebank(tmp_path / "gold.conllu.gz", times=20)
    for name in ("one", "two"):
        out = str(tmp_path / name)
        train.train(train.Settings(out=out, gold=[str(gold)], dev=[str(gold)], bias=0))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert "f1 1.0000" in capsys.readouterr().out
    tables = model.load(tmp_path / "one")
    pairs = train.extracted_pairs(tables, ["The red dog barked.", "Cafés sold good tea."])
    assert pairs == {("red", "dog"): 1, ("good", "tea"): 1}


def test_words_with_the_same_neighbours_share_a_cluster():
    random = np.random.default_rng(0)
    kinds = {
        "x": ["red", "old", "big", "small"],
        "y": ["dog", "cat", "house", "tree"],
        "z": ["barked", "slept", "fell", "burned"],
    }
    fillers = [f"word{number}" for number in range(100)]
    words: list[str] = []
    opens: list[int] = []
    for _ in range(2000):
        opens.append(len(words))
        words += ["the", *(str(random.choice(kinds[kind])) for kind in "xyz")]
        opens.append(len(words))
        words += random.permutation(fillers)[:3].tolist()
    starts = np.array(opens, dtype=np.uint32)
    cluster_of = clusters.clusters(words, starts, number=8, min_count=5, seed=0)
    by_kind = [{cluster_of[word] for word in members} for members in kinds.values()]
    assert [len(numbers) for numbers in by_kind] == [1, 1, 1]
    assert len(set.union(*by_kind)) == 3
    assert clusters.clusters(words, starts, number=8, min_count=5, seed=0) == cluster_of
    assert clusters.clusters(words, starts, number=8, min_count=300, seed=0) == {}


def test_a_damaged_model_is_refused(tmp_path):
    path = tmp_path / "x.model"
    model.save(path, {"tag": b"abc"}, {})
    assert model.load(path) == {"tag": b"abc"}
    path.write_bytes(zlib.compress(zlib.decompress(path.read_bytes()).replace(b"abc", b"abd")))
    with pytest.raises(UserError, match=r"table tag .* is damaged"):
        model.load(path)
    path.write_bytes(zlib.compress(b'{"format": "other", "tables": {}}\n'))
    with pytest.raises(UserError, match="has the format 'other'"):
        model.load(path)


def test_training_without_input_is_refused(tmp_path):
    with pytest.raises(UserError, match="give at least one"):
        train.Settings(out="x")
    with pytest.raises(UserError, match="neither a file nor a folder"):
        train.train(train.Settings(out="x", gold=[str(tmp_path / "no")]))
    with pytest.raises(UserError, match=r"a folder without \*.conllu"):
        train.train(train.Settings(out="x", silver=[str(tmp_path)]))
    gold = str(treebank(tmp_path / "gold.conllu"))
    with pytest.raises(UserError, match=f"plain={tmp_path}: .*expected a file"):
        train.train(train.Settings(out="x", gold=[gold], plain=[str(tmp_path)]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, "seed=-1: expected 0 or more"),
        ({"clusters": -1}, "clusters=-1: expected 0 or more"),
        ({"cluster_min_count": 0}, "cluster_min_count=0: expected 1 or more"),
        ({"rate": float("nan")}, "rate=nan: expected"),
        ({"out": "no/x.model"}, "expected a file in a folder that is there"),
        ({"out": "."}, "expected a file in a folder that is there"),
    ],
)
def test_settings_of_training_are_checked_before_it_begins(change, message):
    with pytest.raises(UserError, match=message):
        train.Settings(**{"out": "x", "gold": ["g"], **change})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.conllu", b"", "no sentence to learn from"),
        ("plain.txt", b"The old key.\n", "no sentence to learn from"),
        ("bare.conllu", b"1\tkey\tkey\t_\tNN\t_\t0\troot\t_\t_\n\n", "no sentence to learn"),
        ("short.conllu", b"# text = key\n1\tkey\tkey\n\n", "cannot be read as CoNLL-U"),
        ("latin.conllu", b"# text = caf\xe9\n", "cannot be read as CoNLL-U"),
        (
            "cut.conllu.gz",
            gzip.compress(b"# text = key\n" * 9, mtime=0)[:20],
            "cannot be read as CoNLL-U",
        ),
    ],
)
@pytest.mark.parametrize("role", ["gold", "silver", "dev"])
def test_files_without_sentences_are_refused(tmp_path, role, name, content, message):
    (tmp_path / name).write_bytes(content)
    gold = {"gold": [str(treebank(tmp_path / "gold.conllu"))]}
    inputs: dict[str, Any] = {**gold, role: [str(tmp_path / name)]}
    with pytest.raises(UserError, match=message):
        train.train(train.Settings(out=str(tmp_path / "out"), **inputs))
    assert not (tmp_path / "out").exists()
