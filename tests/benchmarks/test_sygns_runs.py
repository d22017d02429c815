"""SyGNS's runs: those that are finished and those that are not."""

from benchmarks.papers import Settings, experiments, measurements
from benchmarks.sygns_runs import section

SCORES = {"EXI": [0.5, 1.0], "NUM": [0.25, 0.5], "UNI": [0.0, 0.5], "valid": [1.0, 1.0]}


def test_each_experiment_has_a_row_beside_the_paper():
    text = section({"sygns-one-fol-gru": {"runs": 2, "hours": 1.0, "scores": SCORES}})
    paper = "96.1/7.6/3.1/98.2"
    scores = "50.0, 100.0 | 25.0, 50.0 | 0.0, 50.0 | 100.0, 100.0"
    assert f"| one | paper | GRU | FOL | 0, 2 | {scores} | {paper} |" in text


def test_each_title_has_the_scores_of_its_table():
    depths = {"depth 2": [0.01], "depth 3": [0.0], "depth 4": [0.0], "valid": [1.0]}
    figures = {"runs": 1, "hours": 0.5, "scores": depths}
    text = section({"sygns-productivity-vf-gru": figures})
    # Its split has no primitive.
    assert "**Productivity (table 9)**\n\n| recipe | model | form | seeds | depth 2 |" in text
    paper = "0.32/0.04/0.00/100.0"
    row = f"| paper, bfloat16 | GRU | VF | 0 | 1.0 | 0.0 | 0.0 | 100.0 | {paper} |"
    assert row in text


def test_splits_of_several_primitives_name_them():
    text = section({"sygns-three-vf-gru": {"runs": 1, "hours": 1.0, "scores": SCORES}})
    assert "| one,two,every | paper, bfloat16 | GRU | VF | 0 |" in text


def test_what_is_not_run_has_its_name_and_cost():
    scores = {score: [0.5] for score in experiments()["sygns-embedded-vf-gru"].scores}
    done = {"sygns-embedded-vf-gru": {"runs": 1, "hours": 0.1, "scores": scores}}
    left = section(done).partition("**Not run**")[2].splitlines()
    (names,) = [line for line in left if line.startswith("| SPLIT |")]
    (costs,) = [line for line in left if line.startswith("| embedded |")]
    cost_of = dict(zip(names.split("|"), map(str.strip, costs.split("|")), strict=True))
    expected = experiments()["sygns-embedded-drs-transformer"].hours
    assert cost_of[" drs-transformer "] == f"{expected:.2f}"
    assert cost_of[" vf-gru "] == ""
    # What an earlier version trained is neither a row nor left.
    assert "unfed" not in "".join(left)


def test_only_the_runs_to_come_are_counted():
    scores = {score: values[:1] for score, values in SCORES.items()}
    one_of_three = {"runs": 1, "hours": 0.1, "scores": scores}
    text = section({"sygns-one-vf-transformer": one_of_three})
    (costs,) = [
        line for line in text.splitlines() if line.startswith("| one | ") and "paper" not in line
    ]
    hours = experiments()["sygns-one-vf-transformer"].hours
    assert costs.endswith(f"| {2 * hours:.2f} |")


def test_an_entry_stands_for_an_experiment_a_model_and_form():
    known = experiments()
    found = [name for name in known if name.startswith("sygns-negation-two-")]
    assert len(found) == 6
    entry = known["sygns-negation-two-drs-transformer"]
    assert entry.settings[:2] == ["task.form=drs", "seq2seq.architecture=transformer"]
    assert entry.paper["EXI"] == ["sygns", "table 16, two", "EXI", "Transformer DRS"]
    systematic = known["sygns-two-drs-transformer"].hours
    assert entry.hours == 2 * systematic and entry.runs == 1


def test_runs_of_an_earlier_version_are_not_run_again():
    earlier = {name for name, experiment in experiments().items() if experiment.earlier}
    words = ("unfed", "sorted", "-dropout", "-default-")
    assert {name for name in experiments() if any(map(name.__contains__, words))} == earlier
    assert not earlier & measurements(Settings(run=True)).keys()
