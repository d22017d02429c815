import json
import logging
import math
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from adnominal import conf
from adnominal.analysis.predictions import read_prompted
from adnominal.conf import JobFailed, UserError
from adnominal.conf.progress import Progress
from adnominal.etl.lake import arrow
from adnominal.training.asking import engine, job, masked
from adnominal.training.asking.job import prompt
from adnominal.training.asking.local import Local
from adnominal.training.asking.masked import Masked
from adnominal.training.asking.scores import cells, class_table
from adnominal.training.asking.settings import Settings
from tests import fork_server
from tests.commands import run_python
from tests.rows import plane_item, write
from tests.training import ranks
from tests.training.asking.stub_server import StubServer, logprob
from tests.training.conftest import run_folder, with_nan

FILES = {
    "adept_chat": ["out=runs"],
    "sygns_prompt": ["out=runs"],
    "plane_prompt": ["out=runs"],
    "plane_zero_shot": ["out=runs"],
    "asp_prompt": ["out=runs"],
    "adept_prompt": ["out=runs"],
}
TWO_SHOT = ["shots=2", "templates=internal", "verbalisers=good/poor"]


@pytest.fixture
def run_prompt(prompt_lake, tmp_path):
    """A function that prompts a model with the rows of a new lake and returns the saved result."""

    def run(model, *more, out="runs"):
        folder = tmp_path / out
        base = [f"model={model}", f"lake={prompt_lake}", f"out={folder}", "tracking=none"]
        settings = conf.load(Settings, [*base, f"cache={tmp_path / 'cache'}", *more])
        earlier_results = set(folder.glob("*/result.json"))
        prompt(settings)
        (result_file,) = set(folder.glob("*/result.json")) - earlier_results
        return json.loads(result_file.read_text())

    run.__dict__.update(lake=prompt_lake, out=tmp_path / "runs")
    return run


def rows(lake, run=None):
    predictions = arrow.read(lake, "predictions").to_pylist()
    return [row for row in predictions if run is None or row["run_id"] == run]


def test_generative_models_answer_adept(run_prompt, gpt2, t5, adept_lake):
    words = ["task=adept", "edition=published", "part=val", f"lake={adept_lake}"]
    words += ["predictions=false", "limit=6"]
    for model in (gpt2, t5):
        result = run_prompt(model, *words, "templates=[likely,happens]")
        assert result["prompts"] == 12
        assert {"majority", "accuracy", "accuracy_deviation", "macro_f1"} <= set(result["figures"])
    with pytest.raises(UserError, match=r"part=dev: .* there is test, train, val"):
        run_prompt(gpt2, *words, "part=dev")


@pytest.mark.parametrize("name", FILES)
def test_every_settings_file_can_be_loaded(name):
    settings = conf.load(Settings, [f"conf/training/{name}.yaml", *FILES[name]])
    assert settings.task == name.split("_")[0]
    shots = {"plane_prompt": 2, "adept_chat": 5, "sygns_prompt": 8}
    assert settings.shots == shots.get(name, 0)


def test_two_shot_answers_are_written_to_the_lake_and_scored(run_prompt, bert, capsys):
    result = run_prompt(bert, *TWO_SHOT)
    predictions = rows(run_prompt.lake)
    assert len(predictions) == 18
    row = next(r for r in predictions if (r["item_id"], r["premise_order"]) == ("tall3", "2,1"))
    expected = {"task": "plane", "scheme": "two_shot", "edition": "clean", "fold": "1"}
    assert expected.items() <= row.items()
    assert (row["prompt"], row["verbaliser"]) == ("plane/internal@1", "good/poor")
    assert (row["gold"], row["model"], row["table_version"]) == ("not entailed", bert, 0)
    # The prediction is the first token if it is one of the words; the scores are of the words.
    words = {"good": "entailed", "poor": "not entailed"}
    assert all(r["predicted"] == words.get(r["text"]) for r in predictions)
    assert all(len(r["scores"]) == 2 and max(r["scores"]) < 0 for r in predictions)
    table = read_prompted(run_prompt.lake, result["run_id"])
    expected = class_table(cells(table, "restricted")).to_pylist()
    printed = capsys.readouterr().out
    for class_row in expected:
        assert result["figures"][f"restricted/f1/{class_row['row']}"] == class_row["mean"]
        assert f"| {class_row['row']} |" in printed
    assert "| class | first token | restricted choice | always entailed |" in printed
    assert result["figures"]["always/f1/I"] == 1.0


def test_only_new_questions_are_computed(run_prompt, bert, caplog, capsys):
    first = run_prompt(bert, *TWO_SHOT)
    printed = capsys.readouterr().out
    assert (first["prompts"], first["forward"]) == (18, 18)
    with caplog.at_level(logging.INFO), pytest.raises(ValueError, match="not enough values"):
        run_prompt(bert, *TWO_SHOT)  # no new result: the run is finished
    assert "not run again" in caplog.text
    assert capsys.readouterr().out == printed
    assert len(rows(run_prompt.lake)) == 18
    # Another run takes the same questions from the cache, without loading the weights.
    caplog.clear()
    with caplog.at_level(logging.INFO), pytest.MonkeyPatch.context() as patch:
        patch.setattr(masked, "load_weights", lambda *_: pytest.fail("weights were read"))
        again = run_prompt(bert, *TWO_SHOT, "predictions=false", out="elsewhere")
    assert (again["prompts"], again["forward"]) == (18, 0)
    assert "18 prompts, 0 computed" in caplog.text
    assert again["figures"] == {k: v for k, v in first["figures"].items() if "second" not in k}
    # With more questions, only the new ones are computed.
    more = run_prompt(bert, "shots=2", "templates=internal")
    assert (more["prompts"], more["forward"]) == (54, 36)


def test_another_version_of_a_prompt_asks_only_what_has_changed(run_prompt, bert, tmp_path):
    prompt_file = tmp_path / "own.yaml"
    text = (conf.ROOT / "conf" / "prompts" / "plane.yaml").read_text()
    prompt_file.write_text(text)
    assert run_prompt(bert, f"prompts={prompt_file}", "templates=internal")["forward"] == 27
    prompt_file.write_text(text.replace("version: 1", "version: 2"))
    assert run_prompt(bert, f"prompts={prompt_file}", "templates=internal")["forward"] == 0
    text = text.replace("version: 1", "version: 3").replace(
        "A {premise} is a {answer}", "The {premise} is a {answer}"
    )
    prompt_file.write_text(text)
    assert run_prompt(bert, f"prompts={prompt_file}", "templates=internal")["forward"] == 27
    prompt_names = {row["prompt"] for row in rows(run_prompt.lake)}
    assert prompt_names == {f"plane/internal@{version}" for version in (1, 2, 3)}


def test_other_weights_in_the_same_folder_are_computed_again(run_prompt, bert, tmp_path):
    from transformers import BertForMaskedLM

    folder = tmp_path / "model"
    shutil.copytree(bert, folder)
    first = run_prompt(str(folder), "templates=internal", "verbalisers=conversion")
    model = BertForMaskedLM.from_pretrained(folder)
    model.cls.predictions.bias.data[5:] += 1.0
    model.save_pretrained(folder)
    again = run_prompt(str(folder), "templates=internal", "verbalisers=conversion")
    assert first["forward"] == again["forward"] == 9
    assert first["run_id"] != again["run_id"]


@pytest.mark.parametrize(
    ("name", "weights"), [("bert", "cls.predictions.bias"), ("gpt2", "transformer.ln_f.bias")]
)
def test_nan_answers_are_refused(run_prompt, name, weights, request, tmp_path):
    model = with_nan(request.getfixturevalue(name), tmp_path / "broken", weights)
    for _ in range(2):
        with pytest.raises(JobFailed, match=r"broken: 18 of 18 rows have NaN"):
            run_prompt(model, *TWO_SHOT)
    assert "predictions" not in arrow.tables(run_prompt.lake)


def test_an_interrupted_run_continues_from_the_cache(run_prompt, bert, monkeypatch, tmp_path):
    alone = run_prompt(bert, *TWO_SHOT, "cache=none", out="alone")
    answer = Masked._answers
    answered_batches: list[object] = []

    def answer_three_batches(self, encoded):
        if len(answered_batches) == 3:
            raise KeyboardInterrupt
        answered_batches.append(len(encoded))
        return answer(self, encoded)

    monkeypatch.setattr(Masked, "_answers", answer_three_batches)
    with pytest.raises(KeyboardInterrupt):
        run_prompt(bert, *TWO_SHOT, "batch_size=4")
    assert not list(run_prompt.out.glob("*/result.json"))
    monkeypatch.setattr(Masked, "_answers", answer)
    result = run_prompt(bert, *TWO_SHOT, "batch_size=4")
    assert (result["prompts"], result["forward"]) == (18, 6)
    for name, value in alone["figures"].items():
        if "second" not in name:
            assert result["figures"][name] == pytest.approx(value)
    assert len(rows(run_prompt.lake, result["run_id"])) == 18


def test_split_words_of_the_conversion_table_are_reported(run_prompt, bert, caplog):
    with caplog.at_level(logging.WARNING):
        run_prompt(bert)
    assert "plane_zero_shot/internal@1, conversion: 8 words that are not one token" in caplog.text
    assert {row["scheme"] for row in rows(run_prompt.lake)} == {"zero_shot"}
    assert {row["premise_order"] for row in rows(run_prompt.lake)} == {None}


def test_calibration_divides_by_the_content_free_answer(run_prompt, bert, tmp_path):
    file = tmp_path / "own.yaml"
    text = (conf.ROOT / "conf" / "prompts" / "plane.yaml").read_text()
    file.write_text(text.replace('["N/A", thing, ""]', '["dog"]'))
    words = [f"prompts={file}", "shots=0", "templates=internal", "verbalisers=good/poor"]
    plain = run_prompt(bert, *words)
    calibrated = run_prompt(bert, *words, "calibration=contextual")
    assert (calibrated["prompts"], calibrated["forward"]) == (10, 1)
    plain_scores, scores = (
        {row["item_id"]: np.array(row["scores"]) for row in rows(run_prompt.lake, run["run_id"])}
        for run in (plain, calibrated)
    )
    # All items share one prior, in which the two words have less than the whole probability.
    ((no, yes),) = {tuple(np.round(plain_scores[item] - scores[item], 5)) for item in scores}
    assert max(no, yes) < 0
    assert math.exp(no) + math.exp(yes) < 1


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_generative_models_answer_asp(run_prompt, name, request, capsys):
    result = run_prompt(request.getfixturevalue(name), "task=asp")
    predictions = rows(run_prompt.lake)
    assert len(predictions) == 4 * 5
    assert {row["scheme"] for row in predictions} == {"zero_shot"}
    assert {row["fold"] for row in predictions} == {"entailment", "degree"}
    for row in predictions:
        labels = ("entailment", "not_entailment")
        assert row["predicted"] == labels[row["scores"][1] > row["scores"][0]]
        assert row["text"] is None
    figures = result["figures"]
    assert figures["majority/degree.booster"] == 0.5
    right = [row["gold"] == row["predicted"] for row in predictions if row["fold"] == "degree"]
    assert figures["accuracy/degree.booster"] == pytest.approx(sum(right) / len(right))
    assert "| degree | booster | 2 | 5 |" in capsys.readouterr().out


def test_length_normalised_scores_are_means_per_token(run_prompt, gpt2):
    words = ["templates=external", "prompts=plane", "verbalisers=positive/negative"]
    normalised = run_prompt(gpt2, *words)
    unnormalised = run_prompt(gpt2, *words, "length_normalised=false")
    assert unnormalised["forward"] == 0
    pairs = zip(
        rows(run_prompt.lake, normalised["run_id"]),
        rows(run_prompt.lake, unnormalised["run_id"]),
        strict=True,
    )
    for one, other in pairs:
        ratios = [b / a for a, b in zip(one["scores"], other["scores"], strict=True)]
        assert ratios == [pytest.approx(round(ratio)) for ratio in ratios]
        assert min(ratios) > 1


PROMPTS = """
id: own
version: 1
task: plane
source: this test
generation:
  kind:
    text: "Is a {premise} a {conclusion}?"
    answer: "{answer}"
    pattern: '^\\W*({answers})\\b'
    words: {entailed: "yes", not entailed: "no"}
"""


@pytest.fixture
def prompt_file(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(PROMPTS)
    return str(path)


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_a_local_model_writes_answers(run_prompt, name, request, prompt_file):
    words = ["form=generate", f"prompts={prompt_file}", "max_gen_toks=5"]
    result = run_prompt(request.getfixturevalue(name), *words)
    assert (result["prompts"], result["forward"]) == (9, 9)
    predictions = rows(run_prompt.lake)
    assert {row["scores"] for row in predictions} == {None}
    assert {row["state"] for row in predictions} <= {"unparsable", "cut off"}
    assert {row["predicted"] for row in predictions} == {None}
    assert {(row["prompt"], row["verbaliser"]) for row in predictions} == {("own/kind@1", "kind")}
    assert sum(v for k, v in result["figures"].items() if k.startswith("state/")) == 1.0
    assert result["figures"]["written/f1/average"] == 0.0
    # The cheaper limit decides which answers are the same.
    again = run_prompt(request.getfixturevalue(name), *words, out="elsewhere")
    assert again["forward"] == 0
    assert run_prompt(request.getfixturevalue(name), *words, "max_gen_toks=6")["forward"] == 9


def server_words(server, prompt_file, *more):
    address = "backend=local-chat-completions", f"base_url={server.address}"
    return [*address, "form=generate", f"prompts={prompt_file}", *more]


def test_a_server_writes_answers_in_all_states(run_prompt, prompt_file):
    states = {
        "Is a black dog a black animal?": ("refusal", "refused", None),
        "Is a fake dog a dog?": ("cut off", "cut off", None),
        "Is a fake dog a animal?": ("unparsable", "unparsable", None),
        "Is a fake dog a fake animal?": ("null cut off", "cut off", None),
    }

    def behave(text, _):
        return states.get(text, ("answer",))[0]

    with StubServer(behave) as server:
        words = server_words(server, prompt_file, "price_in=0.5", "price_out=2")
        result = run_prompt("a-model", *words)
        asked = len(server.questions)
    items = {row["item_id"]: row for row in arrow.read(run_prompt.lake, "plane_items").to_pylist()}
    for row in rows(run_prompt.lake):
        item = items[row["item_id"]]
        text = f"Is a {item['premise']} a {item['conclusion']}?"
        _, state, predicted = states.get(text, ("answer", "parsed", "entailed"))
        assert (row["state"], row["predicted"], row["scores"]) == (state, predicted, None)
        assert row["model"] == "a-model"
    figures = result["figures"]
    assert figures["state/parsed"] == 5 / 9
    assert figures["cost"] == figures["tokens_in"] * 0.5 + figures["tokens_out"] * 2
    # One trial question of the server's own.
    assert asked == 10


def test_a_failed_question_fails_the_run_and_is_asked_again(run_prompt, prompt_file, monkeypatch):
    monkeypatch.setattr("adnominal.training.asking.servers.FIRST_PAUSE", 0.01)

    def behave(text, time_asked):
        return "503" if "fake animal" in text and time_asked <= 2 else "answer"

    with StubServer(behave) as server:
        words = server_words(server, prompt_file, "model_args.max_retries=2")
        message = r"1 of 9 questions have no answer .*503.*run again to ask only"
        with pytest.raises(JobFailed, match=message):
            run_prompt("a-model", *words)
        assert "predictions" not in arrow.tables(run_prompt.lake)
        before = len(server.questions)
        assert run_prompt("a-model", *words)["forward"] == 1
        # The trial question, and the one that failed.
        assert len(server.questions) == before + 2
    assert {row["state"] for row in rows(run_prompt.lake)} == {"parsed"}


def test_a_refusing_server_ends_the_job_before_the_run(run_prompt, prompt_file):
    with StubServer(lambda *_: "401") as server:
        with pytest.raises(UserError, match="401"):
            run_prompt("a-model", *server_words(server, prompt_file))
        assert len(server.questions) == 1
    assert not list(run_prompt.out.glob("*/settings.yaml"))


def test_a_server_gives_log_probabilities(run_prompt, gpt2):
    from transformers import AutoTokenizer

    words = ["backend=local-completions", f"tokenizer={gpt2}", *TWO_SHOT]
    with StubServer() as server:
        result = run_prompt("a-model", *words, f"base_url={server.address}")
    assert (result["prompts"], result["forward"]) == (18, 18)
    tokenizer = AutoTokenizer.from_pretrained(gpt2)
    row = next(
        row
        for row in rows(run_prompt.lake)
        if (row["item_id"], row["premise_order"]) == ("tall2", "1,3")
    )
    before = "A tall dog is a good example of a dog. A tall dog is a poor example of a tall animal."
    before += " A tall dog is a"
    expected = []
    for word in ("poor", "good"):
        ids = tokenizer(f"{before} {word} example of a animal.")["input_ids"]
        completion = ids[len(tokenizer(before)["input_ids"]) :]
        expected.append(sum(logprob(token) for token in completion) / len(completion))
    assert row["scores"] == pytest.approx(expected)
    assert row["predicted"] == ("not entailed", "entailed")[expected[1] > expected[0]]
    with (
        StubServer(echoes=False) as server,
        pytest.raises(UserError, match="or form=generate"),
    ):
        run_prompt("a-model", *words, f"base_url={server.address}", "seed=1")


@pytest.mark.slow
def test_a_killed_job_asks_a_server_only_for_what_is_missing(run_prompt, prompt_file, tmp_path):
    with StubServer(seconds=0.2) as server:
        words = server_words(server, prompt_file, "num_concurrent=2", "model=a-model")
        words += [f"lake={run_prompt.lake}", f"out={tmp_path / 'out'}", "tracking=none"]
        words += [f"cache={tmp_path / 'cache'}"]
        # The processes are forked from one that has imported the libraries.
        python = fork_server.python()
        command = [python, "training/prompt.py", *words]
        process = subprocess.Popen(command, cwd=conf.ROOT, stderr=subprocess.DEVNULL)
        while len(server.questions) < 5:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.wait()
        fork_server.settle()
        run_python(*command[1:], python=python)
        items = [text for text in server.questions if text.startswith("Is a ")]
        assert len(set(items)) == 9
        # The two requests in flight are asked again.
        assert len(items) <= 11
        asked = len(server.questions)
        run_python(*command[1:], python=python)
        assert len(server.questions) == asked
    assert {row["state"] for row in rows(run_prompt.lake)} == {"parsed"}


def test_models_that_need_a_gpu_are_refused_without_one(run_prompt):
    for name in ("vllm", "sglang"):
        with pytest.raises(UserError, match=f"backend={name}: .*(not installed|no GPU)"):
            run_prompt("a/model", f"backend={name}")
        with pytest.raises(UserError, match=r"model_args\.trust_remote_code="):
            run_prompt("a/model", f"backend={name}", "model_args.trust_remote_code=true")


@pytest.mark.parametrize("name", ["num_concurrent", "tokenizer", "seed"])
def test_arguments_of_the_harness_that_are_settings_are_refused(run_prompt, name):
    chat = ["backend=local-chat-completions", "base_url=http://localhost:1/v1", "form=generate"]
    with pytest.raises(UserError, match=rf"model_args\.{name}=: expected a setting of its own"):
        run_prompt("m", *chat, f"model_args.{name}=4")


def test_forms_that_a_model_lacks_are_refused(run_prompt, bert, gpt2, tmp_path):
    with pytest.raises(UserError, match="fills a gap and writes nothing"):
        run_prompt(bert, "form=generate")
    with pytest.raises(UserError, match="chat=true: its tokenizer has no chat template"):
        run_prompt(gpt2, "chat=true")
    classifier = tmp_path / "classifier"
    shutil.copytree(bert, classifier)
    config = json.loads((classifier / "config.json").read_text())
    config["architectures"] = ["BertForSequenceClassification"]
    (classifier / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="BertForSequenceClassification, which has no language"):
        run_prompt(str(classifier))


def test_a_chat_template_frames_the_examples(run_prompt, gpt2, tmp_path):
    from transformers import AutoTokenizer

    folder = tmp_path / "chat"
    shutil.copytree(gpt2, folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = (
        "{% for m in messages %}[{{ m.role }}] {{ m.content }} {% endfor %}"
        "{% if add_generation_prompt %}[assistant] {% endif %}"
    )
    tokenizer.save_pretrained(folder)
    contexts = []
    encode_pair = Local._encode_pair

    def record(self, context, completion):
        contexts.append((context, completion))
        return encode_pair(self, context, completion)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Local, "_encode_pair", record)
        run_prompt(str(folder), *TWO_SHOT, "chat=true", "instructions=Be brief.", "limit=1")
    assert (
        "[system] Be brief. [user] A tall dog is a  [assistant] good example of a dog. "
        "[user] A tall dog is a  [assistant] poor example of a tall animal. "
        "[user] A tall dog is a  [assistant] ",
        "good example of a animal.",
    ) in contexts


@pytest.mark.parametrize("chunk", [1, 5])
def test_chunks_give_the_same_rows(run_prompt, gpt2, monkeypatch, chunk):
    whole = run_prompt(gpt2, *TWO_SHOT, "cache=none", "calibration=domain")
    monkeypatch.setattr(job, "CHUNK", chunk)
    pieces = run_prompt(gpt2, *TWO_SHOT, "cache=none", "calibration=domain", out="pieces")
    # Content-free requests recur in every chunk, and are computed once.
    assert pieces["forward"] == whole["forward"] == 18 + 3
    tables = [
        pq.read_table(run_folder(run_prompt.out.parent / out) / "predictions.parquet")
        for out in ("runs", "pieces")
    ]
    assert tables[0]["predicted"] == tables[1]["predicted"]
    flat = [pc.list_flatten(table["scores"]).to_pylist() for table in tables]
    assert flat[1] == pytest.approx(flat[0], abs=1e-5)


def test_progress_is_through_all_chunks(run_prompt, gpt2, monkeypatch):
    reached = []
    monkeypatch.setattr(job, "CHUNK", 5)
    monkeypatch.setattr(Progress, "reach", lambda self, units: reached.append(units))
    run_prompt(gpt2, *TWO_SHOT)
    assert reached == sorted(reached) and reached[-1] == 18
    # Between the ends of chunks too.
    assert len(set(reached)) > 4
    reached.clear()
    run_prompt(gpt2, *TWO_SHOT, out="again")
    assert reached[-1] == 18


@pytest.mark.slow
def test_memory_does_not_grow_with_the_items(gpt2, tmp_path):
    """Five times the items, which are ten chunks instead of two: the same peak."""
    lake = str(tmp_path / "lake")
    items, splits = [], []
    for number in range(2400):
        item = plane_item("tall", "S", f"dog{number}", "animal", 2, edition="clean")
        items.append(item)
        part = "few" if number < 400 else "test"
        splits.append({"scheme": "two_shot", "part": part, "item_id": item["item_id"]})
    write(lake, "plane_items", items)
    write(lake, "plane_splits", [{**split, "fold": "1", "edition": "clean"} for split in splits])
    peaks = []
    for part in ("few", "test"):
        script = Path(__file__).with_name("memory_of_items.py")
        words = [str(script), gpt2, lake, str(tmp_path / part), f"part={part}"]
        process = run_python(*words, python=fork_server.python())
        peaks.append(int(process.stdout.splitlines()[-1]))
    # All requests, answers and samples of 1,600 more items would be 20 MB.
    assert peaks[1] - peaks[0] < 10


@pytest.mark.parametrize(
    ("words", "task", "figure"),
    [
        (["task=nli", "edition=mnli", "part=val", "shots=1"], "pairs_nli", "accuracy"),
        (
            *(["task=sygns", "edition=paper", "scheme=systematicity", "fold=one"],),
            *("sygns_fol", "accuracy"),
        ),
        (["task=graded_pairs", "edition=people"], "graded_pairs", "spearman/"),
    ],
    ids=["nli", "sygns", "graded_pairs"],
)
def test_further_tables_are_asked_about(run_prompt, gpt2, task_lake, words, task, figure):
    lake = task_lake
    if task == "graded_pairs":
        lake = run_prompt.lake
        ratings = zip(("red", "old", "fake"), (6.5, 4.25, 2.0), strict=True)
        rated = [{"adjective": adjective, "score": score} for adjective, score in ratings]
        common = {"noun": "car", "source": "people", "split": "test"}
        write(
            lake, "graded_pairs", [{**row, **common, "pair_id": row["adjective"]} for row in rated]
        )
    form = "form=generate" if task == "sygns_fol" else "form=likelihood"
    more = [form, "max_gen_toks=4", "limit=3", f"lake={lake}", "predictions=false"]
    result = run_prompt(gpt2, *words, *more)
    # The pairs of sentences have one text, so that equal examples make equal requests.
    assert 1 <= result["prompts"] <= 3
    assert any(name.startswith(figure) for name in result["figures"])
    predictions = pq.read_table(run_folder(run_prompt.out) / "predictions.parquet")
    assert predictions["task"].to_pylist() == [task] * 3
    assert predictions["gold"].null_count == 0
    if form == "form=likelihood":
        steps = 7 if task == "graded_pairs" else 3
        assert {len(row) for row in predictions["scores"].to_pylist()} == {steps}
    else:
        assert set(predictions["state"].to_pylist()) == {"cut off"}


def test_a_run_is_tracked(run_prompt, bert, tmp_path, empty_store):
    from mlflow import MlflowClient

    store = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    result = run_prompt(bert, *TWO_SHOT, f"tracking={store}")
    client = MlflowClient(tracking_uri=store)
    run = client.get_run(result["run_id"])
    assert (run.data.tags["job"], run.info.status) == ("prompt", "FINISHED")
    expected_params = {"task.name": "plane", "task.scheme": "two_shot", "model_name": bert}
    expected_params |= {"kind": "masked", "prompts": "plane@1", "calibration": "none"}
    expected_params |= {"shots": "2", "questions": "18"}
    assert expected_params.items() <= run.data.params.items()
    assert run.data.metrics["first/f1/average"] == result["figures"]["first/f1/average"]
    assert run.data.metrics["prompts_per_second"] > 0
    names = {file.path for file in client.list_artifacts(result["run_id"])}
    assert {"predictions.parquet", "prompts.yaml", "settings.yaml", "table.md"} <= names
    inputs = {i.dataset.name: i.dataset.digest for i in run.inputs.dataset_inputs}
    assert inputs == {"plane_items/clean": "version 0", "plane_splits/clean": "version 0"}


def test_mistakes_are_reported_before_weights_are_read(run_prompt, bert, monkeypatch):
    monkeypatch.setattr(masked, "load_weights", lambda *_: pytest.fail("weights were read"))
    for word, message in (
        ("prompts=plne", "prompts=plne: expected a YAML file"),
        (f"out={__file__}", r"out=.* is a file; expected a folder"),
        (f"cache={__file__}", r"cache=.* is a file; expected a folder"),
        ("cache=/proc/x", "cache=/proc/x: /proc cannot be written to"),
        ("scheme=strict", "scheme=strict"),
    ):
        with pytest.raises(UserError, match=message):
            run_prompt(bert, word)
    with pytest.raises(UserError, match="no such folder"):
        run_prompt("./nowhere")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UserError, match="split_model=true with 2 processes"):
        run_prompt(bert, "split_model=true")


def test_every_process_refuses_scores_that_are_no_numbers(run_prompt, bert, tmp_path, monkeypatch):
    ask = engine.Engine.ask

    def ask_as_second(self, requests, report):
        answers = ask(self, requests, report)
        monkeypatch.setenv("RANK", "1")
        return answers

    monkeypatch.setattr(engine.Engine, "ask", ask_as_second)
    model = with_nan(bert, tmp_path / "broken", "cls.predictions.bias")
    with pytest.raises(JobFailed, match="have NaN as a score"):
        run_prompt(model, *TWO_SHOT)


@pytest.mark.slow
def test_two_processes_answer_as_one(run_prompt, bert, tmp_path):
    alone = run_prompt(bert, *TWO_SHOT, "cache=none")
    out = tmp_path / "two"
    words = [*TWO_SHOT, f"model={bert}", f"lake={run_prompt.lake}", f"out={out}", "tracking=none"]
    ranks.finish([*words, "batch_size=4", "cache=none"], 2, "prompt", tmp_path)
    # Only the first process prints.
    assert "| average |" in (tmp_path / "0").read_text()
    assert not (tmp_path / "1").read_text()
    single, distributed = (
        pq.read_table(run_folder(folder) / "predictions.parquet")
        for folder in (run_prompt.out, out)
    )
    names = ["item_id", "premise_order", "predicted"]
    assert distributed.select(names).equals(single.select(names))
    flat = [pc.list_flatten(table["scores"]).to_pylist() for table in (single, distributed)]
    assert flat[1] == pytest.approx(flat[0], abs=1e-5)
    assert alone["forward"] == 18
    # Settings and contents are the same, hence also the run: its rows are written once.
    assert len(rows(run_prompt.lake)) == 18
