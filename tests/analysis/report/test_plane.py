import pytest

from adnominal.analysis.editions import open_lake
from adnominal.analysis.papers.exhibits import Chart, Missing, Note, Section
from adnominal.analysis.papers.plane import PAGE
from adnominal.training.finished_runs import Runs
from tests.analysis.report.cells import findings, ours, row_of
from tests.rows import rows, write


@pytest.fixture(scope="module")
def page(small_lake) -> dict[str, Section]:
    lake = open_lake(small_lake.root)
    return {
        section.anchor.removeprefix("plane-"): section
        for section in PAGE.sections(lake, small_lake.all)
    }


def column(section: Section, table: str, name: str) -> list[float | None]:
    return [
        row.get("ours")
        for row in section.rows
        if row["table_name"].startswith(table) and row["column"] == name
    ]


def test_every_table_and_figure_is_shown(page):
    numbers = [*(f"table-{n}" for n in (1, 4, 5, 6, 8)), *(f"figure-{n}" for n in range(1, 10))]
    assert set(numbers) <= set(page)
    for name in (n for n in numbers if n.startswith("figure")):
        charts = findings(page[name], Chart)
        assert charts, (name, page[name].findings)
        assert all(chart.x and chart.y for chart in charts)


def test_rules_are_compared_with_table_1(page):
    cell = row_of(page["table-1"], "table 1", "AN entails A h(N)", "S")
    assert (cell["published"], cell["ours"], cell["status"]) == (0, 0, "equal")
    behind = [row["ours"] for row in page["table-1"].rows if row["table_name"].startswith("Rows")]
    assert behind == [6] * 9


def test_prompted_models_are_shown_as_in_table_4(page):
    section, model = page["table-4"], "bert-base-cased"
    # The first token is right for I adjectives and no word of the verbaliser for others.
    assert ours(section, "table 4", "I", "BERT-base") == pytest.approx(100.0)
    first = column(section, "Ours, by the first predicted token", model)
    assert first == pytest.approx([100.0, 0.0, 0.0, 100 / 3])
    # The positive word is always likelier, which is right for two of S's types and one of O's.
    restricted = column(section, "Ours, by the more probable", model)
    assert restricted[1:3] == pytest.approx([200 / 3, 100 / 3])
    always = row_of(section, "Baseline that always answers", "O", model)
    assert always["ours"] == pytest.approx(100 / 3)
    assert always["high"] - always["ours"] == pytest.approx(48.2, abs=0.1)
    (note,) = findings(section, Note)
    assert note.text.endswith(
        "to 27 items with 3 nouns of edition published, of its scheme two_shot, drawn by "
        "etl/build_plane.py from the pairs of web."
    )
    # The other models are not run.
    assert {row["status"] for row in section.rows if row["column"] == "RoBERTa-large"} == {
        "not run"
    }


def test_panels_are_named_by_template(page):
    panels = findings(page["figure-6"], Chart)[0].options["panels"].values()
    assert {"internal, intersective", "external, intensional"} <= set(panels)
    assert set(findings(page["figure-5"], Chart)[0].options["panels"].values()) == {
        "internal",
        "external",
    }


def test_answers_are_shown_by_order_of_examples(page):
    sequences = {row["row"] for row in page["figure-7"].rows}
    assert {"1,2,3", "2,1,3", "3,2,1"} <= sequences
    # Positive answers are right where the conclusion holds, for O only in type 3.
    table = "Mean F1 by whether the last example has the item's label, by the more"
    assert ours(page["figure-7"], table, "I", "agrees") == 100
    assert ours(page["figure-7"], table, "O", "agrees") == 0


def test_models_for_nli_are_compared_with_table_5(page):
    section = page["table-5"]
    models = {
        row["row"].split(", ")[0] for row in section.rows if row["table_name"].startswith("Models")
    }
    (model,) = models
    f1 = {kind: ours(section, "Models asked here", f"{model}, {kind}", "f1") for kind in "ISO"}
    assert (f1["I"], f1["S"]) == (1, 0)
    assert ours(section, "Models asked here", f"{model}, S", "third") == 1
    # Three of nine O items hold; the F1 of the other six is .8 and has weight 6 / 9.
    assert f1["O"] == pytest.approx(0.8 * 6 / 9)
    assert ours(section, "table 5", "I", "Liu et al. 2019") == pytest.approx(100.0)
    assert column(page["figure-1"], "F1 of", "intensional") == [1, 1, 0]
    assert any(row["column"] == "neutral" for row in page["figure-9"].rows)


def test_finetuned_models_are_marked_as_other_models(page):
    section = page["table-6"]
    # The paper's cells are for BERT over five splits; these runs have another model and one split.
    printed = [row for row in section.rows if row["table_name"] == "table 6"]
    assert {row["status"] for row in printed} == {"other model"}
    # Three of 27 test items are wrong in either run.
    assert [row["ours"] for row in printed] == pytest.approx([8 / 9, 1.0], abs=0.01)
    assert ours(section, "GOoD: accuracy by class and type", "O", "AN entails N") == 0.0
    types = {
        row["column"] for row in section.rows if row["table_name"].startswith("One-IT: accuracy")
    }
    assert types == {"AN entails A h(N)"}
    assert PAGE.headline(section.rows) is not None


def test_split_words_are_related_to_accuracy(page):
    effects = "Odds ratio of a correct answer"
    # The tokenizer splits "former", and "weapon" in a third of the items of "gun".
    assert ours(page["figure-2"], effects, "O, adjective", "share split") == 1
    third = ours(page["figure-2"], effects, "O, noun or hypernym", "share split")
    assert third == pytest.approx(1 / 3)
    overlap = [
        row["ours"]
        for row in page["section-6"].rows
        if "GOoD" in row["table_name"] and row["column"] == "adjective subwords"
    ]
    assert overlap == [0, 0, 2]
    count = row_of(page["section-6"], "section 6.2", "O", "subwords")
    assert (count["published"], count["ours"], count["status"]) == (33, 2, "other model")


def test_figures_for_maximum_length_and_pmi(page):
    lengths = [row["row"] for row in page["figure-8"].rows if row["column"] == "accuracy"]
    assert lengths == ["6", "12"]
    assert column(page["figure-4"], "PMI of the phrases", "median") == [1.5] * 3


def test_sections_without_data_name_the_commands(tmp_path):
    write(tmp_path, "amod_pairs", rows("corpus adjective noun count", ("web", "red", "car", 1)))
    for section in PAGE.sections(open_lake(str(tmp_path)), Runs()):
        assert findings(section, Missing)
        for missing in findings(section, Missing):
            assert missing.command and "lake=" in missing.command, section.anchor
