"""What annotators are asked about ADEPT's items (section 4.1, table 3)."""

from adnominal.conf import ROOT
from adnominal.etl.adept import LABELS
from adnominal.etl.adept.baselines import EQUALLY_LIKELY
from adnominal.etl.annotation.task import AnnotationTask

ADEPT = AnnotationTask(
    name="adept",
    items="adept_items",
    labels=LABELS,
    # The findings of section 4.2 about the labels impossible and necessarily true.
    findings=("clear case", "already so", "another sense", "not well formed", "not so"),
    title="How plausible is it now?",
    audit_title="What explains the label?",
    texts=ROOT / "conf" / "adept",
    label_shares=(0.14, 0.12, 0.67, 0.06, 0.01),  # of the published labels (table 4)
    middle=EQUALLY_LIKELY,
)
