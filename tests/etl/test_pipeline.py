"""Several jobs in one session: what is refused before the first, and how failures are reported."""

import dataclasses
from typing import Any

import pytest

from adnominal import conf
from adnominal.conf import JobFailed, UserError
from adnominal.etl import jobs
from adnominal.etl.jobs import JOBS, Job, Settings, planned_steps, run_steps
from adnominal.etl.lake import arrow

ASP = {"edition": "small", "entailment": 20, "degree": 0, "splits": False}


def pipeline(*steps: dict[str, Any], **more: Any) -> Settings:
    return Settings(steps=list(steps), **more)


def test_every_job_has_a_script_with_its_name():
    scripts = {path.stem for path in (conf.ROOT / "etl").glob("*.py")}
    assert JOBS.keys() <= scripts
    spark = {name for name in scripts if name.startswith(("build_", "import_", "extract_"))}
    assert spark == JOBS.keys()


def test_steps_are_read_from_yaml_with_the_lake_and_presets(tmp_path):
    file = tmp_path / "steps.yaml"
    file.write_text(
        "steps:\n- build_asp: {preset: demo, seed: 3}\n- build_sygns:\n"
        "- import_published: {asp: ASP/, lake: other}\n"
    )
    asp, sygns, published = planned_steps(conf.load(Settings, [str(file), "lake=mine"]))
    assert (asp.number, asp.label) == (1, "step 1 of 3, build_asp")
    assert (asp.settings.lake, asp.settings.seed, asp.settings.entailment) == ("mine", 3, 100)
    assert (sygns.settings.lake, published.settings.lake) == ("mine", "other")
    (last,) = planned_steps(conf.load(Settings, [str(file), "first=3"]))
    assert last.number == 3


def test_the_demo_is_a_pipeline():
    steps = planned_steps(conf.load(Settings, [str(conf.ROOT / "conf" / "demo" / "pipeline.yaml")]))
    assert len(steps) == 7


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "the list is empty"),
        ([{"build_asp": {}}, {"build_aps": {}}], r"step 2 of 2, build_aps: no such job; expected"),
        ([{"build_asp": {"sede": 1}}], r"step 1 of 1, build_asp: unknown .* did you mean 'seed'"),
        ([{"build_asp": {"seed": "one"}}], "build_asp: seed=one: expected a whole number"),
        ([{"build_asp": {}, "build_sygns": {}}], "step 1: got build_asp, build_sygns; expected"),
        ([{"build_asp": 1}], "got 1; expected its settings"),
        ([{"extract_amod": {"input": ["a"]}}], "missing setting 'source'"),
    ],
)
def test_invalid_steps_are_rejected_before_the_first_runs(steps, message):
    with pytest.raises(UserError, match=message):
        run_steps(pipeline(*steps))


@pytest.mark.parametrize(
    ("step", "pipeline_settings", "message"),
    [
        ({"engine": "spark"}, {"engine": "sail"}, "got engine=spark, and engine=sail for the pip"),
        ({"engine": "spark"}, {}, "engine=sail for the pipeline; .* give engine= beside steps"),
        ({"memory": "2GB"}, {}, "got memory=2GB, and memory=none for the pipeline"),
        ({"memory": "2GB"}, {"memory": "1GB"}, "got memory=2GB, and memory=1GB for the pipeline"),
    ],
)
def test_a_step_with_another_session_is_refused_before_the_first_runs(
    step, pipeline_settings, message
):
    steps: list[dict[str, Any]] = [{"build_sygns": {}}, {"build_asp": step}]
    with pytest.raises(UserError, match=f"^step 2 of 2, build_asp: .*{message}"):
        planned_steps(pipeline(*steps, **pipeline_settings))
    assert planned_steps(pipeline(*steps, **step))
    assert planned_steps(pipeline({"build_asp": {"engine": "auto", "memory": None}}, **step))
    assert planned_steps(pipeline({"build_asp": {"engine": "sail"}}))


@pytest.mark.parametrize("first", [0, 2])
def test_an_unknown_first_step_is_refused(first):
    with pytest.raises(UserError, match="expected 1 to 1"):
        pipeline({"build_asp": {}}, first=first)


def test_steps_run_in_order_until_one_fails(spark, tmp_path):
    lake = str(tmp_path / "lake")
    steps = (
        {"build_asp": ASP},
        {"extract_amod": {"source": "text", "input": [str(tmp_path / "none.txt")]}},
        {"build_asp": {**ASP, "edition": "later"}},
    )
    with pytest.raises(UserError, match=r"^step 2 of 3, extract_amod: .*none\.txt.*first=2"):
        run_steps(pipeline(*steps, lake=lake))
    assert set(arrow.read(lake, "asp_entailment").column("edition").to_pylist()) == {"small"}


@pytest.mark.parametrize(
    ("error", "expected_type"), [(JobFailed("half of it"), JobFailed), (OSError("full"), OSError)]
)
def test_unexpected_failures_name_their_step(spark, monkeypatch, caplog, error, expected_type):
    @dataclasses.dataclass(frozen=True)
    class Nothing:
        lake: str

    def fail(settings):
        raise error

    monkeypatch.setattr(jobs, "JOBS", {"fails": Job(Nothing, fail)})
    with pytest.raises(expected_type) as raised:
        run_steps(pipeline({"fails": None}))
    messages = str(raised.value) + caplog.text
    assert "step 1 of 1, fails" in messages and "first=1" in messages


def test_the_path_of_a_dump_is_given_beside_the_steps():
    words = [str(conf.ROOT / "conf" / "plane" / "paper.yaml"), "input=/data/a.xml.bz2"]
    extract, *others = planned_steps(conf.load(Settings, words))
    assert extract.settings.input == ["/data/a.xml.bz2"]
    assert [step.label.partition(", ")[2] for step in others] == ["import_knowledge", "build_plane"]
    with pytest.raises(UserError, match="input= is for a step extract_amod"):
        Settings(steps=[{"build_asp": {}}], input=["a"])
