import pytest

from benchmarks import adept
from benchmarks.harness import page


@pytest.mark.parametrize(
    ("sentence", "modified", "case"),
    [
        ("Gas burns.", "Hot gas burns.", "none"),
        ("A dog barks.", "A wet dog barks.", "kept"),
        ("A dog barks.", "An old dog barks.", "flipped"),
        ("You use an ax to cut.", "You use a blunt ax to cut.", "flipped"),
        ("You use an ax to cut.", "You use an old ax to cut.", "kept"),
        ("The effect of war is a loss.", "The effect of cold war is a loss.", "none"),
    ],
)
def test_an_adjective_keeps_or_flips_the_article(sentence, modified, case):
    assert adept.article_case(sentence, modified) == case


def test_judged_items_are_counted_by_stratum(tmp_path, monkeypatch):
    sheet = tmp_path / "judged.tsv"
    lines = [("path", "relation", "article", "sentence", "modified_sentence", "grammar", "remark")]
    lines += [("template", "HasA", "none", "a", "b", "right", "")] * 3
    lines += [("surface_text", "HasA", "kept", "a", "b", "wrong", "number")]
    sheet.write_text("\n".join("\t".join(line) for line in lines) + "\n")
    monkeypatch.setattr(adept, "JUDGED", sheet)
    strata = adept.judged(adept.Settings())
    assert strata["all"][:2] == [3, 4]
    assert strata["path template"][:2] == [3, 3]
    assert strata["article kept"][:2] == [0, 1]
    assert strata["all"][2] == pytest.approx(30.06, abs=0.01)


def test_the_page_states_shares_and_verdicts():
    text = page(adept.CASE, {"judged": {"all": [95, 100, 88.8, 97.8]}})
    assert "95 of 100 items well formed, 88.8 to 97.8 % (Wilson, 95 %); met: at least 90 %" in text
