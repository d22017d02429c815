"""The items of each task in the form that a model reads."""

import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.training.answering.label_map import Undefined
from adnominal.training.answering.targets import Target
from adnominal.training.planning import prepare
from adnominal.training.settings import Settings
from tests.rows import write
from tests.training.tasks import lake as tables


def target(lake, key="plane", limit=None, **values):
    return Target(key, values, lake, limit, 0)


def texts(lake, form, key="plane", **values):
    scored_target = target(lake, key, **values)
    examples = scored_target.dataset(form).parts[scored_target.part]
    second = [None] * len(examples) if examples.second is None else examples.second.to_pylist()
    pairs = zip(examples.first.to_pylist(), second, strict=True)
    return dict(zip(examples.item_ids.to_pylist(), pairs, strict=True))


def test_plane_as_a_pair_a_statement_and_a_change(task_lake):
    item = "fake-oak-2"
    assert texts(task_lake, "pair")[item] == ("fake oak", "tree")
    assert texts(task_lake, "statement")[item] == ("A fake oak is a tree", None)
    assert texts(task_lake, "change")[item] == ("An oak is a tree", "A fake oak is a tree")


def test_a_change_of_plane_drops_an_adjective_that_is_the_same_word_as_its_noun(tmp_path):
    item: dict[str, object] = {
        "item_id": "i",
        "noun": "criminal",
        "sentence": "A criminal criminal is a wrongdoer",
    }
    item |= {"adjective": "criminal", "class": "I", "inference_type": 2, "label": 1}
    part = {"scheme": "published", "fold": "1", "part": "test", "item_id": "i"}
    write(tmp_path, "plane_items", [{**item, "edition": "published"}])
    write(tmp_path, "plane_splits", [{**part, "edition": "published"}])
    change = ("A criminal is a wrongdoer", "A criminal criminal is a wrongdoer")
    assert texts(str(tmp_path), "change")["i"] == change


def test_adept_as_a_pair_a_statement_and_words(task_lake):
    both_sentences = ("A dog of a5 barks.", "A dead dog of a5 barks.")
    for form in ("pair", "change"):
        assert texts(task_lake, form, "adept", part="val")["a5"] == both_sentences
    assert texts(task_lake, "statement", "adept", part="val")["a5"] == (both_sentences[1], None)
    assert texts(task_lake, "words", "adept", part="val")["a5"] == ("dog", "dead")


def test_asp_as_a_pair_and_as_one_text(task_lake):
    values = {"edition": "published", "scheme": "all"}
    pair = ("The ox is very big.", "The ox is big.")
    assert texts(task_lake, "pair", "asp", **values)["published-t1"] == pair
    assert texts(task_lake, "statement", "asp", **values)["published-t1"] == (
        "The ox is very big. The ox is big.",
        None,
    )


def test_words_alone_are_for_adept(task_lake):
    with pytest.raises(Undefined, match="cannot read sentences"):
        target(task_lake).dataset("words")


def test_all_of_asp_is_every_row_that_is_not_discarded(task_lake):
    scored_target = target(task_lake, "asp", edition="published", scheme="all")
    dataset = scored_target.dataset("pair")
    # The label of published-d2 is discard.
    assert sorted(dataset.parts["test"].item_ids.to_pylist()) == [
        "leak",
        "published-d0",
        "published-d1",
        "published-t1",
        "published-t2",
    ]
    assert (dataset.scheme, dataset.fold) == ("all", "")
    assert [source.table for source in dataset.sources] == ["asp_entailment", "asp_degree"]


def test_normalised_full_stops_make_another_scheme(task_lake):
    values = {"edition": "published", "scheme": "all", "full_stops": "normalised"}
    scored_target = target(task_lake, "mine", name="asp", **values)
    dataset = scored_target.dataset("pair")
    assert dataset.scheme == "all, full stops written"
    assert all(text.endswith(".") for text in dataset.parts["test"].second.to_pylist())


def test_a_limit_draws_the_same_rows_for_every_model(task_lake):
    scored_target = target(task_lake, limit=4)
    samples = [
        scored_target.dataset(form).parts["test"].item_ids.to_pylist()
        for form in ("pair", "change")
    ]
    assert samples[0] == samples[1]
    assert len(samples[0]) == 4
    fewer = target(task_lake, limit=2).dataset("pair").parts["test"].item_ids.to_pylist()
    assert set(fewer) < set(samples[0])


@pytest.mark.parametrize(
    ("key", "values", "reason"),
    [
        ("plane", {"input": "pair"}, r"task.plane.input=pair: the model decides"),
        ("adept", {"context": False}, "the model decides"),
        ("mine", {}, "task.mine: task.name=mine: expected one of adept"),
        ("plane", {"schema": "strict"}, "task.plane: .*did you mean 'scheme'"),
        ("plane", "demo", "task.plane=demo: expected a setting .* as task.plane.edition=demo"),
    ],
)
def test_settings_that_do_not_fit_are_refused(key, values, reason):
    with pytest.raises(UserError, match=reason):
        Target(key, values, "lake", None, 0)


def test_a_missing_part_is_reported_with_the_existing_ones(task_lake):
    with pytest.raises(UserError, match=r"part=test: adept_5.*there is train \(5\), val \(4\)"):
        target(task_lake, "adept").dataset("pair")


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (("not_entailment", "entailment"), ("entailment", "not_entailment")),
        (("neutral", "entailment"), ("contradiction", "entailment", "neutral")),
        (("yes", "no"), ("no", "yes")),
    ],
)
def test_pairs_without_training_rows_are_scored(tmp_path, labels, classes):
    lake = str(tmp_path)
    pair = {"source": "mine", "premise": "A man sleeps.", "hypothesis": "A man is asleep."}
    pairs = [{**pair, "item_id": label, "label": label, "split": "test"} for label in labels]
    write(lake, "nli", pairs)
    dataset = target(lake, "pairs", edition="mine").dataset("pair")
    assert dataset.labels == classes
    assert len(dataset.parts["test"]) == 2


def test_a_dataset_with_a_single_part_is_scored(tmp_path):
    lake = str(tmp_path)
    tables.adept(lake, [("a5", "val", 0)])
    assert texts(lake, "words", "adept", part="val") == {"a5": ("dog", "dead")}


def test_rows_for_scoring_only_cannot_be_trained_on(task_lake, tmp_path):
    words = ["task.name=asp", "task.edition=published", "task.scheme=all", f"out={tmp_path}"]
    with pytest.raises(UserError, match=r"scheme=all: asp has no rows to train on"):
        prepare(conf.load(Settings, [f"lake={task_lake}", *words]))


def test_items_without_a_training_part_are_scored(task_lake, tmp_path):
    lake = str(tmp_path / "lake")
    tables.plane(lake)
    split = {"scheme": "two_shot", "fold": "1", "part": "test", "edition": "published"}
    write(lake, "plane_splits", [{**split, "item_id": "fake-oak-2"}])
    dataset = target(lake, scheme="two_shot").dataset("pair")
    assert dataset.parts["test"].item_ids.to_pylist() == ["fake-oak-2"]
