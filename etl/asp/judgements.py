"""Human judgements of degree: the sheet of questions, and the shares that its answers give.

A sheet is a CSV file with a row for each question to each ``judge``: premise, hypothesis, and an
empty ``answer`` to be filled with yes or no. Answers are pooled by (test, polarity, z).
"""

import csv
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adnominal.conf import UserError
from adnominal.conf.delimited import rows_of, text_of
from adnominal.etl.asp.degree import Degree
from adnominal.etl.asp.gold import HUMAN, POLARITIES, Curve, fit
from adnominal.etl.draws import draw

COLUMNS = ("item_id", "test", "polarity", "z", "premise", "hypothesis", "judge", "answer")
_ANSWERS = {"yes": True, "y": True, "1": True, "no": False, "n": False, "0": False}


def sheet(source: Degree, groups: int, judges: Sequence[str], seed: int) -> list[dict[str, Any]]:
    """The questions of the six judged tests: `groups` premises of each test, with all numbers.

    Every judge gets the questions in a different random order. The premises are of variant base.
    """
    rows = [
        row
        for test in HUMAN
        for number in range(groups)
        for row in source.rows(source.group(test, number))
    ]
    return [
        {
            "item_id": row.item_id,
            "test": row.test,
            "polarity": row.polarity,
            "z": f"{row.z:g}",
            "premise": row.premise,
            "hypothesis": row.hypothesis,
            "judge": judge,
            "answer": "",
        }
        for judge in judges
        for row in sorted(rows, key=lambda r: draw(seed, judge, r.item_id))
    ]


def write_sheet(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the questions as a CSV file; never overwrite a file, which may have answers.

    Raises:
        UserError: the file exists already, or its folder does not.
    """
    try:
        lines = path.open("x", encoding="utf-8", newline="")
    except FileExistsError as error:
        raise UserError(
            f"sheet={path} already exists and may contain answers; give another name"
        ) from error
    except OSError as error:
        raise UserError(f"sheet={path}: {error.strerror}") from error
    with lines:
        writer = csv.DictWriter(lines, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def read_responses(
    path: Path,
) -> tuple[dict[tuple[str, str], dict[float, float]], dict[tuple[str, str, float], int]]:
    """Shares of yes by (test, polarity) and z, and the number of answers behind each.

    Unanswered questions do not count.

    Raises:
        UserError: the file does not exist, is not CSV in UTF-8, lacks columns, has rows that cannot
            be interpreted (the message has their number and the first of them), has a judge's
            second answer to a question, or has no answers.
    """
    yes_counts: Counter[tuple[str, str, float]] = Counter()
    total: Counter[tuple[str, str, float]] = Counter()
    faults: list[str] = []
    answered: set[tuple[str, str]] = set()
    for line, row in _answered_rows(path):
        answer = row["answer"].strip().lower()
        try:
            z = float(row["z"])
        except ValueError:
            z = math.nan
        if not math.isfinite(z):
            faults.append(f"line {line}: z is {row['z']!r}")
            continue
        key = (row["test"], row["polarity"], z)
        if key[0] not in HUMAN or key[1] not in POLARITIES or answer not in _ANSWERS:
            faults.append(f"line {line}: {key[0]}, {key[1]}, {answer!r}")
            continue
        question = (row.get("judge") or "", row.get("item_id") or "")
        if all(question) and question in answered:
            faults.append(f"line {line}: judge {question[0]} answers it again")
            continue
        answered.add(question)
        total[key] += 1
        yes_counts[key] += _ANSWERS[answer]
    if faults:
        raise UserError(
            f"responses={path}: {len(faults)} rows not understood, first {faults[0]}; expected a "
            f"test of {', '.join(HUMAN)}, positive or negative, a number, and yes or no, once for "
            "each question and judge"
        )
    if not total:
        raise UserError(f"responses={path}: no answers; expected yes or no in the column answer")
    shares: dict[tuple[str, str], dict[float, float]] = {}
    for (test, polarity, z), count in total.items():
        shares.setdefault((test, polarity), {})[z] = yes_counts[test, polarity, z] / count
    return shares, total


def _answered_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows with an answer, each with the line that it begins on."""
    name = f"responses={path}"
    needed = ("test", "polarity", "z", "answer")
    sheet = "a sheet that etl/judge_asp.py sheet=… wrote, with its answers filled in"
    for line, row in rows_of(text_of(path, name), name, needed, expected=sheet):
        if row["answer"].strip():
            yield line, row


def human_rows(
    curves: Mapping[tuple[str, str], Curve],
    counts: Mapping[tuple[str, str, float], int],
    source: str,
) -> list[dict[str, Any]]:
    """Rows of the table ``asp_human``: the curves with their fits.

    Raises:
        UserError: as `etl.asp.gold.fit` raises it.
    """
    rows = []
    for (test, polarity), curve in sorted(curves.items()):
        try:
            sigmoid = fit(test, polarity, curve)
        except UserError as error:
            raise UserError(f"source={source}, {test}, {polarity}: {error}") from error
        for z, share in sorted(curve.items()):
            rows.append(
                {
                    "test": test,
                    "polarity": polarity,
                    "z": z,
                    "share": share,
                    "n": counts.get((test, polarity, z)),
                    "fit": sigmoid.share(z),
                    "threshold": sigmoid.threshold,
                    "standard_error": sigmoid.standard_error,
                    "source": source,
                }
            )
    return rows
