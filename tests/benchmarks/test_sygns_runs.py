"""SyGNS's runs: those that are finished and those that are not."""

from benchmarks.papers import Settings, experiments, measurements
from benchmarks.sygns_runs import section

SCORES = {"EXI": [0.5, 1.0], "NUM": [0.25, 0.5], "UNI": [0.0, 0.5], "valid": [1.0, 1.0]}


def test_each_run_has_a_row_beside_the_paper():
    text = section({"sygns-one-drs-gru": {"runs": 2, "hours": 1.0, "scores": SCORES}})
    paper = "99.5/12.7/4.4/99.7"
    row = "| paper | GRU | DRS"
    assert f"{row} | 0 | 50.0 | 25.0 | 0.0 | 100.0 | {paper} |" in text
    assert f"{row} | 1 | 100.0 | 50.0 | 50.0 | 100.0 | {paper} |" in text
    # One of three seeds is left.
    assert "sygns-one-drs-gru," in text.partition("Not run")[2]


def test_each_title_has_the_scores_of_its_table():
    depths = {"depth 2": [0.01], "depth 3": [0.0], "depth 4": [0.0], "valid": [1.0]}
    figures = {"runs": 1, "hours": 0.5, "scores": depths}
    text = section({"sygns-productivity-vf-gru": figures})
    assert "**Productivity (table 9)**\n\n| recipe | model | form | seed | depth 2 |" in text
    paper = "0.32/0.04/0.00/100.0"
    row = f"| paper, bfloat16 | GRU | VF | 0 | 1.0 | 0.0 | 0.0 | 100.0 | {paper} |"
    assert row in text


def test_what_is_not_run_has_its_command_and_cost():
    done = {"sygns-embedded-vf-gru": {"runs": 1, "hours": 0.1, "scores": {}}}
    done["sygns-embedded-vf-gru"]["scores"] = {
        score: [0.5] for score in experiments()["sygns-embedded-vf-gru"].scores
    }
    text = section(done)
    left = ["vf-transformer", "fol-transformer", "fol-gru", "drs-gru", "drs-transformer"]
    parts = ",".join(f"sygns-embedded-{name}" for name in left)
    hours = sum(experiments()[f"sygns-embedded-{name}"].hours for name in left)
    assert f"- Embedded quantifiers: `{parts}` ({hours:.1f})" in text
    # What an earlier version trained is neither a row nor left.
    assert "unfed" not in text


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
