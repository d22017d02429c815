"""The constants of DepCC describe its published samples."""

import gzip

import pytest

from adnominal.etl.corpora.dialects import (
    COLUMNS,
    DEPCC,
    DEPCC_FLAT,
    DEPREL,
    FEATS,
    HEAD,
    ID,
    SENTENCE_MARK,
    UPOS,
    XPOS,
)


@pytest.mark.parametrize(
    ("name", "dialect"),
    [("conll-1000-tokens.csv.gz", DEPCC), ("conll-large.csv.gz", DEPCC_FLAT)],
)
def test_columns_ids_and_tags_of_the_samples(shared_data, name, dialect):
    lines = gzip.decompress((shared_data / "depcc" / name).read_bytes()).split(b"\n")
    rows = [line.decode().split("\t") for line in lines if line[:1].isdigit()]
    assert {len(row) for row in rows} == {COLUMNS}
    assert {row[FEATS] for row in rows} == {""}
    assert all(row[UPOS] == row[XPOS] for row in rows)
    assert all(row[ID] == row[HEAD] for row in rows if row[DEPREL] == "ROOT")
    assert min(int(row[ID]) for row in rows) == dialect.first_id == 0
    marked = sum(line.startswith(SENTENCE_MARK) for line in lines)
    assert (marked > 0) == (dialect is DEPCC_FLAT)
