import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.etl.lake.spark import Lake
from adnominal.etl.published.job import ImportSettings, Settings, import_published
from tests.etl.published.test_nli import ROW as PAIR
from tests.etl.published.test_nli import addone, jsonl
from tests.etl.published.test_sygns import ROW, write


def test_import_writes_the_published_edition(spark, tmp_path):
    release, lake = tmp_path / "release", str(tmp_path / "lake")
    release.mkdir()
    write(release / "results.tsv", [ROW, {**ROW, "fol": ""}])
    import_published(conf.load(Settings, [f"sygns={release}", f"lake={lake}"]))
    tables = Lake(spark, lake)
    (row,) = tables.read("sygns").collect()
    assert (row["edition"], row["depth"], row["fol"]) == ("published", 0, ROW["fol"])
    assert tables.read("sygns_splits").count() == 10
    (dropped,) = tables.read("dropped").collect()
    assert dropped["job"] == "import_published/sygns"
    assert (dropped["reason"], dropped["count"]) == ("no fol", 1)


def test_a_release_without_a_readable_row_replaces_nothing(tmp_path):
    release, lake = tmp_path / "release", str(tmp_path / "lake")
    release.mkdir()
    settings: ImportSettings = conf.load(Settings, [f"sygns={release}", f"lake={lake}"])
    write(release / "results.tsv", [ROW])
    import_published(settings)
    write(release / "results.tsv", [{**ROW, "depth": "deep"}])
    with pytest.raises(UserError, match="no row of the files can be read: depth is not a number"):
        import_published(settings)
    assert arrow.row_count(lake, "sygns") == 1 and not arrow.row_count(lake, "dropped")


def test_drops_of_a_source_stay_when_another_is_imported(tmp_path):
    lake, unlabelled = str(tmp_path / "lake"), {**PAIR, "gold_label": "-"}
    jsonl(tmp_path / "multinli" / "multinli_1.0_train.jsonl", PAIR, unlabelled)
    jsonl(tmp_path / "snli" / "snli_1.0_train.jsonl", PAIR, unlabelled, unlabelled)

    def dropped_counts(*words: str) -> dict[str, int]:
        import_published(conf.load(Settings, [*words, f"lake={lake}"]))
        return {row["job"]: row["count"] for row in arrow.read(lake, "dropped").to_pylist()}

    assert dropped_counts(f"nli={tmp_path / 'multinli'}") == {"import_published/nli/mnli": 1}
    both = {"import_published/nli/mnli": 1, "import_published/nli/snli": 2}
    assert dropped_counts(f"nli={tmp_path / 'snli'}") == both
    assert dropped_counts(f"nli={tmp_path}") == both
    jsonl(tmp_path / "snli" / "snli_1.0_train.jsonl", PAIR)
    assert dropped_counts(f"nli={tmp_path / 'snli'}") == {"import_published/nli/mnli": 1}


def test_addone_with_three_labels_stands_beside_its_two(tmp_path):
    addone(tmp_path, "train", 4.0, 3.5, 3.0, 1.0)
    lake = str(tmp_path / "lake")
    for words in ([], ["addone_labels=three"]):
        import_published(conf.load(Settings, [f"addone={tmp_path}", f"lake={lake}", *words]))
    imported = arrow.read(lake, "nli", columns=["source", "label"]).to_pylist()
    assert sorted((row["source"], row["label"]) for row in imported) == [
        ("addone", "entailment"),
        ("addone", "not_entailment"),
        ("addone", "not_entailment"),
        ("addone_three", "contradiction"),
        ("addone_three", "entailment"),
        ("addone_three", "neutral"),
    ]
    with pytest.raises(UserError, match="addone_labels=four: expected one of two, three"):
        conf.load(Settings, [f"addone={tmp_path}", "addone_labels=four"])


def test_settings_without_a_release_are_refused():
    with pytest.raises(UserError, match="nothing to import; expected adept=FOLDER, asp=FOLDER"):
        conf.load(Settings, [])
