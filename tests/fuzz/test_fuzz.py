"""Some seconds of ``python -m tests.fuzz``, and inputs that once revealed a fault."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from adnominal.etl.sygns import drs, fol, vf
from tests.fuzz.__main__ import fault_of, try_reader
from tests.fuzz.mutations import restructure
from tests.fuzz.readers import DRS, SYGNS, Reader, readers

READERS = {reader.name: reader for reader in readers()}
SECONDS = 8 / len(READERS)

DEEP = b"[" * 100_000
# Readers, and inputs on which they once failed.
FAILED_ONCE = (
    ("ADEPT's release", DEEP),
    ("answers of annotators", DEEP),
    ("JSON lines", b'{"text": ' + DEEP),
    ("ConceptNet 5", b"a\t/r/IsA\t/c/en/a\t/c/en/b\t" + DEEP),
    ("settings", b"a: " + DEEP),
    ("settings", b"a: " + DEEP + b"]" * 100_000),
    ("PLANE's release", b"sent\xc6ence\tlabel\n"),
    ("SyGNS's release", SYGNS.replace(b"cats", b"c\xc6ts")),
    ("FOL", b"-" * 5000 + b"dance(a)"),
    ("FOL", b"a(b) -> " * 3000 + b"a(b)"),
    ("VF", b"NOT " * 5000 + b"CAT"),
    ("DRS", b" [SEP] ".join(b"b%d NOT b%d" % (n, n + 1) for n in range(3000))),
)


@pytest.mark.parametrize("name", READERS)
def test_mutated_input_is_read_counted_as_malformed_or_refused(name):
    inputs, faults = try_reader(READERS[name], SECONDS, seed=0)
    assert not faults, {fault: data[:300] for fault, data in faults.items()}
    assert inputs > 0


@pytest.mark.parametrize(
    ("name", "data"), FAILED_ONCE, ids=[f"{name}-{n}" for n, (name, _) in enumerate(FAILED_ONCE)]
)
def test_inputs_that_failed_once_no_longer_do(name, data, tmp_path):
    assert fault_of(READERS[name], data, tmp_path) == ""


def test_a_fault_is_reported():
    def read(data: bytes, folder: Path) -> None:
        assert b"\xff" not in data

    inputs, faults = try_reader(Reader("x", (b"abc",), read), 0.3, seed=0)
    assert inputs
    assert {fault.split(" at ")[0] for fault in faults} == {"AssertionError"}


def test_structures_are_changed_in_every_way():
    draw = random.Random(0)
    seed = b"premise,label\nA dog.,1\n"
    changed = {restructure(seed, draw, (b"{}",)) for _ in range(300)}
    assert {
        b"premise,premise,label\nA dog.,A dog.,1\n",  # a column in all lines twice
        b"premise,label\nA dog.,A dog.,1\n",  # and in one line
        b"label\n1\n",
        "p\u00adremise,l\u00adabel\nA d\u00adog.,1\n".encode(),
        b"premise.[1],label.[1]\nA dog.[1].,1\n",
        b"{}",  # content of another kind
        b"premise,label\n{}",
    } <= changed


VARIABLES = st.integers(1, 9).map(lambda number: f"x{number}")
ATOMS = st.builds(fol.Atom, st.sampled_from(("cat", "lick")), st.tuples(VARIABLES))
FORMULAS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds(fol.Not, inner),
        st.builds(fol.Implies, inner, inner),
        st.lists(inner, min_size=2, max_size=3).map(fol.conjunction),
        st.lists(inner, min_size=2, max_size=3).map(fol.disjunction),
        st.builds(fol.All, VARIABLES, inner),
    ),
    max_leaves=12,
)


@given(FORMULAS)
@hypothesis_settings(max_examples=60)
def test_any_formula_is_parsed_as_written(formula):
    for variable in sorted(fol.free_variables(formula)):
        formula = fol.Exists(variable, formula)
    assert fol.parse(fol.text(formula)) == formula


@given(st.text())
@hypothesis_settings(max_examples=60)
def test_any_text_is_parsed_or_refused(text):
    for parse in (fol.parse, vf.parse, drs.parse):
        try:
            parse(text)
        except fol.ParseError as error:
            assert str(error)
    assert drs.parse(DRS[0].decode())
