import pytest

from adnominal.analysis.across import PAGE
from adnominal.analysis.editions import open_lake
from adnominal.analysis.rendering.blocks import FigureBlock, NotRun, Section, Table, Text
from adnominal.training.finished_runs import Runs
from tests.analysis.rendering.test_figures import assert_labelled
from tests.rows import rows, write


@pytest.fixture(scope="module")
def page(small_lake) -> dict[str, Section]:
    lake = open_lake(small_lake.root)
    page_sections = PAGE.sections(lake, small_lake.all)
    return {section.anchor.removeprefix("cross-"): section for section in page_sections}


def tables(section: Section) -> list[Table]:
    return [block for block in section.blocks if isinstance(block, Table)]


def test_the_page_has_all_sections_and_labelled_figures(page):
    assert len(page) == 10
    figure_blocks = [
        b for section in page.values() for b in section.blocks if isinstance(b, FigureBlock)
    ]
    assert len(figure_blocks) == 6
    for block in figure_blocks:
        assert_labelled(block.figure)


def test_models_are_scored_on_the_items_of_other_tasks(page):
    section = page["asking-a-model-another-task-s-items"]
    accuracy = tables(section)[0].data
    # Only the model of ADEPT answered the items of both ADEPT and PLANE.
    assert accuracy["trained_on"].to_pylist() == ["adept_5", "majority"]
    assert accuracy["plane published 1"][0].as_py().startswith("66.7")
    (lines,) = [b.data for b in section.blocks if isinstance(b, FigureBlock)]
    row = next(line for line in lines.to_pylist() if line["line"] == "adept_5 → plane")
    assert row["accuracy"] == row["majority"] == pytest.approx(2 / 3)


def test_models_trained_on_from_another_task_are_compared_with_the_base(page):
    (row,) = tables(page["training-on-from-another-task"])[0].data.to_pylist()
    assert (row["task"], row["first trained on"], row["base"]) == ("adept", "plane", "tiny")
    # The model that started from the base has one of eight items wrong.
    assert (row["from the task"], row["from the base"], row["items"]) == ("100.0", "87.5", 8)


def test_accuracy_is_shown_by_frequency_of_pairs(page):
    section = page["accuracy-against-the-corpus"]
    counts, pmi = (b.data for b in section.blocks if isinstance(b, FigureBlock))
    # Only "dead gun" is not in the corpus; it has three items in each of two runs.
    absent = [row for row in counts.to_pylist() if row["tenth"] == 0]
    assert [(row["run"], row["items"]) for row in absent] == [("PLANE published, tiny", 6)]
    assert set(pmi["run"].to_pylist()) == {"PLANE published, tiny"}
    few = [block.text for block in section.blocks if isinstance(block, Text)][-1]
    assert few.endswith("7 of ADEPT random, model, 0 of ASP adjectives, tiny.")
    slopes = tables(section)[0].data
    assert slopes.num_rows == 4
    assert "within class and inference type" in slopes["over"].to_pylist()


def test_leak_free_splits_are_compared_with_published_ones(page):
    (row,) = tables(page["leak-free-splits-against-published-ones"])[0].data.to_pylist()
    assert row["published"].startswith("random\n87.5 (majority 50.0; 8 rows)")
    assert row["leak-free"].startswith("noun_disjoint\n50.0")
    assert row["difference"].startswith("+37.5 [")


def test_accuracy_is_compared_by_words_seen_in_training(page):
    rows = tables(page["what-training-had-seen-of-the-test-rows"])[0].data.to_pylist()
    shares = {(row["dataset"], row["seen"].split("\n")[0]): row for row in rows}
    # Two of three nouns of PLANE's test items have the hypernym that "car" has in training.
    assert shares["PLANE", "seen hypernym"]["seen"].endswith("36 rows)")
    assert shares["ASP", "seen adjective"]["difference"].startswith("+50.0")
    assert shares["ASP, length held out", "seen dimension"]["difference"].startswith("+100.0")
    assert ("ADEPT", "seen adjective") not in shares  # because all adjectives are seen


def test_artefacts_are_found_by_single_inputs(page):
    (adept, *_) = tables(page["artefacts-of-adept"])
    rows = {(row["split"], row["input"]): row for row in adept.data.to_pylist()}
    # The modifier determines the label, and training has all modifiers.
    assert rows["random", "modifier alone"]["accuracy"].startswith("100.0")
    assert rows["random", "modifier alone"]["gain"] == "+50.0"
    plane = tables(page["artefacts-of-plane"])[0].data
    assert set(plane["split"].to_pylist()) == {"published", "one_it"}
    asp = tables(page["artefacts-of-asp"])[0].data
    assert "entailment, adjectives published" in asp["split"].to_pylist()
    (missing,) = page["artefacts-of-sygns"].blocks
    assert isinstance(missing, NotRun) and "sygns" in missing.reason


def test_sections_without_data_name_the_commands(tmp_path):
    write(tmp_path, "amod_pairs", rows("corpus adjective noun count", ("web", "red", "car", 1)))
    for section in PAGE.sections(open_lake(str(tmp_path)), Runs()):
        (block,) = section.blocks
        assert isinstance(block, NotRun) and block.command and block.reason
