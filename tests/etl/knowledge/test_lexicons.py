import csv
from collections import Counter

import pytest

from adnominal.conf import UserError
from adnominal.etl.knowledge import lexicons
from adnominal.etl.knowledge.lexicons import parse_templates, read_words

TAGGED = "# version: 3\nadjective\tclass\ttags\n"
HEADER = "# version: 3\nadjective\tclass\n"


def test_the_list_of_non_subsective_adjectives():
    assert Counter(lexicons.nonsubsective_adjectives().values()) == {
        "privative": 24,
        "plain": 36,
        "extra": 1,
    }
    assert lexicons.nonsubsective_adjectives()["dead"] == "extra"


def test_the_list_of_adjective_classes():
    assert Counter(lexicons.adjective_classes().values()) == {"I": 91, "S": 163, "O": 58}
    rows = lexicons.class_rows(lexicons.class_list()).to_pylist()
    assert len(rows) == 312
    assert rows[0] == {"adjective": "academic", "class": "S", "source": "adjective_classes 1"}


def test_the_lists_are_those_of_the_papers(shared_data):
    with open(shared_data / "lexicons" / "adjective_classes.tsv", encoding="utf-8") as lines:
        rows = dict(csv.reader(lines, delimiter="\t"))
    assert lexicons.adjective_classes() == {w: c.replace("N", "S") for w, c in rows.items()}
    with open(shared_data / "lexicons" / "nonsubsective_nayak2014.tsv", encoding="utf-8") as lines:
        published = {r["adjective"]: r["subclass"] for r in csv.DictReader(lines, delimiter="\t")}
    assert lexicons.nonsubsective_adjectives() == {**published, "dead": "extra"}


def test_identity_words_have_groups_and_ordinary_words_are_not_offensive():
    assert set(lexicons.identity().values()) == set(lexicons.GROUPS)
    groups = [lexicons.identity()[word] for word in ("old", "black", "female")]
    assert groups == ["age", "origin", "gender"]
    assert all(word == word.lower() and " " not in word for word in lexicons.offensive_words())
    ordinary = {"red", "dog", "fake", "class", "hoe", "ass-kicking", "scunthorpe", "cocktail"}
    assert not lexicons.offensive_words() & ordinary


def test_every_relation_has_templates():
    templates = lexicons.relation_templates()
    needed = {"CapableOf", "HasProperty", "ReceivesAction", "HasA", "UsedFor", "Causes"}
    assert needed | {"HasSubevent"} <= set(templates) and all(templates.values())
    assert [t.end for t in templates["UsedFor"]] == ["verb", "noun"]
    assert templates["HasA"][0].fill("a dog", "a tail") == "[[a dog]] has [[a tail]]"


def test_a_users_file_replaces_the_list(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text(HEADER + "red\u200b\tI\n\n# a note\nfake\tO\n", encoding="utf-8")
    assert lexicons.adjective_classes(path) == {"red": "I", "fake": "O"}
    assert lexicons.class_list(str(path)).source == "mine 3"


def test_adjectives_may_have_tags(tmp_path):
    path = tmp_path / "mine.tsv"
    words = "deep\tI\tcontext-dependent, weakly-polysemous\nred\tI\t\n"
    path.write_text(TAGGED + words, encoding="utf-8")
    read = lexicons.class_list(path)
    assert dict(read.words) == {"deep": "I", "red": "I"}
    assert dict(read.tags) == {"deep": {"context-dependent", "weakly-polysemous"}}
    with pytest.raises(UserError, match="got the columns adjective, class, tags"):
        read_words(path, ("adjective", "class"), lexicons.CLASSES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "red\tI\nfake\tO\nred\tS\n", r":5: red is in line 3 as I too; keep one"),
        (HEADER + "red\tI\nred\tI\n", r":4: red is in line 3 as well"),
        (HEADER + "# a\u2028b\nred\tN\n", r":4: got 'N'"),
        (HEADER + "red\tN\n", r":3: got 'N' for red, expected one of I, S, O"),
        (HEADER + "Red\tI\n", r":3: got 'Red', expected a lower-case word"),
        (HEADER + "\tI\n", r":3: got '', expected a lower-case word"),
        (HEADER + "red,I\n", r":3: got 1 fields, expected adjective and class"),
        ("red\tI\n", r":1: got the columns red, I; expected adjective and class"),
        (TAGGED + "deep\tI\tcontext-dependant\n", r":3: got the tag context-dependant, expected"),
        (TAGGED + "deep\tI\n", r":3: got 2 fields, expected adjective and class and tags"),
        (HEADER, "no words"),
        (HEADER + "a\tX\n" * 12, "and 2 more"),
    ],
)
def test_faults_of_a_users_file_are_reported_with_their_line(tmp_path, text, message):
    path = tmp_path / "mine.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        lexicons.adjective_classes(path)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"no word list at .*: No such file"):
        lexicons.adjective_classes(tmp_path / "gone.tsv")
    (tmp_path / "latin.tsv").write_bytes(HEADER.encode() + "café\tI\n".encode("latin-1"))
    with pytest.raises(UserError, match="not UTF-8"):
        read_words(tmp_path / "latin.tsv", ("adjective", "class"), lexicons.CLASSES)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "expected a mapping with version and relations"),
        ({"relations": {"HasA": ["x"]}}, "got 'x', expected end and text"),
        ({"relations": {"HasA": {"end": "noun", "text": "[[{start}]] has"}}}, "once"),
        (
            {"relations": {"HasA": [{"end": "verse", "text": "[[{start}]] has [[{end}]]"}]}},
            "expected one of verb",
        ),
    ],
)
def test_faults_of_templates_are_reported(data, message):
    with pytest.raises(UserError, match=message):
        parse_templates(data, "relations.yaml")


def test_a_users_offensive_words_are_added_to_the_projects(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text("word\tkind\nblorp\tslur\n", encoding="utf-8")
    assert lexicons.offensive_words(path) == lexicons.offensive_words() | {"blorp"}
    path.write_text("word\tkind\nblorp\tgreen\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"mine\.tsv:2: got 'green' for blorp"):
        lexicons.offensive_words(path)


@pytest.mark.parametrize("word", ["fake", "anti-war", "ex-wife", "pseudo-scientific", "dead"])
def test_prefixes_of_the_list_match_hyphenated_adjectives(word):
    assert lexicons.is_nonsubsective(word)


@pytest.mark.parametrize(
    "word", ["red", "well-known", "anti", "ex-", "extra", "antique", "fake-ish"]
)
def test_other_adjectives_are_subsective(word):
    assert lexicons.is_nonsubsective(word) == (word == "ex-")


def test_nonsubsective_adjectives_are_selected_in_lower_case():
    words = ["Fake", "anti-war", "old", "fake"]
    assert lexicons.nonsubsective_among(words) == {"fake", "anti-war"}
