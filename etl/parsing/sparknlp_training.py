"""Train a Spark NLP pipeline on a treebank: ``etl/train_sparknlp.py``.

Spark NLP's own approaches do the work: a perceptron tags, one parser finds heads and another one
their labels. They learn from Penn tags (the column XPOS of CoNLL-U), which the reading rule of
pairs needs. Labels take by far the longest: a sentence takes about a second, so that only the first
`label_sentences` are used. `amod` needs few of them.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_minimum
from adnominal.etl import engine
from adnominal.etl.engine import EngineSettings
from adnominal.etl.parsing import sparknlp_parser

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HEAP = 10  # gigabytes; with five, two tasks ran out of memory on 12,544 sentences
_COLUMNS = 10  # of a word in CoNLL-U

log = logging.getLogger("adnominal")


@dataclass(frozen=True)
class Settings:
    """Settings of ``etl/train_sparknlp.py``."""

    treebank: str = setting(
        help="local file in CoNLL-U with Penn tags in XPOS", example="treebank=en_ewt-train.conllu"
    )
    out: str = setting(help="folder of the new pipeline", example="out=ewt_pipeline")
    overwrite: bool = setting(False, help="replace the folder if it is there")
    label_sentences: int = setting(
        500, help="sentences that labels are learned from; 500 take some ten minutes"
    )
    head_iterations: int = setting(10, help="passes over the treebank to learn heads")

    def __post_init__(self) -> None:
        check_minimum(self, 1, "label_sentences", "head_iterations")


def sentences(path: Path) -> Iterator[list[str]]:
    """Yield the words of each sentence of a treebank as lines, without ranges and empty nodes.

    Raises:
        UserError: the file cannot be read, or is not CoNLL-U.
    """
    words: list[str] = []
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                columns = line.rstrip("\n").split("\t")
                if columns[0].isdigit() and len(columns) == _COLUMNS:
                    words.append("\t".join(columns))
                elif not line.strip():
                    if words:
                        yield words
                    words = []
                elif not line.startswith("#") and len(columns) != _COLUMNS:
                    raise UserError(
                        f"treebank={path}: line {number} has {len(columns)} columns; expected "
                        f"CoNLL-U, with {_COLUMNS} columns separated by tabs"
                    )
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"treebank={path}: cannot be read ({error}); expected CoNLL-U") from error
    if words:
        yield words


def check_tags(words: list[str], path: Path) -> None:
    """Raise `UserError` if the XPOS of words are not Penn tags."""
    tags = {word.split("\t")[4] for word in words}
    if not tags & sparknlp_parser.PENN_TAGS:
        raise UserError(
            f"treebank={path}: the tags in XPOS are {', '.join(sorted(tags)[:5])} and the like; "
            "expected Penn tags (NN, NNS, JJ), as in UD English EWT"
        )


def train(settings: Settings) -> None:
    """Train and save the pipeline.

    Raises:
        UserError: the treebank cannot be used, `out` exists, or Spark NLP is missing.
    """
    treebank, out = Path(settings.treebank), Path(settings.out).absolute()
    if out.exists() and not settings.overwrite:
        raise UserError(f"out={settings.out}: it exists; give overwrite=true or another folder")
    all_sentences = list(sentences(treebank))
    if not all_sentences:
        raise UserError(f"treebank={treebank}: no sentence; expected CoNLL-U")
    check_tags([word for sentence in all_sentences for word in sentence], treebank)
    sparknlp_parser.check(None)
    _say_memory()
    os.environ.setdefault("SPARK_DRIVER_MEMORY", f"{_HEAP}g")
    properties = {
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryoserializer.buffer.max": "2000M",
    }
    spark = engine.start(
        "train_sparknlp",
        EngineSettings(engine="spark"),
        needs_jvm="parser=sparknlp",
        extra=properties,
    ).spark
    sparknlp_parser.check(None)
    folder = Path(tempfile.mkdtemp(prefix="treebank-"))
    try:
        whole = _write(all_sentences, folder / "whole.conllu")
        labelled = _write(islice(all_sentences, settings.label_sentences), folder / "few.conllu")
        pipeline = _fit(spark, whole, labelled, settings)
        pipeline.write().overwrite().save(out.as_uri())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    log.info("a pipeline from %d sentences: parser_model=%s", len(all_sentences), settings.out)


def _say_memory() -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    heap = os.environ.get("SPARK_DRIVER_MEMORY", f"{_HEAP}g")
    log.info("training needs a heap of about %d GB; this one has %s", _HEAP, heap)
    if memory < _HEAP:
        log.warning("the machine has %.0f GB; a treebank of 12,000 sentences may not fit", memory)


def _write(sentences: Any, path: Path) -> Path:
    # Spark NLP ends a sentence at its blank line, the last one too.
    text = "".join("\n".join(words) + "\n\n" for words in sentences)
    path.write_text(text, encoding="utf-8")
    return path


def _fit(spark: SparkSession, whole: Path, labelled: Path, settings: Settings) -> Any:
    """Train tagger, heads and labels, in this order, and join them into one pipeline."""
    from pyspark.ml import Pipeline
    from sparknlp.annotator import (
        DependencyParserApproach,
        PerceptronApproach,
        TypedDependencyParserApproach,
    )
    from sparknlp.training import CoNLLU

    # With a column upos, the tagger would learn that instead of the Penn tags.
    rows = CoNLLU(explodeSentences=True).readDataset(spark, whole.as_uri())
    tagger = PerceptronApproach().setInputCols(["sentence", "form"]).setOutputCol("pos")
    tagged = rows.select("sentence", "form", "xpos")
    tags = tagger.setPosColumn("xpos").setNIterations(5).fit(tagged)
    log.info("tags are learned")
    heads = DependencyParserApproach().setInputCols(["sentence", "pos", "token"])
    heads = heads.setOutputCol("dependency").setConllU(whole.as_uri())
    heads = heads.setNumberOfIterations(settings.head_iterations)
    labels = TypedDependencyParserApproach().setInputCols(["dependency", "pos", "token"])
    # A plain path: it takes no address.
    labels = labels.setOutputCol("dependency_type").setConllU(str(labelled))
    tags = tags.setInputCols(["sentence", "token"])
    stages = [*sparknlp_parser.text_stages(), tags, heads, labels.setNumberOfIterations(1)]
    probe = spark.createDataFrame([[sparknlp_parser.PROBE]], "text string")
    return Pipeline(stages=stages).fit(probe)
