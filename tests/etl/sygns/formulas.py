"""Random formulas, boxes and terms for property tests."""

from hypothesis import strategies as st

from adnominal.etl.sygns import drs, fol, vf

NAMES = st.sampled_from(["dog", "run", "two", "chase", "small"])


@st.composite
def formulas(draw: st.DrawFn, bound: int = 0, size: int = 4) -> fol.Formula:
    """A formula whose free variables are among the first `bound` of x1, x2, …; with 0 it is closed.

    Several quantifiers may use one variable, side by side or nested.
    """
    connectives = ["not", "and", "or", "implies"]
    kinds = ["all", "exists"] if bound == 0 else ["atom", *connectives, "exists", "every"]
    kind = draw(st.sampled_from(["atom"] if bound and not size else kinds))
    smaller = max(size - 1, 0)
    if kind in ("all", "exists", "every"):
        number = draw(st.integers(1, bound + 1))
        variable, bound = f"x{number}", max(bound, number)
        body = draw(formulas(bound, smaller))
        if kind == "every":
            return fol.All(variable, fol.Implies(body, draw(formulas(bound, smaller))))
        return (fol.All if kind == "all" else fol.Exists)(variable, body)
    if kind == "atom":
        names = st.sampled_from([f"x{i + 1}" for i in range(bound)])
        return fol.Atom(draw(NAMES), tuple(draw(st.lists(names, min_size=1, max_size=2))))
    if kind == "not":
        return fol.Not(draw(formulas(bound, smaller)))
    left, right = draw(formulas(bound, smaller)), draw(formulas(bound, smaller))
    if kind == "implies":
        return fol.Implies(left, right)
    return (fol.conjunction if kind == "and" else fol.disjunction)([left, right])


@st.composite
def boxes(draw: st.DrawFn, bound: int = 0, size: int = 3) -> drs.Box:
    """A box that mentions its own referents and the first `bound` of x1, x2, …."""
    referents = [f"x{bound + 1 + i}" for i in range(draw(st.integers(1 if bound == 0 else 0, 2)))]
    accessible = bound + len(referents)
    names = st.sampled_from([f"x{i + 1}" for i in range(accessible)])
    conditions: list[drs.Condition] = [drs.Predication(draw(NAMES), (draw(names),))]
    for _ in range(draw(st.integers(0, 2)) if size else 0):
        kind = draw(st.sampled_from(["relation", "not", "imp", "dis"]))
        if kind == "relation":
            conditions.append(drs.Predication(draw(NAMES), (draw(names), draw(names))))
        elif kind == "not":
            conditions.append(drs.Negation(draw(boxes(accessible, size - 1))))
        elif kind == "imp":
            left = draw(boxes(accessible, size - 1))
            right = draw(boxes(accessible + len(left.referents), size - 1))
            conditions.append(drs.Implication(left, right))
        else:
            pair = draw(boxes(accessible, size - 1)), draw(boxes(accessible, size - 1))
            conditions.append(drs.Disjunction(*pair))
    return drs.Box(tuple(referents), tuple(conditions))


def terms(size: int = 8) -> st.SearchStrategy[vf.Term]:
    """A term of any shape, not necessarily a sentence."""
    return st.recursive(
        NAMES.filter(lambda name: name != "two").map(lambda name: vf.Word(name.upper())),
        lambda inner: st.sampled_from(sorted(vf.ARITY)).flatmap(
            lambda op: st.tuples(*[inner] * vf.ARITY[op]).map(lambda a: vf.Operation(op, a))
        ),
        max_leaves=size,
    )
