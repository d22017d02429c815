import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.asp.baselines import baselines
from adnominal.etl.checks.artefacts import Settings, audit, features, run

ROWS = [("The rod is big.", "The rod is huge", "no"), ("The rod is huge", "The rod is big.", "yes")]


def test_the_audit_finds_the_full_stop():
    rules = {rule.feature: rule for rule in audit(ROWS * 10)}
    rule = rules["premise ends in a full stop"]
    assert (rule.accuracy, rule.majority, rule.gain) == (1.0, 0.5, 50.0)
    assert rule.rule == "yes up to 0, no above"
    assert rules["'huge' in premise"].accuracy == 1.0
    assert rules["overlap over union"].accuracy == 0.5


def test_no_rule_beats_chance_without_artefacts():
    with_full_stops = [(f"{p.rstrip('.')}.", f"{h.rstrip('.')}.", label) for p, h, label in ROWS]
    contradictory = [(p, h, "no" if label == "yes" else "yes") for p, h, label in with_full_stops]
    assert {rule.accuracy for rule in audit(with_full_stops + contradictory)} == {0.5}


def test_features_compare_premise_and_hypothesis():
    values = features("The bag is not old.", "The bag is new.")
    assert (values["negation in premise"], values["negation in hypothesis"]) == (True, False)
    assert values["words, hypothesis less premise"] == -1
    assert values["share of hypothesis in premise"] == pytest.approx(4 / 5)


def test_an_audit_without_rows_is_refused():
    with pytest.raises(ValueError, match="no rows"):
        audit([("a", "b", "discard")], leave_out=["discard"])


def test_a_file_is_audited(tmp_path, capsys):
    path = tmp_path / "pairs.tsv"
    lines = ["sentence1\tsentence2\tgold", *("\t".join(row) for row in ROWS * 5)]
    path.write_text("\n".join(lines) + "\n")
    columns = ["premise=sentence1", "hypothesis=sentence2", "label=gold"]
    run(conf.load(Settings, [f"file={path}", *columns, "top=40"]))
    assert "premise ends in a full stop" in capsys.readouterr().out
    with pytest.raises(UserError, match="no premise, hypothesis, label"):
        run(conf.load(Settings, [f"file={path}"]))
    with pytest.raises(UserError, match="one of file=FILE and table=TABLE"):
        conf.load(Settings, [])


def test_quotes_in_a_tsv_file_are_text(tmp_path, capsys):
    path = tmp_path / "pairs.tsv"
    rows = ['"I left.\tHe spoke\tyes', 'A cat came"\tAn animal\tno']
    path.write_text("\n".join(["premise\thypothesis\tlabel", *rows]))
    run(conf.load(Settings, [f"file={path}", "least=1", "top=1"]))
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["all", "2"]


def test_a_file_without_rows_is_named(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("premise\thypothesis\tlabel\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"pairs\.tsv: no rows to audit"):
        run(Settings(file=str(path)))


def test_a_file_with_semicolons_is_refused(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("premise;hypothesis;label\nA big, red car;A car;yes\n")
    with pytest.raises(UserError, match="no premise, hypothesis, label in a row with premise;hyp"):
        run(conf.load(Settings, [f"file={path}"]))


@pytest.mark.parametrize("row", [b"caf\xe9,a,b", b"x" * 200_000])
def test_a_file_that_is_not_a_table_in_utf_8_is_refused(tmp_path, row):
    path = tmp_path / "pairs.csv"
    path.write_bytes(b"premise,hypothesis,label\n" + row + b"\n")
    with pytest.raises(UserError, match=rf"^file={path}: not a table in UTF-8: "):
        run(conf.load(Settings, [f"file={path}"]))


def test_baselines_ignore_discarded_rows():
    result = baselines(["entailment"] * 26 + ["not_entailment"] * 54 + ["discard"])
    assert (result.rows, result.entailments, result.majority) == (80, 26, 67.5)
    assert result.chance == pytest.approx(55.83, abs=0.01)
    with pytest.raises(ValueError, match="no labels"):
        baselines(["discard"])
