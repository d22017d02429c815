"""A small annotation campaign for the tests of the verbs."""

import csv
import json
from typing import Any

from adnominal import conf
from adnominal.etl.annotation.finishing import finish
from adnominal.etl.annotation.job import export_batch, import_answers, simulate_answers
from adnominal.etl.annotation.settings import (
    ExportSettings,
    FinishSettings,
    ImportSettings,
    SimulateSettings,
)
from adnominal.etl.draws import content_hash
from adnominal.etl.lake import arrow
from tests.rows import write

NOUNS = ("dog", "key", "moon", "clock", "parrot", "knife", "baker", "engine", "river", "shoe")
ADJECTIVES = ("old", "false", "blue", "dead", "former", "sharp")


def items(edition="clean", is_chosen=True):
    rows = []
    for noun in NOUNS:
        for place, adjective in enumerate(ADJECTIVES):
            sentence = f"The {noun} moves {place}."
            item_id = content_hash(sentence, adjective, noun)
            row = {"item_id": item_id, "noun": noun, "adjective": adjective, "variant": 0}
            row |= {"nonsubsective": adjective in ("false", "former"), "chosen": is_chosen}
            row |= {"relation": "CapableOf", "predicate": "move", "sentence": sentence}
            row["modified_sentence"] = f"The {adjective} {noun} moves {place}."
            rows.append({**row, "edition": edition})
    return rows


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def write_csv(path, rows):
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def as_mturk(path, status="Approved"):
    """The answers in a batch's CSV as Mechanical Turk's results, with a column for each option."""
    results = []
    for row in read_csv(path):
        result = {"HITId": f"hit-{row['page']}", "WorkerId": row["annotator"]}
        result |= {"AssignmentStatus": status, "WorkTimeInSeconds": row["seconds"]}
        for name, value in row.items():
            if name.startswith("label_"):
                for code in range(5):
                    result[f"Answer.{name}.{code}"] = str(str(code) == value).lower()
            elif name not in ("annotator", "seconds"):
                result[f"Input.{name}"] = value
        results.append(result)
    return write_csv(path, results)


def as_label_studio(path):
    """The answers in a batch's CSV as Label Studio's JSON."""
    tasks: dict[str, dict[str, Any]] = {}
    for row in read_csv(path):
        data = {name: value for name, value in row.items() if name.startswith(("page", "quest"))}
        task = tasks.setdefault(row["page"], {"data": data, "annotations": []})
        results = [
            {"from_name": name, "type": "choices", "value": {"choices": [value]}}
            for name, value in row.items()
            if name.startswith("label_")
        ]
        annotation = {"completed_by": {"id": row["annotator"]}, "was_cancelled": False}
        annotation |= {"lead_time": float(row["seconds"]), "result": results}
        task["annotations"].append(annotation)
    path.write_text(json.dumps(list(tasks.values())), encoding="utf-8")
    return path


AS_RETURNED = {"mturk": as_mturk, "label_studio": as_label_studio, "csv": lambda path: path}


class Study:
    """A lake with sixty items, and shorthands for the verbs."""

    def __init__(self, folder):
        self.folder = folder
        self.lake = str(folder / "lake")
        self.key = f"key={folder / 'key'}"
        write(self.lake, "adept_items", items())

    def export(self, name, *options, format="mturk"):
        path = self.folder / f"{name}.csv"
        arguments = [f"batch={path}", f"format={format}", f"lake={self.lake}", *options]
        export_batch(conf.load(ExportSettings, arguments))
        return path

    def simulate(self, batch, *options):
        out = batch.with_name(f"answers_{batch.name}")
        arguments = [f"batch={batch}", f"out={out}", f"lake={self.lake}", *options]
        simulate_answers(conf.load(SimulateSettings, arguments))
        return out

    def import_answers(self, path, *options):
        arguments = [f"batch={path}", f"lake={self.lake}", self.key, *options]
        import_answers(conf.load(ImportSettings, arguments))

    def finish(self, *options):
        report = self.folder / "report.json"
        arguments = [f"lake={self.lake}", f"report={report}", "models=[]", *options]
        finish(conf.load(FinishSettings, arguments))
        return json.loads(report.read_text(encoding="utf-8"))

    def rows(self, name):
        return arrow.read(self.lake, name).to_pylist()

    def annotate(self, name, *options, people=(), format="mturk"):
        path = self.export(name, *options, format=format)
        answers = AS_RETURNED[format](self.simulate(path, *people))
        self.import_answers(answers)
        return answers
