"""The sheets of manually judged rows have the counts that the guides state."""

import csv

import pytest

from adnominal.conf import ROOT


@pytest.mark.parametrize(
    ("dataset", "judgements", "statement", "right", "size"),
    [
        ("adept", ["grammar"], "191 are, 95.5 %", 191, 200),
        ("asp", ["grammar", "truth"], "98 have correct grammar and the right label", 98, 100),
    ],
)
def test_judged_rows_are_counted(dataset, judgements, statement, right, size):
    with (ROOT / "docs" / f"{dataset}_judged.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    right_rows = [row for row in rows if all(row[name] == "right" for name in judgements)]
    assert (len(right_rows), len(rows)) == (right, size)
    guide = (ROOT / "docs" / f"{dataset}.md").read_text(encoding="utf-8")
    assert statement in " ".join(guide.split())


def test_judged_items_are_spread_over_paths():
    with (ROOT / "docs" / "adept_judged.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    for path, right, size in (("surface_text", 92, 95), ("template", 99, 105)):
        judgements = [row["grammar"] for row in rows if row["path"] == path]
        assert (judgements.count("right"), len(judgements)) == (right, size)
