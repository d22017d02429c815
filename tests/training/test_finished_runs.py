"""Groups of finished runs, and stores that cannot be read."""

from dataclasses import replace

from mlflow import MlflowClient

from adnominal.training.finished_runs import Run, Runs, find_runs, groups


def test_groups_have_the_newest_run_per_seed_and_can_join_axes():
    def run(number: int, **params: str) -> Run:
        all_params = {"seeds": "[0]", **params}
        return Run(str(number), "finetune", -number, all_params, group=str(params))

    runs = [run(1, lr="1"), run(2, lr="2"), run(3, lr="1"), run(4, lr="1", fold="b", out="x")]
    assert [[r.id for r in members] for members in groups(runs)] == [["1"], ["2"], ["4"]]
    one, two = run(1, lr="1", seeds="[1]"), run(2, lr="1")
    assert len(groups([one, two])) == 2
    assert groups([replace(one, group="g"), replace(two, group="g")]) == [
        [replace(one, group="g"), replace(two, group="g")]
    ]
    joined = groups([run(1, lr="1", fold="a"), run(2, lr="1", fold="b", out="x")], ("fold",))
    assert [[r.id for r in members] for members in joined] == [["1", "2"]]


def test_a_store_that_cannot_be_read_is_noted(tmp_path):
    (tmp_path / "other.db").write_text("no database")
    for name, why in (("none.db", "no file"), ("other.db", "file is not a database")):
        store_runs = find_runs(f"sqlite:///{tmp_path / name}")
        assert store_runs.runs == () and why in store_runs.note
    assert find_runs(None) == Runs(note=find_runs(None).note)


def test_only_finished_runs_of_our_jobs_are_found(tmp_path, caplog):
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    client = MlflowClient(uri)
    experiment = client.create_experiment("e")

    def run(status: str = "FINISHED", **tags: str) -> str:
        run_id: str = client.create_run(experiment, tags=tags).info.run_id
        client.log_param(run_id, "seeds", "[0]")
        client.set_terminated(run_id, status)
        return run_id

    parent = run(job="finetune")
    nested = run(job="finetune", group="g", **{"mlflow.parentRunId": parent})
    alone = run(job="prompt", group="h")
    # A grid whose runs all belong to an earlier grid, a failed run, and another program's run.
    run(job="finetune", nested_runs="2")
    run("FAILED", job="finetune", group="g")
    run()
    run(job="score")
    with caplog.at_level("WARNING", logger="adnominal"):
        found = find_runs(uri)
    assert {(r.id, r.job, r.group, r.params["seeds"]) for r in found.runs} == {
        (nested, "finetune", "g", "[0]"),
        (alone, "prompt", "h", "[0]"),
    }
    message = "1 runs without the tag group, of another version of this program, are not shown; "
    messages = [entry.getMessage() for entry in caplog.records if entry.name == "adnominal"]
    assert messages == [f"{message}do them again: training/score.py"]
