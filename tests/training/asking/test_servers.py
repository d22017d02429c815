import asyncio
import math
import os
import signal
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from adnominal.conf import JobFailed, UserError
from adnominal.training.asking import servers
from adnominal.training.asking.answered import Answered, request_key
from adnominal.training.asking.caching import CachedModel
from adnominal.training.asking.outcomes import Outcome, check_answered
from adnominal.training.asking.servers import LOCAL_KEY, connect
from tests import fork_server
from tests.commands import run_python
from tests.training.asking.stub_server import REASONING, StubServer, logprob

CHAT = "local-chat-completions"
COMPLETIONS = "local-completions"
OPENAI = "openai-chat-completions"
ANTHROPIC = "anthropic-chat-completions"
OPTIONS = {"until": [], "max_gen_toks": 16}
KEY = "sk-secret-0123456789"


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    """Short pauses, stores that are deleted with the test, and the keys of no user."""
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(tmp_path))
    monkeypatch.setattr(servers, "FIRST_PAUSE", 0.02)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.delenv(LOCAL_KEY, raising=False)


@pytest.fixture
def stub():
    with StubServer() as server:
        yield server


def empty_store() -> Answered:
    return Answered(Path(tempfile.mkdtemp()))


def model_of(server, backend=CHAT, **options):
    """A model behind the server, with an empty store."""
    options = {"timeout": 1.0, "max_retries": 4, **options}
    model = connect(backend, "a-model", server.address, **options)
    return CachedModel(lambda: model, empty_store())


def ask(model, *texts, options=OPTIONS):
    """The outcome of each question."""
    requests = [SimpleNamespace(args=(text, options)) for text in texts]
    model.generate_until(requests)
    return [model.outcomes[request_key("generate_until", request.args)] for request in requests]


def outcome_of(server, text, backend=CHAT, **options):
    return ask(model_of(server, backend, **options), text)[0]


# What is an answer


@pytest.mark.parametrize("backend", [CHAT, COMPLETIONS, OPENAI, ANTHROPIC])
def test_an_answer_in_every_protocol(stub, backend):
    outcome = outcome_of(stub, "Is grass green?", backend)
    tokens = (7, 1) if backend == COMPLETIONS else (11, 3)
    assert outcome == Outcome("yes", "stop", None, *tokens)


@pytest.mark.parametrize("backend", [CHAT, COMPLETIONS, OPENAI, ANTHROPIC])
def test_a_cut_off_answer_in_every_protocol(stub, backend):
    outcome = outcome_of(stub, "Is it? [cut off]", backend)
    assert (outcome.text, outcome.finish) == ("Let me think about gr", "length")
    assert outcome.is_answered


@pytest.mark.parametrize("backend", [CHAT, OPENAI, ANTHROPIC])
def test_a_refusal(stub, backend):
    outcome = outcome_of(stub, "Is it? [refusal]", backend)
    assert (outcome.text, outcome.finish) == ("I cannot answer that.", "refused")
    assert outcome.is_answered


@pytest.mark.parametrize("case", ["filter", "filter 400"])
def test_a_content_filter_refuses(stub, case):
    outcome = outcome_of(stub, f"Is it? [{case}]")
    assert (outcome.text, outcome.finish, outcome.error) == (None, "refused", None)
    assert outcome.is_answered


@pytest.mark.parametrize("backend", [CHAT, ANTHROPIC])
def test_reasoning_in_a_field_of_its_own_is_kept_apart(stub, backend):
    outcome = outcome_of(stub, "Is it? [reasoning]", backend)
    assert (outcome.text, outcome.reasoning) == ("yes", REASONING)


def test_reasoning_in_the_text_stays_there(stub):
    outcome = outcome_of(stub, "Is it? [reasoning in text]")
    assert outcome.text == f"<think>{REASONING}</think>\n\nyes"
    assert outcome.reasoning is None


@pytest.mark.parametrize("backend", [CHAT, ANTHROPIC])
def test_null_content_is_no_answer(stub, backend):
    outcome = outcome_of(stub, "Is it? [null]", backend)
    assert outcome.text is None
    assert outcome.reasoning == REASONING
    assert "null content" in str(outcome.error)
    assert not outcome.is_answered


def test_null_content_because_the_reasoning_was_cut_off_is_an_answer(stub):
    outcome = outcome_of(stub, "Is it? [null cut off]")
    assert (outcome.text, outcome.finish, outcome.error) == (None, "length", None)
    assert outcome.is_answered


def test_an_empty_answer_is_an_answer(stub):
    assert outcome_of(stub, "Is it? [empty]").text == ""


# What is tried again


@pytest.mark.parametrize("case", ["429", "503", "slow", "drop", "200 error", "html"])
def test_a_passing_failure_is_tried_again(stub, case):
    question = f"Is grass green? [once {case}]"
    outcome = outcome_of(stub, question)
    assert outcome.text == "yes"
    assert stub.count(question) == 2


def test_the_server_says_when_to_try_again(stub):
    times = []

    def noted(text, time_asked):
        times.append(asyncio.run(_now()))
        return "429" if text == "first" and time_asked == 1 else "answer"

    stub._behave = noted
    model = model_of(stub, num_concurrent=1)
    assert [outcome.text for outcome in ask(model, "first", "second")] == ["yes", "yes"]
    trial, first, again, second = times
    assert again - first >= 0.3
    assert second >= again >= first >= trial


async def _now():
    return asyncio.get_running_loop().time()


@pytest.mark.parametrize(
    ("case", "error"),
    [
        ("429", "429 Too Many Requests: rate limit (4 tries)"),
        ("503", "503 Service Unavailable: overloaded (4 tries)"),
        ("drop", "(4 tries)"),
        ("slow", "no answer within 0.2 s (4 tries)"),
        ("200 error", "upstream failed"),
    ],
)
def test_after_all_tries_the_question_fails_and_the_others_go_on(stub, case, error):
    model = model_of(stub, timeout=0.2)
    first, failed, last = ask(model, "first", f"Is it? [{case}]", "last")
    assert error in str(failed.error)
    assert (first.text, failed.text, last.text) == ("yes", None, "yes")
    assert stub.count(f"[{case}]") == 4
    with pytest.raises(JobFailed, match=r"1 of 3 questions have no answer .* run again"):
        outcomes = (first, failed, last)
        check_answered(Counter(one.failure for one in outcomes if one.failure), len(outcomes))


def test_a_server_that_asks_to_wait_until_tomorrow_is_not_waited_for(stub):
    outcome = outcome_of(stub, "Is it? [429 tomorrow]")
    assert "Retry-After: 86,400 s" in str(outcome.error)
    assert stub.count("tomorrow") == 1


def test_a_server_that_is_gone_is_not_asked_for_everything(stub, monkeypatch):
    monkeypatch.setattr(servers, "FAILURES_IN_A_ROW", 3)
    model = model_of(stub, num_concurrent=1, max_retries=1)
    outcomes = ask(model, *(f"{n} [503]" for n in range(10)))
    assert stub.count("[503]") == 3
    assert all(not outcome.is_answered for outcome in outcomes)
    assert "not asked" in str(outcomes[-1].error)


def test_the_server_has_so_many_questions_at_a_time():
    with StubServer(seconds=0.05) as server:
        ask(model_of(server, num_concurrent=4), *(str(n) for n in range(16)))
        assert server.most_at_once == 4


# What ends at once


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("400", "400 Bad Request: max_tokens is too large; expected a model and settings"),
        ("401", f"401 Unauthorized: .*expected a valid key in .*{LOCAL_KEY}"),
        ("403", "403 Forbidden: the key has no access to this model; .*model=a-model"),
        ("404", "404 Not Found: the model does not exist; expected base_url= .*completions"),
        ("quota", "you exceeded your quota; expected an account with credit"),
        ("redirect", "307 Temporary Redirect.*expected base_url="),
        ("elsewhere", "does not follow the protocol"),
    ],
)
def test_a_server_that_refuses_is_asked_one_trial_question(stub, case, message):
    stub._behave = lambda text, time_asked: case
    with pytest.raises(UserError, match=message) as error:
        ask(model_of(stub), *(str(n) for n in range(100)))
    assert len(stub.questions) == 1
    assert stub.address in str(error.value)
    assert "\n" not in str(error.value)


def test_a_server_that_is_not_there_fails_the_job():
    with StubServer() as server:
        pass
    with pytest.raises(JobFailed, match=r"\(4 tries\); expected a server that answers"):
        ask(model_of(server), "Is grass green?")


def test_one_refused_question_does_not_end_the_others(stub):
    refused, answered = ask(model_of(stub), "Is it? [400]", "Is grass green?")
    assert "400 Bad Request: max_tokens is too large" in str(refused.error)
    assert stub.count("[400]") == 1
    assert answered.text == "yes"


def test_a_key_that_expires_ends_the_work(stub):
    with pytest.raises(UserError, match="401 Unauthorized"):
        ask(model_of(stub, num_concurrent=1), "first", "Is it? [401]", "last")
    assert stub.count("last") == 0


# Keys


@pytest.mark.parametrize(
    ("backend", "header", "value"),
    [
        (OPENAI, "authorization", f"Bearer {KEY}"),
        (ANTHROPIC, "x-api-key", KEY),
        (CHAT, "authorization", None),
        (COMPLETIONS, "authorization", None),
    ],
)
def test_a_key_goes_only_to_the_server_that_it_belongs_to(stub, backend, header, value):
    outcome_of(stub, "Is grass green?", backend)
    assert stub.headers.get(header) == value
    values = [held for name, held in stub.headers.items() if name != header]
    assert not any(KEY in held for held in values)


def test_a_local_server_may_have_a_key(stub, monkeypatch):
    monkeypatch.setenv(LOCAL_KEY, "local-key\n")
    outcome_of(stub, "Is grass green?")
    assert stub.headers["authorization"] == "Bearer local-key"


@pytest.mark.parametrize("backend", [OPENAI, ANTHROPIC])
def test_a_key_is_in_no_message_log_or_store(stub, backend, tmp_path, caplog, capfd):
    caplog.set_level("DEBUG")
    with Answered(tmp_path, backend=backend) as answered:
        model = CachedModel(lambda: connect(backend, "a-model", stub.address), answered)
        ask(model, "Is grass green?")
        stub._behave = lambda text, time_asked: "401"
        with pytest.raises(UserError, match=r"Incorrect API key provided: \[key\]") as error:
            ask(model, "Is the sky blue?")
    assert KEY in "".join(stub.headers.values())
    printed = "".join(capfd.readouterr())
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert KEY not in f"{error.value}{error.value.__cause__}{caplog.text}{printed}"
    assert stored
    assert KEY.encode() not in stored


def test_a_short_key_leaves_the_answers_as_they_are(stub, monkeypatch):
    monkeypatch.setenv(LOCAL_KEY, "e")
    assert outcome_of(stub, "Is grass green?").text == "yes"


@pytest.mark.parametrize("backend", [OPENAI, ANTHROPIC])
def test_without_a_key_nothing_is_asked(stub, backend, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("ANTHROPIC_API_KEY", " ")
    with pytest.raises(UserError, match=r"environment variable (OPENAI|ANTHROPIC)_API_KEY"):
        model_of(stub, backend)


def test_a_key_with_a_broken_line_is_not_shown(stub, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a\nsk-b")
    with pytest.raises(UserError, match="printable") as error:
        model_of(stub, OPENAI)
    assert "sk-" not in str(error.value)


# Addresses and payloads


@pytest.mark.parametrize(
    ("base_url", "complete"),
    [
        ("http://host:8000/v1", "http://host:8000/v1/chat/completions"),
        ("http://host:8000/v1/", "http://host:8000/v1/chat/completions"),
        ("https://host/v1/chat/completions", "https://host/v1/chat/completions"),
        ("https://host/other/path", "https://host/other/path"),
    ],
)
def test_an_address_may_end_at_the_version(base_url, complete):
    assert connect(CHAT, "m", base_url).base_url == complete


@pytest.mark.parametrize(
    "base_url", ["localhost:8000", "ftp://host/v1", "http://u:p@host/v1", "http:///v1"]
)
def test_addresses_that_are_refused(base_url):
    with pytest.raises(UserError, match="base_url=") as error:
        connect(CHAT, "m", base_url)
    assert "u:p" not in str(error.value)


@pytest.mark.parametrize(
    "options",
    [
        {"time_out": 3},
        {"header": {"a": "b"}},
        {"timeout": 0},
        {"timeout": math.inf},
        {"max_retries": 2.5},
        {"num_concurrent": "four"},
    ],
)
def test_options_that_are_refused(stub, options):
    with pytest.raises(UserError, match=f"model_args.{next(iter(options))}=.*: expected"):
        connect(CHAT, "m", stub.address, **options)


def test_a_key_among_the_options_is_not_shown(stub):
    with pytest.raises(UserError, match=r"model_args\.api_key=: expected one of") as error:
        connect(CHAT, "m", stub.address, api_key="sk-secret")
    assert "secret" not in str(error.value)


def test_the_services_have_their_own_addresses():
    assert connect(OPENAI, "m").base_url == "https://api.openai.com/v1/chat/completions"
    assert connect(ANTHROPIC, "m").base_url == "https://api.anthropic.com/v1/messages"


@pytest.mark.parametrize(
    ("model", "temperature"),
    [("gpt-4o-2024-05-13", 0), ("gpt-3.5-turbo", 0), ("gpt-5-mini", None), ("o3", None)],
)
def test_only_models_that_reason_sample(stub, model, temperature):
    ask(CachedModel(lambda: connect(OPENAI, model, stub.address), empty_store()), "Is grass green?")
    payload = stub.payloads[-1]
    assert payload.get("temperature") == temperature
    assert payload["max_completion_tokens"] == 16
    assert "stop" not in payload


def test_a_chat_with_a_system_message(stub):
    model = model_of(stub, ANTHROPIC)
    context = model.apply_chat_template(
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it?"}]
    )
    assert ask(model, context)[0].text == "yes"
    payload = stub.payloads[-1]
    assert payload["system"] == "Be brief."
    assert [message["role"] for message in payload["messages"]] == ["user"]


# Likelihood


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """The folder of a tokenizer of single letters."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {chr(code): code - 31 for code in range(32, 127)} | {"<end>": 0}
    letters = Tokenizer(models.WordLevel(vocabulary, unk_token="<end>"))
    letters.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    folder = os.fspath(tmp_path_factory.mktemp("tokenizer"))
    PreTrainedTokenizerFast(tokenizer_object=letters, eos_token="<end>").save_pretrained(folder)
    return folder


def likelihoods(model, *pairs):
    return model.loglikelihood([SimpleNamespace(args=pair) for pair in pairs])


def expected_likelihood(text):
    values = [logprob(ord(letter) - 31) for letter in text]
    return pytest.approx(sum(values)), all(value >= -1.5 for value in values)


def test_log_probabilities_of_continuations(stub, tokenizer):
    model = model_of(stub, COMPLETIONS, tokenizer=tokenizer)
    results = likelihoods(model, ("A red car", " good"), ("A red car", " bad"), ("", "$"))
    expected = [expected_likelihood(text) for text in (" good", " bad", "$")]
    assert results == expected
    assert {is_greedy for _, is_greedy in results} == {True, False}
    assert model.outcomes[request_key("loglikelihood", ("", "$"))].tokens_in == 7
    # Questions travel at once, so that any of them may arrive last.
    assert [[0, 5]] in [payload["prompt"] for payload in stub.payloads]


def test_a_server_that_generates_nothing_after_the_prompt(stub, tokenizer, monkeypatch):
    whole = StubServer._echo

    def without_last(self, prompt):
        return {name: values[:-1] for name, values in whole(self, prompt).items()}

    monkeypatch.setattr(StubServer, "_echo", without_last)
    model = model_of(stub, COMPLETIONS, tokenizer=tokenizer)
    assert likelihoods(model, ("A red car", " bad")) == [expected_likelihood(" bad")]


def test_a_server_without_echo_is_refused_after_the_trial_question(tokenizer):
    with StubServer(echoes=False) as server:
        model = model_of(server, COMPLETIONS, tokenizer=tokenizer)
        with pytest.raises(UserError, match="form=generate"):
            likelihoods(model, ("A red car", " good"), ("A red car", " bad"))
        assert len(server.questions) == 1


def test_a_failed_likelihood_is_no_number(stub, tokenizer):
    model = model_of(stub, COMPLETIONS, tokenizer=tokenizer)
    stub._behave = lambda text, time_asked: "503" if "91" in text else "answer"
    (failed, _), good = likelihoods(model, ("A red car", " z"), ("A red car", " good"))
    assert math.isnan(failed)
    assert good == expected_likelihood(" good")


def test_a_tokenizer_that_does_not_exist(stub, tmp_path):
    with pytest.raises(UserError, match="expected a tokenizer"):
        model_of(stub, COMPLETIONS, tokenizer=str(tmp_path))


# No answered question is asked twice


def test_answered_questions_are_not_asked_again(stub, tmp_path):
    questions = ["Is grass green?", "Is it? [once 503]", "Is it? [null]", "Is it? [refusal]"]
    with Answered(tmp_path, model="m") as answered:
        first = ask(CachedModel(lambda: connect(CHAT, "m", stub.address), answered), *questions)
    asked_before = len(stub.questions)
    with Answered(tmp_path, model="m") as answered:
        again = ask(CachedModel(lambda: connect(CHAT, "m", stub.address), answered), *questions)
    # The trial question, and the one without an answer.
    assert stub.questions[asked_before:] == ["Is grass green? Answer yes or no.", "Is it? [null]"]
    assert again == first


def test_a_run_with_all_answers_needs_no_server(tmp_path):
    with StubServer() as server, Answered(tmp_path, model="m") as answered:
        ask(CachedModel(lambda: connect(CHAT, "m", server.address), answered), "Is grass green?")
    with Answered(tmp_path, model="m") as answered:
        [outcome] = ask(
            CachedModel(lambda: connect(CHAT, "m", server.address), answered), "Is grass green?"
        )
    assert outcome.text == "yes"


def test_equal_questions_are_asked_once(stub):
    outcomes = ask(model_of(stub), *["Is grass green?"] * 5)
    assert [outcome.text for outcome in outcomes] == ["yes"] * 5
    assert stub.questions.count("Is grass green?") == 1


ASKER = """
import sys
from pathlib import Path
from types import SimpleNamespace
from adnominal.training.asking.answered import Answered, request_key
from adnominal.training.asking.caching import CachedModel
from adnominal.training.asking.servers import connect
folder, address = sys.argv[1:]
server = connect("local-chat-completions", "m", address, num_concurrent=4)
model = CachedModel(lambda: server, Answered(Path(folder)))
requests = [SimpleNamespace(args=(f"question {n}", {"until": []})) for n in range(60)]
print(len(model.generate_until(requests)))
"""


@pytest.mark.slow
def test_kill_then_retry_asks_only_for_what_is_missing(tmp_path):
    with StubServer(seconds=0.05) as server:
        python = fork_server.python()
        words = [python, "-c", ASKER, str(tmp_path), server.address]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while server.count("question") < 30:
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        fork_server.settle()
        asked_before = server.count("question")
        assert asked_before < 60
        assert run_python(*words[1:], python=python).stdout == "60\n"
        # Each of the four connections may have lost the question in flight.
        assert 60 <= server.count("question") <= 64
        asked_after = server.count("question")
        run_python(*words[1:], python=python)
        assert server.count("question") == asked_after


def test_lm_evaluation_harness_itself_asks(stub):
    """The harness takes the model, and its samples lead to the outcomes."""
    import datasets
    from lm_eval import evaluate
    from lm_eval.api.task import ConfigurableTask

    rows = datasets.Dataset.from_list([{"q": "Is it? [cut off]"}, {"q": "Is grass green?"}])
    declaration = {
        "task": "tiny",
        "custom_dataset": lambda **_: {"test": rows},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{q}}",
        "doc_to_target": "yes",
        "generation_kwargs": {"until": [], "max_gen_toks": 16},
        "metric_list": [{"metric": "exact_match"}],
    }
    model = model_of(stub)
    results = evaluate(
        model,
        {"tasks": {"tiny": ConfigurableTask(config=declaration)}},
        apply_chat_template=True,
        bootstrap_iters=0,
    )
    finishes = {}
    for sample in results["samples"]["tiny"]:
        arguments = sample["arguments"][0]
        key = request_key("generate_until", arguments)
        finishes[sample["doc"]["q"]] = model.outcomes[key].finish
    assert finishes == {"Is it? [cut off]": "length", "Is grass green?": "stop"}
