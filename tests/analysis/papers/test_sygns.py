import pytest

from adnominal.analysis.editions import open_lake
from adnominal.analysis.papers.sygns import dataset, errors, sources
from adnominal.analysis.report_numbers import Cells
from adnominal.conf import UserError
from adnominal.etl.lake import arrow
from adnominal.etl.published.sygns import read
from adnominal.training.finished_runs import Run, Runs
from tests.rows import rows, write

SENTENCES = [
    ("one tiger ran", []),
    ("one tiger did not run", ["negation"]),
    ("one small tiger ran", ["adjective"]),
    ("a tiger ran", []),
    ("two tigers ran", []),
    ("every tiger did not run", ["negation"]),
    ("a wild tiger ran", ["adjective"]),
    ("a small tiger ran", ["adjective"]),
    ("two tigers ran quickly", ["adverb"]),
    ("every tiger did not run or come", ["disjunction", "negation"]),
    ("ann ran quickly", ["adverb"]),
]


@pytest.fixture
def lake(tmp_path) -> str:
    cells = [(str(at), *sentence) for at, sentence in enumerate(SENTENCES)]
    sentences = rows("sentence_id sentence phenomena", *cells, depth=0, edition="mine")
    write(tmp_path, "sygns", sentences)
    return str(tmp_path)


def test_patterns_of_table_1_are_counted(lake):
    patterns = dataset.pattern_table(lake, "mine").to_pylist()
    assert [(r["set"], r["pattern"], r["sentences"], r["example"]) for r in patterns] == [
        ("primitive quantifier", "EXI", 1, "one tiger ran"),
        ("primitive quantifier", "EXI+NEG", 1, "one tiger did not run"),
        ("basic 1", "EXI", 1, "a tiger ran"),
        ("basic 1", "NUM", 1, "two tigers ran"),
        ("basic 1", "UNI+NEG", 1, "every tiger did not run"),
        ("basic 2", "ADJ", 1, "one small tiger ran"),
        ("test", "EXI+ADJ", 2, "a wild tiger ran"),
        ("test", "NUM+ADV", 1, "two tigers ran quickly"),
        ("test", "UNI+CON+NEG", 1, "every tiger did not run or come"),
    ]
    with pytest.raises(UserError, match="edition=none: no sentences of depth 0"):
        dataset.pattern_table(lake, "none")


def test_sizes_of_splits_are_counted(lake):
    splits = rows(
        "scheme primitive part",
        ("productivity", "", "test"),
        ("systematicity", "two", "train"),
        ("systematicity", "one", "test"),
        ("systematicity", "one", "train"),
        ("systematicity", "one", "test"),
        sentence_id="1",
        edition="mine",
    )
    write(lake, "sygns_splits", splits)
    assert [tuple(row.values()) for row in dataset.split_sizes(lake, "mine").to_pylist()] == [
        ("systematicity", "one", "train", 1),
        ("systematicity", "one", "test", 2),
        ("systematicity", "two", "train", 1),
        ("productivity", "", "test", 1),
    ]
    with pytest.raises(UserError, match="edition=none: no rows"):
        dataset.split_sizes(lake, "none")


def test_sizes_are_those_of_the_first_whole_edition(tmp_path):
    for edition, sentences in (("published", "ab"), ("paper", "abc")):
        items = rows("sentence_id", *sentences, sentence="a dog ran", phenomena=[], edition=edition)
        write(tmp_path, "sygns", items)
        splits = rows("sentence_id", *sentences, edition=edition, scheme="systematicity")
        split = {"primitive": "one", "part": "train"}
        write(tmp_path, "sygns_splits", [{**row, **split} for row in splits])

    def of_systematicity(requested: str | None) -> object:
        page = sources.Sygns(open_lake(str(tmp_path), requested), Runs(()))
        cells = next(iter(dataset.sizes.build(page)))
        assert isinstance(cells, Cells) and cells.table == "section 3.4"
        return cells.values.get(("systematicity", "sentences"))

    assert of_systematicity(None) == 3.0
    assert of_systematicity("published") is None


def test_the_edition_is_requested_or_that_of_the_runs(tmp_path):
    lake = str(tmp_path)
    for name in ("sygns", "sygns_splits"):
        write(lake, name, rows("edition", ("published",), ("paper",), sentence_id="1"))
    answer = {"run_id": "trained", "task": "sygns", "item_id": "1", "text": "run(x1)"}
    write(lake, "predictions", [answer])
    params = {"task.name": "sygns", "task.edition": "paper"}
    runs = Runs((Run(id="trained", job="finetune", ended=1, params=params, group="g"),))

    def edition(requested: str | None, stored_runs: Runs) -> str:
        return sources.Sygns(open_lake(lake, requested), stored_runs).meanings.edition

    assert edition(None, runs) == "paper"
    assert edition("published", runs) == "published"
    assert edition(None, Runs(())) == "published"


def test_the_published_rows_have_patterns_and_splits(shared_data, tmp_path):
    lake = str(tmp_path)
    for name, table in read(shared_data / "sygns" / "sample.tsv").tables.items():
        arrow.append(lake, name, table, job="t")
    patterns = dataset.pattern_table(lake, "published").to_pylist()
    assert sum(row["sentences"] for row in patterns) > 0
    sizes = dataset.split_sizes(lake, "published").to_pylist()
    assert {row["scheme"] for row in sizes} >= {"systematicity", "productivity"}


def test_patterns_of_table_2_and_classes_of_sentences(tmp_path):
    lake = str(tmp_path)
    sentences = rows(
        "sentence_id depth sentence phenomena",
        ("0", 0, "two dogs loved ann", ["sbj_quant"]),
        ("1", 1, "bob liked a bear that ran", ["peripheral", "negation"]),
        ("2", 2, "two dogs that a bear that ran saw came", ["center", "peripheral", "adverb"]),
        ("3", 3, "too deep", []),
        edition="e",
    )
    write(lake, "sygns", sentences)
    patterns = dataset.embedding_table(lake, "e").to_pylist()
    assert [(r["set"], r["pattern"], r["sentences"]) for r in patterns] == [
        ("basic 1", "NON", 1),
        ("basic 2", "PER", 1),
        ("test", "PER+CEN", 1),
    ]
    with pytest.raises(UserError, match="no sentences of depths 0, 1, 2"):
        dataset.embedding_table(lake, "none")
    kinds = {row["sentence_id"]: row for row in sources.classes(lake, "e").to_pylist()}
    assert [kinds[at]["quantifier"] for at in "0123"] == ["NUM", "EXI", "MIX", "NON"]
    assert [kinds[at]["modifier"] for at in "0123"] == ["NON", "NON+NEG", "ADV", "NON"]


def test_clause_f_is_micro_averaged_with_an_interval_over_items():
    # 3 of 4 and 0 of 2 clauses match: 2 * 3 / (6 + 6).
    interval = sources.clause_f([(3, 4, 4), (0, 2, 2)])
    assert (interval.estimate, interval.low, interval.high, interval.n) == (0.5, 0.0, 0.75, 2)
    assert sources.clause_f([(0, 2, 2), (3, 4, 4)]) == interval
    mean = sources.mean([0.0, 1.0, 1.0, 1.0])
    assert (mean.estimate, mean.high) == (0.75, 1.0) and 0 <= mean.low < 0.75
    with pytest.raises(ValueError, match="no items"):
        sources.mean([])


@pytest.mark.parametrize(
    ("run_editions", "requested", "shown"),
    [
        (["paper", "scripts"], None, "scripts"),
        (["paper"], None, "paper"),
        (["paper", "scripts"], "paper", "paper"),
    ],
)
def test_table_18_shows_boxes_numbered_by_a_counter_if_there_are_runs(
    tmp_path, run_editions, requested, shown
):
    lake = str(tmp_path)
    for edition in ("paper", "scripts"):
        items = rows("sentence_id", "a", sentence="a dog ran", phenomena=[], edition=edition)
        write(lake, "sygns", items)
        splits = rows("sentence_id", "a", edition=edition, scheme="productivity", part="test")
        write(lake, "sygns_splits", [{**row, "primitive": ""} for row in splits])
    runs = []
    for edition in run_editions:
        answer = {"run_id": edition, "task": "sygns", "edition": edition, "item_id": "a"}
        write(lake, "predictions", [answer])
        task = {"task.name": "sygns", "task.edition": edition}
        runs.append(Run(edition, "finetune", 1, task, group=edition))
    page = sources.Sygns(open_lake(lake, requested), Runs(runs))
    assert page.meanings.edition == "paper"
    assert errors.clause_meanings(page).edition == shown
