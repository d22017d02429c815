"""PLANE's page (Bertolini et al. 2022): tables 1, 4 to 6 and 8, figures 1 to 9, in paper order."""

from adnominal.analysis.papers.exhibits import Page
from adnominal.analysis.papers.plane import (
    dataset,
    fine_tuned,
    inference,
    prompting,
    sources,
    subwords,
)

PAGE = Page(
    "plane",
    "PLANE: entailment of adjective-noun phrases",
    sources.Plane,
    (
        dataset.rules,
        dataset.size,
        prompting.two_shot,
        inference.accuracy,
        inference.by_type,
        fine_tuned.accuracy,
        subwords.out_of_distribution,
        subwords.one_inference_type,
        subwords.overlap,
        dataset.association,
        prompting.zero_shot,
        prompting.templates,
        prompting.verbalisers,
        prompting.order_of_examples,
        fine_tuned.by_length,
        inference.errors,
    ),
    fine_tuned.headline,
)
