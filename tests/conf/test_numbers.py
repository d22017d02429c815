from adnominal.conf.numbers import count_of


def test_a_count_agrees_with_its_noun():
    assert count_of(1, "file") == "1 file"
    assert count_of(0, "file") == "0 files"
    assert count_of(1204, "new answer") == "1,204 new answers"
