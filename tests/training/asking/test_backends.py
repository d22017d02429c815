from types import SimpleNamespace

import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.training.asking.answered import Answered
from adnominal.training.asking.backends import backend
from adnominal.training.asking.caching import CachedModel
from adnominal.training.asking.settings import Settings


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("bert", "masked"),
        ("roberta", "masked"),
        ("gpt2", "causal"),
        ("t5", "encoder-decoder"),
    ],
)
def test_the_kind_of_model_follows_its_configuration(name, kind, request):
    model = backend(conf.load(Settings, [f"model={request.getfixturevalue(name)}"]))
    assert model.kind == kind
    assert (model.words is not None) == (kind == "masked")


def test_a_model_is_loaded_once_and_only_for_requests_without_an_answer(tmp_path):
    class Model:
        def set_cache_hook(self, hook):
            self.hook = hook

        def loglikelihood(self, requests):
            return [(-1.0, False)] * len(requests)

    loaded = []

    def load():
        loaded.append(Model())
        return loaded[-1]

    with Answered(tmp_path, model="m") as answered:
        first, second = CachedModel(load, answered), CachedModel(load, answered)
        assert not loaded
        requests = [SimpleNamespace(args=("Is it?", word)) for word in ("yes", "no")]
        assert first.loglikelihood(requests) == [(-1.0, False)] * 2
        assert first.loglikelihood(requests) == [(-1.0, False)] * 2
        assert second.loglikelihood(requests) == [(-1.0, False)] * 2
        assert [model.hook for model in loaded] == [first]


def test_several_processes_do_not_share_a_server(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    words = ["model=m", "backend=local-chat-completions", "base_url=http://127.0.0.1:9/v1"]
    with pytest.raises(UserError, match="with 2 processes: it distributes the work itself"):
        backend(conf.load(Settings, [*words, "form=generate"]))
