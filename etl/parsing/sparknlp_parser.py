"""Parsing with Spark NLP, in the JVM, on clusters.

Spark NLP works on DataFrames: `annotate` adds its annotation columns, `with_tokens` turns them into
one array of tokens per document, only with DataFrame functions, and `to_parsed` converts these to
the columns of `etl.parsing.tokens` in Python workers (``mapInArrow``).

An annotation is (annotatorType, begin, end, result, metadata, embeddings), `begin` and `end` being
the first and last character of the token in its document. Of a `dependency` annotation, `result`
is the form of the head and metadata `head.begin` its first character (-1 for the root); metadata
`head` is its index in the sentence, from 1. Typed labels come in the order of the tokens, without
a reference to them. A head is therefore found by (sentence, head.begin): ids here are begin + 1.

Spark NLP yields no lemma: the lemma of a common or proper noun is lemminflect's, other words keep
their form. This lemmatizer is not spaCy's, so counts differ for rare plurals.

Spark NLP's jar is published for Scala 2.12, so for Spark 3.5. `etl.parsing.sparknlp_training` makes
pipelines from treebanks.
"""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adnominal.conf import UserError
from adnominal.etl.engine import failure
from adnominal.etl.engine.versions import ENGINE_ERRORS
from adnominal.etl.parsing.tokens import SENTENCES, TOKENS, Parsed

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

JVM_CLASS = "com.johnsnowlabs.nlp.DocumentAssembler"
# Used in messages if the package is not installed.
VERSION = "5.5.3"
SCALA = "2.12"  # the only one that the jar is published for
# Not needed for these annotators, and some registries do not have them.
EXCLUDED = ("tensorflow-cpu_2.12", "jsl-llamacpp-cpu_2.12", "jsl-openvino-cpu_2.12")
HEAP = "5g for each two cores"  # of the driver in local mode, of an executor on a cluster
PENN_TAGS = frozenset(("NN", "NNS", "JJ", "DT", "IN", "VBZ", "VBD"))
PROBE = "The old dog likes a red ball in the small garden."
"""A sentence that shows what a pipeline gives."""

ANNOTATIONS = ("sentence", "token", "pos", "dependency", "dependency_type")
"""The annotation columns that `annotate` adds and `with_tokens` removes."""

TOKENS_TYPE = (
    "array<struct<sentence:int,id:int,form:string,xpos:string,head:int,deprel:string,"
    "space_after:boolean>>"
)
"""The type of the column `tokens` that `with_tokens` adds."""

_LEMMINFLECT_TAGS = {"NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "NNPS": "PROPN"}


def check(model: str | None) -> None:
    """Raise `UserError` if Spark NLP's Python package, its jar or the `model` is missing.

    The jar is searched in the running Spark session; before it starts, only the package is checked.
    """
    if importlib.util.find_spec("sparknlp") is None:
        raise UserError(
            f"parser=sparknlp: Spark NLP is not installed; pip install spark-nlp=={VERSION}, "
            f"and run {_command(VERSION)}"
        )
    from pyspark import SparkContext

    from adnominal.etl.engine.spark import jvm_class_exists

    jvm = SparkContext._jvm
    if jvm is None:
        return
    if not jvm_class_exists(jvm, JVM_CLASS):
        import sparknlp

        scala = jvm.scala.util.Properties.versionNumberString().rpartition(".")[0]
        hint = f"run {_command(sparknlp.version())}"
        if scala != SCALA:
            hint = (
                f"it is published for Scala {SCALA}, and this Spark has {scala}: install Spark 3.5 "
                f"(pip install --no-deps -r conf/constraints-3.5.txt) and run {_command(VERSION)}"
            )
        raise UserError(f"parser=sparknlp: Spark NLP's jar is not on the classpath; {hint}")
    if model is not None:
        path = jvm.org.apache.hadoop.fs.Path(model)
        configuration = SparkContext._active_spark_context._jsc.hadoopConfiguration()
        if not path.getFileSystem(configuration).exists(path):
            raise UserError(
                f"parser=sparknlp: {model} is not a folder; expected a pipeline saved with "
                "PipelineModel.save, or no model setting for Spark NLP's pretrained ones"
            )


def _command(version: str) -> str:
    excluded = ",".join(f"com.johnsnowlabs.nlp:{name}" for name in EXCLUDED)
    return (
        f"spark-submit --packages com.johnsnowlabs.nlp:spark-nlp_{SCALA}:{version} "
        f"--exclude-packages {excluded} (with a heap of {HEAP})"
    )


def annotate(frame: DataFrame, model: str | None = None) -> DataFrame:
    """`frame`, whose column `text` contains documents, with the columns `ANNOTATIONS`.

    `model` is a folder with a saved pipeline that makes these columns; by default the pretrained
    perceptron tagger and the dependency parsers trained on UD English are used, which Spark NLP
    downloads on the driver at first use. A blank line ends a sentence. Raises `UserError` as
    `check` does.
    """
    check(model)
    from pyspark.ml import Pipeline

    if model is not None:
        pipeline = _load(model)
        check_pipeline(pipeline.transform, frame.sparkSession, model)
        # Other columns that the pipeline makes would travel to the workers.
        return pipeline.transform(frame).select(*frame.columns, *ANNOTATIONS)
    from sparknlp.annotator import (
        DependencyParserModel,
        PerceptronModel,
        TypedDependencyParserModel,
    )

    stages = [
        *text_stages(),
        PerceptronModel.pretrained("pos_anc", "en")
        .setInputCols(["sentence", "token"])
        .setOutputCol("pos"),
        DependencyParserModel.pretrained("dependency_conllu", "en")
        .setInputCols(["sentence", "pos", "token"])
        .setOutputCol("dependency"),
        TypedDependencyParserModel.pretrained("dependency_typed_conllu", "en")
        .setInputCols(["dependency", "pos", "token"])
        .setOutputCol("dependency_type"),
    ]
    empty = frame.sparkSession.createDataFrame([[""]], "text string")
    return Pipeline(stages=stages).fit(empty).transform(frame).drop("whole")


def text_stages() -> list[Any]:
    """Return the stages that split documents into sentences and tokens."""
    from sparknlp.annotator import SentenceDetector, Tokenizer
    from sparknlp.base import DocumentAssembler

    document = DocumentAssembler().setInputCol("text").setOutputCol("whole")
    sentence = SentenceDetector().setInputCols(["whole"]).setOutputCol("sentence")
    token = Tokenizer().setInputCols(["sentence"]).setOutputCol("token")
    return [document, sentence.setCustomBounds(["\n\n"]), token]


def _load(model: str) -> Any:
    """The pipeline in a folder; `UserError` if Spark NLP cannot load it."""
    from pyspark.ml import PipelineModel

    try:
        return PipelineModel.load(model)
    except ENGINE_ERRORS as error:
        reason = failure(error)
        raise UserError(
            f"parser_model={model}: not a pipeline that this Spark NLP can load ({reason}); "
            "expected a folder made by adnominal parser sparknlp, or by PipelineModel.save"
        ) from error


def check_pipeline(
    transform: Callable[[DataFrame], DataFrame], spark: SparkSession, model: str
) -> None:
    """Raise `UserError` if a pipeline lacks a column, or gives other tags than Penn's.

    With universal tags no adjective would be recognised, and no pair found.
    """
    annotated = transform(spark.createDataFrame([[PROBE]], "text string"))
    missing_columns = [name for name in ANNOTATIONS if name not in annotated.columns]
    if missing_columns:
        raise UserError(
            f"parser_model={model}: the pipeline makes no column {', '.join(missing_columns)}, but "
            f"{', '.join(annotated.columns)}; expected {', '.join(ANNOTATIONS)}"
        )
    row = with_tokens(annotated.select(*ANNOTATIONS)).first()
    tokens = (row["tokens"] if row is not None else None) or []
    tags = {token["xpos"] for token in tokens}
    if not tags & PENN_TAGS:
        raise UserError(
            f"parser_model={model}: the pipeline gives the tags {', '.join(sorted(tags)) or 'none'}"
            f" for {PROBE!r}; expected Penn tags, as DT, JJ and NN"
        )


def with_tokens(annotated: DataFrame) -> DataFrame:
    """`annotated` with `tokens` (`TOKENS_TYPE`) and `sentences` instead of its annotations.

    `sentences` is an array of (sentence, text). Both are null for a document whose annotations are
    not parallel (one per token), because then the labels cannot be assigned to tokens.
    """
    from pyspark.sql import functions as f

    tokens = f.expr(
        f"""
        case when size(token) = size(pos) and size(token) = size(dependency)
              and size(token) = size(dependency_type)
        then cast(transform(token, (t, i) -> struct(
            int(t.metadata['sentence']) as sentence,
            t.begin + 1 as id,
            t.result as form,
            pos[i].result as xpos,
            int(dependency[i].metadata['head.begin']) + 1 as head,
            dependency_type[i].result as deprel,
            i + 1 >= size(token) or token[i + 1].begin > t.end + 1 as space_after
        )) as {TOKENS_TYPE}) end
        """
    )
    sentences = f.expr(
        """
        transform(sentence, s -> struct(
            int(s.metadata['sentence']) as sentence, s.result as text
        ))
        """
    )
    return (
        annotated.withColumn("tokens", tokens)
        .withColumn("sentences", f.when(f.col("tokens").isNotNull(), sentences))
        .drop(*ANNOTATIONS)
    )


def to_parsed(documents: pa.RecordBatch) -> Parsed:
    """The columns `tokens` and `sentences` of documents (`with_tokens`), as `Parsed`.

    `document` counts all rows of `documents`, also those whose tokens are null. Nouns have lemmas;
    other words have none.
    """
    tokens, sentences = (_elements(documents.column(name)) for name in ("tokens", "sentences"))
    for name in ("form", "xpos", "deprel"):
        tokens[name] = tokens[name].dictionary_encode()
    tokens["lemma"] = _lemmas(tokens["form"], tokens["xpos"])
    return Parsed(
        pa.RecordBatch.from_arrays([tokens[name] for name in TOKENS.names], schema=TOKENS),
        pa.RecordBatch.from_arrays([sentences[name] for name in SENTENCES.names], schema=SENTENCES),
    )


def _elements(lists: pa.ListArray) -> dict[str, pa.Array]:
    """The fields of the elements of all lists, and as `document` the number of the list of each."""
    fields = dict(zip(lists.type.value_type.names, lists.flatten().flatten(), strict=True))
    return {"document": pc.list_parent_indices(lists).cast(pa.int32()), **fields}


def _lemmas(form: pa.DictionaryArray, xpos: pa.DictionaryArray) -> pa.DictionaryArray:
    """lemminflect's lemmas of the nouns, null elsewhere; each distinct noun is looked up once."""
    tags = [_LEMMINFLECT_TAGS.get(tag) for tag in xpos.dictionary.to_pylist()]
    forms = form.dictionary.to_pylist()
    codes = np.column_stack([form.indices.to_numpy(), xpos.indices.to_numpy()])
    distinct, place = np.unique(codes, axis=0, return_inverse=True)
    lemmas = [
        _noun_lemma(forms[word], tag) if (tag := tags[code]) else None
        for word, code in distinct.tolist()
    ]
    return pa.array(lemmas, type=pa.string()).take(pa.array(place.reshape(-1))).dictionary_encode()


@lru_cache(maxsize=200_000)
def _noun_lemma(form: str, upos: str) -> str:
    from adnominal.etl.knowledge.inflection import getLemma

    lemmas: tuple[Any, ...] = getLemma(form.lower() if upos == "NOUN" else form, upos=upos)
    return str(lemmas[0]) if lemmas else form
