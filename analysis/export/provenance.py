"""Licences and provenance of the datasets, which every export must state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from adnominal.analysis.export.content import Content
from adnominal.analysis.papers.published import citation
from adnominal.etl.declaration import RELEASED
from adnominal.etl.lake import arrow
from adnominal.etl.lake.log import Record
from adnominal.etl.registry import dataset


@dataclass(frozen=True)
class About:
    """The description of a dataset.

    `licence` is an identifier of the Hugging Face hub, `licence_url` the URL of its text, if any;
    `terms` are the conditions of redistribution.
    """

    title: str
    summary: str
    task: str
    licence: str
    licence_url: str | None
    terms: tuple[str, ...]
    made_of: tuple[str, ...]
    citation: str


def edition_description(name: str, edition: str, provenance: Sequence[Origin] = ()) -> About:
    """The description of an edition, with the licence of the release or of the built data.

    `provenance` adds sources of the rows that only the commits know, such as their annotators.
    """
    declaration = dataset(name)
    licence = declaration.published if edition in RELEASED else declaration.built
    return About(
        f"{declaration.heading} ({edition})",
        declaration.summary,
        declaration.hub_task,
        licence.name,
        licence.url,
        licence.terms,
        (*licence.made_of, *(origin.made_of for origin in provenance if origin.made_of)),
        declaration.citation or citation(name),
    )


@dataclass(frozen=True)
class Origin:
    """The commit that last wrote the edition of an exported table.

    `made_of` is a source of its rows that the dataset's declaration cannot know, if there is one.
    """

    table: str
    version: int | None
    job: str | None
    code_version: str | None
    settings: str | None
    made_of: str | None
    written: date


def edition_commits(lake: str, table: str, edition: str) -> list[Record]:
    """The commits of jobs that made an edition of a table, oldest first.

    These are the last commit that replaced the edition and those since. If the log has none of
    them, for example because it was shortened, its newest commit stands for them.
    """
    commits = []
    history = arrow.history(lake, table)
    for commit in history:
        commit_edition = commit.partition.get("edition", edition)
        if commit_edition != edition or commit.job is None:
            continue
        commits.append(commit)
        if commit.mode == "replace":
            break
    if not commits:
        return history[:1]
    return commits[::-1]


def origins(lake: str, exported: Content) -> list[Origin]:
    """The provenance of the tables of an export, from their commits."""
    sources = []
    for table in exported.tables:
        last_commit = edition_commits(lake, table, exported.edition)[-1]
        sources.append(
            Origin(
                table,
                arrow.version(lake, table),
                last_commit.job,
                last_commit.code_version,
                last_commit.metadata.get("settings") or last_commit.metadata.get("settings_hash"),
                last_commit.metadata.get("made_of"),
                last_commit.when.date(),
            )
        )
    return sources
