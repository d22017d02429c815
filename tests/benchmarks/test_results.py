"""Entries are stored one by one, with the machine, the date and the versions of their run."""

import pytest

from benchmarks import results


def test_an_entry_replaces_only_itself(tmp_path):
    store = tmp_path / "results.json"
    assert results.recorded_entries(store) == {}
    for case, name, rows in (("a", "x", 1), ("a", "y", 2), ("b", "x", 3), ("a", "x", 4)):
        results.record(case, name, results.new_entry({"rows": rows}, ()), store)
    entries = results.recorded_entries(store)
    assert results.figures_of(entries["a"]) == {"x": {"rows": 4}, "y": {"rows": 2}}
    assert results.figures_of(entries["b"]) == {"x": {"rows": 3}}


def test_an_entry_states_where_and_with_what_it_was_measured():
    entry = results.new_entry({}, ["pytest", "no-such-package"])
    assert " core" in entry["machine"] and entry["machine"].endswith(" GiB")
    assert entry["date"].startswith("20")
    assert f"pytest {pytest.__version__}" in entry["versions"]
    assert entry["versions"].endswith("no-such-package not installed")
