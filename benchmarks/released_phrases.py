"""An edition of PLANE from the released phrases, for experiments that need more than one fold.

Freely available corpora are too small for the paper's splits: none of their nouns has four
intensional adjectives. The phrases of the release are therefore used as another corpus, each once,
and items and folds are built from it, English Web Treebank, GUM and a sample of Wikipedia.
"""

import tempfile
from pathlib import Path

from adnominal.etl.lake import arrow
from benchmarks.harness import DATA, log
from benchmarks.processes import usage_of

EDITION = "released_phrases"
# The sizes that the phrases suffice for; the paper has 60,012 rows of each.
ROWS = ("train_rows=30600", "one_it_train_rows=30000")
SCHEMES = "schemes=[published,one_it,in_distribution,two_shot]"
TREEBANKS = (
    "ud_ewt/en_ewt-ud-dev.conllu",
    "ud_ewt/rebuilt-train.conllu.gz",
    "ud_gum/en_gum-ud-dev.conllu.gz",
)
WIKIPEDIA = "wikipedia/enwiki-sample.xml.bz2"


def build(lake: str) -> None:
    """Build the edition unless the lake has it; nouns are inflected forms, as in the paper.
    `RuntimeError` if a job failed, for example because the lake has no release of PLANE."""
    editions = arrow.read(lake, "plane_items", columns=["edition"])["edition"].unique()
    if EDITION in editions.to_pylist():
        return
    with tempfile.TemporaryDirectory() as folder:
        phrases = Path(folder) / "phrases.conllu"
        phrases.write_text(in_conllu(lake), encoding="utf-8")
        treebanks = ",".join(str(DATA / name) for name in TREEBANKS)
        for corpus, *words in (
            ("plane_phrases", "source=conllu", f"input={phrases}"),
            ("treebanks", "source=conllu", f"input={treebanks}"),
            ("wikipedia", "source=wikipedia", f"input={DATA / WIKIPEDIA}", "parser=spacy"),
        ):
            _run("etl/extract_amod.py", lake, f"corpus={corpus}", "noun_by=form", *words)
    _run("etl/import_knowledge.py", lake, "wordnet=auto")
    settings = ("preset=paper", f"edition={EDITION}", "every_class=false", SCHEMES, *ROWS)
    _run("etl/build_plane.py", lake, *settings)


def _run(script: str, lake: str, *words: str) -> None:
    log.info("%s %s", script, " ".join(words))
    usage_of(script, *words, f"lake={lake}")


def in_conllu(lake: str) -> str:
    """The phrases of the release in CoNLL-U, one sentence each."""
    where, names = [("edition", "=", "published")], ["adjective", "noun"]
    rows = arrow.read(lake, "plane_items", where=where, columns=names)
    phrases = rows.group_by(names).aggregate([]).to_pylist()
    pairs = ((row["adjective"], row["noun"]) for row in phrases)
    return "".join(
        f"1\t{adjective}\t{adjective}\tADJ\tJJ\t_\t2\tamod\t_\t_\n"
        f"2\t{noun}\t{noun}\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
        for adjective, noun in sorted(pairs)
    )
