"""SyGNS's runs: those that are finished and those that are not."""

from benchmarks.papers import Settings, experiments, measurements
from benchmarks.sygns_runs import section

SCORES = {"EXI": [0.5, 1.0], "NUM": [0.25, 0.5], "UNI": [0.0, 0.5], "valid": [1.0, 1.0]}


def test_each_run_has_a_row_beside_the_paper():
    text = section({"sygns-one-vf-gru-4m-unfed": {"runs": 2, "hours": 1.0, "scores": SCORES}})
    paper = "99.7 / 37.0 / 39.5 / 99.6"
    recipe = "| paper, GRU without input feeding | GRU, 4M | VF"
    assert f"{recipe} | 0 | 50.0 | 25.0 | 0.0 | 100.0 | {paper} | 0.50 |" in text
    assert f"{recipe} | 1 | 100.0 | 50.0 | 50.0 | 100.0 | {paper} | 0.50 |" in text


def test_what_is_not_run_has_its_command_and_cost():
    text = section({})
    assert "| paper | GRU, 10M | VF | 0 | not run | not run | not run | not run | 99.7" in text
    command = "python -m benchmarks papers run=true parts=sygns-one-vf-gru"
    assert f"- `{command}` (about 0.7 CPU hours)" in text
    # What an earlier version trained has no command.
    assert "unfed`" not in text


def test_runs_of_an_earlier_version_are_not_run_again():
    earlier = {name for name, experiment in experiments().items() if experiment.earlier}
    assert {name for name in experiments() if name.endswith("unfed")} == earlier
    assert not earlier & measurements(Settings(run=True)).keys()
