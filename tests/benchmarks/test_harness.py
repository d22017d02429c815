"""The harness finds wrong counts and missed bounds, and records what has been measured."""

import json
from functools import partial

import pytest

from adnominal.conf import JobFailed, UserError, load
from benchmarks import harness, peers, rendering
from benchmarks.__main__ import main
from benchmarks.cases import Bound, Case, CaseSettings, in_parts
from benchmarks.inputs import make_parts
from benchmarks.rendering import outcome
from benchmarks.results import figures_of, recorded_entries


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A file for the figures, and sections without a template."""
    monkeypatch.setattr(rendering, "render", lambda template, **values: template)
    return tmp_path / "results.json"


def case_of(figures, **declared):
    return Case("faults", "Title", lambda settings: {"all": lambda: figures}, **declared)


def test_a_run_is_recorded_with_machine_and_date_and_shown(store, capsys):
    case = case_of({"rows": 3}, packages=("pytest",))
    assert harness.run(case, CaseSettings(), store) == {"all": {"rows": 3}}
    (entry,) = json.loads(store.read_text())["faults"].values()
    assert entry["figures"] == {"rows": 3}
    assert "pytest" in entry["versions"] and " GiB" in entry["machine"]
    assert entry["date"] in capsys.readouterr().out
    assert "## Jobs killed" not in store.with_name("RESULTS.md").read_text()


def test_nothing_is_recorded_if_it_is_not_wanted(store, capsys):
    harness.run(case_of({"rows": 3}), CaseSettings(keep=False), store)
    assert not store.exists() and "## Title" in capsys.readouterr().out


def test_a_wrong_count_is_not_recorded(store):
    counts = {"all.rows": 4, "all.rows if all.other else none": 5, "missing.rows": 6}
    case = case_of({"rows": 3, "other": 0}, exact=counts)
    with pytest.raises(JobFailed, match=r"not recorded: all.rows is 3, expected exactly 4$"):
        harness.run(case, CaseSettings(), store)
    assert not store.exists()


def test_a_lost_pair_of_the_kernel_is_a_wrong_count(store, tmp_path, monkeypatch):
    (part,) = make_parts(tmp_path, 0.2, 1)
    reading = peers.read("compiled", str(part))
    case = Case(
        "faults",
        "Title",
        lambda settings: {"kernel": lambda: peers.read("compiled", str(part))},
        exact={"kernel.pairs": reading["pairs"]},
    )
    harness.run(case, CaseSettings(keep=False), store)
    kernel = peers.kernel

    def with_loss(path, implementation):
        pairs, counts = kernel(path, implementation)
        pairs.subtract([next(iter(pairs))])
        return pairs, counts

    monkeypatch.setitem(peers.SIDES, "compiled", partial(with_loss, implementation="compiled"))
    with pytest.raises(JobFailed, match=r"kernel.pairs is \d+, expected exactly \d+"):
        harness.run(case, CaseSettings(keep=False), store)


def test_a_missed_bound_fails_after_the_figures_are_recorded(store):
    case = case_of({"rows": 3}, bounds={"rows": Bound("all.rows / 2", most=1)})
    with pytest.raises(JobFailed, match="missed rows"):
        harness.run(case, CaseSettings(), store)
    assert figures_of(recorded_entries(store)["faults"]) == {"all": {"rows": 3}}


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (Bound("all.rows", least=3), "met"),
        (Bound("all.rows", least=4), "missed"),
        (Bound("all.rows", most=3), "met"),
        (Bound("all.rows", most=0), "missed"),
        (Bound("all.rows / other.rows", most=2), "not measured"),
    ],
)
def test_floors_and_ceilings_may_be_reached(bound, expected):
    assert outcome(bound, {"all": {"rows": 3}}) == expected


def test_recorded_figures_are_not_measured_again(store):
    measured = []

    def measure(name):
        measured.append(name)
        return {"rows": len(measured)}

    def measurements(settings):
        return {name: partial(measure, name) for name in ("a", "b")}

    case = Case("faults", "Title", measurements, resumes=True)
    harness.run(case, CaseSettings(), store)
    assert figures_of(recorded_entries(store)["faults"]) == {"a": {"rows": 1}, "b": {"rows": 2}}
    assert harness.run(case, CaseSettings(), store) == {} and measured == ["a", "b"]
    harness.run(case, CaseSettings(again=True, keep=False), store)
    assert measured == ["a", "b", "a", "b"]
    assert figures_of(recorded_entries(store)["faults"])["b"] == {"rows": 2}


def test_only_parts_measured_in_this_run_can_miss_a_bound(store):
    parts = in_parts(a=lambda settings: {"rows": 3}, b=lambda settings: {"rows": 1})
    bounds = {name: Bound(f"{name}.rows", most=2) for name in ("a", "b")}
    case = Case("faults", "Title", parts, bounds=bounds)
    with pytest.raises(JobFailed, match="missed a "):
        harness.run(case, CaseSettings(), store)
    assert harness.run(case, CaseSettings(parts=["b"]), store) == {"b": {"rows": 1}}


def test_parts_are_chosen_by_name():
    measurements = in_parts(one=lambda settings: {"x": 1}, two=lambda settings: {"x": 2})
    assert [measure() for measure in measurements(CaseSettings()).values()] == [{"x": 1}, {"x": 2}]
    assert list(measurements(CaseSettings(parts=["two"]))) == ["two"]
    with pytest.raises(UserError, match=r"parts=\['three'\]: expected some of one, two"):
        measurements(CaseSettings(parts=["three"]))
    with pytest.raises(UserError, match="plant"):
        load(CaseSettings, ["plant=slow"])


def test_the_command_line_lists_cases(capsys):
    assert main([]) == 0
    assert "extract   How fast pairs are counted" in capsys.readouterr().out
    assert main(["nothing"]) == 2
    assert main(["extract", "rounds=0"]) == 2
    assert main(["engines", "trees"]) == 2
    assert "expected some of treebank" in capsys.readouterr().err
