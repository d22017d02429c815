"""The synthetic part is valid DepCC and follows the seed."""

import gzip

import pytest

from adnominal.etl.amod.kernel import PairCounter
from adnominal.etl.amod.rules import CLEAN
from adnominal.etl.corpora.dialects import detect
from benchmarks import synthetic_depcc


def test_the_part_is_valid_and_has_the_requested_size(tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic_depcc, "OPEN", dict.fromkeys(synthetic_depcc.OPEN, 300))
    monkeypatch.setattr(synthetic_depcc, "SKELETONS", 200)
    written = synthetic_depcc.write(tmp_path / "a.gz", 0.5, seed=3)
    synthetic_depcc.write(tmp_path / "b.gz", 0.5, seed=3)
    synthetic_depcc.write(tmp_path / "c.gz", 0.5, seed=4)
    a, b, c = ((tmp_path / name).read_bytes() for name in ("a.gz", "b.gz", "c.gz"))
    assert a == b != c
    data = gzip.decompress(a)
    assert 500_000 <= len(data) == written
    assert detect(data[:65536]).name == "depcc"
    counter = PairCounter("depcc", CLEAN)
    counter.feed(data)
    stats = counter.stats()
    assert stats.rejected == {}
    assert 0.04 < stats.amod / stats.tokens < 0.08
    assert 0.6 < stats.pairs / stats.amod < 0.95
    assert not data.isascii()


@pytest.mark.parametrize("words", [[], ["--help"], ["a.gz", "1", "2", "3"]])
def test_other_command_lines_print_the_usage(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert synthetic_depcc.main(words) == 2
    assert "synthetic_depcc.py OUT.gz [MEGABYTES [SEED]]" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
