from collections import Counter

from adnominal.etl.amod.adjacent import count_words
from benchmarks import sources, web_texts
from benchmarks.harness import page


def test_texts_are_reproducible_and_have_the_requested_size():
    texts = list(web_texts.documents(0.2))
    assert texts == list(web_texts.documents(0.2))
    assert 0.2e6 <= sum(len(text.encode()) for text in texts) < 0.3e6


def test_the_naive_count_follows_the_definition():
    texts = list(web_texts.documents(0.1))
    words = Counter(word for text in texts for word in text.lower().split())
    frequent = [word for word, _ in words.most_common(60) if word.isalpha()]
    pairs = {(one, two) for one in frequent for two in frequent}
    counts = sources.naive(iter(texts), pairs)
    assert sum(counts.values()) > 100
    expected: Counter[tuple[str, str]] = Counter()
    for text in texts:
        expected += count_words(text, sorted(pairs))
    assert counts == expected


def test_the_list_is_as_long_as_the_published_one():
    pairs = sources.bigrams()
    assert len(set(pairs)) == 3979
    assert pairs == sources.bigrams()


def test_the_page_shows_only_the_measured_parts():
    text = page(sources.CASE, {"interleavings": {"runs": 7}})
    assert text.startswith("## ")
    assert "7 random interleavings" in text
    assert "Parquet" not in text
