from __future__ import annotations

import pytest

import conf
from conf import UserError
from etl.lake.spark import Lake
from etl.published.job import Settings, import_published
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


def test_no_release_in_the_settings():
    with pytest.raises(UserError, match="nothing to import; expected adept=FOLDER, asp=FOLDER"):
        conf.load(Settings, [])
