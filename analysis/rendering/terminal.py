"""Blocks of a report as text for a terminal."""

import textwrap
from collections.abc import Iterable

from adnominal.analysis.rendering.blocks import Block, Table, Text, cells
from adnominal.etl.looking.layout import aligned

_WIDTH = 100


def terminal_text(blocks: Iterable[Block]) -> str:
    """The paragraphs and tables of a section; its figures, whose numbers the tables have, are not.

    Numbers have the digits that the report shows.
    """
    paragraphs = []
    for block in blocks:
        if isinstance(block, Text):
            paragraphs.append(textwrap.fill(block.text, _WIDTH))
        elif isinstance(block, Table):
            names, _, rows = cells(block)
            caption = textwrap.fill(block.caption, _WIDTH)
            paragraphs.append(f"{caption}\n{aligned(names, rows)}")
    return "\n\n".join(paragraphs)
