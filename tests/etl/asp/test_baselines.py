import pytest

from adnominal.etl.asp.baselines import baselines


def test_baselines_ignore_discarded_rows():
    result = baselines(["entailment"] * 26 + ["not_entailment"] * 54 + ["discard"])
    assert (result.rows, result.entailments, result.majority) == (80, 26, 67.5)
    assert result.chance == pytest.approx(55.83, abs=0.01)
    with pytest.raises(ValueError, match="no labels"):
        baselines(["discard"])
