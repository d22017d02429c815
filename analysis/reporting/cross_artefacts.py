"""What parts of the input alone give away, dataset by dataset (`analysis.artefacts`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import pyarrow as pa
import pyarrow.compute as pc

from analysis import artefact_rows
from analysis.artefacts import TESTED, TRAINED, Rows, audit, audit_figure, token_table
from analysis.reporting.lake import Lake
from analysis.reporting.page import Block, FigureBlock, Section, Table, Text, section_of
from analysis.reporting.printed import p_value, signed
from analysis.sygns_overlap import overlap
from conf import UserError

Reader = Callable[[str, str], Iterator[Rows]]
# Tables and rows of each dataset, and the part of its input whose words are listed.
_DATASETS: Mapping[str, tuple[str, tuple[str, ...], Reader, str]] = {
    "adept": ("ADEPT", ("adept",), artefact_rows.adept, "sentence with the modifier"),
    "plane": ("PLANE", ("plane_items", "plane_splits"), artefact_rows.plane, "conclusion alone"),
    "asp": (
        "ASP",
        ("asp_entailment", "asp_degree", "asp_splits"),
        artefact_rows.asp,
        "hypothesis alone",
    ),
}
_COMMAND = "spark-submit etl/import_published.py adept=DIR plane=DIR asp=DIR lake=LAKE"
_METHOD = (
    "A logistic regression on n-grams of words and letters is trained on one part of the input of "
    f"the training rows (at most {TRAINED:,}, drawn by id) and scored on the part held out (at "
    f"most {TESTED:,}); the majority is that of the training rows. Intervals take rows of the same "
    "text together; p is that of no gain over the majority (permutation, one-sided, by Holm for "
    "all rows of a table). Where it finds nothing, a larger model may still find something."
)
_TOKENS = (
    "Words whose training rows have a label more often than all rows do (z-statistic of Gardner "
    "et al. 2021, with the labels' own shares as what is expected; p by Bonferroni below .01)"
)


@dataclass(frozen=True)
class _Audit:
    """The audit of one dataset, made when it is asked for."""

    lake: Lake
    name: str

    @cached_property
    def rows(self) -> list[Rows]:
        title, tables, read, _ = _DATASETS[self.name]
        found = list(read(self.lake.root, self.lake.edition(*tables)))
        if not found:
            raise UserError(f"{title}: no split with rows to train on and to test on in this lake")
        return found


def sections(lake: Lake) -> list[Section]:
    """A section a dataset."""
    section = partial(section_of, "cross")
    found = []
    for name, (title, *_) in _DATASETS.items():
        own = _Audit(lake, name)
        found.append(section("", f"artefacts of {title}", _COMMAND, partial(_audited, own, title)))
    command = "spark-submit etl/build_sygns.py preset=paper lake=LAKE"
    found.append(section("", "artefacts of SyGNS", command, partial(_overlap, lake)))
    return found


def _audited(own: _Audit, title: str) -> list[Block]:
    rows = own.rows
    data = audit(rows, seed=own.lake.seed)
    edition = rows[0].edition
    blocks: list[Block] = [Text(_METHOD), Table(f"{title}, edition {edition}", _told(data))]
    figure, plotted = audit_figure(data)
    caption = f"{title}: accuracy of a part of the input alone, beside the majority"
    blocks.append(FigureBlock(caption, figure, plotted))
    name = _DATASETS[own.name][3]
    for split in rows:
        # Rounds and folds differ by what they hold out; the words of one say it.
        if split is rows[0] or (own.name == "asp" and split.split.startswith("degree")):
            words = token_table(split, name)
            if words.num_rows:
                told = words.drop_columns(["p"]).append_column(
                    "p", pa.array([p_value(p) for p in words.column("p").to_pylist()])
                )
                blocks.append(Table(f"{_TOKENS}: {title}, {split.split}, {name}", told))
            if split is not rows[0]:
                break
    return blocks


def _told(data: pa.Table) -> pa.Table:
    """The audit as it is read, in percent."""
    rows = [
        {
            "split": row["split"],
            "input": row["input"],
            "scored": f"{row['rows']:,} of {row['part']}",
            "majority": f"{100 * row['majority']:.1f}",
            "accuracy": f"{100 * row['accuracy']:.1f} [{100 * row['low']:.1f}, "
            f"{100 * row['high']:.1f}]",
            "gain": signed(100 * row["gain"]),
            "p (Holm)": p_value(row["p_holm"]),
        }
        for row in data.to_pylist()
    ]
    return pa.Table.from_pylist(rows)


def _overlap(lake: Lake) -> list[Block]:
    edition = lake.edition("sygns", "sygns_splits")
    data = overlap(lake.root, edition, seed=lake.seed)
    if not data.num_rows:
        raise UserError(f"edition={edition}: no split of SyGNS with rows to train and to test on")
    names = {
        "same_form": "same form",
        "known_sentence_pattern": "sentence pattern",
        "known_form_pattern": "form pattern",
        "by_length": "by length",
        "most_frequent": "most frequent",
    }
    shown = {name: data.column(name) for name in ("scheme", "primitive", "trained", "tested")}
    shown |= {told: pc.multiply(data.column(name), 100.0) for name, told in names.items()}
    return [
        Text(
            "Forms follow from sentences by rule, so nothing less than the sentence decides one. "
            "Asked is how far test forms (first-order) are training's: the same form of another "
            "sentence (a and one, every and all mean the same); a pattern, of a sentence or form, "
            "that is one of training's but for its content words; and how often the pattern of a "
            "form is guessed rightly from the number of words alone (by length), or always as the "
            "most frequent one."
        ),
        Table(
            f"SyGNS, edition {edition}: shares of test sentences, in percent", pa.table(shown), 1
        ),
    ]
