"""Training and test sentences of the paper's four tests, by their words, depth and phenomena.

- systematicity (section 3.1): training has the primitive quantifier with every modifier and the
  other quantifiers without modifier; the test has the other quantifiers with modifiers.
- quantifier_negation (appendix D): the same with negation in place of the modifiers.
- productivity (section 3.2): training has depths 0 and 1, the test depths 2 and deeper.
- embedded_quantifiers (table 10): training has all quantifiers at depth 0, and one, two, every at
  each depth; the test has a, three, all at each depth.

A tenth of the training sentences is used for validation, chosen by (seed, scheme, primitive, id).
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from adnominal.etl.draws import fraction

QUANTIFIER_CLASSES = {
    "one": "EXI",
    "a": "EXI",
    "two": "NUM",
    "three": "NUM",
    "every": "UNI",
    "all": "UNI",
}
MODIFIERS = {"adjective": "ADJ", "adverb": "ADV", "conjunction": "CON", "disjunction": "CON"}
# The quantifiers that occur in training with every modifier. A split has one of them as its
# `primitive`; `one,two,every` is all three at once.
PRIMITIVES = ("one", "two", "every", "one,two,every")
TRAINED_QUANTIFIERS = frozenset(("one", "two", "every"))
SCHEMES = ("systematicity", "quantifier_negation", "productivity", "embedded_quantifiers")
VALIDATION_SHARE = 0.1


def quantifiers(sentence: str) -> tuple[str, ...]:
    """The quantifier words from left to right (no other word of the grammar looks like one)."""
    return tuple([word for word in sentence.split() if word in QUANTIFIER_CLASSES])


def quantifier_class(sentence: str) -> str:
    """EXI, NUM or UNI; NON without a quantifier; MIX if they differ (below depth 0)."""
    return _only_class({QUANTIFIER_CLASSES[word] for word in quantifiers(sentence)})


def modifier_class(phenomena: Collection[str]) -> str:
    """ADJ, ADV, CON, each with +NEG under negation; NON without modifier, MIX with several."""
    name = _only_class({MODIFIERS[tag] for tag in phenomena if tag in MODIFIERS})
    return f"{name}+NEG" if "negation" in phenomena else name


def _only_class(classes: set[str]) -> str:
    return "NON" if not classes else "MIX" if len(classes) > 1 else classes.pop()


def in_validation(seed: int, scheme: str, primitive: str, sentence_id: str) -> bool:
    """Whether this training sentence belongs to the tenth used for validation."""
    return fraction(seed, scheme, primitive, sentence_id) < VALIDATION_SHARE


def part(
    scheme: str, primitive: str, depth: int, sentence: str, phenomena: Collection[str]
) -> Literal["train", "test"] | None:
    """The part of a split that the sentence belongs to, before validation is split off.

    None if it belongs to neither part. A sentence without a quantifier counts as having another
    quantifier than the primitive: "ann ran" is in training, "ann ran quickly" in the test, as in
    the published split.

    Raises:
        ValueError: the scheme is unknown.
    """
    quantifiers_used = set(quantifiers(sentence))
    match scheme:
        case "systematicity" | "quantifier_negation":
            if depth != 0:
                return None
            if quantifiers_used & set(primitive.split(",")):
                return "train"
            tags = MODIFIERS if scheme == "systematicity" else ("negation",)
            return "test" if any(tag in phenomena for tag in tags) else "train"
        case "productivity":
            return "train" if depth < 2 else "test"
        case "embedded_quantifiers":
            if depth == 0 or (quantifiers_used and quantifiers_used <= TRAINED_QUANTIFIERS):
                return "train"
            return (
                "test" if quantifiers_used and not quantifiers_used & TRAINED_QUANTIFIERS else None
            )
    raise ValueError(f"scheme {scheme!r}; expected one of {', '.join(SCHEMES)}")


def rows_of(
    row: Mapping[str, Any], schemes: Iterable[str], seed: int, edition: str
) -> list[dict[str, str]]:
    """Rows of the table ``sygns_splits`` of a row of ``sygns``, one for each split that has it.

    `primitive` is empty for the schemes without one.
    """
    sentence_id = row["sentence_id"]
    rows = []
    for scheme in schemes:
        primitives = PRIMITIVES if scheme in ("systematicity", "quantifier_negation") else ("",)
        for primitive in primitives:
            assigned = part(scheme, primitive, row["depth"], row["sentence"], row["phenomena"])
            if assigned is None:
                continue
            is_held_out = assigned == "train" and in_validation(
                seed, scheme, primitive, sentence_id
            )
            rows.append(
                {
                    "scheme": scheme,
                    "primitive": primitive,
                    "part": "val" if is_held_out else assigned,
                    "sentence_id": sentence_id,
                    "edition": edition,
                }
            )
    return rows
