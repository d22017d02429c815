"""SyGNS's runs: those that are finished and those that are not."""

from benchmarks.papers import Settings, costs, experiments, measurements
from benchmarks.sygns_runs import section

SCORES = {"EXI": [0.5, 1.0], "NUM": [0.25, 0.5], "UNI": [0.0, 0.5], "valid": [1.0, 1.0]}


def test_each_experiment_has_a_row_beside_the_paper():
    text = section({"sygns-one-fol-gru": {"runs": 2, "hours": 1.0, "scores": SCORES}})
    paper = "96.1/7.6/3.1/98.2"
    scores = "50.0, 100.0 | 25.0, 50.0 | 0.0, 50.0 | 100.0, 100.0"
    assert f"| one | paper | GRU | FOL | 0, 2 | {scores} | {paper} |" in text


def test_scores_by_depth_are_a_table_of_their_own():
    depths = {"depth 2": [0.01], "depth 3": [0.0], "depth 4": [0.0], "valid": [1.0]}
    figures = {
        "sygns-one-fol-gru": {"runs": 2, "hours": 1.0, "scores": SCORES},
        "sygns-productivity-vf-gru": {"runs": 1, "hours": 0.5, "scores": depths},
        "sygns-embedded-vf-gru": {
            "runs": 1,
            "hours": 0.5,
            "scores": {"depth 1": [0.5], **depths},
        },
    }
    by_quantifier, by_depth = section(figures).split("**By depth (tables 9 and 10)**")
    assert by_quantifier.startswith("**By quantifier")
    names = "depth 1 | depth 2 | depth 3 | depth 4 | valid"
    assert f"| split | recipe | model | form | seeds | {names} |" in by_depth
    row = "| productivity | paper, bfloat16 | GRU | VF | 0 |  | 1.0 | 0.0 | 0.0 | 100.0 |"
    assert f"{row} 0.32/0.04/0.00/100.0 |" in by_depth
    assert "| embedded | paper, bfloat16 | GRU | VF | 0 | 50.0 | 1.0 |" in by_depth


def test_what_is_not_run_has_its_name_and_cost():
    one_of_three = {"sygns-one-vf-transformer": {"runs": 1}, "sygns-embedded-vf-gru": {"runs": 1}}
    names, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in costs(one_of_three).splitlines()
    ]
    cost_of = {row[0]: dict(zip(names, row, strict=True)) for row in rows}
    known = experiments()
    expected = known["sygns-embedded-drs-transformer"].hours
    assert cost_of["embedded"]["drs-transformer"] == f"{expected:.2f}"
    assert cost_of["embedded"]["vf-gru"] == ""
    two_runs = 2 * known["sygns-one-vf-transformer"].hours
    assert cost_of["one"]["vf-transformer"] == f"{two_runs:.2f}"
    # What an earlier version trained is not left.
    assert not any("unfed" in name for name in names)


def test_nothing_is_left_when_all_is_run():
    assert costs({name: {"runs": entry.runs} for name, entry in experiments().items()}) == ""


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
