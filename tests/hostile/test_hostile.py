"""Hostile files: the protection that docs/safety.md describes."""

import gzip
import json
import os
import re
import zipfile
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adnominal import conf
from adnominal.analysis.page.rendering import html
from adnominal.analysis.page.view import contents, paper_view
from adnominal.analysis.papers.exhibits import Chart, Examples, Missing, Note, Section
from adnominal.analysis.report_numbers import Cells, Source, rows_of, table_of
from adnominal.conf import ROOT, UserError, setting
from adnominal.etl.adept.annotation_task import ADEPT
from adnominal.etl.annotation.batches import Question
from adnominal.etl.annotation.forms import batch_files, form_text, preview_html
from adnominal.etl.corpora import columnar, files
from adnominal.etl.corpora.decompression import EXPANSION_VARIABLE
from adnominal.etl.corpora.files import Unit, Unreadable, open_input
from adnominal.etl.knowledge import wordnet
from adnominal.etl.lake import arrow, log, upkeep
from adnominal.etl.lake.errors import LakeError
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.looking.export import Output, export
from tests.etl.knowledge import wordnet_files
from tests.rows import rows, write

PAIRS = TABLES["amod_pairs"]
SCRIPT = "<script>alert(1)</script>"


def write_pairs(lake: str, *adjectives: str) -> None:
    cells = [(word, number - 1) for number, word in enumerate(adjectives)]
    write(lake, "amod_pairs", rows("adjective count", *cells, corpus="uk", noun="key"))


@pytest.fixture
def lake(tmp_path: Path) -> str:
    root = str(tmp_path / "lake")
    write_pairs(root, "old")
    return root


@pytest.mark.parametrize(
    "path", ["../../secret.parquet", "/etc/passwd", "file:///etc/passwd", "a/../../b"]
)
def test_a_log_that_names_a_file_outside_its_table_is_refused(lake, path):
    commit = Path(lake, "amod_pairs", "_delta_log", f"{0:020}.json")
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in lines:
        if "add" in action:
            action["add"]["path"] = path
    commit.write_text("\n".join(map(json.dumps, lines)))
    for read in (
        lambda: arrow.read(lake, "amod_pairs"),
        lambda: list(arrow.query(lake, "amod_pairs", "SELECT * FROM amod_pairs")),
        lambda: arrow.files(lake, "amod_pairs"),
        lambda: upkeep.compact(lake, PAIRS),
        lambda: upkeep.vacuum(lake, PAIRS, timedelta(0)),
    ):
        with pytest.raises(LakeError, match=r"outside its folder|cannot be read"):
            read()


def test_vacuum_does_not_follow_links_in_a_table(lake, tmp_path):
    victim = tmp_path / "victim" / "deep"
    victim.mkdir(parents=True)
    (victim / "precious.parquet").write_text("precious")
    table = Path(lake, "amod_pairs")
    (table / "data" / "elsewhere").symlink_to(tmp_path / "victim")
    (table / "linked").symlink_to(tmp_path / "victim")
    (table / "_staging" / "elsewhere").write_text("elsewhere")
    (table / "_staging" / "link").symlink_to(victim)
    (table / "_delta_log" / "link").symlink_to(victim)
    for path in (victim / "precious.parquet", table / "_staging" / "elsewhere"):
        os.utime(path, (0, 0))
    upkeep.vacuum(lake, PAIRS, timedelta(0))
    assert (victim / "precious.parquet").read_text() == "precious"
    assert arrow.read(lake, "amod_pairs").num_rows == 1


def test_a_gzip_bomb_is_refused_and_the_limit_can_be_set(tmp_path, monkeypatch):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"\0" * (4 << 20)))
    monkeypatch.setattr(files, "_HARMLESS_BYTES", 1 << 20)
    stream = open_input(str(path))
    with pytest.raises(Unreadable, match=r"more than 200 times .* ADNOMINAL_MAX_EXPANSION"):
        stream.read()
    monkeypatch.setenv(EXPANSION_VARIABLE, "5000")
    with open_input(str(path)) as stream:
        assert len(stream.read()) == 4 << 20
    monkeypatch.setenv(EXPANSION_VARIABLE, "many")
    with pytest.raises(UserError, match="expected a whole number above 0"):
        open_input(str(path))


def test_a_parquet_file_that_repeats_one_text_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"text": ["y" * 500_000] * 200}), path)
    monkeypatch.setattr(files, "_HARMLESS_BYTES", 1 << 20)
    size = path.stat().st_size
    with pytest.raises(Unreadable, match=r"more than 200 times .* ADNOMINAL_MAX_EXPANSION"):
        list(columnar.read_unit(Unit(str(path), size, 0, size)))


def test_a_zip_bomb_in_place_of_wordnet_is_refused(tmp_path, monkeypatch):
    folder = wordnet_files.write(tmp_path / "wordnet")
    archive = tmp_path / "wordnet.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writer:
        for file in folder.iterdir():
            if file.name != "index.adv":
                writer.write(file, f"wordnet/{file.name}")
        writer.writestr("wordnet/index.adv", " " * (1 << 20))
    monkeypatch.setattr(wordnet, "_MOST_BYTES", 1 << 19)
    with pytest.raises(UserError, match="unpacks to 1048576 bytes"):
        wordnet.lemmas(wordnet.find(str(archive)))


def test_other_modules_load_neither_pickles_nor_code_of_models():
    """`trust_remote_code` is never set; weights are safetensors or read with `weights_only`."""
    allowed = {"etl/published/pickles.py", "etl/engine/workers.py"}
    for folder in ("conf", "etl", "training", "analysis"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            name = path.relative_to(ROOT).as_posix()
            assert not re.search(r"trust_remote_code\s*=\s*True", text), name
            assert not re.search(r"weights_only\s*=\s*False", text), name
            if name not in allowed:
                assert not re.search(r"\bpickle\.loads?\(|joblib\.load\(|extractall\(", text), name
            for call in re.findall(r"torch\.load\([^)]*\)", text):
                assert "weights_only=True" in call, name


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{name}: &{name} [{', '.join(['*' + previous] * 10)}]\n"
            for previous, name in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        "a: &a [*a]\n",
    ],
    ids=["billion laughs", "an alias within itself"],
)
def test_settings_whose_aliases_expand_without_limit_are_refused(tmp_path, text):
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Settings:
        a: list[str] = setting([], help="words")

    path = tmp_path / "settings.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"not readable as YAML settings: .*alias"):
        conf.load(Settings, ["--config", str(path)])


def test_cells_that_a_spreadsheet_would_run_get_an_apostrophe(lake, tmp_path):
    words = ('=HYPERLINK("http://a")', "+1", "-1", "@SUM(A1)", "plain")
    write_pairs(lake, *words)
    out = tmp_path / "pairs.csv"
    export(lake, "amod_pairs", Output(str(out), "csv"))
    lines = sorted(out.read_text().splitlines()[1:])
    assert lines == sorted(
        [
            'uk,"\'=HYPERLINK(""http://a"")",key,-1',
            "uk,'+1,key,0",
            "uk,'-1,key,1",
            "uk,'@SUM(A1),key,2",
            "uk,plain,key,3",
            "uk,old,key,-1",
        ]
    )
    export(lake, "amod_pairs", Output(str(out), "csv", overwrite=True, formulas=True))
    assert "uk,@SUM(A1),key,2" in out.read_text().splitlines()
    tsv = tmp_path / "pairs.tsv"
    export(lake, "amod_pairs", Output(str(tsv), "tsv"))
    assert "uk\t@SUM(A1)\tkey\t2" in tsv.read_text().splitlines()


def question(sentence: str, platform: str) -> Question:
    return Question(
        "q1", "b", "b-1", 1, "item", "i1", None, sentence, f"{sentence}!", "main", "context",
        platform, "clean",
    )  # fmt: skip


def test_texts_in_the_files_for_annotators_are_escaped(tmp_path):
    path = tmp_path / "b.csv"
    for text in batch_files(ADEPT, path, [question("=1+1", "csv")]).values():
        assert ",=1+1" not in text
    for platform in ("mturk", "csv", "label_studio"):
        for name, text in batch_files(ADEPT, path, [question(SCRIPT, platform)]).items():
            # The CSV for spreadsheets is not inserted into pages.
            if name.suffix == ".html" or platform != "csv":
                assert SCRIPT not in text, name
    shown = [question(SCRIPT, "csv")]
    for form in (preview_html(ADEPT, shown), form_text(ADEPT, shown, "html")):
        assert SCRIPT not in form


def test_texts_in_the_report_are_escaped():
    texts = pa.table({SCRIPT: [SCRIPT]})
    cells = Cells(SCRIPT, {(SCRIPT, SCRIPT): 1.0}, unit=SCRIPT, model=SCRIPT, note=SCRIPT)
    rows = rows_of(Source("adept", SCRIPT, command=SCRIPT), [cells])
    findings: list[Chart | Examples | Note | Missing] = [
        Chart("bars", SCRIPT, [SCRIPT], x=SCRIPT, y=SCRIPT),
        Examples(SCRIPT, texts),
        Note(SCRIPT),
        Missing(SCRIPT, SCRIPT, SCRIPT),
    ]
    section = Section("s", SCRIPT, SCRIPT, rows, [], findings)
    paper = paper_view("p", SCRIPT, SCRIPT, SCRIPT, [section])
    facts = {SCRIPT: SCRIPT}
    page = html(SCRIPT, facts, SCRIPT, [paper], contents(texts), table_of(rows))
    assert SCRIPT not in page
    assert page.count("alert(1)") > 10


def test_a_log_of_great_depth_is_refused(lake):
    commit = Path(lake, "amod_pairs", "_delta_log", f"{0:020}.json")
    commit.write_text("[" * 100_000)
    with pytest.raises((LakeError, conf.JobFailed)):
        log.open_table(Path(lake, "amod_pairs").as_uri(), PAIRS)
