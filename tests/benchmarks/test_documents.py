"""The documents have the recorded figures between their comments."""

import pytest

from adnominal.conf import UserError
from benchmarks import documents


def test_the_documents_have_the_recorded_figures():
    for page, name, text in documents.texts():
        stored = page.read_text(encoding="utf-8")
        assert documents.with_text(page, name, text) == stored, "run `python -m benchmarks pages`"


def test_text_around_the_figures_is_kept(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- x -->\nstale\n<!-- end of x -->\nafter\n")
    expected = "before\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nafter\n"
    assert documents.with_text(page, "x", "new") == expected
    page.write_text(expected)
    assert documents.with_text(page, "x", "new") == expected


@pytest.mark.parametrize("text", ["", "<!-- end of x --><!-- x -->", "<!-- x -->"])
def test_a_page_without_the_comments_is_refused(text, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(UserError, match="expected the lines"):
        documents.with_text(page, "x", "new")
