"""Votes of simulated annotators on published rows: near the label, the same at each call."""

from collections import Counter

from adnominal.etl.annotation.simulate import annotators
from benchmarks.simulated_votes import VOTES, votes_on


def test_most_votes_are_for_the_published_label():
    people = annotators(9, 3, 0)
    votes: Counter[str] = Counter()
    for number in range(200):
        of_item = votes_on(f"item{number}", 3, people)
        assert of_item == votes_on(f"item{number}", 3, people)
        assert len(of_item) == VOTES
        votes.update(of_item)
    assert votes.total() == 1000
    assert 750 < votes["more likely"] < 950
    # Those who miss it mostly do by one degree.
    assert votes["equally likely"] + votes["necessarily true"] > votes["impossible"] + 20
