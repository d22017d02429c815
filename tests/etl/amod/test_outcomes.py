"""The outcome of a file, from the statements of its tasks."""

from datetime import UTC, datetime

import pytest

from adnominal.conf import load
from adnominal.etl.amod.outcomes import outcome_of, tag_warnings
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


def test_a_field_that_the_objects_lack_is_named():
    settings = load(Settings, ["source=text", "input=x"])
    first = {"place": 1, "text": "{}"}
    statements = [{"kind": "rejected", "reason": "no_field", "count": 1, "first": first}]
    outcome = outcome_of(Entry("a", 10, datetime(2026, 1, 2, tzinfo=UTC), 0), statements, settings)
    assert str(outcome.reason).endswith("; the text is read from text_field=text")


@pytest.mark.parametrize(("contradictions", "is_reported"), [(0, False), (2, False), (3, True)])
def test_tags_that_contradict_each_other_in_many_relations_are_reported(
    contradictions, is_reported
):
    statements = [{"kind": "stat", "reason": "amod", "count": 200}]
    if contradictions:
        note = {"kind": "stat", "reason": "contradicting_tags", "count": contradictions}
        statements.append(note)
    entry = Entry("a", 10, datetime(2026, 1, 2, tzinfo=UTC), 0, status=DONE)
    warnings = tag_warnings([entry], {0: statements})
    assert len(warnings) == is_reported
    if is_reported:
        assert warnings[0].startswith("a: in 3 of 200 relations amod a tag in column five looks")
