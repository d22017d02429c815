import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.training.asking.backends import LazyModel, backend
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


def test_a_model_is_loaded_when_it_is_needed_and_keeps_its_hook():
    class Model:
        def set_cache_hook(self, hook):
            self.hook = hook

        def loglikelihood(self, requests):
            return [(-1.0, False)] * len(requests)

    loaded = []

    def load():
        loaded.append(Model())
        return loaded[-1]

    model = LazyModel(load)
    model.set_cache_hook("first")
    assert not loaded
    assert model.loglikelihood([1, 2]) == [(-1.0, False)] * 2
    assert loaded[0].hook == "first"
    model.set_cache_hook("second")
    assert (len(loaded), loaded[0].hook) == (1, "second")


def test_several_processes_do_not_share_a_server(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    words = ["model=m", "backend=local-chat-completions", "base_url=http://127.0.0.1:9/v1"]
    with pytest.raises(UserError, match="with 2 processes: it distributes the work itself"):
        backend(conf.load(Settings, [*words, "form=generate"]))
