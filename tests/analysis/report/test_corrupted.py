"""Every figure of ours depends on the lake: each table is corrupted in turn, and a cell with a
figure of ours must change with at least one table."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pytest

from adnominal.analysis import across
from adnominal.analysis.across import audits, frequency, overlap, splits
from adnominal.analysis.editions import open_lake
from adnominal.analysis.papers import adept, asp, plane, sygns
from adnominal.analysis.papers.exhibits import Examples, Page, Section
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from adnominal.training.finished_runs import Runs, find_runs
from tests.analysis.report.small_lake import SmallLake

Row: TypeAlias = dict[str, Any]
Cell: TypeAlias = tuple[str, str, str, str]
_PAGES: Mapping[str, Page[Any]] = {
    "adept": adept.PAGE,
    "asp": asp.PAGE,
    "sygns": sygns.PAGE,
    "plane": plane.PAGE,
    "frequency": replace(across.PAGE, exhibits=(frequency.against_corpora,)),
    "splits": replace(
        across.PAGE, exhibits=(splits.accuracy_by_split, splits.accuracy_by_seen_words)
    ),
    "artefacts": replace(across.PAGE, exhibits=(*audits.EXHIBITS.values(), overlap.of_forms)),
}


def first_of(rows: Iterable[Row], *names: str) -> list[Row]:
    """The first row of each combination of values."""
    rows_by_key: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        rows_by_key.setdefault(tuple(row.get(name) for name in names), row)
    return list(rows_by_key.values())


def drop(*names: str) -> Callable[[list[Row]], list[Row]]:
    """Drop the first row of each combination of values."""

    def change(rows: list[Row]) -> list[Row]:
        lost = [id(row) for row in first_of(rows, *names)]
        return [row for row in rows if id(row) not in lost]

    return change


def other_labels(rows: list[Row]) -> list[Row]:
    """Give all rows but the last the next label, and drop a row of each part."""
    for row in rows[:-1]:
        row["label"] = (row["label"] + 1) % 5
    return drop("split_random")(rows)


def other_answers(rows: list[Row]) -> list[Row]:
    """Change every fourth label of each round and condition."""
    for key in {(row["round"], row["condition"]) for row in rows}:
        for row in [row for row in rows if (row["round"], row["condition"]) == key][::4]:
            row["label"] = (row["label"] + 1) % 5
    return rows


def entail_one_more(rows: list[Row]) -> list[Row]:
    """Make one more row of each test entailed."""
    for row in first_of((r for r in rows if r["label"] != "entailment"), "test"):
        row["label"] = "entailment"
    return rows


def one_flipped(rows: list[Row]) -> list[Row]:
    """Flip one label of each class and inference type, and add a noun and an adjective."""
    for row in first_of(rows, "class", "inference_type"):
        row["label"] = 1 - row["label"]
    return [*rows, {**rows[0], "item_id": "odd cup 1", "adjective": "odd", "noun": "cup"}]


def all_right(rows: list[Row]) -> list[Row]:
    """Replace every answer by the gold label."""
    for row in rows:
        row["predicted"] = row["gold"] if row["predicted"] is not None else None
        row["text"] = row["gold"] if row["text"] is not None else None
    return rows


def all_wrong(rows: list[Row]) -> list[Row]:
    """Replace every answer by another label."""
    labels: dict[str, list[str]] = {}
    for row in rows:
        task_labels = labels.setdefault(row["task"], [])
        task_labels += [
            answer
            for answer in (row["gold"], row["predicted"])
            if answer and answer not in task_labels
        ]
    for row in rows:
        if row["predicted"] is not None:
            row["predicted"] = next(
                answer for answer in labels[row["task"]] if answer != row["gold"]
            )
        row["text"] = "poor" if row["text"] is not None else None
    return rows


def shift_number(name: str, by: float) -> Callable[[list[Row]], list[Row]]:
    """Shift a number in each row but the first."""

    def change(rows: list[Row]) -> list[Row]:
        for at, row in enumerate(rows[1:], 1):
            row[name] = type(row[name])(row[name] + by * at)
        return rows

    return change


def rename_word(name: str) -> Callable[[list[Row]], list[Row]]:
    """Change a word in every second row."""

    def change(rows: list[Row]) -> list[Row]:
        for row in rows[::2]:
            row[name] = f"x{row[name]}"
        return rows

    return change


def move_rows(name: str = "part") -> Callable[[list[Row]], list[Row]]:
    """Move every third row into another part."""

    def change(rows: list[Row]) -> list[Row]:
        for row in rows[::3]:
            row[name] = "train" if row[name] != "train" else "test"
        return rows

    return change


def other_sentences(rows: list[Row]) -> list[Row]:
    """Change the quantifier and the meaning of every second sentence, and drop the last rows."""
    for row in rows[::2]:
        row["sentence"] = " ".join(
            {"one": "every", "a": "all", "every": "two", "two": "a"}.get(word, word)
            for word in row["sentence"].split()
        )
        row["fol"] = f"-{row['fol']}"
        row["polarity_fol"] = row["polarity_fol"][:-1]
        row["polarity_vf"] = row["polarity_vf"][:-1]
    return rows[:-20]


def numbers(sections: Iterable[Section]) -> dict[Cell, str]:
    """Every number of ours with its interval, and the rows of examples, by section, table, row and
    column."""
    texts: dict[Cell, str] = {}
    for section in sections:
        for row in section.rows:
            key = section.anchor, row["table_name"], row["row"], row["column"]
            texts[key] = str([row.get(name) for name in ("ours", "low", "high")])
        for finding in section.findings:
            if isinstance(finding, Examples):
                texts[section.anchor, finding.caption, "", ""] = str(finding.data.to_pylist())
    return texts


def compared_cells(sections: Iterable[Section]) -> set[Cell]:
    """The cells that have a printed number and one of ours."""
    return {
        (section.anchor, row["table_name"], row["row"], row["column"])
        for section in sections
        for row in section.rows
        if row.get("printed") is not None and row.get("ours") is not None
    }


class Lake:
    """A lake with its runs, and its copies with one corrupted table."""

    def __init__(self, root: str, runs: Runs, folder: Path) -> None:
        self.root, self.runs, self.folder = Path(root), runs, folder
        self.sections: dict[str, list[Section]] = {}

    def intact_cells(self, name: str, table: str | None = None) -> dict[Cell, str]:
        """The cells of a page without corruption, in the exhibits that read `table` if given."""
        page = _PAGES[name]
        if name not in self.sections:
            self.sections[name] = page.sections(open_lake(str(self.root)), self.runs)
        sections = zip(page.exhibits, self.sections[name], strict=True)
        return numbers(section for entry, section in sections if table in (None, *entry.reads))

    def differing_cells(self, name: str, table: str, root: Path) -> set[Cell]:
        """The cells of a page that change in the lake at `root`, where `table` is corrupted.

        Only exhibits that declare the table are built; others do not read it (`test_declarations`).
        """
        exhibits = tuple(entry for entry in _PAGES[name].exhibits if table in entry.reads)
        page = replace(_PAGES[name], exhibits=exhibits)
        changed = numbers(page.sections(open_lake(str(root)), self.runs))
        return {
            key for key, text in self.intact_cells(name, table).items() if changed.get(key) != text
        }

    def write_corrupted(
        self, name: str, change: Callable[[list[Row]], list[Row]], root: Path
    ) -> Path:
        root.mkdir()
        for other in self.root.iterdir():
            if other.name != name:
                (root / other.name).symlink_to(other)
        order = table(name).schema.names[0]
        rows = arrow.read(str(self.root), name).to_pylist()
        rows.sort(key=lambda row: (str(row[order]), str(row)))
        changed = pa.Table.from_pylist(change(rows), table(name).schema)
        arrow.append(str(root), name, changed, job="test")
        return root


@pytest.fixture(scope="module")
def papers(report_inputs: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake(report_inputs[0], find_runs(report_inputs[1]), tmp_path_factory.mktemp("papers"))


@pytest.fixture(scope="module")
def crossed_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    small = SmallLake(tmp_path_factory.mktemp("small"))
    return Lake(small.root, small.all, tmp_path_factory.mktemp("crossed"))


# A table, its corruption, and the sections that must change.
Case: TypeAlias = tuple[str, Callable[[list[Row]], list[Row]], tuple[str, ...]]
PAPERS: Mapping[str, list[Case]] = {
    "adept": [
        ("adept", other_labels, ("adept-table-4", "adept-table-5", "adept-figure-4")),
        ("adept_items", drop("edition", "chosen"), ("adept-figure-1", "adept-table-2")),
        ("adept_entries", drop("edition"), ("adept-figure-1",)),
        (
            "adept_annotations",
            other_answers,
            ("adept-table-4", "adept-section-4-2", "adept-table-5"),
        ),
        ("adept_batches", drop("batch"), ("adept-table-4", "adept-section-4-2", "adept-table-5")),
    ],
    "asp": [
        ("asp_entailment", entail_one_more, ("asp-table-3", "asp-table-4")),
        ("asp_degree", entail_one_more, ("asp-table-3", "asp-table-4")),
        ("asp_human", shift_number("threshold", 1.0), ("asp-thresholds-of-people-and-models",)),
        ("asp_splits", move_rows(), ("asp-table-4", "asp-what-training-rows-give-away")),
    ],
    "sygns": [
        ("sygns", other_sentences, ("sygns-table-3", "sygns-table-4", "sygns-table-13")),
        ("sygns_splits", move_rows(), ("sygns-section-3-4", "sygns-table-4", "sygns-table-5")),
    ],
}
SMALL: list[tuple[str, Callable[[list[Row]], list[Row]], tuple[str, ...], tuple[str, ...]]] = [
    ("plane_items", one_flipped, ("plane",), ("plane-table-1", "plane-section-3-2")),
    ("plane_association", shift_number("pmi", 0.5), ("plane",), ("plane-figure-4",)),
    (
        "plane_splits",
        move_rows(),
        ("splits", "artefacts"),
        ("across-artefacts-of-plane", "across-what-training-had-seen-of-the-test-rows"),
    ),
    (
        "amod_pairs",
        shift_number("count", 3),
        ("frequency",),
        ("across-accuracy-against-the-corpus",),
    ),
    (
        "amod_association",
        shift_number("pmi", 0.7),
        ("frequency",),
        ("across-accuracy-against-the-corpus",),
    ),
]


@pytest.mark.parametrize("page", list(PAPERS))
def test_every_cell_of_a_paper_depends_on_the_lake(page, papers):
    cases: list[Case] = [*PAPERS[page]]
    cases += [("predictions", all_right, ()), ("predictions", all_wrong, ())]
    touched: set[Cell] = set()
    for name, change, sections in cases:
        differing = papers.differing_cells(page, name, corrupted_copy(papers, name, change))
        assert set(sections) <= {section for section, *_ in differing}, name
        touched |= differing
    papers.intact_cells(page)
    constant = compared_cells(papers.sections[page]) - touched
    assert not constant, f"no table of the lake decides these cells: {constant}"


def corrupted_copy(lake: Lake, name: str, change: Callable[[list[Row]], list[Row]]) -> Path:
    copy = lake.folder / f"{name}-{getattr(change, '__name__', '')}"
    return copy if copy.exists() else lake.write_corrupted(name, change, copy)


@pytest.mark.parametrize(("name", "change", "pages", "sections"), SMALL)
def test_every_section_changes_with_its_table(
    name,
    change,
    pages,
    sections,
    crossed_lake,
):
    root = corrupted_copy(crossed_lake, name, change)
    differing = {cell for page in pages for cell in crossed_lake.differing_cells(page, name, root)}
    assert set(sections) <= {section for section, *_ in differing}
    if name == "plane_items":
        # So many labels are changed that rounding cannot hide it.
        crossed_lake.intact_cells("plane")
        own_cells = compared_cells(crossed_lake.sections["plane"])
        printed = {key for key in own_cells if key[0] == "plane-table-1"}
        assert len(printed) == 9 and printed <= differing
