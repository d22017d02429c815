"""ADEPT's page (Emami et al. 2021): tables 1 to 6, figures 1 to 4, adjectives of identity, and
the log-probability of the sentences."""

from adnominal.analysis.papers.adept import annotators, asked, dataset, models, sentences, sources
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
        asked.untrained_models,
        models.identity,
        sentences.log_probability,
    ),
    models.headline,
)
