import pytest

from adnominal.conf.numbers import count_of, finite_number


def test_a_count_agrees_with_its_noun():
    assert count_of(1, "file") == "1 file"
    assert count_of(0, "file") == "0 files"
    assert count_of(1204, "new answer") == "1,204 new answers"


@pytest.mark.parametrize("text", ["NaN", "inf", "-Infinity", "1e999", "1_000", "3,5", "0x10", ""])
def test_a_text_that_is_no_finite_number_has_none(text):
    assert finite_number(text) is None


def test_a_number_may_have_spaces_a_sign_and_an_exponent():
    assert [finite_number(text) for text in (" 4 ", "+3", "1e-1")] == [4, 3, 0.1]
