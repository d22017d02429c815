"""``training/score.py method=logprob`` from a table to predictions and figures."""

import gc
import json
import math
import shutil
import weakref

import pytest
from scipy.stats import kendalltau, spearmanr

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.training.answering import sentences
from adnominal.training.answering.score import score
from adnominal.training.answering.settings import ScoreSettings
from adnominal.training.asking.sentences import SentenceScorer
from tests.rows import write
from tests.training.conftest import result_of

VAL = "where=edition = 'published' AND split_random = 'val'"


def settings(folder, *words):
    common = [f"lake={folder / 'lake'}", f"out={folder / 'out'}", "tracking=none"]
    return conf.load(ScoreSettings, ["method=logprob", *common, *words])


@pytest.fixture(scope="module")
def causal(tmp_path_factory, tiny_encoder) -> str:
    """A GPT-2 with random weights and the tokenizer of the tiny encoder."""
    import torch
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

    folder = tmp_path_factory.mktemp("causal")
    tokenizer = AutoTokenizer.from_pretrained(tiny_encoder)
    torch.manual_seed(0)
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 32}
    config = GPT2Config(vocab_size=len(tokenizer), initializer_range=0.5, **sizes)
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture
def folder(tmp_path, adept_lake):
    shutil.copytree(adept_lake, tmp_path / "lake")
    return tmp_path


def test_adept_is_scored_and_correlated_with_its_labels(folder, causal):
    score(settings(folder, f"model={causal}", "table=adept", VAL))
    rows = arrow.read(str(folder / "lake"), "predictions").to_pylist()
    assert len(rows) == 24
    assert {(row["task"], row["scheme"], row["edition"]) for row in rows} == {
        ("adept", "logprob", "published")
    }
    items = {row["item_id"]: row for row in arrow.read(str(folder / "lake"), "adept").to_pylist()}
    changes, labels = [], []
    for row in rows:
        item = items[row["item_id"]]
        tokens = json.loads(row["text"])
        for text, total, own in zip(
            (item["sentence1"], item["sentence2"]), row["scores"], tokens, strict=True
        ):
            assert math.fsum(log for _, _, log in own) == pytest.approx(total, abs=1e-4)
            assert all(text[start:].startswith(piece) for piece, start, _ in own)
        changes.append(row["scores"][1] - row["scores"][0])
        labels.append(item["label"])
    figures = result_of(folder / "out")["figures"]
    assert figures["spearman"] == pytest.approx(spearmanr(changes, labels).statistic)
    assert figures["kendall_tau_b"] == pytest.approx(kendalltau(changes, labels).statistic)
    lower = sum(change < 0 for change in changes) / len(changes)
    assert figures["share/sentence1_more_probable"] == pytest.approx(lower)


def test_a_killed_run_continues_with_the_missing_chunks(folder, causal, monkeypatch):
    monkeypatch.setattr(sentences, "_CHUNK", 6)
    words = (f"model={causal}", "table=adept", VAL)
    answer = SentenceScorer.answer
    answered: list[int] = []

    def interrupted(self, encoded, *arguments):
        if len(answered) == 2:
            raise KeyboardInterrupt
        answered.append(len(encoded.texts))
        return answer(self, encoded, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(SentenceScorer, "answer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            score(settings(folder, *words))
    score(settings(folder, *words))
    result = result_of(folder / "out")
    assert result["rows"] == 24
    assert result["rows_now"] == 24 - sum(answered) // 2
    assert arrow.read(str(folder / "lake"), "predictions").num_rows == 24
    # A finished run is not scored again.
    score(settings(folder, *words))
    assert arrow.read(str(folder / "lake"), "predictions").num_rows == 24


def test_the_weights_are_freed_before_the_next_model(folder, causal):
    work = sentences.prepare(settings(folder, f"model={causal}", "table=adept"), causal)
    assert work.load is not None
    with work.load() as scorer:
        weights = weakref.ref(scorer.model._model)
    gc.collect()
    assert weights() is None


def test_minimal_pairs_are_right_where_the_better_sentence_is_more_probable(folder, causal):
    texts = [("A dog runs.", "A dog dog."), ("A gun works.", "gun A works."), ("A", "A " * 40)]
    pairs = [
        {"pair_id": str(at), "source": "mine", "good": good, "bad": bad, "split": "test"}
        for at, (good, bad) in enumerate(texts)
    ]
    write(folder / "lake", "minimal_pairs", pairs)
    score(settings(folder, f"model={causal}", "table=minimal_pairs"))
    rows = arrow.read(str(folder / "lake"), "predictions").to_pylist()
    scores = {row["item_id"]: row["scores"] for row in rows}
    # Longer than the model takes: no score, and no part in the share.
    assert scores["2"][0] is not None and scores["2"][1] is None
    right = [scores[item][0] > scores[item][1] for item in ("0", "1")]
    result = result_of(folder / "out")
    assert result["cut"] == 1
    assert result["figures"]["share/good_more_probable"] == sum(right) / 2
    assert "spearman" not in result["figures"]


def test_any_text_column_is_scored_by_every_kind_of_model(folder, tiny_encoder, tmp_path):
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    torch.manual_seed(0)
    masked = str(tmp_path / "masked")
    BertForMaskedLM(BertConfig.from_pretrained(tiny_encoder)).save_pretrained(masked)
    AutoTokenizer.from_pretrained(tiny_encoder).save_pretrained(masked)
    words = (f"model={masked}", "table=adept", "first=sentence2", "limit=3", "masking=token")
    score(settings(folder, *words))
    rows = arrow.read(str(folder / "lake"), "predictions").to_pylist()
    assert [len(row["scores"]) for row in rows] == [1, 1, 1]
    assert {row["fold"] for row in rows} == {"token"}
    assert list(result_of(folder / "out")["figures"]) == ["mean/sentence2"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "method=logprob: no table"),
        (["table=adept", "tasks=[adept]"], "expected neither tasks=, labels= nor max_length="),
        (["table=adept", "second=noun"], "second=noun: expected first= with it"),
        (["table=dropped"], "its texts are not known; expected first="),
        (["table=adept", "first=label"], "first=label: a column of int32; expected one of text"),
        (["table=unicorns"], "table=unicorns: expected one of"),
        (["table=adept", "where=noun = 'unicorn'"], "no row of version"),
        (["table=adept", "deepspeed=zero3"], "its weights are not sharded"),
    ],
)
def test_mistakes_are_reported_before_weights_are_read(folder, causal, words, message):
    with pytest.raises(UserError, match=message):
        score(settings(folder, f"model={causal}", *words))
    assert not list((folder / "out").glob("*/answers"))


def test_a_table_needs_the_method(folder):
    with pytest.raises(UserError, match="table=adept: expected method=logprob with it"):
        conf.load(ScoreSettings, ["model=x", "tasks=[adept]", "table=adept"])
