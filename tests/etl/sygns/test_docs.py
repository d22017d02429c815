"""The row in docs/sygns.md is the one that the grammar gives."""

import re
from pathlib import Path

from adnominal.etl.sygns.generate import record
from adnominal.etl.sygns.grammar import grammar

PAGE = Path(__file__).parents[3] / "docs" / "sygns.md"


def test_the_documented_row_is_that_of_the_grammar():
    documented = dict(re.findall(r"^\| (\w+) \| `(.+)` \|$", PAGE.read_text(), re.MULTILINE))
    clean = grammar("clean")
    depth, tree = clean.parse(documented["sentence"])
    row = record(clean, depth, tree, "unique")
    assert documented == {
        "sentence_id": row.sentence_id,
        "depth": str(depth),
        "sentence": row.sentence,
        "fol": row.fol,
        "drs": row.drs,
        "vf": row.vf,
        "polarity_fol": ", ".join(f"{word} {direction}" for word, direction in row.polarity_fol),
        "polarity_vf": ", ".join(f"{word} {direction}" for word, direction in row.polarity_vf),
        "phenomena": ", ".join(row.phenomena),
    }
