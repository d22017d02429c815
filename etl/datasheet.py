"""``python -m etl.datasheet table=adept edition=clean``: a datasheet of a built dataset."""

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.conf import UserError, setting
from adnominal.etl.looking.datasheet import TEMPLATE, datasheet
from adnominal.etl.registry import ITEM_TABLES


@dataclass(frozen=True)
class Settings:
    table: str = setting(
        help="table of the dataset", choices=tuple(ITEM_TABLES), example="table=adept"
    )
    edition: str = setting("clean", help="edition", example="edition=published")
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")
    template: str = setting(str(TEMPLATE), help="Markdown file with {{figures}} in it")
    out: str | None = setting(None, help="file to write; the default is standard output")


def write(settings: Settings) -> None:
    """Write the datasheet of one edition of a table, with the source of every figure.

    The parts that people have to write (motivation, consent, licence, maintenance) stay blank.
    """
    text = datasheet(settings.lake, settings.table, settings.edition, Path(settings.template))
    if settings.out is None:
        print(text, end="")
        return
    try:
        Path(settings.out).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"out={settings.out}: {error.strerror or error}") from error


main = partial(conf.run, Settings, write)


if __name__ == "__main__":
    sys.exit(main())
