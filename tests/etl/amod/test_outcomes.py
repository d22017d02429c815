"""The outcome of a file, from the statements of its tasks."""

from datetime import UTC, datetime

import pytest

from adnominal.conf import load
from adnominal.etl.amod.outcomes import outcome_of
from adnominal.etl.amod.plan import DONE, FAILED, Entry
from adnominal.etl.amod.settings import Settings


@pytest.mark.parametrize(("bad", "status"), [(29, DONE), (30, FAILED)])
def test_a_file_may_have_exactly_the_allowed_share_of_malformed_lines(bad, status):
    # 0.29 * 100 is 28.999… in floating point.
    settings = load(Settings, ["source=conllu", "input=x", "max_rejected=0.29"])
    statements = [
        {"kind": "stat", "reason": "lines", "count": 100},
        {"kind": "rejected", "reason": "columns", "count": bad, "first": {"place": 7, "text": "x"}},
    ]
    entry = Entry("a", 10, datetime(2026, 1, 2, tzinfo=UTC), 0)
    assert outcome_of(entry, statements, settings).status == status
