"""The recorded figures in other documents than RESULTS.md; ``python -m benchmarks pages`` writes
them between two comments of each."""

from pathlib import Path

from adnominal.conf import ROOT, UserError
from adnominal.conf.files import replace_text
from adnominal.conf.markdown import table_text
from benchmarks import cluster_sizes, sygns_runs
from benchmarks.rendering import headlines
from benchmarks.results import figures_of, recorded_entries

README = ROOT / "README.md"
CLUSTER = ROOT / "docs" / "cluster.md"
SYGNS = ROOT / "docs" / "sygns.md"


def texts() -> list[tuple[Path, str, str]]:
    """Documents, the names of their comments, and what stands between these; `KeyError` if a figure
    is not recorded."""
    recorded = recorded_entries()
    figures = {case: figures_of(entries) for case, entries in recorded.items()}
    rows = [(row["title"], row["text"]) for row in headlines(recorded)]
    return [
        (README, "figures", table_text(("what", "measured"), ("---", "--:"), rows)),
        (CLUSTER, "sizing", cluster_sizes.section(figures)),
        (CLUSTER, "fineweb", cluster_sizes.fineweb(figures)),
        (SYGNS, "runs", sygns_runs.section(figures["papers"])),
    ]


def with_text(page: Path, name: str, text: str) -> str:
    """The page with `text` between its comments ``NAME`` and ``end of NAME``; `UserError` without
    these."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, begun, rest = page.read_text(encoding="utf-8").partition(begin)
    _, ended, after = rest.partition(end)
    if not begun or not ended:
        raise UserError(f"{page}: expected the lines {begin} and {end}, in this order")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def write_all() -> None:
    """Write the recorded figures into all documents."""
    for page, name, text in texts():
        replace_text(page, with_text(page, name, text))
