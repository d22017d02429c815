"""Votes of simulated annotators on the published rows of ADEPT, whose own votes were not released.

They show that training with ``labels=soft`` and the report's comparison with people work; they say
nothing about people. An annotator's habits are those of `etl.annotation.simulate`, with the
published label as the true one; five of nine careful and three noisy annotators answer each row.
"""

import json
import tempfile
from pathlib import Path

from adnominal.etl.adept.annotation_task import ADEPT
from adnominal.etl.annotation.batches import Question
from adnominal.etl.annotation.simulate import Annotator, annotators, answer
from adnominal.etl.draws import rank
from adnominal.etl.label_votes import TABLE
from adnominal.etl.lake import arrow
from benchmarks.processes import run_script

SOURCE = "simulated-annotators"
EDITION = "published"
VOTES = 5
SEED = 0
_CAREFUL, _NOISY = 9, 3


def build(lake: str) -> None:
    """Import the votes unless the lake has them.

    Raises:
        RuntimeError: the import failed, for example because the lake has no release of ADEPT.
    """
    if TABLE in arrow.tables(lake):
        known = arrow.read(lake, TABLE, columns=["source"])["source"].unique().to_pylist()
        if SOURCE in known:
            return
    where = [("edition", "=", EDITION)]
    rows = arrow.read(lake, "adept", where=where, columns=["item_id", "label"])
    people = annotators(_CAREFUL, _NOISY, 0)
    records = []
    for row in rows.sort_by("item_id").to_pylist():
        votes = votes_on(row["item_id"], row["label"], people)
        records.append(json.dumps({"item_id": row["item_id"], "votes": votes}))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "votes.jsonl"
        file.write_text("\n".join(records), encoding="utf-8")
        words = [f"file={file}", f"source={SOURCE}", "item=item_id", "votes=votes"]
        words += ["dataset=adept", f"edition={EDITION}", f"lake={lake}"]
        run_script("etl/import_pairs.py", *words)


def votes_on(item_id: str, label: int, people: list[Annotator]) -> list[str]:
    """The labels that five of the people, drawn by the item, give an item with this label."""
    question = Question(
        question_id=item_id,
        batch="",
        page="",
        place=1,
        kind="gold",
        item_id=item_id,
        expected=label,
        sentence1="",
        sentence2="",
        round="main",
        condition="context",
        platform="",
        edition=EDITION,
    )
    order = sorted(people, key=lambda person: rank(SEED, "votes", item_id, person.name))
    return [ADEPT.labels[answer(ADEPT, SEED, person, question)] for person in order[:VOTES]]
