"""Outcomes of the files of a wave and their dropped input, from the statements of tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from adnominal.etl.amod import results
from adnominal.etl.amod.plan import DONE, FAILED, Entry
from adnominal.etl.amod.reference import CONTRADICTING_TAGS
from adnominal.etl.amod.settings import PARSED, Settings

MANY_CONTRADICTIONS = 0.01
"""The share of relations above which contradicting tags are reported."""

Tallies = dict[tuple[str, str], tuple[int, str | None]]
"""(table, reason) -> (count, sample): rows of the table ``dropped``."""


def grouped_by_file(rows: Sequence[Any]) -> dict[int, list[Any]]:
    """Statements of tasks by the number of their file, in a deterministic order."""
    ordered = sorted(rows, key=lambda row: (row["file"], row["kind"], row["reason"]))
    return {file: list(rows) for file, rows in groupby(ordered, lambda row: row["file"])}


def outcome_of(entry: Entry, statements: Sequence[Any], settings: Settings) -> Entry:
    """The ledger's entry of a file that was read, from the statements of its tasks.

    A file fails if a task says so, or if more than max_rejected of its lines are malformed.
    """
    stats = {row["reason"]: row["count"] for row in statements if row["kind"] == "stat"}
    rejected_rows = [row for row in statements if row["kind"] == "rejected"]
    bad = sum(row["count"] for row in rejected_rows)
    lines = stats.get("lines", 0)
    reason = min((row["reason"] for row in statements if row["kind"] == "failed"), default=None)
    # A quotient, since the product of the limit and a number may be below the exact share.
    if reason is None and bad and (not lines or bad / lines > settings.max_rejected):
        # A damaged line is rejected itself, and leaves the words below it without a head. So of two
        # equally frequent reasons, head_missing is the consequence and the other one the cause.
        worst = max(rejected_rows, key=lambda row: (row["count"], row["reason"] != "head_missing"))
        reason = (
            f"{bad} of {lines} "
            f"{'lines' if settings.source in PARSED else 'documents'} malformed, more "
            f"than max_rejected={settings.max_rejected:g}; most often {worst['reason']} "
            f"({worst['count']}), as {_sample(entry, worst)}"
        )
        if worst["reason"] in ("no_field", "not_text"):
            reason += f"; the text is read from text_field={settings.text_field}"
    return replace(
        entry,
        status=DONE if reason is None else FAILED,
        reason=reason,
        sentences=stats.get("sentences", 0),
        tokens=stats.get("tokens", 0),
        pairs=stats.get("pairs", 0),
        rejected_lines=bad,
    )


def left_out_of(outcomes: Sequence[Entry], statements: Mapping[int, Sequence[Any]]) -> Tallies:
    """The input that the good files of a wave dropped from ``amod_counts``."""
    left_out: Tallies = {}
    for file, entry in enumerate(outcomes):
        for row in statements.get(file, []) if entry.status == DONE else ():
            if row["kind"] in ("rejected", "left_out"):
                tally = row["count"], _sample(entry, row)
                left_out = sum_of_tallies(left_out, {("amod_counts", row["reason"]): tally})
    return left_out


def tag_warnings(outcomes: Sequence[Entry], statements: Mapping[int, Sequence[Any]]) -> list[str]:
    """A line for each good file in which the tags of many relations contradict each other."""
    warnings = []
    for file, entry in enumerate(outcomes):
        stats = {
            row["reason"]: row["count"] for row in statements.get(file, []) if row["kind"] == "stat"
        }
        contradictions = stats.get(CONTRADICTING_TAGS, 0)
        relations = stats.get("amod", 0)
        if entry.status == DONE and contradictions > MANY_CONTRADICTIONS * relations:
            warnings.append(
                f"{entry.path}: in {contradictions} of {relations} relations amod a tag in column "
                "five looks like Penn's but contradicts the universal tag in column four, which "
                "was read instead; is column five another tag set?"
            )
    return warnings


def sum_of_tallies(first: Tallies, second: Tallies) -> Tallies:
    """The sums of two tallies; of two samples the first in alphabetical order."""
    total = dict(first)
    for key, (count, sample) in second.items():
        earlier_count, earlier_sample = total.get(key, (0, None))
        samples = [text for text in (sample, earlier_sample) if text is not None]
        total[key] = (earlier_count + count, min(samples, default=None))
    return total


def _sample(entry: Entry, row: Any) -> str:
    """``path, line 12: text``, without the line if it is not known."""
    first = row["first"]
    line = f", line {first['place']}" if first["place"] < results.NO_PLACE else ""
    return f"{entry.path}{line}: {first['text']}"
