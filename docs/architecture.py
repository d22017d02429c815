"""Draws docs/architecture.svg: what flows where.

python docs/architecture.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path

WIDTH, HEIGHT = 1080, 600
INK, LINE, PAPER = "#1F2933", "#7B8794", "#FFFFFF"
# Fills after Okabe and Ito, lightened: what runs on Spark, on DeepSpeed, in plain Python.
SPARK, LAKE, DEEPSPEED, PYTHON, SOURCE = "#DCEBF7", "#FFF4DB", "#FBE3D6", "#DDF3EA", "#F1F3F5"


def text(x: float, y: float, content: str, *, size: int = 13, bold: bool = False) -> str:
    """A line of text, centred at x."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="middle" fill="{INK}"{weight}>'
        f"{escape(content)}</text>"
    )


def box(x: float, y: float, width: float, title: str, *lines: str, fill: str) -> str:
    """A box with a title and lines below it; as high as these ask for."""
    parts = [
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height(lines):g}" rx="7" '
        f'fill="{fill}" stroke="{LINE}"/>',
        text(x + width / 2, y + 20, title, bold=True),
    ]
    parts += [text(x + width / 2, y + 39 + 17 * at, line, size=12) for at, line in enumerate(lines)]
    return "".join(parts)


def height(lines: tuple[str, ...]) -> float:
    """Of a box with so many lines."""
    return 30 + 17 * len(lines) + (4 if lines else 0)


def arrow(x1: float, y1: float, x2: float, y2: float, *, both: bool = False) -> str:
    """A straight arrow, with `both` one that points both ways."""
    start = ' marker-start="url(#head)"' if both else ""
    return (
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{LINE}" '
        f'stroke-width="1.6" marker-end="url(#head)"{start}/>'
    )


def drawing() -> str:
    """The whole picture."""
    columns = {"sources": 20, "jobs": 215, "lake": 435, "training": 690, "out": 905}
    parts = [
        text(95, 28, "sources", size=15, bold=True),
        text(300, 28, "Spark jobs", size=15, bold=True),
        text(545, 28, "the lake (Delta)", size=15, bold=True),
        text(772, 28, "DeepSpeed", size=15, bold=True),
        text(982, 28, "for people", size=15, bold=True),
        # The lake
        f'<rect x="{columns["lake"]}" y="45" width="220" height="515" rx="10" fill="{LAKE}" '
        f'stroke="{LINE}"/>',
        box(445, 60, 200, "pairs", "amod_counts, amod_pairs", "amod_association", fill=PAPER),
        box(445, 140, 200, "text", "amod_examples, sentences", fill=PAPER),
        box(445, 203, 200, "knowledge", "conceptnet_edges, wordnet_…", fill=PAPER),
        box(
            445,
            266,
            200,
            "datasets, by edition",
            "adept_items, adept",
            "plane_items, plane_splits",
            "asp_entailment, asp_degree",
            "sygns, sygns_splits, nli",
            fill=PAPER,
        ),
        box(445, 380, 200, "predictions", "every model, every item", fill=PAPER),
        box(445, 443, 200, "dropped, amod_files", "what was left out, and why", fill=PAPER),
        text(545, 520, "versions, transactions,", size=12),
        text(545, 537, "settings and code of each commit", size=12),
        # Sources
        box(20, 60, 150, "corpora", "Wikipedia XML, DepCC", "CoNLL-U, text", fill=SOURCE),
        box(20, 190, 150, "knowledge", "ConceptNet, WordNet", fill=SOURCE),
        box(20, 275, 150, "rules", "lexicons, grammar", fill=SOURCE),
        box(20, 390, 150, "releases", "of the four papers", fill=SOURCE),
        box(20, 475, 150, "annotators", "MTurk, Label Studio", fill=SOURCE),
        # Jobs
        box(215, 68, 170, "extract_amod", "parsers, compiled kernel", fill=SPARK),
        box(215, 190, 170, "import_knowledge", "classes of adjectives", fill=SPARK),
        box(215, 275, 170, "build_…", "adept, plane, asp, sygns", fill=SPARK),
        box(215, 390, 170, "import_published", "edition published", fill=SPARK),
        box(215, 475, 170, "annotate_adept", "batches, quality rules", fill=PYTHON),
        # Training
        box(690, 100, 165, "finetune", "encoders, seq2seq", fill=DEEPSPEED),
        box(690, 210, 165, "prompt, score", "on labelled rows", fill=DEEPSPEED),
        box(690, 320, 165, "predict", "on any table", fill=DEEPSPEED),
        box(690, 475, 165, "MLflow", "settings, metrics, models", fill=PYTHON),
        # Out
        box(905, 155, 155, "report", "tables, figures,", "significance", fill=PYTHON),
        box(905, 265, 155, "exports", "Hugging Face, lm-eval,", "Croissant, TSV", fill=PYTHON),
        box(905, 375, 155, "explorer, notebooks", "python -m etl.lake", fill=PYTHON),
        # Arrows: sources to jobs, jobs to the lake
        arrow(170, 94, 213, 94),
        arrow(170, 215, 213, 215),
        arrow(170, 300, 213, 300),
        arrow(170, 415, 213, 415),
        arrow(170, 500, 213, 500),
        arrow(385, 94, 433, 94),
        arrow(385, 215, 433, 215),
        arrow(387, 300, 433, 300, both=True),
        arrow(385, 415, 433, 415),
        arrow(387, 500, 433, 500, both=True),
        # the lake to training and back
        arrow(657, 126, 688, 126, both=True),
        arrow(657, 236, 688, 236, both=True),
        arrow(657, 346, 688, 346, both=True),
        arrow(772, 376, 772, 473),
        # to people: over the top of nothing, under the models
        f'<path d="M 655 440 H 880 V 190 H 903" fill="none" stroke="{LINE}" stroke-width="1.6" '
        'marker-end="url(#head)"/>',
        f'<path d="M 880 300 H 903" fill="none" stroke="{LINE}" stroke-width="1.6" '
        'marker-end="url(#head)"/>',
        f'<path d="M 880 402 H 903" fill="none" stroke="{LINE}" stroke-width="1.6" '
        'marker-end="url(#head)"/>',
        f'<path d="M 855 500 H 892 V 210 H 903" fill="none" stroke="{LINE}" stroke-width="1.6" '
        'marker-end="url(#head)"/>',
        # Legend
        *(
            f'<rect x="{x}" y="575" width="14" height="14" rx="3" fill="{fill}" stroke="{LINE}"/>'
            f'<text x="{x + 20}" y="587" font-size="12" fill="{INK}">{name}</text>'
            for x, fill, name in (
                (215, SPARK, "Spark"),
                (300, LAKE, "Delta tables"),
                (425, DEEPSPEED, "PyTorch, DeepSpeed"),
                (590, PYTHON, "plain Python"),
            )
        ),
    ]
    body = "\n".join(parts)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"
  font-family="Helvetica, Arial, sans-serif">
<title>From corpora through Spark jobs into the lake, to models and reports</title>
<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"
  orient="auto-start-reverse"><path d="M 0 0 L 10 5 L 0 10 z" fill="{LINE}"/></marker></defs>
<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>
{body}
</svg>
"""


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(drawing(), encoding="utf-8")
