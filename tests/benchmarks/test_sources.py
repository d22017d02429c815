from benchmarks import sources, web_texts
from benchmarks.harness import page


def test_texts_are_reproducible_and_have_the_requested_size():
    texts = list(web_texts.documents(0.2))
    assert texts == list(web_texts.documents(0.2))
    assert 0.2e6 <= sum(len(text.encode()) for text in texts) < 0.3e6


def test_the_page_shows_only_the_measured_parts():
    text = page(sources.CASE, {"interleavings": {"runs": 7}})
    assert text.startswith("## ")
    assert "7 random interleavings" in text
    assert "Parquet" not in text
