"""RESULTS.md is made from the recorded figures alone."""

import json
import shutil

import yaml

from benchmarks import CASES, load_case, rendering, results
from benchmarks.rendering import headlines, section, stamps_of, write_page

# Cases that have not been run in their present form; their headlines are left out.
NOT_MEASURED = ("predict", "gpu")


def test_the_stored_page_matches_the_recorded_figures(tmp_path):
    shutil.copy(results.STORE, tmp_path)
    write_page(tmp_path / results.STORE.name)
    page = (tmp_path / rendering.PAGE.name).read_text()
    assert page == rendering.PAGE.read_text(), "run `python -m benchmarks pages`"


def test_every_case_has_recorded_figures_and_a_section():
    page = rendering.PAGE.read_text()
    measured = [name for name in CASES if name not in NOT_MEASURED]
    assert set(results.recorded_entries()) == set(measured)
    assert all(f"\n## {load_case(name).title}\n" in page for name in measured)


def test_changed_figures_change_the_page(tmp_path):
    store = tmp_path / "results.json"
    entries = results.recorded_entries()
    entries["explore"]["lookups"]["figures"]["views"] = 987_654
    store.write_text(json.dumps(entries))
    write_page(store)
    assert "987,654 views" in store.with_name("RESULTS.md").read_text()


def entry(date, **figures):
    return {"machine": "M", "date": date, "versions": "V", "figures": figures}


def test_measurements_of_another_day_are_named():
    entries = {name: entry("2026-01-01") for name in ("a", "b", "c")}
    assert stamps_of(entries) == ["*M; 2026-01-01; V.*"]
    entries["b"] = entry("2026-01-02")
    assert stamps_of(entries) == ["*M; 2026-01-01; V.*", "Of b: *M; 2026-01-02; V.*"]


def test_a_section_has_heading_stamp_and_figures():
    entries = results.recorded_entries()["explore"]
    lookups = entries["lookups"] | {"date": "2026-01-02"}
    text = section(load_case("explore"), entries | {"lookups": lookups})
    heading, _, stamp, *_ = text.splitlines()
    assert heading == "## Word sketches" and "; 2026-01-02; " in stamp


def test_every_headline_is_recorded_and_says_what_it_leaves_out():
    rows = list(headlines(results.recorded_entries()))
    declared = yaml.safe_load(rendering.HEADLINES.read_text())
    measured = [entry for entry in declared if entry["case"] not in NOT_MEASURED]
    assert len(rows) == len(measured)
    assert all(all(row.values()) for row in rows)


def test_headlines_that_were_not_measured_are_omitted():
    sizes = {
        "sygns-50-sail": entry("2026-01-02", rows=1_000_000, wall=222.3, load=2.44),
        "sygns-50-spark": entry("2026-01-02", wall=281.7),
    }
    (row,) = headlines({"engines": sizes})
    assert row["text"] == "1,000,000 sentences in 222 s; on Spark 282 s"
    assert row["leaves_out"] == "nothing; load average 2.4"
    assert row["measured"] == "M; 2026-01-02" and row["section"] == "the-engines"
