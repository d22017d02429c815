"""ADEPT's page (Emami et al. 2021): tables 1 to 6, figures 1 to 4, and adjectives of identity."""

from adnominal.analysis.papers.adept import annotators, asked, dataset, models, sources
from adnominal.analysis.papers.exhibits import Page

PAGE = Page(
    "adept",
    "ADEPT: adjectives and plausibility",
    sources.Adept,
    (
        dataset.examples,
        dataset.construction,
        dataset.pipeline,
        dataset.questions,
        dataset.agreement,
        annotators.experts,
        models.accuracy,
        models.five_classes,
        models.three_classes,
        dataset.by_class,
        models.answers,
        asked.untrained,
        models.identity,
    ),
    models.headline,
)
