"""The settings files for natural-language inference train models that can be scored."""

import pytest

from adnominal import conf
from adnominal.training.answering.readings import scored_model
from adnominal.training.answering.score import score
from adnominal.training.answering.settings import ScoreSettings as Settings
from adnominal.training.job import finetune
from adnominal.training.models.loading import resolve
from adnominal.training.settings import Settings as Training
from tests.rows import write
from tests.training.answering.conftest import results
from tests.training.conftest import UNRECORDED, result_of
from tests.training.tasks import lake as tables

THREE = ("entailment", "neutral", "contradiction")
TWO = ("entailment", "not_entailment")
LABELS = {"mnli": THREE, "snli": THREE, "addone": TWO, "addone_three": THREE}


@pytest.fixture(scope="module")
def nli_lake(tmp_path_factory):
    """Four rows for each part and label of each source, and the items of PLANE."""
    root = str(tmp_path_factory.mktemp("nli") / "lake")
    write(
        root,
        "nli",
        [
            {
                "item_id": f"{source}-{part}-{label}-{at}",
                "source": source,
                "premise": f"A {noun} runs.",
                "hypothesis": f"A {adjective} {noun} runs.",
                "label": label,
                "split": part,
            }
            for source, labels in LABELS.items()
            for part in ("train", "val", *(["val_mismatched"] if source == "mnli" else []))
            for label, adjective in zip(labels, ("old", "brown", "fake"), strict=False)
            for at, noun in enumerate(("dog", "gun", "boat", "horse"))
        ],
    )
    tables.plane(root)
    return root


@pytest.mark.parametrize("name", LABELS)
def test_the_settings_file_trains_a_model_that_is_scored(name, nli_lake, tiny_encoder, tmp_path):
    words = [str(conf.ROOT / "conf" / "training" / f"{name}.yaml"), f"model={tiny_encoder}"]
    words += [f"lake={nli_lake}", f"out={tmp_path / 'run'}", *UNRECORDED]
    finetune(conf.load(Training, [*words, "max_length=16", "num_train_epochs=1", "seeds=[0]"]))
    trained = result_of(tmp_path / "run")
    assert trained["updates"] == 1
    scored = scored_model(resolve(str(tmp_path / "run")))
    assert (scored.labels, scored.form) == (LABELS[name], "pair")
    words = [f"lake={nli_lake}", f"model={tmp_path / 'run'}", f"out={tmp_path / 'score'}"]
    words += ["tasks=[plane,pairs]", f"task.pairs.edition={name}", "task.pairs.part=val"]
    words.append(f"task.pairs.labels=[{','.join(LABELS[name])}]")
    score(conf.load(Settings, [*words, *UNRECORDED]))
    by_key = {result["key"]: result for result in results(tmp_path / "score")}
    assert by_key["plane"]["rows"] == 9
    # On its own task, the model has the score that it had in training.
    figures = by_key["pairs"]["figures"]
    assert figures["val/accuracy"] == pytest.approx(trained["figures"]["val/accuracy"])
