"""The labels of a model's answers and the form of its input."""

from collections.abc import Sequence
from dataclasses import dataclass

from adnominal.conf import UserError
from adnominal.training.answering import label_map
from adnominal.training.models.loading import ModelSource
from adnominal.training.tasks import Form
from adnominal.training.tasks.adept import LABELS


@dataclass(frozen=True)
class ScoredModel:
    """A model to score: its canonical `labels` by class id, and its form of input."""

    source: ModelSource
    labels: tuple[str, ...]
    form: Form

    @property
    def labels_in_order(self) -> tuple[str, ...]:
        """The labels in their task's order, which is that of the column `scores` of predictions."""
        return label_map.in_order(self.labels) or self.labels


def scored_model(source: ModelSource, given_labels: Sequence[str] = ()) -> ScoredModel:
    """Find the labels and form of a model; `given_labels` if its configuration names none.

    Raises:
        UserError: classes have no meaning (LABEL_0) or an unknown one, or `given_labels` differ in
            number from the classes or contradict the model.
    """
    if source.generates:
        if source.trained is not None and source.trained.instruction is not None:
            raise UserError(
                f"model={source.name}: a language model that generates meanings; its output is in "
                "the predictions of its run (training/finetune.py) and is not scored here"
            )
        if given_labels:
            raise UserError(f"labels={list(given_labels)}: model={source.name} generates texts")
        return ScoredModel(source, (), "text")
    model_labels = source.labels
    if given_labels:
        if len(given_labels) != len(model_labels):
            raise UserError(
                f"labels={list(given_labels)}: {len(given_labels)} for the {len(model_labels)} "
                f"classes of model={source.name}"
            )
        if not _meaningless(model_labels) and _canonical(source, model_labels) != _canonical(
            source, given_labels
        ):
            raise UserError(
                f"labels={list(given_labels)}: model={source.name} itself says "
                f"{', '.join(model_labels)}; omit labels="
            )
    elif _meaningless(model_labels):
        raise UserError(
            f"model={source.name}: its classes are called {', '.join(model_labels)}, which have no "
            "meaning; expected labels= in their order (see the model's card), such as "
            f"labels=[{','.join(_EXAMPLES.get(len(model_labels), _EXAMPLES[3]))}]"
        )
    labels = _canonical(source, given_labels or model_labels)
    if set(labels) <= set(LABELS):
        alone = source.trained is not None and source.trained.task.get("context") is False
        return ScoredModel(source, labels, "words" if alone else "change")
    # For a model from elsewhere this is unknown; models of natural-language inference take pairs.
    return ScoredModel(source, labels, "statement" if source.pair is False else "pair")


_EXAMPLES = {
    2: ("entailment", "not_entailment"),
    3: ("contradiction", "neutral", "entailment"),
    5: LABELS,
}


def _meaningless(names: Sequence[str]) -> bool:
    return all(name.upper().startswith("LABEL_") for name in names)


def _canonical(source: ModelSource, names: Sequence[str]) -> tuple[str, ...]:
    try:
        return label_map.canonical(names)
    except label_map.Undefined as error:
        raise UserError(
            f"model={source.name}: {error}; expected the labels of natural-language inference "
            "(entailment, neutral, contradiction; or entailment, not_entailment), PLANE or ADEPT, "
            "in the model's configuration or as labels=[…]"
        ) from error
