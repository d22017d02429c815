import gzip
from pathlib import Path

import pytest

from adnominal import conf
from adnominal.conf import JobFailed, UserError
from adnominal.etl.knowledge import conceptnet
from adnominal.etl.knowledge.job import Settings, import_knowledge
from adnominal.etl.lake import arrow
from tests.etl.knowledge.test_conceptnet import BAD, GOOD, line, write
from tests.etl.knowledge.wordnet_files import write as write_wordnet

FOUR = [conceptnet.HEADER_4, "IsA\tdog\tanimal\t2\t5", "IsA\tdog\tanimal\t1\t8"]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = Path(tmp_path_factory.mktemp("files"))
    write(folder / "five.csv", [*GOOD.values(), *(text for text, _ in BAD.values())])
    (folder / "four.tsv.gz").write_bytes(gzip.compress("\n".join(FOUR).encode()))
    write_wordnet(folder / "wordnet")
    return folder


@pytest.fixture(scope="module")
def lake(spark, files, tmp_path_factory) -> str:
    root = str(tmp_path_factory.mktemp("lake"))
    conceptnet_files = [str(files / "five.csv"), str(files / "four.tsv.gz")]
    import_knowledge(
        Settings(
            conceptnet=conceptnet_files, wordnet=str(files / "wordnet"), max_rejected=0.5, lake=root
        )
    )
    return root


def rows_of(lake, name):
    return arrow.read(lake, name).to_pylist()


def test_an_import_writes_all_tables(lake):
    import_knowledge(Settings(wordnet="none", lake=lake))  # replaces the classes by the same ones
    assert len(rows_of(lake, "adjective_classes")) == 312
    assert arrow.version(lake, "adjective_classes") == 1
    lemmas = {(row["lemma"], row["pos"]) for row in rows_of(lake, "wordnet_lemmas")}
    assert ("canis familiaris", "n") in lemmas and ("take", "v") in lemmas
    hypernyms = rows_of(lake, "wordnet_hypernyms")
    direct = [r["hypernym"] for r in hypernyms if r["noun"] == "poodle" and r["distance"] == 1]
    assert sorted(direct) == ["canis familiaris", "dog"]
    forms = rows_of(lake, "wordnet_exceptions")
    assert {"form": "teeth", "lemma": "tooth", "pos": "n", "place": 0} in forms
    edges = rows_of(lake, "conceptnet_edges")
    assert [row["release"] for row in edges].count("5") == len(GOOD)
    assert [(r["weight"], r["start_label"]) for r in edges if r["release"] == "4"] == [(2.0, "dog")]


def test_dropped_lines_are_counted(lake):
    rows = {(row["job"], row["reason"]): row for row in rows_of(lake, "dropped")}
    assert {row["table"] for row in rows.values()} == {"conceptnet_edges"}
    five, four = "import_knowledge/conceptnet5", "import_knowledge/conceptnet4"
    malformed = rows[five, "not five tab-separated columns"]
    assert (malformed["count"], malformed["sample"][:9]) == (2, "five.csv:")
    assert rows[five, conceptnet.OTHER_LANGUAGE]["count"] == 3
    assert rows[five, conceptnet.ODD_SURFACE]["count"] == 1
    repeated = rows[four, conceptnet.REPEATED]
    assert (repeated["count"], repeated["sample"]) == (1, "/a/[/r/IsA/,/c/en/dog/,/c/en/animal/]")


def test_an_import_replaces_one_release_and_keeps_the_other(
    spark, lake, files, tmp_path, monkeypatch, caplog
):
    monkeypatch.setenv("WNHOME", "unused")
    other = write(tmp_path / "other.csv", [line("HasA", "/c/en/cat", "/c/en/fur")])
    classes = tmp_path / "mine.tsv"
    classes.write_text("# version: 2\nadjective\tclass\nred\tI\n")
    settings = Settings(conceptnet=[str(other)], wordnet="none", classes=str(classes), lake=lake)
    lemmas_version = arrow.version(lake, "wordnet_lemmas")
    import_knowledge(settings)
    edges = {(row["release"], row["start"]) for row in rows_of(lake, "conceptnet_edges")}
    assert edges == {("4", "dog"), ("5", "cat")}
    assert {r["job"] for r in rows_of(lake, "dropped")} == {"import_knowledge/conceptnet4"}
    assert arrow.version(lake, "wordnet_lemmas") == lemmas_version
    assert rows_of(lake, "adjective_classes") == [
        {"adjective": "red", "class": "I", "source": "mine 2"}
    ]
    with caplog.at_level("INFO"):
        import_knowledge(Settings(wordnet="none", lake=lake))
    assert "adjective_classes: kept as it is (1 row, from mine 2)" in caplog.text
    assert len(rows_of(lake, "adjective_classes")) == 1
    version = arrow.version(lake, "conceptnet_edges")
    write(other, [*GOOD.values(), "damaged"])
    with pytest.raises(JobFailed, match=r"1 of 8 lines malformed, .* as other\.csv: damaged"):
        import_knowledge(settings)
    write(other, [BAD["other start"][0]])
    with pytest.raises(JobFailed, match="no English edge in 1 lines"):
        import_knowledge(settings)
    assert arrow.version(lake, "conceptnet_edges") == version


def test_a_damaged_wordnet_leaves_the_lake_as_it_was(spark, tmp_path):
    folder = write_wordnet(tmp_path / "wordnet")
    root = str(tmp_path / "lake")
    classes = tmp_path / "mine.tsv"
    classes.write_text("# version: 2\nadjective\tclass\nred\tI\n")
    import_knowledge(Settings(wordnet=str(folder), lake=root))
    names = arrow.tables(root)
    versions = {name: arrow.version(root, name) for name in names}
    assert {"wordnet_lemmas", "wordnet_exceptions", "wordnet_hypernyms"} <= set(names)
    index = folder / "index.noun"
    lines = [line for line in index.read_text().splitlines() if not line.startswith("box ")]
    index.write_text("\n".join([*lines, "key n 1 1 @ 1 0 00000031"]))
    with pytest.raises(UserError, match=r"index\.noun:\d+: data\.noun has no synset at 00000031"):
        import_knowledge(Settings(wordnet=str(folder), classes=str(classes), lake=root))
    assert {name: arrow.version(root, name) for name in arrow.tables(root)} == versions


def test_a_truncated_archive_fails(spark, tmp_path):
    lines = [line("HasA", f"/c/en/cat{n}", "/c/en/fur", weight=n / 7) for n in range(3000)]
    packed = gzip.compress("\n".join(lines).encode())
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(packed[: len(packed) // 2])
    settings = Settings(conceptnet=[str(path)], wordnet="none", lake=str(tmp_path / "lake"))
    with pytest.raises(JobFailed, match=r"cut\.csv\.gz: an archive is cut off or damaged"):
        import_knowledge(settings)


def test_mistakes_are_reported_before_any_work_starts(tmp_path):
    root = str(tmp_path / "lake")
    with pytest.raises(UserError, match="expected a share from 0 to 1"):
        conf.load(Settings, ["max_rejected=2"])
    for name, message in (
        ("wordnet", "no such folder"),
        ("classes", "no word list"),
        ("conceptnet", "no such file"),
    ):
        arguments = ["wordnet=none", f"lake={root}", f"{name}={tmp_path / 'gone'}"]
        settings = conf.load(Settings, arguments)
        with pytest.raises(UserError, match=message):
            import_knowledge(settings)
    assert not Path(root).exists()
