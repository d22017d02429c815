"""Loading models by MLflow address or folder, and the answers of loaded models."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.adept import LABELS
from adnominal.training.answering.classifier import classifier
from adnominal.training.answering.classifier import texts as examples
from adnominal.training.files import replace_json
from adnominal.training.models import loading
from adnominal.training.models.loading import Trained, resolve
from adnominal.training.settings import Settings
from tests.training.conftest import adept_rows, result_of, run_folder, scores, served_answers


def store(tuned: Path) -> str:
    return f"sqlite:///{tuned / 'mlflow.db'}"


@pytest.fixture(scope="module")
def client(tuned):
    from mlflow import MlflowClient

    return MlflowClient(store(tuned))


@pytest.fixture(scope="module")
def adept_model(tuned):
    return resolve("models:/adept/1", store(tuned))


def texts(rows: list[dict[str, Any]]) -> tuple[pa.StringArray, pa.StringArray]:
    return pa.array([r["sentence1"] for r in rows]), pa.array([r["sentence2"] for r in rows])


def test_a_run_is_registered_once(client, tuned):
    (version,) = client.search_model_versions("name='adept'")
    assert version.run_id == result_of(tuned / "out")["run_id"]


def test_served_texts_are_prepared_as_in_training(tuned, adept_model, tmp_path):
    folder = run_folder(tuned / "out") / "model"
    first, second = ["A dog runs."] * 2, ["A fake dog runs. " * 6, "A fake dog runs."]
    expected = scores(adept_model, pa.array(first), pa.array(second)).max(axis=1)
    assert served_answers(folder, first, second)["score"].to_list() == pytest.approx(
        expected, abs=1e-6
    )
    record = json.loads((folder / "adnominal.json").read_text())
    ending = Path(shutil.copytree(folder, tmp_path / "ending"))
    replace_json(ending / "adnominal.json", record | {"task": {"full_stops": "normalised"}})
    bare = ([text.removesuffix(".") for text in texts] for texts in (first, ["A fake dog"] * 2))
    with_stops = served_answers(folder, first, ["A fake dog."] * 2)
    assert served_answers(ending, *bare)["score"].to_list() == with_stops["score"].to_list()


def test_every_address_of_a_model_loads_the_same_weights(client, tuned):
    client.set_registered_model_alias("adept", "best", "1")
    folder = run_folder(tuned / "out")
    run_id = result_of(tuned / "out")["run_id"]
    (output,) = client.get_run(run_id).outputs.model_outputs
    names = {
        "models:/adept/1": "models:/adept/1",
        "models:/adept@best": "models:/adept/1",
        f"models:/{output.model_id}": f"models:/{output.model_id}",
        f"runs:/{run_id}/model": f"runs:/{run_id}/model",
        str(tuned / "out"): str(tuned / "out"),
        str(folder): str(folder),
        f"{folder}/model/": f"{folder}/model",
    }
    sources = {uri: resolve(uri, store(tuned)) for uri in names}
    assert {uri: source.name for uri, source in sources.items()} == names
    assert len({source.content() for source in sources.values()}) == 1
    by_alias = sources["models:/adept@best"]
    assert (by_alias.name, by_alias.run_id) == ("models:/adept/1", run_id)


def test_a_model_is_saved_with_a_record_of_its_training(tuned, tiny_encoder):
    source = resolve("models:/adept/1", store(tuned))
    assert source.trained is not None
    assert source.trained.task["collapse"] is True
    assert source.trained.max_length == 16
    assert source.trained.model == tiny_encoder
    assert (source.pair, source.generates, source.labels) == (True, False, LABELS)
    names, outcome_of = source.outcomes
    assert names == LABELS[1:4]
    assert outcome_of.tolist() == [0, 0, 1, 2, 2]


def test_an_encoder_without_a_trained_head_does_not_classify(tiny_encoder):
    source = resolve(tiny_encoder)
    assert (source.pair, source.trained) == (None, None)
    with pytest.raises(UserError, match=r"classifier\.weight.*not trained"):
        classifier(source).__enter__()


def test_other_weights_are_another_model(tuned, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(run_folder(tuned / "out") / "model", folder)
    earlier_content = resolve(str(folder)).content()
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert resolve(str(folder)).content() != earlier_content


def test_scores_equal_those_of_the_training_run(adept_model, tuned):
    saved_rows = pq.read_table(run_folder(tuned / "out") / "predictions.parquet").to_pylist()
    by_id = {row["item_id"]: row for row in adept_rows()}
    class_scores = scores(adept_model, *texts([by_id[row["item_id"]] for row in saved_rows]))
    assert class_scores.shape == (48, 5)
    np.testing.assert_allclose(class_scores, [row["scores"] for row in saved_rows], atol=1e-6)


def test_scores_do_not_depend_on_batches(adept_model):
    rows = adept_rows()[:40]
    rows[7]["sentence1"] = "A dog runs. " * 5
    advances: list[int] = []
    with classifier(adept_model) as model:
        encoded = model.encode(examples(*texts(rows)))
        together: Any = model.answer(encoded, 16, advances.append).scores
        single_rows = [model.encode(examples(*texts([row]))) for row in rows]
        alone = np.concatenate([model.answer(row, 16).scores for row in single_rows])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(together.sum(axis=1), 1.0)
    assert len(advances) == 3 and sum(advances) == 40


@pytest.mark.parametrize("name", ["vocab.txt", "merges.txt", "spiece.model", "o200k.tiktoken"])
def test_another_vocabulary_is_another_model(tiny_encoder, tmp_path, name):
    folder = Path(shutil.copytree(tiny_encoder, tmp_path / "model"))
    (folder / name).write_text("good\npoor\n")
    (folder / "README.md").write_text("A card.")
    content = loading.content_of(str(folder))
    (folder / "README.md").write_text("Another card.")
    assert loading.content_of(str(folder)) == content
    (folder / name).write_text("poor\ngood\n")
    assert loading.content_of(str(folder)) != content


def test_texts_are_truncated_as_in_training(adept_model, tuned):
    long = pa.array(["A dog runs. " * 20])
    for limit, length in ((None, 16), (32, 32)):
        with classifier(adept_model, max_length=limit) as model:
            assert model.limit == length
            assert model.encode(examples(long, long)).lengths("rows").tolist() == [length]
    with pytest.raises(UserError, match="max_length=33: expected 4 to 32"):
        classifier(adept_model, max_length=33).__enter__()


def test_models_of_a_remote_store_are_fetched_once(client, tuned, monkeypatch, tmp_path):
    monkeypatch.setattr(loading, "DOWNLOADS", tmp_path / "models")
    (output,) = client.get_run(client.get_model_version("adept", "1").run_id).outputs.model_outputs
    location = client.get_logged_model(output.model_id).artifact_location
    (tmp_path / "models").mkdir()
    # Every scheme but file: is fetched, so models:/ can play the remote store. MLflow resolves
    # models:/ with the store that this process used last, whatever store it is given.
    monkeypatch.setattr("mlflow.tracking._tracking_service.utils._tracking_uri", store(tuned))
    first = loading._local_folder(f"models:/{output.model_id}", "adept", store(tuned))
    stamp = (first / "MLmodel").stat().st_mtime_ns
    again = loading._local_folder(f"models:/{output.model_id}", "adept", store(tuned))
    assert (again, (again / "MLmodel").stat().st_mtime_ns) == (first, stamp)
    assert [p.name for p in (tmp_path / "models").iterdir()] == [first.name]
    weights = Path(loading._weights(first, "adept")) / "model.safetensors"
    local_folder = Path(loading._weights(loading._local_folder(location, "adept", ""), "adept"))
    assert weights.read_bytes() == (local_folder / "model.safetensors").read_bytes()


def test_addresses_that_lead_nowhere_are_refused_in_one_line(tuned, tmp_path, tiny_encoder):
    runs = tmp_path / "runs"
    shutil.copytree(run_folder(tuned / "out") / "model", runs / "a" / "model")
    shutil.copytree(runs / "a", runs / "b")
    plain = tmp_path / "plain"
    shutil.copytree(runs / "a" / "model", plain)
    (plain / "model.safetensors").unlink()
    (runs / "a" / "model" / loading.RECORD).write_text("[]")
    (tmp_path / "empty").mkdir()
    run_id = result_of(tuned / "out")["run_id"]
    for uri, message in (
        ("models:/adept/7", "adept has versions 1"),
        ("models:/adept@worst", "adept has versions 1"),
        ("models:/plane/1", "there is adept"),
        ("models:/adept", "expected models:/NAME/VERSION"),
        ("models:/m-0123456789abcdef", "not available"),
        ("runs:/nobody/model", "not available"),
        (f"runs:/{run_id}/other", "has logged model"),
        (str(runs), "2 runs there"),
        (str(runs / "a"), "not what training/finetune.py writes"),
        (str(plain), "no weights there; expected model.safetensors"),
        (str(tmp_path / "empty"), "without config.json"),
        ("./nowhere", "no such folder"),
    ):
        with pytest.raises(UserError, match=message) as error:
            resolve(uri, store(tuned))
        assert "\n" not in str(error.value), uri
    with pytest.raises(UserError, match="no file"):
        resolve("models:/adept/1", f"sqlite:///{tmp_path / 'none.db'}")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(UserError, match="expected tracking="):
        resolve("models:/adept/1")
    (tmp_path / "text").write_text("no store, but a longer text than the header of a database")
    for tracking in (f"sqlite:///{tmp_path / 'text'}", str(tmp_path / "runs"), "nothing://"):
        with pytest.raises(UserError, match=r"models:/adept/1: not available from tracking="):
            resolve("models:/adept/1", tracking)


def test_a_run_that_is_not_finished_is_no_model(tmp_path):
    for name in ("killed", "finished"):
        (tmp_path / name / "model").mkdir(parents=True)
        (tmp_path / name / "model" / "config.json").touch()
        (tmp_path / name / "settings.yaml").touch()
    (tmp_path / "finished" / "result.json").touch()
    assert loading._folder(str(tmp_path)) == tmp_path / "finished" / "model"
    for uri in (tmp_path / "killed", tmp_path / "killed" / "model"):
        with pytest.raises(UserError, match="the run is not finished; run its command again"):
            loading._folder(str(uri))


@pytest.mark.parametrize("more", [["log_model=false"], ["tracking=none"]])
def test_registering_needs_tracking_and_a_logged_model(more):
    with pytest.raises(UserError, match="register=adept: expected tracking= and log_model=true"):
        conf.load(Settings, ["task.name=adept", "register=adept", *more])


def test_the_training_record_can_be_read_back(tuned, tmp_path):
    record = Trained.read(run_folder(tuned / "out") / "model")
    assert record is not None
    record.write(tmp_path)
    assert Trained.read(tmp_path) == record
