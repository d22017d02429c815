import pyarrow as pa
import pytest

from adnominal.analysis.editions import open_lake
from adnominal.analysis.papers.plane import PAGE
from adnominal.analysis.rendering.blocks import FigureBlock, NotRun, Section, Table, Text
from adnominal.training.finished_runs import Runs
from tests.analysis.rendering.test_figures import assert_labelled
from tests.rows import rows, write


@pytest.fixture(scope="module")
def page(small_lake) -> dict[str, Section]:
    lake = open_lake(small_lake.root)
    return {
        section.anchor.removeprefix("plane-"): section
        for section in PAGE.sections(lake, small_lake.all)
    }


def tables(section: Section) -> list[Table]:
    return [block for block in section.blocks if isinstance(block, Table)]


def figures(section: Section) -> list[FigureBlock]:
    return [block for block in section.blocks if isinstance(block, FigureBlock)]


def test_every_table_and_figure_is_shown(page):
    numbers = [*(f"table-{n}" for n in (1, 4, 5, 6, 8)), *(f"figure-{n}" for n in range(1, 10))]
    assert set(numbers) <= set(page)
    for name in (n for n in numbers if n.startswith("figure")):
        shown_figures = figures(page[name])
        assert shown_figures, (name, page[name].blocks)
        for block in shown_figures:
            assert_labelled(block.figure)
            assert block.caption and block.data.num_rows


def test_rules_are_compared_with_table_1(page):
    first, behind = tables(page["table-1"])
    assert first.data["S"][2].as_py().split("\n") == ["0", "ours 0", "equal"]
    assert set(behind.data["agrees"].to_pylist()) == {True}
    assert behind.data["rows"].to_pylist() == [6] * 9


def test_prompted_models_are_shown_as_in_table_4(page):
    printed, first, restricted, always = tables(page["table-4"])
    # The first token is right for I adjectives and no word of the verbaliser for others.
    assert "ours 100.0" in printed.data["BERT-base"][0].as_py()
    assert first.data["bert-base-cased"].to_pylist() == [
        "100.0 ± 0.0",
        "0.0 ± 0.0",
        "0.0 ± 0.0",
        "33.3 ± 47.5",
    ]
    # The positive word is always likelier, which is right for two of S's types and one of O's.
    assert restricted.data["bert-base-cased"].to_pylist()[1:3] == ["66.7 ± 48.2", "33.3 ± 48.2"]
    assert always.data["bert-base-cased"][2].as_py() == "33.3 ± 48.2"
    assert any(isinstance(block, NotRun) for block in page["table-4"].blocks)  # the other models


def test_panels_are_named_by_template(page):
    panels = figures(page["figure-6"])[0].data["panel"].to_pylist()
    assert {"internal, intersective", "external, intensional"} <= set(panels)
    assert set(figures(page["figure-5"])[0].data["panel"].to_pylist()) == {"internal", "external"}


def test_answers_are_shown_by_order_of_examples(page):
    our_figure = figures(page["figure-7"])[1]
    assert {"1,2,3", "2,1,3", "3,2,1"} <= set(our_figure.data["sequence"].to_pylist())
    # Positive answers are right where the conclusion holds, for O only in type 3.
    agreeing = tables(page["figure-7"])[1].data
    assert agreeing["agrees"].to_pylist()[::2] == [100, 0]


def test_models_for_nli_are_compared_with_table_5(page):
    printed, ours = tables(page["table-5"])
    rows = {row["class"]: row for row in ours.data.to_pylist()}
    assert (rows["I"]["f1"], rows["S"]["f1"], rows["S"]["third"]) == (1, 0, 1)
    # Three of nine O items hold; the F1 of the other six is .8 and has weight 6 / 9.
    assert rows["O"]["f1"] == pytest.approx(0.8 * 6 / 9)
    assert "ours 100.0" in printed.data["Liu et al. 2019"][0].as_py()
    data = figures(page["figure-1"])[0].data
    assert data.filter(pa.compute.equal(data["class"], "O"))["f1"].to_pylist() == [1, 1, 0]
    errors = figures(page["figure-9"])[0].data.to_pylist()
    assert {row["answer"] for row in errors if row["group"] == "S"} >= {"neutral"}


def test_finetuned_models_are_shown_apart_from_bert(page):
    *printed, by_class, one_it = tables(page["table-6"])
    # The paper's cells are for BERT over five splits; these runs have another model and one split.
    assert not any("ours" in str(table.data.to_pydict()) for table in printed)
    reported = [block.text for block in page["table-6"].blocks if isinstance(block, Text)]
    # Three of 27 test items are wrong in either run.
    assert any("accuracy 88.9" in text for text in reported)
    assert any("accuracy 100" in text for text in reported)
    assert by_class.data["AN entails N"][2].as_py().startswith("0.0")
    assert one_it.data.column_names == ["class", "AN entails A h(N)"]


def test_split_words_are_related_to_accuracy(page):
    data = figures(page["figure-2"])[0].data
    rows = {row["class"]: row for row in data.to_pylist()}
    # The tokenizer splits "former", and "weapon" in a third of the items of "gun".
    assert (rows["O"]["split_adjective"], rows["I"]["split_adjective"]) == (1, 0)
    assert (rows["I"]["split_noun"], rows["O"]["split"]) == (1 / 3, 1)
    effects = tables(page["figure-2"])[0].data.to_pylist()
    assert [row["share split"] for row in effects if row["class"] == "O"] == pytest.approx(
        [1, 1 / 3]
    )
    overlap = next(block for block in tables(page["section-6"]) if "GOoD" in block.caption)
    assert overlap.data["adjective_subwords"].to_pylist() == [0, 0, 2]
    count = next(block for block in tables(page["section-6"]) if "One-IT, ours" in block.caption)
    assert count.data["subwords"].to_pylist() == ["33\nours 2\n−31"]


def test_figures_for_maximum_length_and_pmi(page):
    assert figures(page["figure-8"])[0].data["max_length"].to_pylist() == [6, 12]
    assert figures(page["figure-4"])[0].data["p50"].to_pylist() == [1.5] * 3


def test_sections_without_data_name_the_commands(tmp_path):
    write(tmp_path, "amod_pairs", rows("corpus adjective noun count", ("web", "red", "car", 1)))
    for section in PAGE.sections(open_lake(str(tmp_path)), Runs()):
        (last,) = [block for block in section.blocks if isinstance(block, NotRun)]
        assert last.command and "lake=" in last.command, section.anchor
