"""The synthetic parts are valid DepCC, consecutive, and follow the seed."""

import gzip

import pytest

from adnominal.etl.amod.kernel import PairCounter
from adnominal.etl.amod.rules import CLEAN
from adnominal.etl.corpora.dialects import detect
from benchmarks import synthetic_depcc


@pytest.fixture(autouse=True)
def small_vocabulary(monkeypatch):
    monkeypatch.setattr(synthetic_depcc, "OPEN", dict.fromkeys(synthetic_depcc.OPEN, 300))
    monkeypatch.setattr(synthetic_depcc, "SKELETONS", 200)


def test_the_part_is_valid_and_has_the_requested_size(tmp_path):
    (written,) = synthetic_depcc.write_parts([tmp_path / "a.gz"], 0.5, seed=3)
    synthetic_depcc.write_parts([tmp_path / "b.gz"], 0.5, seed=3)
    synthetic_depcc.write_parts([tmp_path / "c.gz"], 0.5, seed=4)
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


def test_parts_are_consecutive_pieces_of_one_corpus(tmp_path):
    parts = [tmp_path / name for name in ("a.gz", "b.gz", "c.gz")]
    sizes = synthetic_depcc.write_parts(parts, 0.2)
    contents = [gzip.decompress(part.read_bytes()) for part in parts]
    assert sizes == [len(content) for content in contents]
    synthetic_depcc.write_parts([tmp_path / "whole.gz"], (sum(sizes) - 1) / 1e6)
    assert b"".join(contents) == gzip.decompress((tmp_path / "whole.gz").read_bytes())
    assert all(content.startswith(b"\n# newdoc\t") for content in contents[1:])
