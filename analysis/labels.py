"""Names of labels, in the order of their numbers and of what models score them by."""

from etl.adept import LABELS as ADEPT
from etl.asp import ENTAILMENT, NOT_ENTAILMENT

__all__ = ["ADEPT", "ASP", "PLANE"]

PLANE = ("not entailed", "entailed")
ASP = (ENTAILMENT, NOT_ENTAILMENT)
