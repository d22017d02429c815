import pytest

from adnominal.analysis.across import PAGE
from adnominal.analysis.editions import open_lake
from adnominal.analysis.page import figures
from adnominal.analysis.papers.exhibits import Chart, Missing, Note, Section
from adnominal.training.finished_runs import Runs
from tests.analysis.page.test_figures import assert_labelled
from tests.analysis.report.cells import findings, ours, row_of
from tests.rows import rows, write


@pytest.fixture(scope="module")
def page(small_lake) -> dict[str, Section]:
    lake = open_lake(small_lake.root)
    page_sections = PAGE.sections(lake, small_lake.all)
    return {section.anchor.removeprefix("across-"): section for section in page_sections}


def test_the_page_has_all_sections_and_labelled_figures(page):
    assert len(page) == 11
    charts = [(s, chart) for s in page.values() for chart in findings(s, Chart)]
    assert len(charts) == 6
    for section, chart in charts:
        assert_labelled(figures.draw(chart, section.rows))


def test_every_section_begins_with_a_sentence(page):
    assert all(section.about.endswith(("?", ".")) for section in page.values())


def test_models_are_scored_on_the_items_of_other_tasks(page):
    section = page["asking-a-model-another-task-s-items"]
    # Only the model of ADEPT answered the items of both ADEPT and PLANE.
    assert {row["row"] for row in section.rows if row["table_name"] == "Accuracy"} == {"adept_5"}
    line = "adept_5 → plane"
    table = "Accuracy compared"
    assert ours(section, table, line, "model") == pytest.approx(2 / 3)
    assert ours(section, table, line, "majority label") == pytest.approx(2 / 3)


def test_accuracy_is_shown_by_frequency_of_pairs(page):
    section = page["accuracy-against-the-corpus"]
    run = "PLANE published, tiny"
    # Only "dead gun" is not in the corpus; it has three items in each of two runs.
    assert row_of(section, "Accuracy by count", "none", run)["n"] == 6
    pmi = {row["column"] for row in section.rows if row["table_name"].startswith("Accuracy by PMI")}
    assert pmi == {run}
    few = [note.text for note in findings(section, Note)][-1]
    assert few.endswith("7 of ADEPT random, model, 0 of ASP adjectives, tiny.")
    slopes = {row["row"] for row in section.rows if row["table_name"].startswith("Odds ratios")}
    assert all("all items" in name or "within class and" in name for name in slopes)


def test_leak_free_splits_are_compared_with_published_ones(page):
    section = page["leak-free-splits-against-published-ones"]
    (name,) = {row["row"] for row in section.rows}
    assert name.endswith("random less noun_disjoint")
    table = "Accuracy, published less leak-free"
    assert ours(section, table, name, "leaking") == pytest.approx(87.5)
    assert ours(section, table, name, "leak-free") == pytest.approx(50.0)
    assert ours(section, table, name, "majority, leaking") == pytest.approx(50.0)
    assert ours(section, table, name, "difference") == pytest.approx(37.5)


def test_accuracy_is_compared_by_words_seen_in_training(page):
    section = page["what-training-had-seen-of-the-test-rows"]
    differences = {row["row"]: row["ours"] for row in section.rows if row["column"] == "difference"}

    def difference(start: str, word: str) -> float:
        (value,) = [
            value
            for name, value in differences.items()
            if name.startswith(start) and f"seen {word}" in name
        ]
        return float(value)

    assert difference("ASP, tiny", "adjective") == pytest.approx(50.0)
    assert difference("ASP, length held out", "dimension") == pytest.approx(100.0)
    assert any(name.startswith("PLANE") and "seen hypernym" in name for name in differences)
    # All adjectives of ADEPT are seen.
    assert not any(name.startswith("ADEPT") and "adjective" in name for name in differences)


def test_artefacts_are_found_by_single_inputs(page):
    adept = page["artefacts-of-adept"]
    table, row = "ADEPT: accuracy of a part", "random: modifier alone"
    # The modifier determines the label, and training has all modifiers.
    assert ours(adept, table, row, "part of the input alone") == 1.0
    assert ours(adept, table, row, "gain") == pytest.approx(0.5)
    splits = {row["row"].split(":")[0] for row in page["artefacts-of-plane"].rows}
    assert {"published", "one_it"} <= splits
    asp = {row["row"] for row in page["artefacts-of-asp"].rows}
    assert any(name.startswith("entailment, adjectives published") for name in asp)
    (missing,) = findings(page["artefacts-of-sygns"], Missing)
    assert "sygns" in missing.reason


def test_sections_without_data_name_the_commands(tmp_path):
    write(tmp_path, "amod_pairs", rows("corpus adjective noun count", ("web", "red", "car", 1)))
    for section in PAGE.sections(open_lake(str(tmp_path)), Runs()):
        (missing,) = findings(section, Missing)
        assert missing.command and missing.reason
