"""PLANE's items as multiple-choice questions for lm-evaluation-harness.

They have the paper's two templates with its three pairs of verbalisers (tables 2 and 3), without
examples. The paper's masked models fill the blank; the harness compares whole sentences.
"""

import pyarrow as pa

from adnominal.etl.declaration import Question
from adnominal.etl.knowledge.english import article

VERBALISERS = {
    "good_poor": ("good", "poor"),
    "true_false": ("true", "false"),
    "positive_negative": ("positive", "negative"),
}
"""The words for an inference that holds and for one that does not (table 3)."""

_TEMPLATES = {
    "internal": "{first} is a {verbaliser} example of {second}.",
    "external": "{first} is a type of {bare}: {verbaliser}.",
}


def questions() -> tuple[Question, ...]:
    """Return a question for each template and pair of verbalisers."""
    return tuple(
        _question(f"{template}_{pair}", text, good, poor)
        for template, text in _TEMPLATES.items()
        for pair, (good, poor) in VERBALISERS.items()
    )


def _question(name: str, template: str, entailing: str, other: str) -> Question:
    """A question whose two choices are the sentence with either word in the blank.

    Harnesses score each choice after the same beginning, so all text from the blank on is part of
    the choices.
    """
    start, _, tail = template.partition("{verbaliser}")
    fields = {"first": "{{first}}", "second": "{{second}}", "bare": "{{bare}}"}
    # The text after the blank: words of the row and of the template, joined by Jinja.
    before_second, _, end = tail.partition("{second}")
    # In the order of the labels: not entailed, entailed.
    choices = [
        f"'{word}{before_second}' ~ second ~ '{end}'" if end else f"'{word}{tail}'"
        for word in (other, entailing)
    ]
    return Question(
        start.format(**fields).rstrip(),
        "{{[" + ", ".join(choices) + "]}}",
        ("item_id", "class", "inference_type", "label", "first", "second", "bare"),
        name=name,
        prepare=phrases,
    )


def phrases(rows: pa.Table) -> pa.Table:
    """Add the columns first, second and bare: phrases with and without their articles.

    Articles are chosen by sound, or are always ``a`` if the edition has no other.
    """
    columns = [rows.column(name).to_pylist() for name in ("premise", "conclusion", "sentence")]
    first, second, bare = [], [], []
    for premise, conclusion, sentence in zip(*columns, strict=True):
        # The published items and those modelled on them have no full stop and never "an".
        article_of = article if sentence.endswith(".") else lambda _: "a"
        first.append(f"{article_of(premise).capitalize()} {premise}")
        second.append(f"{article_of(conclusion)} {conclusion}")
        bare.append(conclusion)
    for name, values in (("first", first), ("second", second), ("bare", bare)):
        rows = rows.append_column(name, pa.array(values, pa.string()))
    return rows
