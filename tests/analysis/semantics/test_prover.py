import random
import stat
import sys

import pytest

from adnominal.analysis.semantics.prover import (
    Cvc5,
    Entailment,
    EProver,
    Outcome,
    Problem,
    Prover,
    Proving,
    Vampire,
    formula_of,
    provers,
    tptp,
)
from adnominal.conf import JobFailed, UserError
from adnominal.etl.sygns import fol
from adnominal.etl.sygns.fol import ParseError
from adnominal.etl.sygns.generate import Sampler
from adnominal.etl.sygns.grammar import grammar

THEOREM, NOT, TIMEOUT, BROKEN = Outcome

SMALL_DOG = "exists x1.(dog(x1) & small(x1) & run(x1))"
DOG = "exists x1.(dog(x1) & run(x1))"


def find_prover(name: str) -> Prover:
    try:
        return provers([name])[0]
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture(params=["eprover", "cvc5"])
def prover(request) -> Prover:
    return find_prover(request.param)


def scramble(formula: fol.Formula, rng: random.Random) -> fol.Formula:
    """The formula with shuffled conjuncts and disjuncts and renamed variables."""

    def walk(part: fol.Formula) -> fol.Formula:
        match part:
            case fol.Not(body):
                return fol.Not(walk(body))
            case fol.And(members) | fol.Or(members):
                shuffled = rng.sample(members, len(members))
                return type(part)(tuple([walk(member) for member in shuffled]))
            case fol.Implies(left, right):
                return fol.Implies(walk(left), walk(right))
            case fol.Exists(variable, body) | fol.All(variable, body):
                return type(part)(variable, walk(body))
        return part

    return fol.rename(walk(formula), "y")


def problem(premise: str, conclusion: str) -> Problem:
    return Problem(fol.parse(premise), fol.parse(conclusion))


@pytest.mark.parametrize(
    ("premise", "conclusion", "outcome"),
    [
        (SMALL_DOG, DOG, THEOREM),
        (DOG, SMALL_DOG, NOT),
        ("all x1.(dog(x1) -> run(x1))", "all x1.((dog(x1) & small(x1)) -> run(x1))", THEOREM),
        ("all x1.(dog(x1) -> run(x1))", DOG, NOT),
        ("exists x1.(p(x1) & -p(x1))", DOG, THEOREM),
        ("exists x1.(dog(x1) & see(x1,x1))", "exists x1.(dog(x1) & see(x1))", NOT),
        ("exists x1.see(x1,ann)", "exists x1.exists x2.see(x1,x2)", THEOREM),
        ("exists x1.exists x2.see(x1,x2)", "exists x1.see(x1,ann)", NOT),
        ("all x1.(p(x1) | q(x1))", "(all x1.p(x1) | all x1.q(x1))", NOT),
    ],
)
def test_provers_decide_entailment(prover, premise, conclusion, outcome):
    assert prover.prove(problem(premise, conclusion), 5.0) is outcome


def test_tptp_replaces_words_by_symbols():
    text = tptp(problem("exists x1.(dog(x1) & -see(x1,ann))", "all x2.(dog(x2) -> dog(x2,x2))"))
    assert text == (
        "fof(a,axiom,(?[X1]:(p1(X1)&~p2(X1,c1)))).\nfof(c,conjecture,(![X2]:(p1(X2)=>p3(X2,X2)))).\n"
    )


def test_renamed_and_reordered_formulas_are_equivalent():
    prover = find_prover("eprover")
    rng = random.Random(0)
    for depth in range(5):
        for row in Sampler(grammar("clean", 5, 5), depth, seed=0).records(range(4)):
            formula = fol.parse(row.fol)
            other = scramble(formula, rng)
            assert fol.canonical(formula) == fol.canonical(other)
            assert prover.prove(Problem(formula, other), 5.0) is THEOREM
            assert prover.prove(Problem(other, formula), 5.0) is THEOREM


def test_the_three_forms_of_a_sentence_are_equivalent():
    proving = Proving([find_prover("eprover")], seconds=5.0, workers=2)
    problems = []
    for depth in range(4):
        for row in Sampler(grammar("clean", 5, 5), depth, seed=5).records(range(5)):
            from_fol, from_drs, from_vf = (
                formula_of(form, text)
                for form, text in (("fol", row.fol), ("drs", row.drs), ("vf", row.vf))
            )
            assert from_fol == from_vf
            problems += [Problem(from_fol, from_drs), Problem(from_drs, from_vf)]
    assert set(proving.decide(problems)) == {THEOREM}


class Slow:
    """A prover that always times out."""

    name = "slow"

    def __init__(self) -> None:
        self.calls = 0

    def prove(self, problem: Problem, seconds: float) -> Outcome:
        self.calls += 1
        return TIMEOUT


def test_provers_are_called_in_order_until_one_answers():
    slow = Slow()
    proving = Proving([slow, find_prover("eprover")])
    assert proving.entailments("fol", [(SMALL_DOG, DOG)]) == [Entailment(THEOREM, NOT)]
    assert slow.calls == 2


def test_answers_are_cached_but_timeouts_are_not(tmp_path):
    slow = Slow()
    proving = Proving([slow])
    pairs = [(SMALL_DOG, DOG), (DOG.replace("x1", "x7"), SMALL_DOG)]
    assert proving.entailments("fol", pairs)[0] == Entailment(TIMEOUT, TIMEOUT)
    assert slow.calls == 2  # the second pair is the first one reversed
    proving.entailments("fol", pairs)
    assert slow.calls == 4

    first = Proving([find_prover("eprover")], cache=tmp_path / "answers.sqlite")
    first.entailments("fol", [(SMALL_DOG, DOG)])
    first.close()
    second = Proving([slow], cache=tmp_path / "answers.sqlite")
    cats = [text.replace("dog", "cat") for text in (SMALL_DOG, DOG)]
    assert second.entailments("fol", [(cats[0], cats[1])]) == [Entailment(THEOREM, NOT)]
    assert second.counts.cached == 2


def test_a_file_that_is_no_cache_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("not a database, but long enough to be taken for one" * 20)
    for path in (tmp_path / "notes.txt", tmp_path / "nowhere" / "answers.sqlite"):
        with pytest.raises(UserError, match="expected a cache file of this job"):
            Proving([Slow()], cache=path)


def test_equal_forms_need_no_prover():
    proving = Proving([Slow()])
    reordered = "exists x2.(run(x2) & dog(x2))"
    assert proving.entailments("fol", [(DOG, reordered)]) == [Entailment(THEOREM, THEOREM)]
    assert proving.counts.short_cut == 2


@pytest.mark.parametrize(
    ("form", "gold", "predicted"),
    [
        ("fol", DOG, "exists x1.(dog(x1) & run(x1)"),
        ("fol", DOG, "exists x1.(dog(x1) & run(x2))"),
        ("drs", "b1 REF x1 [SEP] b1 dog x1", "b1 dog x1"),
        ("drs", "b1 REF x1 [SEP] b1 dog x1", "b1 REF x1"),
        ("vf", "EXIST DOG RUN", "EXIST DOG"),
        ("vf", "EXIST DOG RUN", "EXIST DOG INV RUN"),
    ],
)
def test_broken_meanings_are_unparseable(form, gold, predicted):
    proving = Proving([Slow()])
    assert proving.entailments(form, [(gold, predicted)]) == [Entailment(BROKEN, BROKEN)]


def test_broken_gold_is_an_error():
    with pytest.raises(ParseError):
        Proving([Slow()]).entailments("fol", [("dog(", DOG)])
    with pytest.raises(ValueError, match="expected fol, drs or vf"):
        formula_of("sql", DOG)


def test_unknown_and_missing_provers_are_reported(monkeypatch):
    with pytest.raises(UserError, match="expected some of eprover, vampire, cvc5"):
        provers(["spass"])
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="Vampire was not found"):
        Vampire()


@pytest.fixture
def program(tmp_path):
    def make(body: str) -> str:
        path = tmp_path / "prover"
        path.write_text(f"#!{sys.executable}\nimport sys, time\nsys.stdin.read()\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("Theorem", THEOREM),
        ("ContradictoryAxioms", THEOREM),
        ("CounterSatisfiable", NOT),
        ("GaveUp", TIMEOUT),
        ("Timeout", TIMEOUT),
    ],
)
def test_the_status_of_vampire_is_read(program, status, outcome):
    vampire = Vampire(program(f"print('% SZS status {status} for x')"))
    assert vampire.prove(problem(SMALL_DOG, DOG), 5.0) is outcome


def test_a_prover_that_exceeds_its_time_is_killed(program):
    vampire = Vampire(program("time.sleep(60)"))
    assert vampire.prove(problem(SMALL_DOG, DOG), 0.5) is TIMEOUT


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("print('segmentation fault'); sys.exit(3)", "gave no status, exit code 3"),
        ("print('% SZS status Miracle')", "unknown status 'Miracle'"),
    ],
)
def test_a_prover_that_fails_is_an_error(program, body, message):
    with pytest.raises(JobFailed, match=message):
        EProver(program(body)).prove(problem(SMALL_DOG, DOG), 5.0)


def test_a_missing_cvc5_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvc5", None)
    with pytest.raises(UserError, match="cvc5 is not installed"):
        Cvc5()
