import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from adnominal.analysis import report_query
from adnominal.analysis.report_numbers import Cells, Source, rows_of, table_of


@pytest.fixture
def report(tmp_path):
    """The folder of a report with PLANE's table 6."""
    cells = Cells("table 6", {("accuracy", "GOoD"): 0.5}, model="m")
    rows = rows_of(Source("plane", "Table 6", ("table 6",), "train"), [cells])
    pq.write_table(table_of(rows), tmp_path / "report_numbers.parquet")
    return tmp_path


def test_questions_about_the_numbers(report, capsys):
    sql = "SELECT row, column, ours - published AS d FROM report_numbers WHERE status = 'differs'"
    assert report_query.main([sql, f"out={report}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["row", "column", "d"]
    assert lines[1].split() == ["accuracy", "GOoD", "-0.35"]
    assert report_query.main(["SELECT * FROM report_numbers", f"out={report}"]) == 0
    assert "[]" in capsys.readouterr().out  # the runs
    assert report_query.main([f"out={report}", "SELECT 1 FROM report_numbers WHERE n > 1"]) == 0
    assert capsys.readouterr().out == "no rows\n"
    assert report_query.main(["SELECT 1 FROM report_numbers", "--out", str(report)]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["SELEC x"], "the query failed: .*'SELEC', not SELECT or WITH"),
        (["COPY report_numbers TO 'x.csv'"], "the query failed: .*'COPY', not SELECT"),
        (["DROP TABLE report_numbers"], "the query failed: .*'DROP', not SELECT"),
        ([""], "the query failed: .*''"),
        (
            ["SELECT nope FROM report_numbers"],
            "the query failed: .*columns of report_numbers: paper",
        ),
        ([], "got 0 questions; expected: adnominal report query"),
        (["SELECT 1", "SELECT 2"], "got 2 questions"),
        (["SELECT 1", "lake=lake"], "unknown setting 'lake'"),
        (["SELECT 1", "out=nowhere"], "out=nowhere: no report_numbers.parquet there"),
        (["SELECT 1", "out=damaged"], "out=damaged: report_numbers.parquet cannot be read .*again"),
    ],
)
def test_mistakes_are_one_line(report, words, message, capsys, monkeypatch):
    monkeypatch.chdir(report.parent)
    Path("damaged").mkdir(exist_ok=True)
    Path("damaged/report_numbers.parquet").write_text("PAR1")
    folder = [] if any(word.startswith("out=") for word in words) else [f"out={report}"]
    assert report_query.main([*words, *folder]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(message, line), line


def test_help_names_the_folder(capsys):
    assert report_query.main(["--help"]) == 0
    assert "out" in capsys.readouterr().out
