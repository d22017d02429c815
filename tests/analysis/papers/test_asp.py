import shlex
from typing import Any

import pyarrow as pa
import pytest

from adnominal import conf
from adnominal.analysis.editions import Lake, open_lake
from adnominal.analysis.estimates import wilson
from adnominal.analysis.papers.asp import curves as asp
from adnominal.analysis.papers.asp.controls import control_experiments
from adnominal.analysis.papers.asp.dataset import baseline_table, degree
from adnominal.analysis.papers.asp.models import correlation, trained_models
from adnominal.analysis.papers.asp.sources import Asp
from adnominal.analysis.papers.exhibits import Examples, Missing, Note
from adnominal.analysis.papers.published import load
from adnominal.analysis.report_numbers import Cells
from adnominal.conf import UserError
from adnominal.etl.asp import TESTS
from adnominal.etl.asp.controls import CONTROLS
from adnominal.etl.asp.gold import HUMAN, PUBLISHED
from adnominal.etl.asp.settings import Settings as BuildSettings
from adnominal.etl.lake import arrow
from adnominal.etl.published.asp import read
from adnominal.training.finished_runs import Run, Runs
from tests.rows import rows, write


def answers(threshold: float, rises: bool = True, model: str = "M") -> asp.Answers:
    z = [float(at) for at in range(60, 140, 2)] * 2
    predicted = ["entailment" if (at >= threshold) == rises else "not_entailment" for at in z]
    return asp.Answers(model, ["ordering"] * 80, ["positive"] * 80, z, predicted)


def test_the_threshold_of_a_model_is_fitted():
    thresholds = asp.model_thresholds(answers(101)).to_pylist()
    assert thresholds == [
        {"test": "ordering", "polarity": "positive", "answer": "M"}
        | {
            "threshold": pytest.approx(101, abs=1.1),
            "standard_error": thresholds[0]["standard_error"],
        }
    ]
    curves = asp.model_curves(answers(101))
    shares = {r["z"]: (r["share"], r["n"]) for r in curves.to_pylist() if r["answer"] == "M"}
    assert (shares[100.0], shares[102.0]) == ((0.0, 2), (1.0, 2))
    fitted = {r["z"]: r["share"] for r in curves.to_pylist() if r["answer"] == "M, fitted"}
    assert fitted[60.0] < 0.01 and fitted[138.0] > 0.99


@pytest.mark.parametrize("model_answers", [answers(0), answers(101, rises=False)])
def test_answers_that_do_not_rise_have_no_threshold(model_answers):
    assert asp.model_thresholds(model_answers).column("threshold").to_pylist() == [None]
    assert set(asp.model_curves(model_answers).column("answer").to_pylist()) == {"M"}


def test_tests_without_judgements_have_curves_and_no_threshold():
    z = [60.0, 80.0, 100.0, 138.0]
    predicted = ["not_entailment", "not_entailment", "entailment", "entailment"]
    model_answers = asp.Answers("M", ["dimension"] * 4, ["positive"] * 4, z, predicted)
    curve_rows = asp.model_curves(model_answers)
    assert curve_rows.column("answer").to_pylist() == ["M"] * 4
    (cells,) = asp._curve_cells(curve_rows, asp.UNJUDGED)
    assert cells.table == "dimension, positive" and cells.values["100", "M"] == 1
    assert asp.model_thresholds(model_answers).num_rows == 0
    # Together, the figures have all eight tests.
    drawn = [*asp.UNJUDGED, *(test for tests in asp.FIGURES.values() for test in tests)]
    assert sorted(drawn) == sorted(TESTS)


@pytest.fixture(scope="module")
def release(shared_data, tmp_path_factory) -> str:
    lake = str(tmp_path_factory.mktemp("asp"))
    for name, table in read(shared_data / "asp").tables.items():
        arrow.append(lake, name, table, job="t")
    return lake


@pytest.mark.parametrize("task", ["asp_entailment", "asp_degree"])
@pytest.mark.parametrize("paper_table", ["table 3", "table 4"])
def test_baselines_are_reproduced_to_the_printed_digit(release, task, paper_table):
    baselines = baseline_table(release, task, "published", paper_table).to_pylist()
    assert len(baselines) == 2 * len(TESTS)
    for row in baselines:
        # A reason for a deviation is stated exactly where the figures differ.
        assert row["agrees"] == (row["deviation"] is None), row
    with pytest.raises(UserError, match="edition=none: no rows"):
        baseline_table(release, task, "none")


def test_deviations_are_stated_only_for_baselines():
    assert {number.row for number in load("asp") if number.deviation} == {"chance", "majority"}


def test_published_human_curves_and_thresholds_are_reproduced(release):
    thresholds = asp.human_thresholds(release, "published").to_pylist()
    assert {(r["test"], r["polarity"]): round(r["threshold"], 1) for r in thresholds} == PUBLISHED
    curves = asp.human_curves(release, "published")
    both = pa.concat_tables([curves, asp.model_curves(answers(101))])
    drawn_tests = set()
    for tests in asp.FIGURES.values():
        cells = list(asp._curve_cells(both, tests))
        assert len(cells) == 6
        drawn_tests |= {entry.table.split(",")[0] for entry in cells}
        names = {column for entry in cells for _, column in entry.values}
        assert {"people", "people, fitted"} <= names
    assert drawn_tests == set(HUMAN)
    # The share of people who agree rises with the number, from almost none to almost all.
    long = [
        r["share"]
        for r in curves.to_pylist()
        if (r["test"], r["polarity"], r["answer"]) == ("ordering", "positive", "people")
    ]
    assert long[0] < 0.1 and long[-1] > 0.5 and max(long) > 0.9
    with pytest.raises(UserError, match="source=mine: no judgements"):
        asp.human_curves(release, "mine")


def test_human_curves_have_the_even_numbers_of_the_figures(tmp_path):
    judgements = rows(
        "z share fit",
        (58.0, 0.9, 0.0),
        (60.0, 0.2, 0.0),
        (100.0, 0.4, 0.5),
        (101.0, 1.0, 0.5),
        (138.0, 0.8, 1.0),
        test="ordering",
        polarity="positive",
        threshold=100.0,
        standard_error=1.0,
        source="mine",
    )
    write(tmp_path, "asp_human", judgements)
    curve_rows = asp.human_curves(str(tmp_path), "mine").to_pylist()
    assert [(r["z"], r["share"]) for r in curve_rows if r["answer"] == "people"] == [
        (60.0, 0.2),
        (100.0, 0.4),
        (101.0, 1.0),
        (138.0, 0.8),
    ]
    assert [r["share"] for r in curve_rows if r["answer"] == "people, fitted"] == pytest.approx(
        [0.2, 0.5, 0.5, 0.8]  # the curve is scaled by even numbers, whose greatest share is 0.8
    )


@pytest.mark.parametrize(
    ("polarity", "entailed", "text"),
    [
        ("positive", (3, 4), "α ≥ 3 cm"),
        ("positive", (1, 2), "α 1 to 2 cm"),
        ("positive", (0, 3, 4), "α 0, 3 to 4 cm"),
        ("negative", (0, 1), "α ≤ 1 cm"),
        ("negative", (1, 2), "α 1 to 2 cm"),
        ("negative", (), "no α"),
    ],
)
def test_degree_examples_state_the_entailed_numbers(tmp_path, polarity, entailed, text):
    records = [
        {"item_id": f"{alpha}", "test": "ordering", "variant": "base", "group": 0, "unit": "cm"}
        | {"polarity": polarity, "alpha": float(alpha), "premise": "P.", "hypothesis": "H."}
        | {"label": "entailment" if alpha in entailed else "not_entailment", "edition": "mine"}
        for alpha in range(5)
    ]
    write(tmp_path, "asp_degree", records)
    (drawn,) = degree.build(Asp(Lake(str(tmp_path), {"asp_degree": ("mine",)}), Runs()))
    assert isinstance(drawn, Examples)
    assert drawn.data.to_pylist()[0]["entailed for"] == text


def test_correlation_has_fishers_interval():
    r, p = correlation([(1, 1), (2, 3), (3, 2), (4, 5), (5, 4)])
    assert r.estimate == pytest.approx(0.8) and r.n == 5
    assert p == pytest.approx(0.104, abs=5e-4)
    # Fisher: tanh(artanh(0.8) -+ 1.96 / sqrt(5 - 3)).
    assert r.low == pytest.approx(-0.2797, abs=1e-3)
    assert r.high == pytest.approx(0.9864, abs=1e-3)
    for points in ([(1, 2)] * 3, [(1, 1), (1, 2), (1, 3), (1, 4)]):
        with pytest.raises(ValueError, match="expected four or more"):
            correlation(points)


YES = "entailment"
PROMPTS = 5


def answered_prompts(lake: str, rights: list[bool], job: str = "prompt") -> Asp:
    """A prompted model's answers to the items of two tests: the first token is never a label, and
    `rights` says which items restricted choice gets right."""
    items: list[dict[str, Any]] = [
        {"item_id": f"i{at}", "edition": "demo", "test": "ordering", "label": YES}
        for at in range(len(rights))
    ]
    degree = [
        {**item, "item_id": f"d{at}", "variant": "base", "group": at // 2, "z": 100.0}
        | {"polarity": "positive"}
        for at, item in enumerate(items)
    ]
    predictions = [
        {"run_id": "r", "task": "asp", "edition": "demo", "item_id": item["item_id"], "gold": YES}
        | {"model": "bert", "text": "the", "prompt": f"asp/{prompt}@1"}
        # The column scores has entailment first.
        | {"scores": [-1.0, -2.0] if right else [-2.0, -1.0]}
        for task_items in (items, degree)
        for item, right in zip(task_items, rights, strict=True)
        for prompt in range(PROMPTS)
    ]
    for name, records in (
        ("asp_entailment", items),
        ("asp_degree", degree),
        ("predictions", predictions),
    ):
        write(lake, name, records)
    run = Run("r", job, 1, {"task.name": "asp"}, group="g")
    return Asp(open_lake(lake), Runs([run]))


def test_prompted_models_are_scored_by_restricted_choice(tmp_path):
    (model,) = answered_prompts(str(tmp_path), [True] * 6 + [False] * 2).untrained_runs
    assert model.rows.column("predicted").null_count == 0
    entailment, degree = (model.accuracy(kind, "ordering") for kind in ("entailment", "degree"))
    assert entailment is not None and degree is not None
    assert (entailment.estimate, degree.estimate) == (0.75, 0.75)
    # Five prompts for eight items are not forty observations; degree items even share premises.
    assert entailment.n == 8
    assert entailment.low < wilson(30, 40).low - 0.1
    assert degree.low < entailment.low


def test_items_that_every_prompt_gets_right_count_once(tmp_path):
    (model,) = answered_prompts(str(tmp_path), [True] * 6).untrained_runs
    score = model.accuracy("entailment", "ordering")
    assert score is not None
    assert (score.low, score.high) == (wilson(6, 6).low, wilson(6, 6).high)


def test_an_answer_without_a_label_is_wrong(tmp_path):
    (model,) = answered_prompts(str(tmp_path), [True] * 4, "score").untrained_runs
    for kind in ("entailment", "degree"):
        score = model.accuracy(kind, "ordering")
        assert score is not None and score.estimate == 0.0


def test_control_experiments_are_shown_apart_from_intact_rows(tmp_path):
    lake = str(tmp_path)
    control = "demo_control_words"
    for edition in ("demo", control):
        item = {"item_id": f"i-{edition}", "edition": edition, "test": "ordering", "label": YES}
        write(lake, "asp_entailment", [item])
    for run, edition, predicted in (
        ("scored", control, YES),
        ("trained", "demo", YES),
        ("intact", "demo", "not_entailment"),
    ):
        answer = {"run_id": run, "task": "asp", "edition": edition, "item_id": f"i-{edition}"}
        write(lake, "predictions", [answer | {"gold": YES, "predicted": predicted, "model": run}])
    tuned = {"task.name": "asp", "task.edition": "demo"}
    trained = {**tuned, "task.train_edition": f"{control}_tuning"}
    runs = [
        Run("scored", "score", 1, {"task.name": "asp"}, group="s"),
        Run("trained", "finetune", 1, trained, group="t"),
        Run("intact", "finetune", 1, tuned, group="i"),
    ]
    page = Asp(open_lake(lake, "demo"), Runs(runs))
    assert [model.model for model in page.trained_runs] == ["intact"]
    found = [finding for finding in control_experiments.build(page) if isinstance(finding, Cells)]
    assert [(cells.table, *cells.values) for cells in found] == [
        (
            "Adjectives exchanged for others: trained on control rows, tested on intact ones",
            ("trained (finetune), entailment inference", "ordering"),
        ),
        (
            f"Adjectives exchanged for others: answers to edition {control}",
            ("scored (score), entailment inference", "ordering"),
        ),
    ]
    without = Asp(open_lake(lake, "demo"), Runs([runs[2]]))
    assert [type(finding) for finding in control_experiments.build(without)][1:] == [Missing]


def test_control_experiments_need_the_rows_of_each_control():
    commands = control_experiments.fills.split(" && ")
    settings = [conf.load(BuildSettings, shlex.split(command)[2:]) for command in commands]
    assert [setting.control for setting in settings] == list(CONTROLS)


@pytest.mark.parametrize(("edition", "has_note"), [("published", True), ("demo", False)])
def test_table_4_says_that_the_release_has_one_round(tmp_path, edition, has_note):
    lake = str(tmp_path)
    item = {"item_id": "i", "edition": edition, "test": "ordering", "label": YES}
    write(lake, "asp_entailment", [item])
    page = Asp(open_lake(lake), Runs())
    notes = [item.text for item in trained_models.build(page) if isinstance(item, Note)]
    assert [note.split(".")[0] for note in notes] == has_note * [
        "The release has one of the four rounds of adjectives"
    ]
