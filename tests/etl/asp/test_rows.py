"""Sentences, labels and draws of the two tasks."""

import csv
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.etl.asp import TESTS, labels
from adnominal.etl.asp.degree import VARIANTS, Degree, Grid
from adnominal.etl.asp.entailment import Entailment
from adnominal.etl.asp.gold import published_gold
from adnominal.etl.asp.lexicon import load_lexicon
from adnominal.etl.asp.templates import Pair, Style, article, number, parse, write
from adnominal.etl.draws import Order
from tests.etl.asp.surface import best_gain

LEXICON = load_lexicon()
ENTAILMENT = Entailment(LEXICON, 0)
DEGREE = Degree(LEXICON, 0, published_gold())


@pytest.mark.parametrize(
    ("pair", "premise", "hypothesis", "entailed"),
    [
        (Pair("ordering", "bag", "huge", None, "big"), "The bag is huge.", "The bag is big.", True),
        (Pair("ordering", "bag", "big", None, "huge"),
         "The bag is big.", "The bag is huge.", False),
        (Pair("argument", "bag", "big", "box"), "The bag is big.", "The box is big.", False),
        (Pair("booster", "bag", "big", premise_mark="very"),
         "The bag is very big.", "The bag is big.", True),
        (Pair("diminisher", "bag", "big", hypothesis_mark="relatively"),
         "The bag is big.", "The bag is relatively big.", True),
        (Pair("negation", "bag", "small", None, "big", premise_mark="not"),
         "The bag is not small.", "The bag is big.", False),
        (Pair("negation", "bag", "dirty", None, "clean", premise_mark="not"),
         "The bag is not dirty.", "The bag is clean.", True),
        (Pair("comparative", "bag", "dirty", "box"),
         "The bag is dirtier than the box.", "The bag is dirty.", True),
        (Pair("comparative", "bag", "clean", "box", hypothesis_mark="not"),
         "The bag is cleaner than the box.", "The box is not clean.", True),
        (Pair("comparative", "bag", "expensive", "box"),
         "The bag is more expensive than the box.", "The bag is expensive.", False),
        (Pair("superlative", "bag", "big", None, None, "in the world", "I have ever seen"),
         "The bag is the biggest bag in the world.",
         "The bag is the biggest bag I have ever seen.", True),
    ],
)  # fmt: skip
def test_a_pair_is_written_read_and_labelled(pair, premise, hypothesis, entailed):
    assert write(pair, LEXICON) == (premise, hypothesis)
    assert parse(pair.test, premise, hypothesis, LEXICON) == pair
    # In the release, some hypotheses lack the full stop.
    assert parse(pair.test, premise, hypothesis.rstrip("."), LEXICON) == pair
    assert labels.entails(pair, LEXICON) == entailed


@pytest.mark.parametrize("test", TESTS)
def test_other_sentences_do_not_fit_the_templates(test):
    with pytest.raises(ValueError, match="not of the form"):
        parse(test, "Rods are long.", "The rod is long.", LEXICON)


def test_words_without_a_known_relation_have_no_label():
    with pytest.raises(ValueError, match="unknown order"):
        labels.entails(Pair("ordering", "bag", "big", None, "dirty"), LEXICON)
    with pytest.raises(ValueError, match="unknown opposites"):
        labels.entails(Pair("negation", "bag", "big", None, "dirty"), LEXICON)
    with pytest.raises(ValueError, match="unknown standard"):
        labels.entails(Pair("comparative", "bag", "green", "box"), LEXICON)


@pytest.mark.parametrize("test", TESTS)
def test_entailment_rows_are_distinct_labelled_by_the_rules_and_the_same_for_a_seed(test):
    rows = list(ENTAILMENT.rows(test, 0, 1000))
    assert len({row.item_id for row in rows}) == 1000
    counts = {"dimension": 0, "argument": 0, "negation": 750, "comparative": 334}
    assert sum(row.label == "entailment" for row in rows) == counts.get(test, 500)
    for row in rows[::37]:
        pair = parse(test, row.premise, row.hypothesis, LEXICON)
        assert labels.name(labels.entails(pair, LEXICON)) == row.label
        assert (pair.noun, pair.adjective) == (row.noun, row.adjective)
        assert row.premise.endswith(".") and row.hypothesis.endswith(".")
    assert rows[400:410] == list(Entailment(LEXICON, 0).rows(test, 400, 410))
    assert rows != list(Entailment(LEXICON, 1).rows(test, 0, 1000))


@pytest.mark.parametrize("test", ["ordering", "negation", "comparative"])
def test_no_surface_feature_predicts_the_label(test):
    rows = [(r.premise, r.hypothesis, r.label) for r in ENTAILMENT.rows(test, 0, 1000)]
    gain, feature = best_gain(rows)
    assert gain <= 2.0, feature


def test_surface_features_that_predict_the_label_are_found():
    rows = [
        ("The rod is big.", "The rod is huge", "no"),
        ("The rod is huge", "The rod is big.", "yes"),
    ]
    assert best_gain(rows * 10)[0] == 50
    with_full_stops = [(f"{p.rstrip('.')}.", f"{h.rstrip('.')}.", label) for p, h, label in rows]
    contradictory = [(p, h, "no" if label == "yes" else "yes") for p, h, label in with_full_stops]
    assert best_gain(with_full_stops + contradictory)[0] == 0


def test_too_many_rows_are_refused():
    with pytest.raises(UserError, match=r"fewer rows \(.*negation has"):
        ENTAILMENT.check(10_000)
    with pytest.raises(UserError, match="more variants"):
        DEGREE.check(10**9)


@pytest.mark.parametrize(
    ("test", "positive", "negative"),
    [
        ("ordering", 14, 12),
        ("booster", 8, 7),
        ("diminisher", 19, 16),
        ("negation", 22, 23),
        ("comparative", 10, 10),
        ("superlative", 19, 16),
        ("dimension", 0, 0),
        ("argument", 0, 0),
    ],
)
def test_degree_groups_have_forty_numbers_and_the_judged_shares_of_entailment(
    test, positive, negative
):
    groups = [DEGREE.group(test, at) for at in range(50)]
    rows = [list(DEGREE.rows(group)) for group in groups]
    assert len({row.item_id for rows_of_group in rows for row in rows_of_group}) == 2000
    for group, rows_of_group in zip(groups, rows, strict=True):
        entailed = positive if group.polarity == "positive" else negative
        counts = Counter(row.label for row in rows_of_group)
        assert counts["entailment"] == entailed
        assert counts["discard"] == (test in ("dimension", "argument"))
        assert [row.z for row in rows_of_group] == [float(z) for z in range(60, 140, 2)]
        assert not any(row.extrapolated for row in rows_of_group)
    by_dimension = Counter(group.measure.dimension for group in groups)
    assert by_dimension == {"length": 14, "mass": 12, "temperature": 12, "price": 12}
    assert abs(Counter(g.polarity for g in groups)["positive"] - 25) <= 4


def test_variants_change_the_premise_alone():
    group = DEGREE.group("ordering", 0)
    a, b = group.positive_value, group.negative_value
    unit = group.measure.unit
    base, sentences, numbers, both = (DEGREE.premise(group, v) for v in VARIANTS)
    first, second = base.split(". ")
    assert sentences == f"{second} {first}."
    assert f"{a} {unit}" in first and f"{b} {unit}" in second
    assert numbers.split(". ")[0].split(" ")[1] == str(b)
    assert both.split(". ")[1] == f"{numbers.split('. ')[0]}."
    rows = list(DEGREE.rows(group, VARIANTS))
    assert len({row.item_id for row in rows}) == 160
    for variant in VARIANTS:
        labels_of_variant = [row.label for row in rows if row.variant == variant]
        assert labels_of_variant == [row.label for row in rows[:40]]


def test_a_wider_range_is_extrapolated():
    wide = Degree(LEXICON, 0, published_gold(), grid=Grid(20.0, 176.0))
    rows = list(wide.rows(wide.group("ordering", 0)))
    assert [row.z for row in rows[:2]] == [20.0, 24.0] and len(rows) == 40
    assert {row.extrapolated for row in rows if row.z < 60} == {True}
    assert {row.extrapolated for row in rows if 60 <= row.z <= 138} == {False}


def test_modifiers_are_the_judged_ones_by_default():
    for test, word in (("booster", "very"), ("diminisher", "relatively")):
        assert {DEGREE.group(test, at).modifier for at in range(20)} == {word}


def test_groups_do_not_repeat_up_to_the_capacity():
    capacity = DEGREE.capacity("argument")
    premises = {
        (g.measure.unit, g.measure.positive, g.noun, g.polarity, g.positive_value, g.negative_value)
        for g in (DEGREE.group("argument", at) for at in range(capacity))
    }
    assert len(premises) == capacity


def test_words_that_share_a_scale_or_family_are_no_two_dimensions():
    families: dict[str, set[str]] = {}
    for adjective in LEXICON.adjectives:
        families.setdefault(adjective.word, set()).add(adjective.family)
    assert families["invaluable"] == {"value", "importance"}
    for row in ENTAILMENT.rows("dimension", 0, ENTAILMENT.capacity("dimension")):
        words = {row.adjective, str(row.other_adjective)}
        assert words not in ({"invaluable", "useful"}, {"invaluable", "valuable"})


@given(st.integers(1, 5000), st.integers())
def test_an_order_is_a_permutation(size, seed):
    order = Order(size, seed)
    assert {order[k] for k in range(size)} == set(range(size))


@pytest.mark.parametrize(
    ("figure", "word"),
    [("80", "An"), ("11", "An"), ("18", "An"), ("11000", "An"), ("110", "A"), ("180", "A"),
     ("120", "A"), ("8.5", "An"), ("1800", "A")],
)  # fmt: skip
def test_a_figure_takes_the_article_of_its_spoken_form(figure, word):
    assert article(figure) == word


def test_numbers_are_written_without_rounding_errors():
    assert [number(120.0), number(61.5)] == ["120", "61.5"]
    assert [number(744.9999999999999), number(0.0004)] == ["745", "0"]


@pytest.mark.parametrize(
    ("grid", "has_own"),
    [(Grid(60, 139, 41), False), (Grid(21.2, 133.2, 41), True), (Grid(60, 130, 22), True)],
)
def test_grids_between_binary_fractions_give_clean_numbers(grid, has_own):
    source = Degree(LEXICON, 0, published_gold(), grid=grid)
    for test in ("ordering", "argument", "superlative"):
        rows = [row for n in range(60) for row in source.rows(source.group(test, n))]
        assert not [row for row in rows if ". " in row.hypothesis or row.premise.count(". ") > 1]
        value = {"positive": 120.0, "negative": 80.0}
        discarded = [row for row in rows if row.label == "discard"]
        expected = [row for row in rows if test == "argument" and row.z == value[row.polarity]]
        assert discarded == expected and bool(expected) == (has_own and test == "argument")
        assert all(row.alpha == round(row.alpha, 6) for row in rows)


PAPER = Style(text="paper")
PAPER_ENTAILMENT = Entailment(LEXICON, 0, PAPER, balanced=False)
PAPER_DEGREE = Degree(LEXICON, 0, published_gold(), PAPER)


def oddities(rows):
    """The percentage of degree rows that show each oddity of the release."""
    counts: Counter[str] = Counter()
    for premise, hypothesis in rows:
        figure = hypothesis.removeprefix("A ").lstrip("$").split()[0].split("°")[0]
        counts["A before every number"] += hypothesis.startswith("A ")
        counts["A where speech has an"] += (
            hypothesis.startswith("A ") and figure.isdigit() and article(figure) == "An"
        )
        counts["°c"] += "°c" in premise and "°c" in hypothesis
        counts["°C"] += "°C" in premise and "°C" in hypothesis
        counts["full stops"] += premise.endswith(".") and hypothesis.endswith(".")
    return {name: round(100 * count / len(rows), 1) for name, count in counts.items()}


def released_rows(shared_data, task, test):
    with (shared_data / "asp" / task / f"{test}.csv").open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row["premise"], row["hypothesis"]) for row in rows]


@pytest.mark.parametrize("test", TESTS)
def test_oddities_of_degree_rows_are_those_of_the_release(shared_data, test):
    published = released_rows(shared_data, "DegreeEstimation", test)
    rebuilt = [
        (row.premise, row.hypothesis)
        for at in range(50)
        for row in PAPER_DEGREE.rows(PAPER_DEGREE.group(test, at))
    ]
    rebuilt_shares, published_shares = oddities(rebuilt), oddities(published)
    by_chance = "A where speech has an"  # the share of numbers that begin with 8, 11 or 18
    assert published_shares.pop(by_chance) > 0 and rebuilt_shares.pop(by_chance) > 0
    assert rebuilt_shares == published_shares
    assert len({premise for premise, _ in rebuilt}) == len({p for p, _ in published}) == 25


@pytest.mark.parametrize("test", TESTS)
def test_full_stops_of_entailment_rows_are_those_of_the_release(shared_data, test):
    def stops(rows):
        counts = Counter((at % 2, p[-1] == ".", h[-1] == ".") for at, (p, h) in enumerate(rows))
        return {key: round(100 * count / len(rows), 1) for key, count in counts.items()}

    rebuilt_stops = stops([(r.premise, r.hypothesis) for r in PAPER_ENTAILMENT.rows(test, 0, 1000)])
    published_stops = stops(released_rows(shared_data, "EntailmentInference", test))
    assert rebuilt_stops == published_stops


def test_the_wider_range_has_sixty_numbers_and_narrow_superlatives():
    wider = Degree(LEXICON, 0, published_gold(), PAPER, Grid(40.0, 158.0, 60))
    rows = list(wider.rows(wider.group("superlative", 0)))
    assert [row.z for row in rows] == [float(z) for z in range(40, 160, 2)]
    step = (rows[0].positive_value - rows[0].negative_value) / 20
    ends = (rows[0].negative_value + 29 * step, rows[0].negative_value - 10 * step)
    assert [number(end) for end in ends] == [
        text.split(" is ")[1].strip("$").split()[0].split("°")[0].rstrip(".")
        for text in rows[0].premise.removesuffix(".").split(". ")
    ]


def test_the_two_groups_of_a_premise_are_consecutive():
    for test in TESTS:
        groups = [PAPER_DEGREE.group(test, at) for at in range(50)]
        assert [g.polarity for g in groups] == ["positive", "negative"] * 25
        assert Counter(g.measure.dimension for g in groups) == {
            "length": 14, "mass": 12, "temperature": 12, "price": 12
        }  # fmt: skip
