"""What none of the four papers has: transfer, frequency, leak-free splits, artefacts and
people's uncertainty."""

from adnominal.analysis.across import (
    audits,
    external,
    fine_tuned,
    frequency,
    overlap,
    parsers,
    splits,
    transfer,
    uncertainty,
)
from adnominal.analysis.papers.exhibits import Page

PAGE = Page(
    "across",
    "What none of the papers has",
    fine_tuned.Across,
    (
        transfer.matrix,
        frequency.against_corpora,
        splits.accuracy_by_split,
        splits.accuracy_by_seen_words,
        *audits.EXHIBITS.values(),
        overlap.of_forms,
        parsers.parser_comparison,
        external.imported_answers,
        uncertainty.of_people,
    ),
)
