"""SyGNS's page (Yanaka et al. 2021): tables 1 to 18 and figure 2."""

from adnominal.analysis.papers.exhibits import Page
from adnominal.analysis.papers.sygns import dataset, errors, models, sources

PAGE = Page(
    "sygns",
    "SyGNS: systematic generalisation",
    sources.Sygns,
    (
        dataset.systematicity,
        dataset.productivity,
        dataset.sizes,
        dataset.polarity,
        models.table_4,
        models.table_5,
        models.learning_curves,
        models.entailment,
        errors.universal_sentence,
        models.polarity_of_fol,
        models.table_9,
        models.table_10,
        models.by_size,
        dataset.grammar,
        dataset.polarity_of_forms,
        models.table_14,
        models.polarity_of_forms,
        models.table_16,
        models.table_17,
        errors.clauses,
        models.every_group,
    ),
    models.headline,
)
