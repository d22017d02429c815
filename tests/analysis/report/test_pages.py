"""The numbers in the cells of the pages."""

import pytest

from adnominal.analysis.editions import open_lake
from adnominal.analysis.papers.adept.sources import with_brackets
from adnominal.analysis.papers.exhibits import Missing
from adnominal.analysis.papers.sygns.sources import Sygns
from adnominal.analysis.rows import seeded_order
from adnominal.training.finished_runs import find_runs, groups
from tests.analysis.report.cells import examples, findings, ours, row_of, status


def test_runs_are_found_by_settings_newest_first(report_inputs):
    runs = find_runs(report_inputs[1])
    assert runs.note == "" and len(runs.runs) == 14
    assert [run.ended for run in runs.runs] == sorted((r.ended for r in runs.runs), reverse=True)
    matching = runs.of("finetune", {"task.name": "adept", "task.classes": ("5", "3")})
    assert [run.model for run in matching] == ["MiniLM", "MiniLM", "roberta-base", "roberta-base"]
    assert [len(members) for members in groups(matching)] == [1, 1, 2]
    assert runs.of("prompt") == [] and runs.of("score", {"task.name": "adept"}) == []


def test_adepts_page_shows_the_scores_of_runs(built):
    table_5 = built["adept-table-5"]
    # Two runs have 2 and 4 of 25 wrong, 92 and 84 percent, with Student's interval.
    roberta = row_of(table_5, "table 5", "RoBERTa", "5-class")
    assert (roberta["published"], roberta["ours"]) == (70.8, pytest.approx(88.0))
    assert (roberta["low"], roberta["high"]) == (pytest.approx(37.2, abs=0.1), 100.0)
    assert roberta["interval_kind"] == "Student's t over runs" and len(roberta["runs"]) == 2
    assert (roberta["status"], roberta["model"]) == ("within", "roberta-base")
    assert status(table_5, "table 5", "RoBERTa", "3-class") == "not run"
    assert status(table_5, "table 5", "human", "3-class") == "compared but not recomputable"
    # 12 of 25 rows have the majority label 2.
    assert ours(table_5, "table 5", "majority", "5-class") == pytest.approx(48.0)
    trained = "Models trained here"
    assert ours(table_5, trained, "MiniLM", "3-class") == pytest.approx(88.0)
    pair = "MiniLM less roberta-base"
    compared = row_of(table_5, "Five-class models compared", pair, "difference")
    # With 13 and 2 of 25 wrong, eleven items are right only in the second model.
    assert compared["ours"] == pytest.approx(-0.44)
    assert (compared["low"], compared["high"]) == (pytest.approx(-0.64), pytest.approx(-0.24))
    mcnemar = ours(table_5, "Five-class models compared", pair, "p (McNemar, exact)")
    assert mcnemar == pytest.approx(2 * 0.5**11)
    answers = examples(built["adept-table-6"], "Sample of the answers of roberta-base")
    assert [row["correct"] for row in answers].count(False) == 2
    assert all("[" in row["instance"] for row in answers)
    errors = built["adept-adjectives-of-identity"]
    assert ours(errors, "Errors of roberta-base", "all (25 items)", "accuracy") is not None
    pipeline = {row["step"]: row["result"] for row in examples(built["adept-table-2"], "One entry")}
    assert pipeline["sentence"] == "A dog barks."
    assert pipeline["selected for labelling"] == "old: not labelled yet"


def test_adepts_matrices_are_another_models(built):
    counts = [
        row for row in built["adept-figure-2"].rows if row["table_name"].startswith("Answers of")
    ]
    assert sum(row["ours"] for row in counts) == 25
    # 25 items say nothing beside the paper's 1,611.
    printed = [row for row in built["adept-figure-2"].rows if row["table_name"] == "figure 2"]
    assert {row["status"] for row in printed} == {"not run"}
    assert {row["status"] for row in counts} == {"added"}


def test_adepts_page_shows_the_figures_of_annotators(built):
    table_4 = built["adept-table-4"]
    table = "Agreement and labels of 3 simulated annotators"
    unanimous = row_of(table_4, table, "unanimous", "impossible")
    assert (unanimous["ours"], unanimous["status"]) == (1.0, "simulated")
    assert ours(table_4, table, "label distribution", "equally likely") == pytest.approx(2 / 3)
    labelled = "Items that 3 simulated annotators labelled"
    assert ours(table_4, labelled, "unanimous", "rows") == 1
    assert ours(table_4, labelled, "no agreement", "rows") == 1
    assert ours(table_4, labelled, "majority", "rows") == 2
    kappas = [
        row["ours"] for row in built["adept-section-4-2"].rows if row["table_name"] == "section 4.2"
    ]
    # The first expert has fewer wrong labels than the second.
    assert kappas[0] < kappas[1] and kappas[2] > kappas[3]
    people = built["adept-table-5"]
    assert ours(people, "table 5", "human", "5-class") == pytest.approx(86.7, abs=0.1)
    human = row_of(people, "table 5", "human, no context", "5-class")
    assert human["ours"] == pytest.approx(50.0)
    assert "1 annotator on items of edition published (human: 15 items" in human["note"]


def test_asps_page_shows_scores_and_thresholds(built):
    zero = built["asp-table-3"]
    task = "table 3, entailment inference"
    # The model answers entailment everywhere, which is right for half of the rows.
    assert ours(zero, task, "DeBERTa-base", "ordering") == pytest.approx(50.0)
    assert ours(zero, task, "DeBERTa-base", "dimension") == 0.0
    assert status(zero, task, "BERT-base", "ordering") == "not run"
    tuned = built["asp-table-4"]
    # Without the leaking row, two of three rows are entailed.
    third = ours(tuned, "table 4, entailment inference", "BERT-base", "ordering")
    assert third == pytest.approx(66.7, abs=0.1)
    leaks = built["asp-what-training-rows-give-away"]
    row = "bert-base-cased, full stops kept, ordering"
    assert ours(leaks, "Accuracy by whether", row, "adjective in training") == 0.0
    thresholds = built["asp-thresholds-of-people-and-models"]
    people = row_of(thresholds, "Thresholds", "ordering, positive", "people")
    assert people["ours"] - people["low"] == pytest.approx(0.5)
    assert ours(thresholds, "Thresholds", "ordering, positive", "nli") == pytest.approx(101, abs=1)
    degrees = examples(built["asp-table-2"], "One group of numbers")
    assert any(row["entailed for"] == "α ≤ 82 cm" for row in degrees)


def test_sygnss_page_shows_the_scores_of_meanings(built):
    table_4 = built["sygns-table-4"]
    assert ours(table_4, "table 4, one", "EXI", "GRU FOL") == 100.0
    assert ours(table_4, "table 4, one", "UNI", "GRU FOL") == 0.0
    assert ours(table_4, "table 4, one", "EXI", "Transformer DRS (cnt)") == 100.0
    matched = ours(table_4, "table 4, one", "UNI", "GRU DRS (cnt)")
    assert matched is not None and 0 < matched < 100
    assert ours(built["sygns-table-8"], "table 8", "EXI", "GRU up") == 100.0
    assert any("prover=eprover" in m.command for m in findings(built["sygns-table-6"], Missing))
    (wrong,) = examples(built["sygns-table-18"], "Its gold clauses")
    assert list(wrong) == ["gold", "GRU"]
    assert status(built["sygns-table-9"], "table 9", "depth 2", "GRU FOL") == "not run"
    errors = examples(built["sygns-table-7"], "A randomly drawn universal sentence")
    assert any(row[""] == "Gold" and "↓" in row["formula"] for row in errors)


def test_entailment_is_proved_on_request(report_inputs):
    pytest.importorskip("cvc5")
    lake = open_lake(report_inputs[0])
    meanings = Sygns(lake, find_runs(report_inputs[1]), "cvc5").meanings
    entailed = meanings.entailment(meanings.group("gru", "fol"))
    assert entailed["EXI"][2].estimate == 1.0 and entailed["UNI"][2].estimate == 0.0


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
