import csv

import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.asp.degree import Degree
from adnominal.etl.asp.gold import published_gold
from adnominal.etl.asp.judge import Settings
from adnominal.etl.asp.judgements import COLUMNS, human_rows, read_responses, sheet, write_sheet
from adnominal.etl.asp.lexicon import load_lexicon


def test_the_answers_on_a_sheet_give_back_the_thresholds(tmp_path):
    pytest.importorskip("scipy")
    gold = published_gold()
    rows = sheet(Degree(load_lexicon(), 0, gold), 2, ["ann", "bob"], 0)
    assert len(rows) == 6 * 2 * 40 * 2
    assert [r["z"] for r in rows[:40]] != sorted(r["z"] for r in rows[:40])
    for row in rows:
        yes = gold.entails(row["test"], row["polarity"], float(row["z"]))
        row["answer"] = "Yes" if yes else "no"
    rows[0]["answer"] = ""
    path = tmp_path / "sheet.csv"
    write_sheet(path, rows)
    shares, counts = read_responses(path)
    assert len(shares) == 12 and sum(counts.values()) == len(rows) - 1
    judgements = human_rows(shares, counts, "mine")
    thresholds = {(r["test"], r["polarity"]): r["threshold"] for r in judgements}
    for key, threshold in thresholds.items():
        # Where all judges agree, the threshold can lie anywhere between two numbers.
        assert threshold == pytest.approx(gold.thresholds[key], abs=2.0)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["x", "ordering", "positive", "80", "p", "h", "1", "maybe"], "1 rows not understood"),
        (["x", "ordering", "positive", "eighty", "p", "h", "1", "yes"], "z is 'eighty'"),
        (["x", "ordering", "positive", "nan", "p", "h", "1", "yes"], "line 2: z is 'nan'"),
        (["x", "ordering", "positive", "-inf", "p", "h", "1", "yes"], "line 2: z is '-inf'"),
        (["x", "argument", "positive", "80", "p", "h", "1", "yes"], "line 2: argument"),
        (["x", "ordering", "positive", "80", "p", "h", "1", ""], "no answers"),
    ],
)
def test_bad_answers_are_refused(tmp_path, row, message):
    path = tmp_path / "sheet.csv"
    with path.open("w", newline="") as lines:
        csv.writer(lines).writerows([COLUMNS, row])
    with pytest.raises(UserError, match=message):
        read_responses(path)


def test_an_existing_sheet_is_not_overwritten(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_text("answers of people")
    with pytest.raises(UserError, match="already exists and may contain answers"):
        write_sheet(path, [])
    assert path.read_text() == "answers of people"
    with pytest.raises(UserError, match=r"sheet=.*No such file"):
        write_sheet(tmp_path / "no folder" / "sheet.csv", [])


def test_a_second_answer_of_a_judge_to_a_question_is_refused(tmp_path):
    path = tmp_path / "sheet.csv"
    row = ["x", "ordering", "positive", "80", "p", "h", "ann", "yes"]
    with path.open("w", newline="") as lines:
        csv.writer(lines).writerows([COLUMNS, row, [*row[:6], "bob", "no"], row])
    with pytest.raises(UserError, match="1 rows not understood, first line 4: judge ann answers"):
        read_responses(path)


def test_errors_name_the_curve_that_cannot_be_fitted():
    with pytest.raises(UserError, match="source=mine, ordering, positive: 1 judged even numbers"):
        human_rows({("ordering", "positive"): {80.0: 0.5}}, {}, "mine")
    with pytest.raises(UserError, match="source=published: expected another name"):
        conf.load(Settings, ["responses=r.csv", "source=published"])


def test_a_missing_file_or_column_is_reported(tmp_path):
    with pytest.raises(UserError, match="No such file"):
        read_responses(tmp_path / "none.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match=r"no column answer, polarity, test, z, .*expected a sheet"):
        read_responses(tmp_path / "other.csv")


def test_a_file_that_is_not_csv_in_utf_8_is_reported(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_bytes(",".join(COLUMNS).encode() + b"\nx,ordering,positive,80,\xff,h,1,yes\n")
    with pytest.raises(UserError, match="not UTF-8 at byte"):
        read_responses(path)
    path.write_text(",".join(COLUMNS) + f"\n{'x' * 200_000},ordering,positive,80,p,h,1,yes\n")
    with pytest.raises(UserError, match="line 2: field larger"):
        read_responses(path)


def test_judgements_against_the_scale_are_refused(tmp_path):
    pytest.importorskip("scipy")
    reversed_shares = {float(z): float(z < 101) for z in range(60, 140, 2)}
    with pytest.raises(UserError, match=r"mine, ordering, positive: .* 1\.00 at 60 and 0\.00 at"):
        human_rows({("ordering", "positive"): reversed_shares}, {}, "mine")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one of sheet=FILE"),
        (["responses=x.csv"], "expected source=NAME"),
        (["sheet=x.csv", "groups=3"], "even number"),
        (["sheet=x.csv", "judges=ann,ann"], "judges=ann,ann: expected one or more names, each"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(UserError, match=message):
        conf.load(Settings, arguments)
