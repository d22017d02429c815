"""The static copy is written completely or not at all, in small files, with the server's data."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from adnominal.analysis.exploring import static
from adnominal.analysis.exploring.queries import Query
from adnominal.conf import JobFailed, UserError


def data(folder: Path, name: str) -> Any:
    text = (folder / "data" / f"{name}.js").read_text(encoding="ascii")
    match = re.fullmatch(r'window\.adnominalData\("([^"]+)",(.*)\);\n', text, re.DOTALL)
    assert match and match[1] == name
    return json.loads(match[2])


def test_words_rows_and_pairs_are_in_their_files(sketches, tmp_path):
    folder = tmp_path / "copy"
    static.write(sketches, folder, 1)
    about = data(folder, "about")
    assert about["corpora"] == ["news", "web"]
    assert about["first"]["noun"] == ["door"]
    key = data(folder, "noun/0")["key"]
    assert key["words"] == {"news": 15, "web": 9}
    assert [row[:3] for row in key["rows"]][:2] == [[0, "old", 9], [1, "public", 8]]
    assert data(folder, "noun-words/0")["key"] == 24
    served = sketches.sketch(Query("noun", "key"))["rows"]
    measures = ("pmi", "npmi", "log_dice")
    assert sorted(row[4:7] for row in key["rows"]) == [
        pytest.approx(values, abs=1e-8)
        for values in sorted([row[name] for name in measures] for row in served)
    ]
    assert len(data(folder, "pair/0")["false key"]["examples"]) == 2
    assert "data-static" in (folder / "index.html").read_text()


def test_pairs_below_the_minimum_count_are_omitted(sketches, tmp_path):
    static.write(sketches, tmp_path / "copy", 4)
    rows = data(tmp_path / "copy", "noun/0")["key"]["rows"]
    assert [row[1] for row in rows] == ["old", "public", "false"]
    with pytest.raises(JobFailed, match="lower min_count="):
        static.write(sketches, tmp_path / "none", 100)
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"^export=.*file is a file; expected a folder"):
        static.write(sketches, tmp_path / "file" / "x", 1)


def test_full_files_are_closed_and_long_entries_shortened(sketches, tmp_path, monkeypatch):
    monkeypatch.setattr(static, "_FULL", 200)
    static.write(sketches, tmp_path / "copy", 1)
    about = data(tmp_path / "copy", "about")
    assert about["first"]["noun"] == ["door", "key", "name"]
    rows = data(tmp_path / "copy", "noun/1")["key"]["rows"]
    assert [row[1] for row in rows] == ["old", "public"]
