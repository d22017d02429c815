"""ASP's page (Liu, Xiang and Ding 2023): tables 1 to 4, figures 2 to 4, and numbers in the text."""

from adnominal.analysis.papers.asp import controls, curves, dataset, models, sources
from adnominal.analysis.papers.exhibits import Page

PAGE = Page(
    "asp",
    "ASP: the Adjective Scale Probe",
    sources.Asp,
    (
        dataset.entailment,
        dataset.degree,
        models.untrained_models,
        curves.figure_2,
        curves.figure_3,
        curves.thresholds,
        models.comparing_numbers,
        models.trained_models,
        curves.figure_4,
        curves.curves_without_judgements,
        controls.control_experiments,
        models.leaks,
        dataset.appendix,
    ),
    models.headline,
)
