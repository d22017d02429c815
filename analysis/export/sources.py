"""Licences and provenance of the datasets: what an export must say of where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from analysis.export.content import Content
from analysis.published import citation
from etl.lake import arrow


@dataclass(frozen=True)
class About:
    """What is said of a dataset.

    `licence` is an identifier of the Hugging Face hub, `licence_url` its text, where it has one;
    `terms` says what binds whoever passes the data on.
    """

    title: str
    summary: str
    task: str
    licence: str
    licence_url: str | None
    terms: tuple[str, ...]
    made_of: tuple[str, ...]
    citation: str


_TITLES = {
    "adept": (
        "ADEPT: adjective-dependent plausibility",
        "Pairs of sentences of which the second has one adjective more, labelled by how that "
        "changes the plausibility of what is said.",
        "text-classification",
    ),
    "plane": (
        "PLANE: phrase-level adjective-noun entailment",
        "Does an adjective-noun phrase entail its noun, a hypernym of it, or the adjective with "
        "the hypernym? By class of the adjective: intersective, subsective, intensional.",
        "text-classification",
    ),
    "asp": (
        "ASP: the Adjective Scale Probe",
        "Entailment by degree: eight tests of what gradable adjectives entail, with words alone "
        "and with numbers.",
        "text-classification",
    ),
    "sygns": (
        "SyGNS: systematic generalisation of scoped meanings",
        "Sentences of a small grammar, each with a first-order formula, a discourse representation "
        "structure and a variable-free formula.",
        "text-generation",
    ),
}

_BY_SA_4 = ("cc-by-sa-4.0", "https://creativecommons.org/licenses/by-sa/4.0/")
_WIKIPEDIA = "Counts of adjective-noun pairs of Wikipedia or a web corpus (no running text)."
_WORDNET = "WordNet 3.0, Princeton University (WordNet licence: the notice goes with copies)."
_CONCEPTNET = "ConceptNet (CC BY-SA 4.0, https://conceptnet.io): predicates and their surface text."

# (licence, its text, terms, what it is made of), of the published editions and of one's own.
_PUBLISHED: Mapping[str, tuple[str, str | None, tuple[str, ...], tuple[str, ...]]] = {
    "adept": (
        "cc-by-sa-3.0",
        "https://creativecommons.org/licenses/by-sa/3.0/",
        (
            "Published under CC BY-SA 3.0; name the authors and pass changes on under the same.",
            "Words counted in Common Crawl are under its terms of use "
            "(https://commoncrawl.org/terms-of-use).",
        ),
        ("The authors' release.", _CONCEPTNET, "Wikipedia and DepCC: adjective-noun pairs."),
    ),
    "plane": (
        "unknown",
        None,
        ("The release states no licence: ask its authors before you pass this on.",),
        ("The authors' release.", _WORDNET, "Wikipedia: adjective-noun pairs."),
    ),
    "asp": (
        "unknown",
        None,
        ("The release states no licence: ask its authors before you pass this on.",),
        ("The authors' release.",),
    ),
    "sygns": (
        *_BY_SA_4,
        ("Published under CC BY-SA 4.0; name the authors and pass changes on under the same.",),
        ("The authors' release.",),
    ),
}
_OWN: Mapping[str, tuple[str, str | None, tuple[str, ...], tuple[str, ...]]] = {
    "adept": (
        *_BY_SA_4,
        ("Sentences are made of ConceptNet's, so its CC BY-SA 4.0 holds for them.",),
        (_CONCEPTNET, _WIKIPEDIA, _WORDNET, "Labels of one's own annotators."),
    ),
    "plane": (
        "other",
        "https://wordnet.princeton.edu/license-and-commercial-use",
        ("Hypernyms are WordNet's: its licence notice goes with every copy.",),
        (_WORDNET, _WIKIPEDIA, "This project's list of adjective classes (Apache-2.0)."),
    ),
    "asp": (
        "apache-2.0",
        "https://www.apache.org/licenses/LICENSE-2.0",
        ("Generated from this project's lexicon of scales.",),
        (
            "This project's lexicon of scales (Apache-2.0).",
            "Thresholds of degree estimation: human judgements, of the source that the table "
            "asp_degree was built with; by default those published with the paper.",
        ),
    ),
    "sygns": (
        *_BY_SA_4,
        ("Vocabulary and grammar follow the published data, which is under CC BY-SA 4.0.",),
        ("This project's grammar, after the paper's table 12.",),
    ),
}


def about(dataset: str, edition: str) -> About:
    """What is said of an edition; those of a release have ``published`` in front of their name."""
    title, summary, task = _TITLES[dataset]
    of = _PUBLISHED if edition.startswith("published") else _OWN
    licence, url, terms, made_of = of[dataset]
    return About(
        f"{title} ({edition})", summary, task, licence, url, terms, made_of, citation(dataset)
    )


@dataclass(frozen=True)
class Origin:
    """The commit that an exported table's edition was last written by."""

    table: str
    version: int | None
    job: str | None
    code_version: str | None
    settings: str | None
    written: date


def origins(lake: str, exported: Content) -> list[Origin]:
    """Where the tables of an export come from, off their commits."""
    found = []
    for table in exported.tables:
        commits = arrow.history(lake, table)
        own = [c for c in commits if c.partition.get("edition") in (exported.edition, None)]
        last = (own or commits)[0]
        found.append(
            Origin(
                table,
                arrow.version(lake, table),
                last.job,
                last.code_version,
                last.metadata.get("settings") or last.metadata.get("settings_hash"),
                last.when.date(),
            )
        )
    return found
