"""What people are asked about ASP's degrees: is the number enough (appendix B)?"""

from adnominal.conf import ROOT
from adnominal.etl.annotation.task import AnnotationTask

DEGREES = AnnotationTask(
    name="asp",
    items="asp_degree",
    labels=("no", "yes"),
    findings=(),
    title="Would you say so?",
    audit_title="",
    texts=ROOT / "conf" / "asp",
    label_shares=(0.65, 0.35),  # of the rows with published thresholds
)
