"""The figures in the cells of the pages."""

from typing import Any

import pyarrow as pa
import pytest

from adnominal.analysis.editions import open_lake
from adnominal.analysis.papers.adept.sources import with_brackets
from adnominal.analysis.papers.sygns.sources import Meanings
from adnominal.analysis.rendering.blocks import NotRun, Part, Report, Section, Table, Text, cells
from adnominal.analysis.rendering.html import html
from adnominal.analysis.rendering.markdown import markdown
from adnominal.analysis.rows import seeded_order
from adnominal.training.finished_runs import find_runs, groups


@pytest.fixture(scope="module")
def pages(built):
    return {section.anchor: section.blocks for part in built.parts for section in part.sections}


def rows(blocks, caption: str) -> dict[str, dict[str, Any]]:
    (table,) = [b for b in blocks if isinstance(b, Table) and b.caption.startswith(caption)]
    first = table.data.column_names[0]
    return {row[first]: row for row in table.data.to_pylist()}


def test_runs_are_found_by_settings_newest_first(report_inputs):
    runs = find_runs(report_inputs[1])
    assert runs.note == "" and len(runs.runs) == 14
    assert [run.ended for run in runs.runs] == sorted((r.ended for r in runs.runs), reverse=True)
    matching = runs.of("finetune", {"task.name": "adept", "task.classes": ("5", "3")})
    assert [run.model for run in matching] == ["MiniLM", "MiniLM", "roberta-base", "roberta-base"]
    assert [len(members) for members in groups(matching)] == [1, 1, 2]
    assert runs.of("prompt") == [] and runs.of("score", {"task.name": "adept"}) == []


def test_adepts_page_shows_the_scores_of_runs(pages):
    table_5 = rows(pages["adept-table-5"], "Accuracy on val")
    # Two runs have 2 and 4 of 25 wrong, 92 and 84 percent, with Student's interval.
    assert table_5["RoBERTa"]["5-class"].startswith("70.8\nours 88.0 [37.2, 100.0]\n+17.2 [")
    assert table_5["RoBERTa"]["3-class"] == "73.1\nnot run"
    assert table_5["human"]["3-class"].startswith("90.0\nours ")
    # 12 of 25 rows have the majority label 2.
    assert table_5["majority"]["5-class"].split("\n")[1].startswith("ours 48.0 [")
    assert [b.command for b in pages["adept-table-5"] if isinstance(b, NotRun)]
    own_models = rows(pages["adept-table-5"], "Models trained here")
    assert (
        own_models["MiniLM"]["accuracy (%)"].startswith("88.0")
        and own_models["MiniLM"]["runs"] == 1
    )
    (pair,) = rows(pages["adept-table-5"], "Five-class models compared").values()
    # With 13 and 2 of 25 wrong, eleven items are right only in the second model.
    assert (pair["first"], pair["second"]) == ("MiniLM", "roberta-base")
    assert pair["first less second (%)"].startswith("−44.0 [−64.0, −24.0")
    assert pair["p (McNemar, exact)"] == pytest.approx(2 * 0.5**11)
    answers = rows(pages["adept-table-6"], "Sample of the answers of roberta-base")
    assert [row["correct"] for row in answers.values()].count(False) == 2
    assert all("[" in instance for instance in answers)
    errors = rows(pages["adept-adjectives-of-identity"], "Errors of roberta-base")
    assert errors["all"]["items"] == 25 and "gender" in errors
    pipeline = rows(pages["adept-table-2"], "One entry")
    assert pipeline["sentence"]["result"] == "A dog barks."
    assert pipeline["selected for labelling"]["result"] == "old: not labelled yet"


def test_adepts_page_shows_the_figures_of_annotators(pages):
    table_4 = rows(pages["adept-table-4"], "Agreement and labels of 3 simulated annotators")
    assert table_4["unanimous"]["impossible"].startswith("0.21\nours 1.00 [0.21, 1.00]")
    assert table_4["label distribution"]["equally likely"].startswith("0.67\nours 0.67 [")
    sizes = rows(pages["adept-table-4"], "Items that 3 simulated annotators labelled")
    counts = {name: row["rows"].split("\n")[1] for name, row in sizes.items()}
    assert counts["unanimous"] == counts["no agreement"] == "ours 1"
    assert counts["majority"] == "ours 2" and counts["train"] == "not run"
    kappas = rows(pages["adept-section-4-2"], "Agreement of experts and crowd, ours of 2 annot")
    ours = [float(row["kappa"].split("\n")[1].split()[1]) for row in kappas.values()]
    # The first expert has fewer wrong labels than the second.
    assert ours[0] < ours[1] and ours[2] > ours[3]
    people = rows(pages["adept-table-5"], "Accuracy on val")
    assert people["human"]["5-class"].startswith("85.0\nours 86.7 [")
    assert people["human, no context"]["5-class"].startswith("71.0\nours 50.0 [")
    (text,) = [b.text for b in pages["adept-table-5"] if isinstance(b, Text) and "Human" in b.text]
    assert text.startswith("Human rows: 1 annotator on items of edition published (human: 15 items")


def test_asps_page_shows_scores_and_thresholds(pages):
    zero = rows(pages["asp-table-3"], "Entailment inference, accuracy")
    # The model answers entailment everywhere, which is right for half of the rows.
    assert zero["DeBERTa-base"]["ordering"].startswith("56.2\nours 50.0\n[")
    assert zero["DeBERTa-base"]["dimension"].startswith("94.0\nours 0.0\n[")
    assert zero["BERT-base"]["ordering"] == "56.9\nnot run"
    tuned = rows(pages["asp-table-4"], "Entailment inference, accuracy")
    # Without the leaking row, two of three rows are entailed.
    assert tuned["BERT-base"]["ordering"].startswith("96.4\nours 66.7\n[")
    leaks = rows(pages["asp-what-training-rows-give-away"], "Accuracy by whether")
    assert leaks["bert-base-cased"]["adjective in training (%)"].startswith("0.0")
    thresholds = rows(pages["asp-thresholds-of-people-and-models"], "Thresholds")
    assert thresholds["ordering"]["people"] == "83.2 ± 0.5"
    assert thresholds["ordering"]["nli"].startswith("101.")
    degrees = rows(pages["asp-table-2"], "One group of numbers")
    assert degrees["ordering"]["entailed for"] == "α ≤ 82 cm"


def test_sygnss_page_shows_the_scores_of_meanings(pages, report_inputs):
    table_4 = rows(pages["sygns-table-4"], "Accuracy by quantifier, primitive one, in")
    assert table_4["EXI"]["GRU FOL"].startswith("96.1\nours 100.0\n[")
    assert table_4["UNI"]["GRU FOL"].startswith("3.1\nours 0.0\n[0.0, ")
    assert table_4["EXI"]["Transformer DRS (cnt)"].split("\n")[1:3] == [
        "ours 100.0",
        "[100.0, 100.0]",
    ]
    matched = float(table_4["UNI"]["GRU DRS (cnt)"].split("\n")[1].split()[1])
    assert 0 < matched < 100
    table_8 = rows(pages["sygns-table-8"], "F of polarity")
    assert table_8["EXI"]["GRU up"].startswith("99.9\nours 100.0 [")
    # A table with fourteen columns is transposed.
    assert "GRU up P" in rows(pages["sygns-table-15"], "Polarity of FOL")
    entailment = [b for b in pages["sygns-table-6"] if isinstance(b, NotRun)]
    assert "prover=eprover" in entailment[0].command
    (cells,) = rows(pages["sygns-table-18"], "Ours:").values()
    assert [name.split(",")[0] for name in cells] == ["gold", "GRU"]
    assert (
        rows(pages["sygns-table-9"], "Accuracy by depth")["depth 2"]["GRU FOL"] == "0.36\nnot run"
    )
    errors = rows(pages["sygns-table-7"], "A randomly drawn universal sentence")
    assert "↓" in errors["Gold"]["formula"]


def test_entailment_is_proved_on_request(report_inputs):
    pytest.importorskip("cvc5")
    lake = open_lake(report_inputs[0])
    meanings = Meanings(lake, find_runs(report_inputs[1]), "demo", "cvc5")
    entailed = meanings.entailment(meanings.group("gru", "fol"))
    assert entailed["EXI"][2].estimate == 1.0 and entailed["UNI"][2].estimate == 0.0


def test_texts_and_cells_are_escaped():
    table = Table("A & B", pa.table({"a_b": ["x|y\n<z>"], "n": [1234.5], "t": [True], "o": [None]}))
    report = Report("T", [Text("<b>")], [Part("p", "P", [Section("s", "S", [table])])])
    assert cells(table) == (
        ["a b", "n", "t", "o"],
        [False, True, False, False],
        [["x|y\n<z>", "1,234.50", "yes", "–"]],
    )
    assert '<td class="short">x|y<br><span class="ours">&lt;z&gt;</span></td>' in html(report, {})
    assert "| x\\|y<br>\\<z\\> | 1,234.50 | yes | – |" in markdown(report)


def test_examples_follow_the_seed_and_not_the_order():
    names = [str(at) for at in range(20)]
    assert (
        seeded_order(names, 1, str)
        == seeded_order(reversed(names), 1, str)
        != seeded_order(names, 2, str)
    )
    assert with_brackets("A deadline kills a dead Dead man.", "dead") == (
        "A deadline kills a [dead] Dead man."
    )
