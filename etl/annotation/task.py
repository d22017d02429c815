"""What people are asked about the items of a dataset: all that the annotation code knows of it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class AnnotationTask:
    """The options and texts of a dataset's annotation pages.

    Attributes:
        name: the dataset; its tables are ``NAME_batches`` and ``NAME_annotations``.
        items: the table of the items.
        labels: the labels of an item, in the order of their codes.
        findings: the options of the round audit, in the order of their codes.
        title: heading of a page.
        audit_title: heading of a page of the round audit.
        texts: folder of the page's templates and instructions; those that all datasets share are
            in conf/annotation.
        label_shares: share of each label among the items, for simulated annotators.
        middle: the label on whose sides disagreements are counted, if there is one.
    """

    name: str
    items: str
    labels: tuple[str, ...]
    findings: tuple[str, ...]
    title: str
    audit_title: str
    texts: Path
    label_shares: tuple[float, ...]
    middle: int | None = None

    @property
    def job(self) -> str:
        """The name of the job, in commits."""
        return f"annotate_{self.name}"

    @property
    def batches(self) -> str:
        """The table of questions."""
        return f"{self.name}_batches"

    @property
    def annotations(self) -> str:
        """The table of answers."""
        return f"{self.name}_annotations"

    def options(self, round: str) -> tuple[str, ...]:
        """The possible answers in a round: labels, or findings about labels."""
        return self.findings if round == "audit" else self.labels
