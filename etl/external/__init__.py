"""Answers of models that were asked elsewhere, as rows of the table predictions.

`files` reads them as other programs write them, `matching` sets them beside the items of an
edition, and `job` writes them. They are in the lake alone, without a run of the experiment tracker:
``external/`` and the name of the run is their `run_id`, so that everything that reads predictions
can tell them from our own.
"""

JOB = "external"
"""The job of a run whose answers were imported, where our own have finetune, score or prompt."""

PREFIX = "external/"
"""The beginning of the `run_id` of imported answers."""


def is_external(run_id: str) -> bool:
    """Whether the answers of a run were imported."""
    return run_id.startswith(PREFIX)
