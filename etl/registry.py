"""The datasets, by name: their declarations (`etl.declaration`) and look-ups in them."""

from collections.abc import Iterable, Mapping

from adnominal.conf import UserError
from adnominal.conf.help import spelling_hint
from adnominal.etl.adept.declaration import DATASET as ADEPT
from adnominal.etl.asp.declaration import DATASET as ASP
from adnominal.etl.declaration import Dataset, ItemTable
from adnominal.etl.plane.declaration import DATASET as PLANE
from adnominal.etl.sygns.declaration import DATASET as SYGNS

DATASETS: Mapping[str, Dataset] = {dataset.name: dataset for dataset in (ADEPT, PLANE, ASP, SYGNS)}
"""In the order in which reports and help texts name them."""

_TABLES = [
    (dataset, table)
    for dataset in DATASETS.values()
    for table in (*dataset.tables, *dataset.unlabelled)
]

ITEM_TABLES: Mapping[str, ItemTable] = {table.name: table for _, table in _TABLES}
"""The tables of items of all datasets, labelled and unlabelled."""

DATASET_OF: Mapping[str, Dataset] = {table.name: dataset for dataset, table in _TABLES}
"""The dataset of each table of items."""


def dataset(name: str) -> Dataset:
    """The declaration of a dataset.

    Raises:
        UserError: the dataset does not exist; the message lists the datasets.
    """
    if name not in DATASETS:
        hint = spelling_hint(name, DATASETS)
        raise UserError(f"dataset={name}: expected one of {', '.join(DATASETS)}{hint}")
    return DATASETS[name]


def way_to_edition(table: str, edition: str, editions: Iterable[str], built_by: str) -> str:
    """What to do about a missing edition of a table that has these `editions`.

    Args:
        table: the name of the table.
        edition: the edition that it does not have.
        editions: those that it has.
        built_by: the command that makes an edition.
    """
    of_table = next((name for name in DATASETS if table.partition("_")[0] == name), None)
    if edition == "published" and of_table is not None:
        return f"etl/import_published.py {of_table}=FOLDER imports the release"
    return f"{built_by} makes another{spelling_hint(edition, [*editions, 'published'])}"


def of_task(task: str) -> Dataset | None:
    """Return the dataset of a task in the table predictions; None for others such as `pairs_nli`.

    A task is named after its dataset and what is predicted: ``adept_5``, ``sygns_fol``.
    """
    return DATASETS.get(task.split("_")[0])
