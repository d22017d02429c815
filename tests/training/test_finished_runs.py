"""Groups of finished runs, and stores that cannot be read."""

from adnominal.training.finished_runs import Run, Runs, find_runs, groups


def test_groups_have_the_newest_run_per_seed_and_can_join_axes():
    def run(number: int, **params: str) -> Run:
        return Run(str(number), "finetune", -number, {"seeds": "[0]", **params})

    runs = [run(1, lr="1"), run(2, lr="2"), run(3, lr="1"), run(4, lr="1", fold="b", out="x")]
    assert [[r.id for r in members] for members in groups(runs)] == [["1"], ["2"], ["4"]]
    joined = groups([run(1, lr="1", fold="a"), run(2, lr="1", fold="b", out="x")], ("fold",))
    assert [[r.id for r in members] for members in joined] == [["1", "2"]]


def test_a_store_that_cannot_be_read_is_noted(tmp_path):
    (tmp_path / "other.db").write_text("no database")
    for name, why in (("none.db", "no file"), ("other.db", "file is not a database")):
        store_runs = find_runs(f"sqlite:///{tmp_path / name}")
        assert store_runs.runs == () and why in store_runs.note
    assert find_runs(None) == Runs(note=find_runs(None).note)
