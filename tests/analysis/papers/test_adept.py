import json
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest

from adnominal.analysis import slices
from adnominal.analysis.editions import Lake, open_lake
from adnominal.analysis.estimates import Interval, wilson
from adnominal.analysis.papers.adept import asked, dataset, models, sources
from adnominal.analysis.papers.exhibits import Chart
from adnominal.analysis.papers.published import agrees, table, value
from adnominal.analysis.report_numbers import Cells
from adnominal.conf import UserError
from adnominal.etl.adept import LABELS
from adnominal.etl.knowledge import lexicons
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table as declaration
from adnominal.training.finished_runs import Run, Runs
from tests.rows import rows as records
from tests.rows import write


def rows(*cells: tuple[str, int, str], agreement: str | None = None) -> pa.Table:
    items = records(
        "item_id modifier label split_random",
        *((str(at), *cell) for at, cell in enumerate(cells)),
        agreement=agreement,
        edition="mine",
    )
    return pa.Table.from_pylist(items, declaration("adept").schema)


SMALL = rows(
    ("red", 2, "train"),
    ("big", 2, "train"),
    ("fake", 0, "train"),
    ("fake", 0, "val"),
    ("fake", 1, "val"),
    ("red", 2, "val"),
    ("red", 4, "val"),
    agreement="majority",
)


def test_baselines_of_literal_rows():
    accuracies = models.baselines(SMALL, {"fake"})
    # The labels are 0 1 2 4; the majority answers 2, the rule answers lowest, lowest, 2, 2.
    assert {key: share.estimate for key, share in accuracies.items()} == {
        ("majority", 5): 0.25,
        ("normative rule", 5): 0.5,
        ("majority", 3): 0.25,
        ("normative rule", 3): 0.75,
        ("majority", 4): pytest.approx(1 / 3),
        ("normative rule", 4): pytest.approx(2 / 3),
    }
    with pytest.raises(ValueError, match="no labels"):
        models.baselines(SMALL.slice(3), {"fake"})


def test_instances_are_counted_if_all_parts_are_there(tmp_path):
    for number, part in enumerate(("train", "val", "test")):
        cells = (str(number), 2, "red", part)
        item = records("item_id label modifier split_random", cells, edition="published")
        write(tmp_path, "adept", item)
        page = sources.Adept(open_lake(str(tmp_path)), Runs(()))
        sizes = [
            finding.values
            for finding in dataset.agreement.build(page)
            if isinstance(finding, Cells) and finding.table == "section 4.1"
        ]
        assert sizes == ([{("instances", "entries"): 3.0}] if part == "test" else [])


def test_labels_are_counted_by_part_and_kind():
    label_rows = dataset.label_table(SMALL)
    assert [row["part"] for row in label_rows[::5]] == ["train", "val", "all"]
    assert label_rows[0] == {"part": "train", "label": "impossible", "count": 1} | {
        "share": pytest.approx(1 / 3),
        "unanimous": 0.0,
    }
    assert label_rows[1]["unanimous"] is None
    kinds = slices.subsectivity(SMALL.column("modifier").to_pylist(), {"fake"})
    shares = dataset.label_shares(SMALL, kinds)
    name, share = next(iter(shares.items()))
    assert name == ("non-subsective (3)", "impossible") and share == wilson(2, 3)
    cells, chart = dataset.label_findings("Labels", SMALL, kinds, {"edition": "mine"})
    assert isinstance(cells, Cells) and isinstance(chart, Chart)
    assert len(cells.values) == 10 and ("subsective (4)", "impossible") in cells.values
    assert (chart.kind, chart.tables) == ("shares", ("Labels",))


def test_a_prefix_of_the_list_makes_an_adjective_non_subsective_in_figure_4(tmp_path):
    adjectives = ("anti-war", "fake", "old")
    rows = [
        {"item_id": word, "modifier": word, "label": 1, "edition": "published"}
        for word in adjectives
    ]
    write(str(tmp_path), "adept", rows)
    page = sources.Adept(open_lake(str(tmp_path)), Runs())
    cells = [item for item in dataset.by_class.build(page) if isinstance(item, Cells)]
    assert cells[0].values["non-subsective (2)", "less likely"] == wilson(2, 2)
    assert cells[0].values["subsective (1)", "less likely"] == wilson(1, 1)


def test_the_caption_of_a_confusion_matrix_has_the_accuracy_of_its_run(tmp_path, monkeypatch):
    gold = [*LABELS[:4], LABELS[0]]
    answers = pa.table({"gold": gold, "predicted": [*gold[:4], LABELS[1]]})
    runs = [Run(name, "finetune", 1, {"model": "small"}, group="g") for name in ("a", "b")]
    mean_of_seeds = Interval(0.5, 0.4, 0.6, 10)
    best = sources.Scored(runs, 5, True, mean_of_seeds, answers)
    monkeypatch.setattr(sources.Adept, "best", lambda page, classes: best)
    monkeypatch.setattr(sources.Adept, "edition", "mine")
    findings = models.five_classes.build(sources.Adept(Lake(str(tmp_path), {}), Runs()))
    captions = [finding.caption for finding in findings if isinstance(finding, Chart)]
    assert captions[1].startswith("Answers of small, our best model on val, its best run: 80.0 %")


def test_a_frozen_encoder_has_a_row_of_its_own(tmp_path):
    labels = {"train": (2, 2, 0), "val": (2, 0, 2, 0)}
    cells = [
        (f"{part}-{at}", label, "red", part)
        for part, codes in labels.items()
        for at, label in enumerate(codes)
    ]
    items = records("item_id label modifier split_random", *cells, edition="mine")
    write(tmp_path, "adept", items)
    # Frozen, the model is right about all; trained, about the two items of the majority.
    answers = [
        {"run_id": run, "item_id": item, "gold": LABELS[label], "model": "roberta-base", "seed": 0}
        | {"predicted": LABELS[label if run == "frozen" else 2], "task": "adept_5"}
        | {"edition": "mine", "scheme": "random", "fold": "", "prompt": "", "verbaliser": ""}
        for run in ("frozen", "trained")
        for item, label, _, part in cells
        if part == "val"
    ]
    write(tmp_path, "predictions", answers)
    params = {"model": "roberta-base", "task.name": "adept", "task.edition": "mine"}
    params |= {"task.split": "random", "task.classes": "5", "task.context": "true"}
    runs = [
        Run(name, "finetune", 1, params | {"freeze": freeze}, group=name)
        for name, freeze in (("frozen", "true"), ("trained", "false"))
    ]
    page = sources.Adept(open_lake(str(tmp_path)), Runs(runs))
    cells_of: dict[str, dict[tuple[str, str], float]] = {"table 5": {}, "Models": {}}
    for finding in models.accuracy.build(page):
        if isinstance(finding, Cells) and finding.model:
            name = "table 5" if finding.table == "table 5" else "Models"
            for key, share in finding.values.items():
                assert isinstance(share, Interval)
                cells_of[name][key] = share.estimate
    assert cells_of["table 5"] == {("RoBERTa", "5-class"): 0.5}
    assert cells_of["Models"] == {
        ("roberta-base", "5-class"): 0.5,
        ("roberta-base", "majority of 5"): 0.5,
        ("roberta-base, frozen encoder", "5-class"): 1.0,
        ("roberta-base, frozen encoder", "majority of 5"): 0.5,
    }


def test_a_confusion_matrix_has_every_cell():
    counts = models.confusion(["a", "a", "b"], ["a", "b", "b"], ["a", "b"])
    assert list(counts.items()) == [
        (("a", "a"), 1),
        (("a", "b"), 1),
        (("b", "a"), 0),
        (("b", "b"), 1),
    ]
    with pytest.raises(ValueError, match="label 'c'; expected one of a, b"):
        models.confusion(["a"], ["c"], ["a", "b"])


def test_existing_stages_are_counted(tmp_path):
    lake = str(tmp_path)
    pairs = [("web", "car"), ("web", "key"), ("news", "car")]
    write(lake, "amod_pairs", records("corpus noun", *pairs, adjective="red", count=1))
    items = [(str(at), at == 0) for at in range(4)]
    write(lake, "adept_items", records("item_id chosen", *items, edition="mine"))
    assert dataset.stages(lake, "mine") == {"pairs": 3, "variants": 4, "sentences": 1}


def test_a_missing_edition_is_reported(tmp_path):
    arrow.append(str(tmp_path), "adept", SMALL, job="t")
    assert sources.read(str(tmp_path), "mine").num_rows == 7
    with pytest.raises(UserError, match="edition=theirs: no rows"):
        sources.read(str(tmp_path), "theirs")


@pytest.fixture(scope="module")
def release(shared_data) -> pa.Table:
    released = [
        {"item_id": str(row["idx"]), "modifier": row["modifier"], "noun": row["noun"]}
        | {"label": row["label"], "split_random": part, "edition": "published"}
        for part in ("train", "val")
        for row in json.loads((shared_data / "adept" / f"{part}.json").read_text())
    ]
    return pa.Table.from_pylist(released, declaration("adept").schema)


def test_table_5_is_reproduced_to_the_printed_digit(release):
    modifiers = release.column("modifier").to_pylist()
    accuracies = models.baselines(release, lexicons.nonsubsective_among(modifiers))
    for name in ("majority", "normative rule"):
        for classes in (3, 5):
            printed = value("adept", "table 5", name, f"{classes}-class")
            assert agrees(printed, 100 * accuracies[name, classes].estimate)
    assert 100 * accuracies["majority", 4].estimate == pytest.approx(77.8, abs=0.05)


def test_table_4_is_reproduced_to_the_printed_digit(release):
    labels = dataset.label_table(release)
    by_label = {row["label"]: row for row in labels if row["part"] == "all"}
    for (row, label), printed in table("adept", "table 4").items():
        if row == "label distribution":
            assert agrees(printed, by_label[label]["share"]), label
        assert printed.recomputable == (row == "label distribution")
    for part in ("train", "val"):
        rows_of = sum(r["count"] for r in labels if r["part"] == part)
        assert rows_of == value("adept", "table 4, sizes", part, "rows").value


def test_figure_4_is_reproduced_from_the_release(release):
    modifiers = release.column("modifier").to_pylist()
    sixty = set(lexicons.nonsubsective_adjectives()) - {"dead"}
    kinds = ["dead" if m == "dead" else "sixty" if m in sixty else "other" for m in modifiers]
    shares: dict[str, list[float]] = defaultdict(list)
    for (kind, _), share in dataset.label_shares(release, kinds).items():
        assert isinstance(share, Interval)
        shares[kind.split(" ")[0]].append(round(share.estimate, 3))
    # The expected shares were counted independently on train and val.
    assert shares["sixty"] == pytest.approx([0.250, 0.254, 0.468, 0.025, 0.003], abs=6e-4)
    assert shares["dead"] == pytest.approx([0.755, 0.096, 0.119, 0.018, 0.012], abs=6e-4)
    assert shares["other"] == pytest.approx([0.082, 0.073, 0.751, 0.088, 0.006], abs=6e-4)
    groups = slices.identity(modifiers, lexicons.identity())
    assert {"other", "age"} <= set(groups)


def test_asked_models_are_read_by_probability_and_by_what_they_write(tmp_path):
    lake = str(tmp_path)
    write(lake, "adept", SMALL.slice(3).to_pylist())
    gold = {row["item_id"]: LABELS[row["label"]] for row in SMALL.slice(3).to_pylist()}
    common = {"task": "adept", "edition": "mine", "model": "m"}
    chosen = [
        {**common, "run_id": "c", "item_id": item, "gold": label, "prompt": prompt,
         "scores": [float(name == label) if prompt == "a" else 0.0 for name in LABELS]}
        for item, label in gold.items()
        for prompt in ("a", "b")
    ]  # fmt: skip
    written = [
        {**common, "run_id": "w", "item_id": item, "gold": label, "prompt": "a",
         "state": "parsed" if number else "cut off", "predicted": label if number else None}
        for number, (item, label) in enumerate(gold.items())
    ]  # fmt: skip
    write(lake, "predictions", [*chosen, *written])
    params = {"task.name": "adept", "part": "val", "shots": "0", "model_name": "x/m"}
    runs = [
        Run("w", "prompt", 2, {**params, "form": "generate"}, group="w"),
        Run("c", "prompt", 1, params, group="c"),
    ]
    page = sources.Adept(open_lake(lake), Runs(runs))
    values: dict[tuple[str, str], Any] = {}
    for cells in asked.untrained_models.build(page):
        assert isinstance(cells, Cells)
        values |= cells.values
    name = "m, 0 examples, {}"
    # With equal scores, the first label is answered, which is that of one item of four.
    chosen_accuracy = values[name.format("most probable words"), "accuracy"]
    assert chosen_accuracy.estimate == pytest.approx((1 + 1 / 4) / 2)
    assert values[name.format("written answer"), "accuracy"].estimate == 0.75
    assert values[name.format("written answer"), "parsed"] == 0.75
