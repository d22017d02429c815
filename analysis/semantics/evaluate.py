"""The scores of predicted meanings, by item and by class of sentence.

All forms have exact match and entailment (a DRS or a VF term through its translation to FOL); DRS
also has clause matching, FOL and VF have polarity.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from adnominal.analysis.semantics import drs_matching, polarity
from adnominal.analysis.semantics.drs_matching import Score
from adnominal.analysis.semantics.polarity import PolarityScore
from adnominal.analysis.semantics.prover import Entailment, Outcome, Proving
from adnominal.etl.sygns.splits import modifier_class, quantifier_class

FORMS = ("fol", "drs", "vf")


@dataclass(frozen=True, slots=True)
class Item:
    """A gold meaning and a predicted one, with the known properties of the sentence."""

    gold: str
    predicted: str
    item_id: str = ""
    sentence: str | None = None
    depth: int | None = None
    phenomena: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ItemScores:
    """The scores of one item; None for scores that the form lacks or that were not requested."""

    exact: bool
    entailment: Entailment | None = None
    clauses: Score | None = None
    up: PolarityScore | None = None
    down: PolarityScore | None = None

    def record(self) -> dict[str, Any]:
        """The scores as plain values, for JSON."""
        result: dict[str, Any] = {"exact": self.exact}
        if self.entailment is not None:
            result["gold_entails_predicted"] = str(self.entailment.forward)
            result["predicted_entails_gold"] = str(self.entailment.backward)
        if self.clauses is not None:
            names = ("matched", "predicted", "gold", "f")
            result |= {f"clauses_{name}": getattr(self.clauses, name) for name in names}
            result["ill_formed"] = bool(self.clauses.ill_formed)
        for direction, score in (("up", self.up), ("down", self.down)):
            if score is not None:
                result |= {f"{direction}_{name}": v for name, v in score._asdict().items()}
        return result


@dataclass(frozen=True, slots=True)
class Summary:
    """The scores of one class of sentences; shares from 0 to 1.

    `entailment` counts the outcomes in each direction and how often both are theorems; `clauses` is
    the sum over items (micro), `clauses_f` the mean of their F; `polarity` has by direction (up,
    down) the mean precision, recall and f over the `items` that have a word of the direction.
    """

    group: str
    name: str
    items: int
    exact: float
    entailment: dict[str, dict[str, int]] = field(default_factory=dict)
    clauses: Score | None = None
    clauses_f: float | None = None
    polarity: dict[str, dict[str, float]] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """The summary as plain values, for JSON."""
        result: dict[str, Any] = {"group": self.group, "class": self.name}
        result |= {"items": self.items, "exact": self.exact}
        if self.entailment:
            result["entailment"] = self.entailment
        if self.clauses is not None:
            names = ("precision", "recall", "f", "ill_formed", "unproven")
            clauses = {name: getattr(self.clauses, name) for name in names}
            result["clauses"] = {**clauses, "f_by_item": self.clauses_f}
        return result | self.polarity


def evaluate(
    items: Sequence[Item],
    form: str,
    *,
    proving: Proving | None = None,
    search: str = "exact",
    rounding: int | None = None,
    matching: str = "exact",
) -> list[ItemScores]:
    """The scores of each item; entailments only with `proving`.

    `search` and `matching` are those of `drs_matching.match`, `rounding` that of
    `polarity.score`.

    Raises:
        ParseError: a gold meaning is ill-formed.
    """
    if form not in FORMS:
        raise ValueError(f"form {form!r}; expected one of {', '.join(FORMS)}")
    pairs = [(item.gold, item.predicted) for item in items]
    entailments: Sequence[Entailment | None] = [None] * len(items)
    if proving is not None:
        entailments = proving.entailments(form, pairs)
    result = []
    for (gold, predicted), entailment in zip(pairs, entailments, strict=True):
        exact = gold.strip() == predicted.strip()
        if form == "drs":
            clauses = drs_matching.match(gold, predicted, search=search, variant=matching)
            result.append(ItemScores(exact, entailment, clauses))
            continue
        up = polarity.score(form, gold, predicted, "up", rounding)
        down = polarity.score(form, gold, predicted, "down", rounding)
        result.append(ItemScores(exact, entailment, None, up, down))
    return result


def summarise(items: Sequence[Item], scores: Sequence[ItemScores]) -> list[Summary]:
    """Summaries of all items, then by quantifier, modifier and depth where these are known."""
    groups: list[tuple[str, Callable[[Item], str | None]]] = [
        ("all", lambda item: "all"),
        ("quantifier", lambda item: item.sentence and quantifier_class(item.sentence)),
        (
            "modifier",
            lambda item: None if item.phenomena is None else modifier_class(item.phenomena),
        ),
        ("depth", lambda item: None if item.depth is None else str(item.depth)),
    ]
    result = []
    for group, class_of in groups:
        members: dict[str, list[ItemScores]] = {}
        for item, score in zip(items, scores, strict=True):
            name = class_of(item)
            if name is not None:
                members.setdefault(name, []).append(score)
        result += [_summary(group, name, members[name]) for name in sorted(members)]
    return result


def _summary(group: str, name: str, scores: Sequence[ItemScores]) -> Summary:
    """The means over a group of items."""
    clauses = [s.clauses for s in scores if s.clauses is not None]
    means = {
        "up": polarity.average(s.up for s in scores),
        "down": polarity.average(s.down for s in scores),
    }
    return Summary(
        group,
        name,
        items=len(scores),
        exact=sum(s.exact for s in scores) / len(scores),
        entailment=_outcomes([s.entailment for s in scores if s.entailment is not None]),
        clauses=sum(clauses, Score()) if clauses else None,
        clauses_f=sum(c.f for c in clauses) / len(clauses) if clauses else None,
        polarity={way: {**mean._asdict(), "items": n} for way, (mean, n) in means.items() if mean},
    )


def _outcomes(entailments: Sequence[Entailment]) -> dict[str, dict[str, int]]:
    """How often each outcome occurs in each direction, and how often both are theorems."""
    if not entailments:
        return {}
    both = sum(e.forward == e.backward == Outcome.THEOREM for e in entailments)
    forward, backward = map(Counter, zip(*entailments, strict=True))
    return {
        "gold_entails_predicted": {str(o): forward[o] for o in Outcome},
        "predicted_entails_gold": {str(o): backward[o] for o in Outcome},
        "equivalent": {str(Outcome.THEOREM): both},
    }
