"""A lake that an earlier version wrote (``lakes/README.md``) is read, extended and reported on."""

import hashlib
import tarfile
from pathlib import Path
from typing import NamedTuple

import pytest

from adnominal.analysis import explore, report
from adnominal.conf import ROOT
from adnominal.etl import extract_amod
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.looking.commands import main as lake_command

ARCHIVE = ROOT / "tests" / "lakes" / "earlier.tar.gz"
RUN = "176688d470a84916a94b779115134ea7"
ROWS = {
    "amod_files": 3,
    "amod_counts": 23,
    "amod_pairs": 23,
    "relation_pairs": 1,
    "relation_association": 1,
    "amod_association": 23,
    "amod_by_adjective": 23,
    "amod_examples": 7,
    "sentences": 4,
    "conceptnet_edges": 12,
    "wordnet_lemmas": 45,
    "wordnet_exceptions": 5,
    "wordnet_hypernyms": 157,
    "adjective_classes": 12,
    "adept_entries": 14,
    "adept_items": 112,
    "adept_batches": 26,
    "adept_annotations": 78,
    "adept": 26,
    "plane_items": 45,
    "plane_splits": 45,
    "plane_association": 306,
    "asp_entailment": 149,
    "asp_degree": 237,
    "asp_splits": 585,
    "sygns": 127,
    "sygns_splits": 532,
    "predictions": 122,
    "dropped": 1,
}
"""The rows of each table, without ``listed_counts``."""

TREEBANK = """\
# text = A red car has an old key.
1	A	a	DET	DT	_	3	det	_	_
2	red	red	ADJ	JJ	_	3	amod	_	_
3	car	car	NOUN	NN	_	4	nsubj	_	_
4	has	have	VERB	VBZ	_	0	root	_	_
5	an	a	DET	DT	_	7	det	_	_
6	old	old	ADJ	JJ	_	7	amod	_	_
7	key	key	NOUN	NN	_	4	obj	_	_

# text = The key is red.
1	The	the	DET	DT	_	2	det	_	_
2	key	key	NOUN	NN	_	4	nsubj	_	_
3	is	be	AUX	VBZ	_	4	cop	_	_
4	red	red	ADJ	JJ	_	0	root	_	_

"""


class Earlier(NamedTuple):
    """The extracted archive."""

    lake: str
    tracking: str


def extract_archive(folder: Path) -> Earlier:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder)
    return Earlier(str(folder / "lake"), f"sqlite:///{folder / 'mlflow.db'}")


@pytest.fixture
def earlier(tmp_path: Path) -> Earlier:
    """A lake that the test may change."""
    return extract_archive(tmp_path)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Earlier:
    """A lake that tests only read."""
    return extract_archive(tmp_path_factory.mktemp("earlier"))


def digests(folder: Path) -> dict[str, str]:
    """The digest of every file of a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def pair_counts(lake: str, table: str, corpus: str) -> dict[tuple[str, str], int]:
    rows = arrow.read(lake, table, where=[("corpus", "=", corpus)]).to_pylist()
    return {(row["adjective"], row["noun"]): row["count"] for row in rows}


def test_every_table_is_listed_with_its_rows(unchanged, capsys):
    assert lake_command(["list", f"lake={unchanged.lake}"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    listed = {line[0]: line[1] for line in lines}
    assert {name: listed.get(name) for name in ROWS} == {
        name: str(rows) for name, rows in ROWS.items()
    }
    for name, number in ROWS.items():
        assert arrow.read(unchanged.lake, name).num_rows == number, name


def test_every_table_is_verified(unchanged, capsys):
    assert lake_command(["verify", f"lake={unchanged.lake}"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    faults = {line[0]: line[-1] for line in lines[1:] if line[0] in TABLES}
    assert set(ROWS) <= set(faults) and set(faults.values()) == {"0"}


def test_a_table_that_is_no_longer_declared_is_named_and_left_alone(earlier, capsys):
    folder = Path(earlier.lake, "listed_counts")
    before = digests(folder)
    assert lake_command(["list", f"lake={earlier.lake}"]) == 0
    assert "listed_counts" in capsys.readouterr().out
    assert lake_command(["verify", f"lake={earlier.lake}"]) == 0
    assert "listed_counts" in capsys.readouterr().out
    assert lake_command(["compact", f"lake={earlier.lake}"]) == 0
    assert lake_command(["vacuum", f"lake={earlier.lake}"]) == 0
    assert digests(folder) == before


def test_a_further_file_is_added_to_a_corpus(earlier, spark, tmp_path):
    file = tmp_path / "treebank-2.conllu"
    file.write_text(TREEBANK, encoding="utf-8")
    before = pair_counts(earlier.lake, "amod_pairs", "treebank")
    assert before == {("old", "key"): 1, ("red", "car"): 1, ("old", "wall"): 1}
    arguments = ["source=conllu", f"input={file}", "corpus=treebank"]
    arguments += ["relations=amod,predicative", "relation_association=true"]
    assert extract_amod.main([*arguments, f"lake={earlier.lake}"]) == 0
    expected = {("old", "key"): 2, ("red", "car"): 2, ("old", "wall"): 1}
    for table in ("amod_pairs", "amod_association", "amod_by_adjective"):
        assert pair_counts(earlier.lake, table, "treebank") == expected
    predicative = arrow.read(earlier.lake, "relation_pairs").to_pylist()
    assert {(row["dependent"], row["head"], row["count"]) for row in predicative} == {
        ("small", "key", 1),
        ("red", "key", 1),
    }
    files = arrow.read(earlier.lake, "amod_files", where=[("corpus", "=", "treebank")]).to_pylist()
    assert sorted((row["wave"], row["status"], row["pairs"]) for row in files) == [
        (0, "done", 3),
        (1, "done", 2),
    ]
    others = arrow.read(earlier.lake, "amod_pairs", where=[("corpus", "!=", "treebank")])
    assert others.num_rows == ROWS["amod_pairs"] - len(before)


def test_word_sketches_are_shown_and_exported(unchanged, tmp_path, capsys):
    assert explore.main(["noun=key", "floor=1", f"lake={unchanged.lake}"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert {"old", "false", "small"} <= {cell for row in rows for cell in row}
    out = tmp_path / "sketches"
    assert explore.main([f"export={out}", "min_count=1", f"lake={unchanged.lake}"]) == 0
    assert (out / "index.html").is_file()


@pytest.mark.slow
def test_the_report_shows_the_lake(unchanged, tmp_path):
    out = tmp_path / "report"
    assert report.main(["tracking=none", f"out={out}", f"lake={unchanged.lake}"]) == 0
    text = (out / "report.html").read_text(encoding="utf-8")
    assert "simulated annotators" in text
    assert RUN not in text


def test_the_report_shows_the_run(unchanged, tmp_path):
    out = tmp_path / "report"
    arguments = [f"tracking={unchanged.tracking}", f"out={out}", f"lake={unchanged.lake}"]
    assert report.main([*arguments, "pages=[asp]"]) == 0
    assert RUN in (out / "report.html").read_text(encoding="utf-8")
