"""An edition of PLANE from the released phrases, for experiments that need more than one fold.

Freely available corpora are too small for the paper's splits: none of their nouns has four
intensional adjectives. The phrases of the release are therefore used as another corpus, each once,
and items and folds are built from it, English Web Treebank, GUM and a sample of Wikipedia.
"""

import tempfile
from functools import partial
from pathlib import Path

from adnominal.etl.lake import arrow
from benchmarks.cases import data_file
from benchmarks.processes import run_script

EDITION = "released_phrases"
TREEBANKS = (
    "ud_ewt/en_ewt-ud-dev.conllu",
    "ud_ewt/rebuilt-train.conllu.gz",
    "ud_gum/en_gum-ud-dev.conllu.gz",
)
WIKIPEDIA = "wikipedia/enwiki-sample.xml.bz2"
PHRASE = (
    "1\t{adjective}\t{adjective}\tADJ\tJJ\t_\t2\tamod\t_\t_\n"
    "2\t{noun}\t{noun}\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
)


def build(lake: str) -> None:
    """Build the edition unless the lake has it; nouns are inflected forms, as in the paper.
    `RuntimeError` if a job failed, for example because the lake has no release of PLANE."""
    editions = arrow.read(lake, "plane_items", columns=["edition"])["edition"].unique()
    if EDITION in editions.to_pylist():
        return
    extract = partial(run_script, "etl/extract_amod.py", f"lake={lake}", "noun_by=form")
    with tempfile.TemporaryDirectory() as folder:
        phrases = Path(folder) / "phrases.conllu"
        phrases.write_text(in_conllu(lake), encoding="utf-8")
        extract("corpus=plane_phrases", "source=conllu", f"input={phrases}")
    treebanks = ",".join(str(data_file(name)) for name in TREEBANKS)
    extract("corpus=treebanks", "source=conllu", f"input={treebanks}")
    articles = data_file(WIKIPEDIA)
    extract("corpus=wikipedia", "source=wikipedia", f"input={articles}", "parser=spacy")
    run_script("etl/import_knowledge.py", f"lake={lake}", "wordnet=auto")
    words = ["preset=paper", f"edition={EDITION}", "every_class=false"]
    # The sizes that the phrases suffice for; the paper has 60,012 rows of each.
    words += ["train_rows=30600", "one_it_train_rows=30000"]
    words.append("schemes=[published,one_it,in_distribution,two_shot]")
    run_script("etl/build_plane.py", f"lake={lake}", *words)


def in_conllu(lake: str) -> str:
    """The phrases of the release in CoNLL-U, one sentence each."""
    where, names = [("edition", "=", "published")], ["adjective", "noun"]
    rows = arrow.read(lake, "plane_items", where=where, columns=names)
    phrases = rows.group_by(names).aggregate([]).to_pylist()
    phrases.sort(key=lambda phrase: (phrase["adjective"], phrase["noun"]))
    return "".join(PHRASE.format(**phrase) for phrase in phrases)
