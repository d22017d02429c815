import dataclasses

import pyarrow as pa
import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.training import grid
from adnominal.training.planning import identity
from adnominal.training.settings import Settings
from adnominal.training.tasks import task
from adnominal.training.tasks.adept import Adept


def points(*arguments: str):
    return grid.points(conf.load(Settings, ["task.name=adept", *arguments]))


def test_a_grid_has_every_combination_size_and_seed():
    axes = ("grid.learning_rate=[1e-5,3e-5]", "grid.task.classes=[5,3]")
    grid_points = points(*axes, "train_size=[10,20]", "seeds=0,1")
    assert len(grid_points) == 16
    assert len({conf.settings_hash(identity(point.settings)) for point in grid_points}) == 16
    last = grid_points[-1].settings
    assert (last.learning_rate, last.size, last.seed, last.grid) == (3e-5, 20, 1, {})
    assert last.task == {"name": "adept", "classes": 3}
    assert grid_points[0].label == "learning_rate=1e-05 task.classes=5 train_size=10 seed=0"


def test_names_on_an_axis_keep_their_spelling():
    names = [point.label for point in points("grid.task.edition=[2024_01,1e3]")]
    assert names == ["task.edition=2024_01 seed=0", "task.edition=1e3 seed=0"]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("grid.learning_rate=3", "expected a list"),
        ("grid.learning_rate=[]", "expected a list"),
        ("grid.learning_rate=[1,1]", "the same value twice"),
        ("grid.learning_rate=[1e-5,1.0e-5]", "the same value twice"),
        ("grid.learning_rate=[1,1.0]", "the same value twice"),
        ("grid.learning_rate=[high]", "learning_rate=high: expected a number"),
        ("grid.seeds=[1,2]", r"not an axis of a grid; write seeds=\[1, 2\] itself"),
        *(
            (f"grid.{name}={values}", f"grid.{name}: not an axis of a grid, since it does not")
            for name, values in (
                ("register", "[a,b]"),
                ("attention", "[eager,sdpa]"),
                ("per_device_eval_batch_size", "[1,2]"),
                ("predictions", "[true,false]"),
                ("log_model", "[true,false]"),
                ("run_name", "[a,b]"),
                ("grid.epochs", "[1,2]"),
            )
        ),
        ("grid.lerning_rate=[1,2]", "did you mean 'learning_rate'"),
        ("grid.num_train_epochs=[0]", "num_train_epochs=0: expected more than 0"),
        ("grid.num_train_epochs=[many]", "epochs=many: expected a number"),
        ("grid.epochs=[1,2]", "epochs=: this setting is called num_train_epochs"),
        ("seeds=[1,1]", "the same value twice"),
        ("grid.learning_rate=uniform(1,2)", "a range; expected search=random trials= with it"),
    ],
)
def test_a_wrong_grid_is_reported_in_one_line(argument, message):
    with pytest.raises(UserError, match=message.replace("'", ".")) as error:
        points(argument)
    assert "\n" not in str(error.value)


def test_folders_are_named_after_settings_that_affect_the_weights():
    (point,) = points()
    (same,) = points("out=elsewhere", "tracking=none", "logging_steps=3", "lake=other")
    (other,) = points("weight_decay=0.5")
    name = conf.settings_hash(identity(point.settings))
    assert conf.settings_hash(identity(same.settings)) == name
    assert conf.settings_hash(identity(other.settings)) != name


RANDOM = ("search=random", "grid.learning_rate=loguniform(1e-5,1e-3)", "grid.batch_size=[8,16]")


def test_a_random_search_draws_distinct_combinations():
    trials = points(*RANDOM, "trials=20", "seeds=[3,4]")
    assert len(trials) == 40
    changes = [point.changes for point in trials]
    assert changes[0] == changes[1] != changes[2]
    rates = [values["learning_rate"] for values in changes[::2]]
    assert all(1e-5 <= rate <= 1e-3 for rate in rates)
    # With a uniform logarithm, half of them are below the geometric mean.
    assert 5 <= sum(rate < 1e-4 for rate in rates) <= 15
    assert {values["batch_size"] for values in changes} == {8, 16}
    # More trials add to the earlier ones; another seed draws others.
    assert [point.changes for point in points(*RANDOM, "trials=5", "seeds=[3]")] == changes[:10:2]
    assert points(*RANDOM, "trials=1", "seeds=[4]")[0].changes != changes[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["grid.batch_size=[8,16]", "trials=3"], "trials=3: there are only 2 different"),
        (["trials=3"], "search=random: expected axes"),
        (["grid.learning_rate=loguniform(0,1)", "trials=3"], "finite numbers, 0 < A < B"),
        (["grid.learning_rate=uniform(2,1)", "trials=3"], "finite numbers, A < B"),
        (["grid.learning_rate=uniform(0,inf)", "trials=3"], "finite numbers, A < B"),
        (["grid.learning_rate=uniform(-1e308,1e308)", "trials=3"], "finite numbers, A < B"),
        (["grid.learning_rate=uniform(a,1)", "trials=3"], "expected two numbers"),
        (["grid.learning_rate=normal(0,1)", "trials=3"], "expected a list"),
    ],
)
def test_a_wrong_search_is_reported(arguments, message):
    with pytest.raises(UserError, match=message):
        points("search=random", *arguments)


def test_the_content_hash_follows_the_rows(adept_lake):
    dataset = task({"name": "adept"}).load(adept_lake)
    reloaded = Adept(task({"name": "adept"}).settings).load(adept_lake)
    assert grid.content(dataset) == grid.content(reloaded)
    train = dataset.parts["train"]
    assert train.labels is not None
    labels = train.labels.copy()
    labels[0] += 1
    parts = {**dataset.parts, "train": dataclasses.replace(train, labels=labels)}
    assert grid.content(dataclasses.replace(dataset, parts=parts)) != grid.content(dataset)


def test_the_content_hash_follows_the_groupings(adept_lake):
    dataset = task({"name": "adept"}).load(adept_lake)
    train = dataset.parts["train"]
    (name, values), *_ = train.groups.items()
    for value in (None, "another"):
        changed = pa.array([value, *values.to_pylist()[1:]], pa.string())
        groups = {**train.groups, name: changed}
        parts = {**dataset.parts, "train": dataclasses.replace(train, groups=groups)}
        assert grid.content(dataclasses.replace(dataset, parts=parts)) != grid.content(dataset)


def result(seed: int, accuracy: float, **changes: object) -> dict[str, object]:
    return {"changes": changes, "seed": seed, "figures": {"val/accuracy": accuracy}}


def test_a_summary_has_mean_deviation_and_interval():
    rows = grid.summary([result(s, a, lr=1) for s, a in enumerate((0.70, 0.71, 0.72))])
    (row,) = rows
    figures = row["figures"]["val/accuracy"]
    assert figures["mean"] == pytest.approx(0.71)
    assert figures["deviation"] == pytest.approx(0.01)
    # t(0.975, 2) = 4.302653
    assert figures["high"] - figures["mean"] == pytest.approx(4.302653 * 0.01 / 3**0.5)
    assert row["seeds"] == [0, 1, 2]


def test_one_run_has_no_interval_and_nan_is_never_best():
    rows = grid.summary([result(0, 0.5, lr=1), result(0, float("nan"), lr=2), result(0, 0.4, lr=3)])
    assert set(rows[0]["figures"]["val/accuracy"]) == {"mean", "n"}
    assert grid.best(rows, "val/accuracy", smallest=False) == rows[0]
    assert grid.best(rows, "val/accuracy", smallest=True) == rows[2]
    assert grid.best(rows, "val/loss", smallest=True) is None


def test_the_table_shows_axes_and_means():
    rows = grid.summary([result(0, 0.5, lr=1), result(1, 0.6, lr=1)])
    assert grid.summary_table(rows, ["val/accuracy"]).splitlines() == [
        "| lr | runs | val/accuracy |",
        "| --- | --- | --- |",
        "| 1 | 2 | 0.5500 ± 0.6353 |",
    ]
