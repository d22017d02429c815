"""A small annotation campaign for the tests of the verbs."""

import json

from adnominal import conf
from adnominal.etl.annotation.job import export_batch, finish, import_answers, simulate_answers
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


class Study:
    """A lake with sixty items, and shorthands for the verbs."""

    def __init__(self, folder):
        self.folder = folder
        self.lake = str(folder / "lake")
        self.key = f"key={folder / 'key'}"
        write(self.lake, "adept_items", items())

    def export(self, name, *options, format="mturk"):
        path = self.folder / f"{name}.{'json' if format == 'label_studio' else 'csv'}"
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
        arguments = [f"lake={self.lake}", f"report={report}", "models=[]", "samples=50", *options]
        finish(conf.load(FinishSettings, arguments))
        return json.loads(report.read_text(encoding="utf-8"))

    def rows(self, name):
        return arrow.read(self.lake, name).to_pylist()

    def annotate(self, name, *options, people=(), format="mturk"):
        path = self.export(name, *options, format=format)
        answers = self.simulate(path, *people)
        self.import_answers(answers)
        return answers
