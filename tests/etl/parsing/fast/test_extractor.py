"""The compiled extractor: words, sentences and lemmas, for any input."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.etl.amod.columns import occurrences, pairs
from adnominal.etl.amod.kernel import bucket_of
from adnominal.etl.amod.rules import CLEAN, PAPER
from adnominal.etl.knowledge.inflection import _IE_NOUNS, _PLURALS, getAllLemmas, noun_lemma
from adnominal.etl.lake import arrow
from adnominal.etl.parsing import check_parser, load_parser
from adnominal.etl.parsing.tokens import SENTENCES, TOKENS
from tests.etl.amod.corpus import run_job

pytest.importorskip(
    "adnominal.etl.parsing.fast._fast", reason="the compiled extractor was not built"
)

from adnominal.etl.parsing.fast.counting import TextCounter, count_texts
from adnominal.etl.parsing.fast.extractor import new_extractor
from adnominal.etl.parsing.fast.model import CLASS_OF, inflected_forms

TEXT = (
    "The thief had a false key. It was an old key, and the wooden door of the small house stood "
    "open.\n\nDr. Smith's older dogs chased big, angry cats in the U.S. He wasn't happy with an "
    "anti-war movement or well-known actors. Café owners like naïve tourists.\n"
)


def words(text: str) -> list[list[str]]:
    """The sentences of a text as lists of words."""
    extractor = new_extractor()
    content = text.encode()
    extractor.split(content)
    begin, end, _, _, _, opens = (np.frombuffer(part, np.uint8) for part in extractor.tokens())
    tokens = [
        content[b:e].decode() for b, e in zip(begin.view(np.int32), end.view(np.int32), strict=True)
    ]
    borders = [*opens.view(np.int32).tolist(), len(tokens)]
    return [tokens[a:b] for a, b in pairwise(borders)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't can’t it's dogs' I'll", "do n't ca n’t it 's dogs ' I 'll"),
        ("cannot gonna", "can not gon na"),
        ("(see [1]), 20% of $5!", "( see [ 1 ] ) , 20 % of $ 5 !"),
        ("a 12-year-old, well-known e-mail", "a 12 - year - old , well - known e-mail"),
        ("semi-automatic 1990-95", "semi-automatic 1990-95"),
        ("U.S. Mr. Jones, etc. Ph.D. p.m.", "U.S. Mr. Jones , etc. Ph.D. p.m."),
        ("and/or word...word end.The x—y", "and / or word ... word end . The x — y"),
        ("(http://a.org/b,c?d=e), me@b.com.", "( http://a.org/b,c?d=e ) , me@b.com ."),
        ('“quoted” ‘single’ "straight"', '“ quoted ” ‘ single ’ " straight "'),
        ("3.5 1,000 -5 10km 7pm", "3.5 1,000 -5 10 km 7 pm"),
        ("ÉCOLE straße 日本 🙂!", "ÉCOLE straße 日本 🙂 !"),
    ],
)
def test_texts_are_split_into_words(text, expected):
    assert [word for sentence in words(text) for word in sentence] == expected.split()


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One ends. Another begins! Does it? Yes.", 4),
        ("Mr. Smith met Dr. J. K. Brown at 5 p.m. on Sunday.", 1),
        ("He lives in the U.S. The house is big.", 2),
        ('He said "Never." She left. (Really.) Then he laughed.', 4),
        ('"What?" he asked. It cost 3.5 dollars... maybe more.', 2),
        ("A heading\n\nA paragraph\nof two lines", 2),
        ("See Fig. 3 and No. 5, e.g. Berlin vs. Paris.", 1),
    ],
)
def test_texts_are_split_into_sentences(text, sentences):
    assert len(words(text)) == sentences


def test_lemmas_are_those_of_the_dictionary():
    extractor = new_extractor()
    wrong = [
        (form, lemma)
        for _, tag, form, lemma in inflected_forms()
        if extractor.lemmatize(form.encode(), CLASS_OF[tag]) != lemma
    ]
    assert wrong == []
    # lemminflect lists the noun "leave" before "leaf"; one further lemma is set by hand.
    assert extractor.lemmatize(b"leaves", CLASS_OF["NNS"]) == "leaf"
    set_by_hand = {
        form
        for kind, _, form, lemma in inflected_forms()
        if kind == "n" and lemma != getAllLemmas(form, upos="NOUN")["NOUN"][0].lower()
    }
    assert set_by_hand == {"leaves", "regalia"}
    assert extractor.lemmatize(b"Googles", CLASS_OF["NNS"]) == "google"
    assert extractor.lemmatize("Œuvres".encode(), CLASS_OF["NNS"]) == "œuvre"


def test_the_parser_gives_the_columns_of_every_parser():
    (parsed,) = load_parser("fast").parse([TEXT, "", "A red ball \ud800."])
    assert parsed.tokens.schema == TOKENS
    assert parsed.sentences.schema == SENTENCES
    texts = parsed.sentences.column("text").to_pylist()
    assert texts[0] == "The thief had a false key."
    assert parsed.sentences.column("document").to_pylist()[-1] == 2
    candidates = occurrences(parsed.tokens, CLEAN).to_pylist()
    pairs = {(row["adjective"], row["noun"]) for row in candidates if row["left_out"] is None}
    assert {("false", "key"), ("old", "key"), ("wooden", "door"), ("older", "dog")} <= pairs
    assert ("red", "ball") in pairs
    assert ("well", "actor") not in pairs


def by_columns(text: str, rules=CLEAN) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for parsed in load_parser("fast").parse([text.replace("\n", "\n\n")]):
        for row in pairs(occurrences(parsed.tokens, rules)).to_pylist():
            counts[row["adjective"], row["noun"]] += 1
    return counts


def by_counting(*texts: str, rules=CLEAN) -> Counter[tuple[str, str]]:
    counter = TextCounter(rules)
    for text in texts:
        counter.feed(text)
    rows = []
    for bucket, drained in counter.drain_buckets():
        assert {bucket_of(noun) for noun in drained.column("noun").to_pylist()} == {bucket}
        rows += drained.to_pylist()
    assert sum(row["count"] for row in rows) == counter.stats().pairs
    return Counter({(row["adjective"], row["noun"]): row["count"] for row in rows})


def test_texts_in_memory_have_the_counts_of_the_job(spark, tmp_path):
    wrapped = "The thief had a false key, a torch and a small\nlamp. No false key opens a door."
    texts = ["A red ball.", wrapped, "", "Cafe\u0301s have red chairs. A red ball."]
    pq.write_table(pa.table({"text": texts}), tmp_path / "texts.parquet")
    options = ("source=text", "parser=fast", f"input={tmp_path / 'texts.parquet'}", "corpus=texts")
    run_job(tmp_path / "lake", *options)
    columns = ["adjective", "noun", "count"]
    by_job = arrow.read(str(tmp_path / "lake"), "amod_pairs", columns=columns).to_pylist()
    counted = count_texts(texts).to_pylist()
    assert counted[:2] == [
        {"adjective": "false", "noun": "key", "count": 2},
        {"adjective": "red", "noun": "ball", "count": 2},
    ]
    assert {"adjective": "small", "noun": "lamp", "count": 1} in counted
    assert sorted(map(repr, counted)) == sorted(map(repr, by_job))


RULES = [
    CLEAN,
    replace(CLEAN, adjective_by="lemma", proper_nouns=True),
    replace(CLEAN, noun_by="form", lowercase=False),
    replace(CLEAN, heads="singular", lowercase=False, proper_nouns=True),
]


@pytest.mark.parametrize("rules", RULES)
def test_counting_gives_the_pairs_of_the_columns(rules):
    assert by_counting(TEXT, rules=rules) == by_columns(TEXT, rules)
    assert by_counting(TEXT, rules=rules)


_PLAIN_WORDS = (
    "The the old Older biggest red, dog dogs wolves - -- well-known New York's U.S. e-mail . ? ! "
    "\" ' ’ … Ünïcode ÉTATS İstanbul ß 𝐛𝐨𝐥𝐝 日本語 3rd 1990s $5 a@b.c http://x.y/z ((( ]]] n't "
    "can't 's of and which are is ran quickly �"
)
_WORDS = st.sampled_from([*_PLAIN_WORDS.split(), *"\xa0\u200b\ufeff\n\x00", "\n\n"])


@given(st.lists(_WORDS, max_size=40).map(" ".join), st.sampled_from(RULES))
def test_counting_gives_the_pairs_of_the_columns_on_any_text(text, rules):
    assert by_counting(text, rules=rules) == by_columns(text, rules)


@given(st.lists(st.lists(_WORDS, max_size=20).map(" ".join), max_size=6), st.integers(0, 6))
def test_counts_do_not_depend_on_the_division_into_texts(texts, cut):
    counts_at_once = by_counting(*texts)
    assert by_counting(*texts[:cut]) + by_counting(*texts[cut:]) == counts_at_once
    assert by_counting("\n".join(texts)) == counts_at_once


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_read_with_correct_offsets(content, newline_ends):
    extractor = new_extractor()
    extractor.parse(content, newline_ends)
    begin, end, *_, opens = extractor.tokens()
    begin, end = np.frombuffer(begin, np.int32), np.frombuffer(end, np.int32)
    assert (begin < end).all() and (end[:-1] <= begin[1:]).all()
    assert not len(end) or end[-1] <= len(content)
    # Only white space is between tokens.
    covered = np.zeros(len(content), dtype=bool)
    for b, e in zip(begin, end, strict=True):
        covered[b:e] = True
    rest = bytes(c for c, is_covered in zip(content, covered, strict=True) if not is_covered)
    assert not rest.decode("utf-8", "replace").replace("\0", "").strip()
    assert (np.diff(np.frombuffer(opens, np.int32)) > 0).all()
    extractor.feed(content, newline_ends)
    extractor.drain()


def test_scores_are_the_sums_of_the_features_used_in_training():
    extractor = new_extractor()
    extractor.parse(TEXT.encode())
    from adnominal.etl.parsing.fast.extractor import tables

    weights = np.frombuffer(tables()["tag"], np.int8).reshape(-1, 32).astype(np.int64)
    number = len(extractor.tokens()[0]) // 4
    assert number > 50
    for token in range(number):
        rows, scores = extractor.features(token)
        sums = weights[np.frombuffer(rows, np.uint32)].sum(axis=0)
        assert (sums == np.frombuffer(scores, np.int16)).all()


def test_many_long_texts_give_the_sum_of_their_counts():
    paragraph = " ".join(f"The old{i} dog{i} saw a new{i % 7} house." for i in range(200))
    texts = [paragraph.replace("old", f"q{k}x") for k in range(60)]
    alone: Counter[tuple[str, str]] = Counter()
    for text in texts:
        alone += by_counting(text)
    assert by_counting(*texts) == alone
    unbroken = "x" * 100_000 + " (" * 50_000
    assert by_counting(unbroken) == by_columns(unbroken)


def test_unsupported_rules_are_rejected(tmp_path):
    with pytest.raises(UserError, match="dependent=any"):
        TextCounter(PAPER)
    damaged = tmp_path / "x.model"
    damaged.write_bytes(b"no model")
    with pytest.raises(UserError, match="is not a model of this parser"):
        check_parser("fast", str(damaged))
    with pytest.raises(UserError, match="is not a model of this parser"):
        check_parser("fast", str(tmp_path / "missing"))
    check_parser("fast")


def test_an_extension_of_another_version_is_rejected(monkeypatch):
    from adnominal.etl.parsing.fast import _fast

    monkeypatch.setattr(_fast, "FORMAT", "adnominal-fast-1")
    with pytest.raises(UserError, match=r"format adnominal-fast-1, .* build it again"):
        new_extractor()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("garden.[1] story,[2] it", "garden . [ 1 ] story , [ 2 ] it"),
        ("thing;—no life,—he ‘place’—it", "thing ; — no life , — he ‘ place ’ — it"),
        (
            "wall](http://x.org/a) (http://x.org)",
            "wall ] ( http://x.org/a ) ( http://x.org )",
        ),
        ('x "http://y.org/z". <a@b.com>', 'x " http://y.org/z " . < a@b.com >'),
        ('(old)—new "quick"--yes said.”2', '( old ) — new " quick " -- yes said . ”'),
        ("place‒and door―an end─the", "place ‒ and door ― an end ─ the"),
        # The marks of references are no tokens.
        (
            "garden.1 story,2 house;13 people7 studies,5,6",
            "garden . story , house ; people studies ,",
        ),
        ("mp3 h2o covid19 v.2 1990s a,1", "mp3 h2o covid19 v.2 1990s a,1"),
    ],
)
def test_punctuation_and_marks_beside_separators_are_no_part_of_words(text, expected):
    assert " ".join(word for sentence in words(text) for word in sentence) == expected


def test_a_mark_at_the_end_of_a_sentence_does_not_join_it_to_the_next():
    assert len(words("He had a nice garden.1 She saw old houses.”2 They left.")) == 3


def counts(text):
    return {
        (row["adjective"], row["noun"]): row["count"] for row in count_texts([text]).to_pylist()
    }


@pytest.mark.parametrize(
    "text",
    [
        "which american airlines flights go from new york to san francisco",
        "show me flights from st. louis to las vegas",
        "we flew to new zealand last april with matt thompson",
    ],
)
def test_names_in_text_without_capitals_are_no_pairs(text):
    assert not {noun for _, noun in counts(text)} & {"york", "louis", "zealand", "thompson"}


def test_nouns_in_text_without_capitals_are_pairs():
    assert counts("the old dogs slept near the red gate") == {("old", "dog"): 1, ("red", "gate"): 1}
    # A capital anywhere in the paragraph makes it ordinary text.
    assert ("new", "blorp") in counts("The red gate was open. we saw a new blorp there")
    assert ("new", "blorp") not in counts("the red gate was open. we saw a new blorp there")


def test_plurals_that_the_dictionary_lacks_are_those_of_the_other_parsers():
    extractor = new_extractor()
    forms = [*_PLURALS, "amphorae", "chateaux", "stomata", "bordeaux", "reggae", "wikis"]
    lemmas = {form: extractor.lemmatize(form.encode(), CLASS_OF["NNS"]) for form in forms}
    assert lemmas == {form: noun_lemma(form, form) for form in forms}
    of_ie = {f"{noun}s": noun for noun in _IE_NOUNS}
    assert {form: extractor.lemmatize(form.encode(), CLASS_OF["NNS"]) for form in of_ie} == of_ie


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("meta-analyses", "meta-analysis"),
        ("ex-wives", "ex-wife"),
        ("sub-species", "sub-species"),
        ("subspecies", "subspecies"),
        ("by-products", "by-product"),
        ("cryptocurrencies", "cryptocurrency"),
        ("calories", "calorie"),
        ("hobbies", "hobby"),
        ("regalia", "regalia"),
        ("bias", "bias"),
        ("-s", "-s"),
        ("ex-", "ex-"),
    ],
)
def test_plurals_with_hyphens_in_ie_and_singulars_in_s(plural, singular):
    assert new_extractor().lemmatize(plural.encode(), CLASS_OF["NNS"]) == singular


@pytest.mark.parametrize(
    ("noun", "lemma"),
    [
        ("specimen", "specimen"),
        ("lumen", "lumen"),
        ("ramen", "ramen"),
        ("foramen", "foramen"),
        ("women", "woman"),
        ("lobstermen", "lobsterman"),
        ("craftswomen", "craftswoman"),
        ("millennia", "millennium"),
        ("hyphae", "hypha"),
        ("reggae", "reggae"),
        ("algae", "alga"),
        ("vertebrae", "vertebra"),
        ("stigmata", "stigma"),
        ("wikis", "wiki"),
        ("emojis", "emoji"),
        ("menus", "menu"),
        ("virus", "virus"),
        ("basis", "basis"),
    ],
)
def test_nouns_have_the_lemma_of_the_dictionary_whatever_their_tag(noun, lemma):
    assert counts(f"They saw the large {noun} in the town.") == {("large", lemma): 1}
