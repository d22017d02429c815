"""Settings of the explorer that would have no effect are refused."""

import pytest

from adnominal.analysis.exploring.job import Settings
from adnominal.conf import UserError, load


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["noun=key", "export=new"], "noun= prints the rows of one word and export= writes"),
        (["adjective=old", "export=new"], "adjective= prints the rows of one word"),
        (["other=door"], "^other= needs noun= or adjective="),
        (["corpus=news"], "^corpus= needs noun="),
        (["export=new", "classes=I"], "^classes= needs noun="),
        (["limit=7"], "^limit= needs noun="),
        (["noun=key", "min_count=9"], "^min_count= needs export="),
        (["similar=true"], "^similar= needs noun="),
        (["noun=key", "similar=true", "floor=2"], "^floor= has no effect on similar=true"),
        (["noun=key", "port=80"], "^port= is for serving the page"),
    ],
)
def test_settings_without_an_effect_are_refused(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        load(Settings, words)


@pytest.mark.parametrize(
    "words",
    [
        ["port=0"],
        ["noun=key", "other=door", "floor=2", "classes=I,S", "limit=0", "measure=pmi"],
        ["adjective=old", "corpus=news", "other_corpus=web"],
        ["export=new", "min_count=2"],
    ],
)
def test_settings_that_fit_together_are_accepted(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load(Settings, words)
