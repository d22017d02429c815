"""Sample errors of SyGNS's models: tables 7 and 18."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from adnominal.analysis.papers.exhibits import Examples, Finding, Missing, exhibit
from adnominal.analysis.papers.sygns.dataset import polarity_marked
from adnominal.analysis.papers.sygns.models import ARCHITECTURES, BOTH, TABLES, TRAIN, command
from adnominal.analysis.papers.sygns.sources import Meanings, Sygns
from adnominal.analysis.predictions import newest_of_each
from adnominal.analysis.report_numbers import Cells, CellValues
from adnominal.analysis.rows import seeded_order, tuples
from adnominal.analysis.semantics import drs_matching, polarity
from adnominal.etl.lake import arrow
from adnominal.etl.sygns.fol import ParseError
from adnominal.training.finished_runs import Run, Runs

# The edition whose DRSs have the numbering of boxes of table 18 (docs/sygns.md).
_BY_COUNTER = "scripts"


def _newest_runs(meanings: Meanings, **task: str) -> dict[str, Run]:
    """The newest run of each architecture with these settings, of any size and length."""
    settings = {f"task.{name}": value for name, value in task.items()}
    runs = Runs(meanings.runs).of("finetune", settings)
    newest = newest_of_each(runs, lambda run: run.params.get("seq2seq.architecture"))
    return {model: newest[name] for model, name in ARCHITECTURES.items() if name in newest}


def clause_meanings(page: Sygns) -> Meanings:
    """The runs for table 18: those on the edition scripts, which numbers boxes by a counter as the
    table does, or else those of the page."""
    by_counter = Meanings(page, _BY_COUNTER)
    is_shown = page.lake.requested_edition in (None, _BY_COUNTER)
    return by_counter if is_shown and by_counter.runs else page.meanings


def _wrong_meanings(
    meanings: Meanings, runs: Mapping[str, Run], by: str, value: str
) -> tuple[str, str, dict[str, str]] | None:
    """(sentence, gold, answers by model) of a test sentence drawn from those that the most models
    got wrong."""
    lake = meanings.page.lake
    wrong: dict[str, dict[str, str]] = defaultdict(dict)
    gold: dict[str, str] = {}
    for model, run in runs.items():
        is_wrong = (pc.field("part") == "test") & ~pc.field("exact")
        of_class = pc.field(by).cast(pa.string()) == value
        rows = meanings.rows(run).filter(is_wrong & of_class)
        for item, meaning, text in tuples(rows, "item_id", "gold", "text"):
            wrong[item][model] = text or ""
            gold[item] = meaning
    if not wrong:
        return None
    most = max(map(len, wrong.values()))
    hardest = [item for item, answers in wrong.items() if len(answers) == most]
    item = seeded_order(hardest, lake.seed, str)[0]
    where = [("edition", "=", meanings.edition), ("sentence_id", "=", item)]
    sentences = arrow.read(lake.root, "sygns", where=where, columns=["sentence"])
    return str(sentences.column("sentence")[0]), gold[item], wrong[item]


def _polarity_marked(formula: str) -> str:
    """The formula with the direction of its words, or the text unchanged if it is not a formula."""
    try:
        words = polarity.polarities("fol", formula)
    except ParseError:
        return formula
    return polarity_marked(
        formula, [{"word": word, "direction": direction} for word, direction in words]
    )


@exhibit("Table 7", "typical errors", fills=command(), reads=TABLES)
def universal_sentence(page: Sygns) -> Iterator[Finding]:
    """A universal sentence, drawn at random, that models got wrong in FOL."""
    runs = _newest_runs(page.meanings, scheme="systematicity", form="fol", primitive="one")
    error = _wrong_meanings(page.meanings, runs, "quantifier", "UNI")
    if error is None:
        yield Missing("A universal sentence that models got wrong", command())
        return
    sentence, gold, answers = error
    rows = [("Input", sentence), ("Gold", _polarity_marked(gold))]
    rows += [(model, _polarity_marked(text)) for model, text in answers.items()]
    names = [name for name, _ in rows]
    formulas = [text for _, text in rows]
    data = pa.table({"": names, "formula": formulas})
    yield Examples("A randomly drawn universal sentence that models got wrong", data)


@exhibit(
    "Table 18",
    "clauses of a wrong DRS",
    fills=f"{TRAIN} task.edition={_BY_COUNTER} task.scheme=productivity task.primitive= "
    f"task.form=drs {BOTH}",
    reads=TABLES,
    printed=("table 18",),
)
def clauses(page: Sygns) -> Iterator[Finding]:
    """F over matching clauses: the paper's models on its sentence, then ours on a sentence of depth
    2 that they got wrong."""
    meanings = clause_meanings(page)
    runs = _newest_runs(meanings, scheme="productivity", form="drs")
    error = _wrong_meanings(meanings, runs, "depth", "2")
    if error is None:
        yield Missing("The DRS of a sentence of depth 2 that models got wrong", clauses.fills)
        return
    sentence, gold, answers = error
    matches: CellValues = {
        (model, "F"): drs_matching.match(gold, text).f for model, text in answers.items()
    }
    yield Cells(f"Ours: {sentence}", matches)
    columns = {}
    for name, text in {"gold": gold, **answers}.items():
        columns[name] = [text.replace(" [SEP] ", "\n")]
    data = pa.table(columns)
    yield Examples("Its gold clauses and those predicted", data)
