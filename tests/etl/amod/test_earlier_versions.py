"""Corpora of text that an earlier version began continue only if the user says so."""

from pathlib import Path

import pytest

from adnominal.conf import UserError
from adnominal.etl.amod import job
from adnominal.etl.amod.settings import VERSIONS, Settings, decisive_settings, earlier_identities
from adnominal.etl.lake import arrow
from tests.etl.amod.corpus import run_job

WORDS = ("source=text", "parser=fast")


def extract(lake: Path, *words: str) -> dict[tuple[str, str], int]:
    run_job(lake, *WORDS, f"input={lake.parent}/*.txt", *words)
    rows = arrow.read(str(lake), "amod_pairs").to_pylist()
    return {(row["adjective"], row["noun"]): row["count"] for row in rows}


@pytest.fixture
def lake(spark, tmp_path, monkeypatch) -> Path:
    """A lake with a corpus of the first version."""
    lake: Path = tmp_path / "lake"
    (tmp_path / "a.txt").write_text("She bought a red car.\n", encoding="utf-8")
    with monkeypatch.context() as earlier:
        earlier.setitem(VERSIONS, "text", 1)
        assert extract(lake) == {("red", "car"): 1}
    (tmp_path / "b.txt").write_text("She sold a red car.\n", encoding="utf-8")
    return lake


def test_a_corpus_of_an_earlier_version_is_not_continued_silently(lake):
    with pytest.raises(
        UserError, match=r"begun by an earlier version.*continue_earlier=true, once"
    ):
        extract(lake)
    assert extract(lake, "restart=true") == {("red", "car"): 2}


def test_it_is_continued_after_one_consent(lake, tmp_path, caplog):
    assert extract(lake, "continue_earlier=true") == {("red", "car"): 2}
    assert "has pairs of an earlier version" in caplog.text
    (tmp_path / "c.txt").write_text("She saw a red car.\n", encoding="utf-8")
    assert extract(lake) == {("red", "car"): 3}
    waves = [row["wave"] for row in arrow.read(str(lake), "amod_files").to_pylist()]
    assert sorted(waves) == [0, 1, 2]


def test_consent_alone_is_remembered(lake, tmp_path):
    (tmp_path / "b.txt").unlink()
    assert extract(lake, "continue_earlier=true") == {("red", "car"): 1}
    (tmp_path / "b.txt").write_text("She sold a red car.\n", encoding="utf-8")
    assert extract(lake) == {("red", "car"): 2}


def test_an_unfinished_wave_of_an_earlier_version_is_not_continued(lake, monkeypatch):
    class Stopped(Exception):
        pass

    def stop(*arguments: object) -> None:
        raise Stopped

    with monkeypatch.context() as earlier:
        earlier.setitem(VERSIONS, "text", 1)
        earlier.setattr(job.Extraction, "_wave", stop)
        with pytest.raises(Stopped):
            extract(lake)
    with pytest.raises(UserError, match=r"stopped before it had read 1 planned files .*b\.txt"):
        extract(lake, "continue_earlier=true")


def test_other_settings_are_still_refused(lake):
    with pytest.raises(UserError, match="was read with other settings"):
        extract(lake, "continue_earlier=true", "noun_by=form")


def test_pairs_of_parsed_corpora_have_one_version():
    conllu = Settings(source="conllu", input=["a"])
    assert decisive_settings(conllu)["version"] == 1 and earlier_identities(conllu) == []
    text = Settings(source="text", input=["a"], parser="fast")
    assert [identity["version"] for identity in earlier_identities(text)] == [1]
