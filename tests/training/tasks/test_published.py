"""With the published rows, tasks have the sizes and baselines of the papers."""

import json

import numpy as np
import pytest

from adnominal.etl.lake import arrow
from adnominal.etl.published import asp
from adnominal.training.tasks import task
from tests.training.tasks import lake as tables


@pytest.fixture(scope="module")
def adept_lake(shared_data, tmp_path_factory):
    lake = str(tmp_path_factory.mktemp("adept"))
    tables.adept(
        lake,
        [
            (str(row["idx"]), part, int(row["label"]))
            for part in ("train", "val")
            for row in json.loads((shared_data / "adept" / f"{part}.json").read_text())
        ],
    )
    return lake


@pytest.mark.parametrize(
    ("settings", "rows", "majority"),
    [
        ({"classes": 5}, 1611, 66.42),
        ({"classes": 3}, 1611, 66.42),
        ({"classes": 3, "collapse": True}, 1611, 66.42),
        ({"classes": 4}, 1375, 77.82),
    ],
)
def test_adepts_majorities_are_those_of_the_paper(adept_lake, settings, rows, majority):
    adept_task = task({"name": "adept", **settings})
    dataset = adept_task.load(adept_lake)
    always = np.full(rows, dataset.labels.index("equally likely"))
    scores = adept_task.evaluate(dataset, "val", always)
    assert round(100 * scores["accuracy"], 2) == round(100 * scores["majority"], 2) == majority


def test_asps_published_rounds_have_the_sizes_of_the_paper(shared_data, tmp_path):
    lake = str(tmp_path)
    for name, rows in asp.read(shared_data / "asp").tables.items():
        arrow.append(lake, name, rows, job="test")
    settings = {"name": "asp", "edition": "published", "train_edition": "published_tuning"}
    dataset = task({**settings, "scheme": "adjectives", "round": "published"}).load(lake)
    sizes = {part: len(rows) for part, rows in dataset.parts.items()}
    assert (sizes["train"], sizes["val"]) == (1200, 300)
    assert sizes["test"] + sizes["leaking"] == 8000
    assert np.bincount(np.asarray(dataset.parts["train"].labels)).tolist() == [400, 400, 400]
    for dimension in ("length", "mass", "temperature", "price"):
        dataset = task({**settings, "scheme": "dimension", "dimension": dimension}).load(lake)
        assert (len(dataset.parts["train"]), len(dataset.parts["val"])) == (3600, 862)
        assert np.bincount(np.asarray(dataset.parts["train"].labels)).tolist() == [1200, 1200, 1200]
