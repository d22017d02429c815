"""Every table of the lake: its name, columns, partitioning and meaning, declared once.

A column's meaning stands in the field's ``comment`` metadata, so that ``python -m etl.lake show``
and the datasheets say the same as this page. Reading or writing anything else than what stands
here is an error that shows the difference (`etl.lake.spark`, `etl.lake.arrow`).
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Table:
    """One table: `schema` in column order, `partition_by` naming the partition columns.

    `built_by` is the job and the settings it needs, for the error on a table that is not there.
    """

    name: str
    meaning: str
    schema: pa.Schema
    partition_by: tuple[str, ...] = ()
    built_by: str = "etl/extract_amod.py source=… input=…"


def _field(name: str, kind: pa.DataType, comment: str) -> pa.Field:
    return pa.field(name, kind, nullable=True, metadata={"comment": comment})


TEXT = pa.string()
COUNT = pa.int64()
TIME = pa.timestamp("us", tz="UTC")

_CORPUS = _field("corpus", TEXT, "name of the corpus, by default the source's")
_ADJECTIVE = _field("adjective", TEXT, "lower-cased surface form of the dependent")
_NOUN = _field("noun", TEXT, "lower-cased lemma of the head")

_EDITION = _field("edition", TEXT, "published, paper, clean, demo or a name of one's own")
_POLARITY = pa.list_(pa.struct([("word", TEXT), ("direction", TEXT)]))

_ASP_TEST = _field("test", TEXT, "ordering, dimension, argument, booster, diminisher, …")
_ASP_LABEL = _field("label", TEXT, "entailment, not_entailment or discard")
_ASP_LABEL3 = _field("label3", TEXT, "label for fine-tuning; null in tests that are not trained")

_ALL = (
    Table(
        "amod_files",
        "The ledger of extraction: every input file, the wave it was read in, and its outcome.",
        pa.schema(
            [
                _CORPUS,
                _field("path", TEXT, "path or URI of the file"),
                _field("bytes", COUNT, "size of the file as stored"),
                _field("modified", TIME, "last modification, UTC"),
                _field("wave", pa.int32(), "number of the wave that reads the file, from 0"),
                _field("status", TEXT, "planned, done or failed"),
                _field("sentences", COUNT, "sentences read"),
                _field("tokens", COUNT, "tokens read (rows of words; no ranges or empty nodes)"),
                _field("pairs", COUNT, "adjective–noun pairs counted, repetitions included"),
                _field("rejected_lines", COUNT, "malformed lines (or documents) left out"),
                _field("reason", TEXT, "why the file failed; null otherwise"),
            ]
        ),
        ("corpus",),
    ),
    Table(
        "amod_counts",
        "Pair counts of each wave; amod_pairs is their sum.",
        pa.schema(
            [
                _CORPUS,
                _field("wave", pa.int32(), "wave of input files, from 0"),
                _ADJECTIVE,
                _NOUN,
                _field("count", COUNT, "occurrences in the wave"),
            ]
        ),
        ("corpus",),
    ),
    Table(
        "amod_pairs",
        "Adjective–noun pairs of a corpus with their counts.",
        pa.schema([_CORPUS, _ADJECTIVE, _NOUN, _field("count", COUNT, "occurrences")]),
        ("corpus",),
    ),
    Table(
        "amod_association",
        "Association of the members of each pair; marginals before any count floor.",
        pa.schema(
            [
                _CORPUS,
                _ADJECTIVE,
                _NOUN,
                _field("count", COUNT, "occurrences of the pair"),
                _field("adjective_count", COUNT, "pairs with this adjective"),
                _field("noun_count", COUNT, "pairs with this noun"),
                _field("pmi", pa.float64(), "pointwise mutual information, bits"),
                _field("npmi", pa.float64(), "PMI over -log2 of the pair's share, in [-1, 1]"),
                _field("log_dice", pa.float64(), "14 + log2 of the Dice coefficient"),
            ]
        ),
        ("corpus",),
    ),
    Table(
        "amod_examples",
        "A few sentences for each pair.",
        pa.schema(
            [
                _CORPUS,
                _ADJECTIVE,
                _NOUN,
                _field("sentence", TEXT, "the sentence"),
                _field("document", TEXT, "URL, title or id of its document"),
            ]
        ),
        ("corpus",),
    ),
    Table(
        "amod_seen",
        "Digests of the sentences or documents already counted, where duplicates are left out.",
        pa.schema(
            [
                _CORPUS,
                _field("wave", pa.int32(), "wave that counted it"),
                _field("digest", pa.binary(), "BLAKE2b-128 of the sentence or document"),
            ]
        ),
        ("corpus",),
    ),
    Table(
        "sentences",
        "The sentences read, kept on request (keep_text=true).",
        pa.schema(
            [
                _CORPUS,
                _field("document", TEXT, "URL, title or id of the document"),
                _field("sentence_id", TEXT, "content hash of document, place and text"),
                _field("text", TEXT, "the sentence"),
            ]
        ),
        ("corpus",),
    ),
    Table(
        "predictions",
        "What a model said of each item: the only way from models to reports and scores.",
        pa.schema(
            [
                _field("run_id", TEXT, "run of the experiment tracker"),
                _field("task", TEXT, "dataset and what was predicted of it"),
                _EDITION,
                _field("scheme", TEXT, "split scheme"),
                _field("fold", TEXT, "fold, round or primitive of the scheme"),
                _field("item_id", TEXT, "id of the item in its table"),
                _field("gold", TEXT, "gold label"),
                _field("predicted", TEXT, "predicted label"),
                _field("scores", pa.list_(pa.float64()), "score of each label"),
                _field("text", TEXT, "generated text"),
                _field("prompt", TEXT, "prompt, where there was one"),
                _field("verbaliser", TEXT, "words that stood for the labels"),
                _field("premise_order", TEXT, "order of the premises"),
                _field("seed", COUNT, "seed of the run"),
                _field("model", TEXT, "model"),
                _field("table_version", COUNT, "version of the table that was read"),
            ]
        ),
        ("task",),
        built_by="training/predict.py model=… table=…",
    ),
    Table(
        "sygns",
        "SyGNS: sentences of a small grammar with three scoped meanings each.",
        pa.schema(
            [
                _field("sentence_id", TEXT, "content hash of sentence and depth"),
                _field("depth", pa.int32(), "embedded clauses, from 0"),
                _field("sentence", TEXT, "the sentence"),
                _field("fol", TEXT, "first-order formula"),
                _field("drs", TEXT, "discourse representation structure, clause form"),
                _field("vf", TEXT, "variable-free formula"),
                _field("polarity_fol", _POLARITY, "words of the formula, left to right"),
                _field("polarity_vf", _POLARITY, "words of the variable-free formula"),
                _field("phenomena", pa.list_(TEXT), "phenomena that the sentence shows"),
                _EDITION,
            ]
        ),
        ("edition", "depth"),
        built_by="etl/build_sygns.py",
    ),
    Table(
        "sygns_splits",
        "Which part of which test a SyGNS sentence belongs to.",
        pa.schema(
            [
                _field("scheme", TEXT, "systematicity, quantifier_negation, productivity, …"),
                _field("primitive", TEXT, "primitive quantifier; empty where there is none"),
                _field("part", TEXT, "train, val or test"),
                _field("sentence_id", TEXT, "id in table sygns"),
                _EDITION,
            ]
        ),
        ("edition", "scheme"),
        built_by="etl/build_sygns.py",
    ),
    Table(
        "asp_entailment",
        "ASP, entailment inference: a premise and hypothesis with a gradable adjective each.",
        pa.schema(
            [
                _field("item_id", TEXT, "content hash of test, premise and hypothesis"),
                _ASP_TEST,
                _field("premise", TEXT, "the premise"),
                _field("hypothesis", TEXT, "the hypothesis"),
                _ASP_LABEL,
                _ASP_LABEL3,
                _field("adjective", TEXT, "adjective of the premise"),
                _field("other_adjective", TEXT, "the hypothesis's, where it is another"),
                _field("noun", TEXT, "noun of the premise"),
                _field("other_noun", TEXT, "the hypothesis's, or what is compared with"),
                _field("modifier", TEXT, "booster or diminisher"),
                _field("adjective_type", TEXT, "relative, minimum or maximum standard"),
                _EDITION,
            ]
        ),
        ("edition", "test"),
        "etl/build_asp.py",
    ),
    Table(
        "asp_degree",
        "ASP, degree estimation: is a number enough for an adjective, given two others?",
        pa.schema(
            [
                _field("item_id", TEXT, "content hash of test, premise and hypothesis"),
                _ASP_TEST,
                _field("variant", TEXT, "base, or what is exchanged: sentences, numbers, both"),
                _field("group", pa.int32(), "forty rows of one premise, numbered in their test"),
                _field("dimension", TEXT, "length, mass, temperature or price"),
                _field("unit", TEXT, "unit of the numbers"),
                _field("adjective", TEXT, "adjective of the hypothesis"),
                _field("other_adjective", TEXT, "the premise's other adjective"),
                _field("noun", TEXT, "noun of the premise"),
                _field("other_noun", TEXT, "the hypothesis's, where it is another"),
                _field("polarity", TEXT, "positive or negative: the side of the hypothesis"),
                _field("positive_value", pa.float64(), "number of the positive adjective"),
                _field("negative_value", pa.float64(), "number of the negative adjective"),
                _field("alpha", pa.float64(), "number of the hypothesis"),
                _field("z", pa.float64(), "alpha with the premise's numbers at 120 and 80"),
                _field("premise", TEXT, "the two sentences"),
                _field("hypothesis", TEXT, "the hypothesis"),
                _ASP_LABEL,
                _ASP_LABEL3,
                _field("gold", TEXT, "where the label is from: sigmoid, empirical or rule"),
                _field("extrapolated", pa.bool_(), "whether z lies outside of what was judged"),
                _EDITION,
            ]
        ),
        ("edition", "test"),
        "etl/build_asp.py",
    ),
    Table(
        "asp_splits",
        "Which part of which round of fine-tuning a row of ASP belongs to.",
        pa.schema(
            [
                _field("scheme", TEXT, "adjectives or dimension: what is held out"),
                _field("round", TEXT, "number of the round, or the dimension held out"),
                _field("part", TEXT, "train, val or test"),
                _field("item_id", TEXT, "id in asp_entailment or asp_degree"),
                _EDITION,
            ]
        ),
        ("edition", "scheme"),
        "etl/build_asp.py",
    ),
    Table(
        "asp_human",
        "Human judgements of degree: shares of yes with the fitted curve and its threshold.",
        pa.schema(
            [
                _ASP_TEST,
                _field("polarity", TEXT, "positive or negative"),
                _field("z", pa.float64(), "number, with the premise's at 120 and 80"),
                _field("share", pa.float64(), "share of yes"),
                _field("n", COUNT, "judgements; null where only shares are known"),
                _field("fit", pa.float64(), "sigmoid fitted between 60 and 138, from 0 to 1"),
                _field("threshold", pa.float64(), "z where the sigmoid is one half"),
                _field("standard_error", pa.float64(), "of the threshold, by the fit"),
                _field("source", TEXT, "whose judgements"),
            ]
        ),
        ("source",),
        "etl/judge_asp.py responses=… source=…",
    ),
    Table(
        "dropped",
        "What each job left out, by reason, with a sample.",
        pa.schema(
            [
                _field("job", TEXT, "job and what it ran on, as extract_amod/wikipedia"),
                _field("table", TEXT, "the table that would have held it"),
                _field("reason", TEXT, "why it was left out"),
                _field("count", COUNT, "how many"),
                _field("sample", TEXT, "one of them, with its file and line where there is one"),
            ]
        ),
        ("job",),
    ),
)

TABLES: dict[str, Table] = {table.name: table for table in _ALL}


def table(name: str) -> Table:
    """The declaration of `name`; a `KeyError` listing the tables if there is none."""
    try:
        return TABLES[name]
    except KeyError:
        raise KeyError(f"no table {name!r}; known: {', '.join(TABLES)}") from None
