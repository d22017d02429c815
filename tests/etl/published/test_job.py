from __future__ import annotations

import pytest

import conf
from conf import UserError
from etl.lake import arrow
from etl.lake.spark import Lake
from etl.published.job import ImportSettings, Settings, import_published
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
    assert (dropped["job"], dropped["reason"], dropped["count"]) == (
        "import_published/sygns",
        "no fol",
        1,
    )


def test_a_release_without_a_readable_row_replaces_nothing(tmp_path):
    release, lake = tmp_path / "release", str(tmp_path / "lake")
    release.mkdir()
    settings: ImportSettings = conf.load(Settings, [f"sygns={release}", f"lake={lake}"])
    write(release / "results.tsv", [ROW])
    import_published(settings)
    write(release / "results.tsv", [{**ROW, "depth": "deep"}])
    with pytest.raises(UserError, match="no row of the files can be read: depth is no number"):
        import_published(settings)
    assert arrow.row_count(lake, "sygns") == 1 and not arrow.row_count(lake, "dropped")


def test_no_release_in_the_settings():
    with pytest.raises(UserError, match="nothing to import; expected adept=FOLDER, asp=FOLDER"):
        conf.load(Settings, [])
