"""CITATION.cff agrees with the version, the licence and the papers that the report cites."""

import pytest
import yaml

import adnominal
from adnominal.analysis.papers.published import PAPERS, citation
from adnominal.conf import ROOT

FILE = ROOT / "CITATION.cff"
# The required keys of version 1.2.0 of the format, and those used here.
KEYS = {"cff-version", "message", "title", "authors"}
FURTHER = {"type", "abstract", "version", "license", "keywords", "references"}


def document():
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))


def test_it_has_the_keys_of_the_format():
    values = document()
    assert set(values) >= KEYS
    assert set(values) <= KEYS | FURTHER
    assert values["cff-version"] == "1.2.0"
    assert values["type"] == "software"


def test_version_and_licence_are_those_of_the_package():
    values = document()
    assert values["version"] == adnominal.__version__
    assert 'license="Apache-2.0"' in (ROOT / "setup.py").read_text(encoding="utf-8")
    assert values["license"] == "Apache-2.0"


@pytest.mark.parametrize("paper", PAPERS)
def test_the_papers_are_cited_as_in_the_report(paper):
    (reference,) = [
        reference
        for reference in document()["references"]
        if reference["title"].rstrip("?") in citation(paper)
    ]
    names = [f"{one['given-names']} {one['family-names']}" for one in reference["authors"]]
    assert citation(paper).startswith(f"{', '.join(names)}. ")
    assert f"{reference['collection-title']}" in citation(paper)
    assert str(reference["year"]) in citation(paper)
