import pytest

from adnominal.etl.adept.words import Words, adjective_fault, as_written, is_superlative, noun_fault

POS = (
    "dog:nv something:n american:an lot:n old:a big:a such:a asleep:a honest:a nasty:a well:anrv "
    "know:v size:nv queen:nv cursed:a best:anrv retire:v"
)
WORDS = Words(
    dict(entry.split(":") for entry in POS.split()),
    offensive=frozenset({"nasty", "cursed"}),
    identity=frozenset({"old"}),
)


@pytest.mark.parametrize(
    ("noun", "clean", "paper"),
    [
        ("dog", None, None),
        ("dogg", "noun is no word", "noun is no word"),
        ("d", "noun is no word", "noun is no word"),
        ("old", "noun is no word", "noun is no word"),
        ("lot", "noun is a pronoun or a measure", None),
        ("american", "noun is a name", None),
    ],
)
def test_faults_of_nouns(noun, clean, paper):
    assert noun_fault(noun, WORDS) == clean
    assert noun_fault(noun, WORDS, "paper") == paper


@pytest.mark.parametrize(
    ("adjective", "clean", "paper"),
    [
        ("big", None, None),
        ("old", "adjective of identity", "adjective of identity"),
        ("nasty", "adjective is offensive", "adjective is offensive"),
        ("well-cursed", "adjective is offensive", "adjective is offensive"),
        ("dog", "adjective is no word", "adjective is no word"),
        ("queen-size", None, None),
        ("queen-sizzz", "adjective is no word", "adjective is no word"),
        ("well-known", None, None),
        ("retired", None, None),
        ("such", "adjective acts as a determiner", None),
        ("asleep", "adjective only follows its noun", None),
        ("best", "superlative", None),
    ],
)
def test_faults_of_adjectives(adjective, clean, paper):
    assert adjective_fault(adjective, WORDS) == clean
    assert adjective_fault(adjective, WORDS, "paper") == paper


def test_superlatives_are_recognised():
    assert all(map(is_superlative, ("biggest", "best", "best-known", "tiniest", "worst")))
    assert not any(map(is_superlative, ("honest", "modest", "bigger", "forest", "earnest")))


def test_names_are_written_with_a_capital():
    assert as_written("american") == "American"
    assert as_written("african-american") == "African-American"
    assert as_written("german-born") == "German-born"
    assert as_written("big") == "big"
