"""``python -m analysis.export``: export an edition of a dataset in a common format."""

import logging
from dataclasses import dataclass
from pathlib import Path

from adnominal.analysis.export import croissant, harness, hub, huggingface, tsv
from adnominal.analysis.export.content import content, write
from adnominal.analysis.export.facts import EditionFacts
from adnominal.analysis.export.provenance import edition_description, origins
from adnominal.conf import JobFailed, UserError, setting
from adnominal.conf.numbers import count_of
from adnominal.etl.registry import DATASETS
from adnominal.training.files import complete_folder

log = logging.getLogger("adnominal")

FORMATS = ("huggingface", "lm_eval", "croissant", "tsv")


@dataclass(frozen=True)
class Settings:
    dataset: str = setting(help="the dataset", choices=tuple(DATASETS), example="dataset=adept")
    edition: str = setting(help="edition of its tables", example="edition=clean")
    format: str = setting(
        help="huggingface: Parquet and a card; croissant: Parquet and Croissant metadata; lm_eval: "
        "tasks of lm-evaluation-harness (not SyGNS); tsv: the release's layout (SyGNS)",
        choices=FORMATS,
        example="format=huggingface",
    )
    out: str = setting(help="folder to create; it must not exist", example="out=exports/adept")
    push: str | None = setting(
        None,
        help="dataset on the Hugging Face hub to upload the export to (format=huggingface), with "
        "the token of `hf auth login`",
        example="push=jane/adept",
    )
    private: bool = setting(False, help="whether push= creates a private dataset")
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")

    def __post_init__(self) -> None:
        declaration = DATASETS[self.dataset]
        if self.format == "tsv" and declaration.layout != "tsv":
            names = [name for name, other in DATASETS.items() if other.layout == "tsv"]
            raise UserError(
                f"dataset={self.dataset} format=tsv: expected dataset={' or '.join(names)}, whose "
                "release is TSV; python -m etl.lake export writes any table as TSV"
            )
        if self.format == "lm_eval" and not declaration.questions:
            *names, last_name = [name for name, other in DATASETS.items() if other.questions]
            raise UserError(
                f"dataset={self.dataset} format=lm_eval: its answers are formulas, not choices; "
                f"expected dataset={', '.join(names)} or {last_name}"
            )
        if self.push is not None:
            hub.check_name(self.push)
            if self.format != "huggingface":
                raise UserError(f"push= with format={self.format}: expected format=huggingface")
        elif self.private:
            raise UserError("private=true without push=: expected push=USER/NAME")
        if Path(self.out).exists():
            raise UserError(f"out={self.out} is there already; choose another name or remove it")
        if not Path(self.out).absolute().parent.is_dir():
            raise UserError(f"out={self.out}: no folder {Path(self.out).parent}; make it first")


def export(settings: Settings) -> None:
    """Write an edition of a dataset as a Hugging Face folder, lm-evaluation-harness tasks, files
    with Croissant metadata, or (SyGNS) TSV, with its licence and provenance.

    The folder appears under its name when it is complete; push= then uploads it.
    """
    if settings.push is not None:
        hub.check_login(settings.push)
    exported = content(settings.lake, settings.dataset, settings.edition)
    provenance = origins(settings.lake, exported)
    description = edition_description(settings.dataset, settings.edition, provenance)
    with complete_folder(Path(settings.out)) as folder:
        if settings.format == "lm_eval":
            rows = harness.write(folder, exported, description)
        elif settings.format == "tsv":
            rows = tsv.write(folder, settings.lake, settings.edition)
        else:
            files = write(folder, exported.configs)
            rows = {file.path: file.rows for file in files}
            if not files:
                raise JobFailed(f"0 rows of {settings.dataset}, edition {settings.edition}")
            if settings.format == "croissant":
                croissant.write(folder, exported, files, description, provenance)
            else:
                facts = EditionFacts(settings.lake, exported)
                huggingface.write(folder, exported, files, description, facts)
        notice = huggingface.licence_text(description)
        lines = [
            f"- {o.table}: version {o.version}, {o.job}, code {o.code_version}" for o in provenance
        ]
        text = "\n".join(
            [notice, "Exported from:", "", *lines, "", "Cite:", "", description.citation, ""]
        )
        (folder / "LICENSE.md").write_text(text, encoding="utf-8")
    for path, number in rows.items():
        log.info("%s: %s", path, count_of(number, "row"))
    written = count_of(len(rows), "file")
    all_rows = count_of(sum(rows.values()), "row")
    log.info("%s written: %s, %s", settings.out, written, all_rows)
    if settings.push is not None:
        hub.push(Path(settings.out), settings.push, settings.private)
