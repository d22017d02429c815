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

    `group_rows` are the most rows of a row group of its files, where that matters to readers.
    `built_by` is the job and the settings it needs, for the error on a table that is not there.
    `sort_by` names the columns by which the rows of each file are sorted, where they are.
    """

    name: str
    meaning: str
    schema: pa.Schema
    partition_by: tuple[str, ...] = ()
    built_by: str = "etl/extract_amod.py source=… input=…"
    sort_by: tuple[str, ...] = ()
    group_rows: int | None = None


def _field(name: str, kind: pa.DataType, comment: str) -> pa.Field:
    return pa.field(name, kind, nullable=True, metadata={"comment": comment})


TEXT = pa.string()
COUNT = pa.int64()
_FLAG = pa.bool_()
TIME = pa.timestamp("us", tz="UTC")

_CORPUS = _field("corpus", TEXT, "name of the corpus, by default the source's")
_ADJECTIVE = _field("adjective", TEXT, "lower-cased surface form of the dependent")
_NOUN = _field("noun", TEXT, "lower-cased lemma of the head")

_RELATION_PAIRS = pa.schema(
    [
        _CORPUS,
        _field("relation", TEXT, "predicative, compound, obj or advmod"),
        _field("dependent", TEXT, "adjective, modifier, object or adverb"),
        _field("head", TEXT, "subject, head noun, verb, or what the adverb modifies"),
        _field("count", COUNT, "occurrences"),
    ]
)
_ASSOCIATION = pa.schema(
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
)
LOOKED_UP = 1 << 15
"""Rows of a row group where words are looked up: a look-up reads no less than one of them."""

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
        sort_by=("noun", "adjective"),
    ),
    Table(
        "amod_pairs",
        "Adjective–noun pairs of a corpus with their counts.",
        pa.schema([_CORPUS, _ADJECTIVE, _NOUN, _field("count", COUNT, "occurrences")]),
        ("corpus",),
        sort_by=("noun", "adjective"),
    ),
    Table(
        "relation_pairs",
        "Pairs of words under relations beside amod (relations=…), with their counts.",
        _RELATION_PAIRS,
        ("corpus", "relation"),
        built_by="etl/extract_amod.py relations=…",
        sort_by=("head", "dependent"),
    ),
    Table(
        "relation_association",
        "Association of the members of each pair of relation_pairs, within its relation.",
        pa.schema(
            [
                *_RELATION_PAIRS,
                _field("dependent_count", COUNT, "pairs of the relation with the dependent"),
                _field("head_count", COUNT, "pairs of the relation with the head"),
                *(_ASSOCIATION.field(name) for name in ("pmi", "npmi", "log_dice")),
            ]
        ),
        ("corpus", "relation"),
        built_by="etl/extract_amod.py relations=… relation_association=true",
        sort_by=("head", "dependent"),
    ),
    Table(
        "listed_counts",
        "Counts of pairs that a list names, those that never occur included.",
        pa.schema(
            [
                _field("list", TEXT, "name of the list: of its file, or novel"),
                _CORPUS,
                _ADJECTIVE,
                _NOUN,
                _field("amod", COUNT, "occurrences under amod; null where not counted"),
                _field(
                    "adjacent", COUNT, "occurrences as neighbours in text; null where not counted"
                ),
            ]
        ),
        ("corpus",),
        built_by="etl/extract_amod.py pairs=…",
    ),
    Table(
        "amod_association",
        "Association of the members of each pair; marginals before any count floor.",
        _ASSOCIATION,
        ("corpus",),
        sort_by=("noun", "adjective"),
        group_rows=LOOKED_UP,
    ),
    Table(
        "amod_by_adjective",
        "The rows of amod_association sorted by adjective, for look-ups from the adjective's side.",
        _ASSOCIATION,
        ("corpus",),
        sort_by=("adjective", "noun"),
        group_rows=LOOKED_UP,
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
        "conceptnet_edges",
        "English assertions of ConceptNet: what is said of what, under which relation.",
        pa.schema(
            [
                _field("relation", TEXT, "relation without its path, as CapableOf"),
                _field("start", TEXT, "start node without its language, as dog/n"),
                _field("end", TEXT, "end node without its language"),
                _field("start_label", TEXT, "words of the start as the sentence has them"),
                _field("end_label", TEXT, "words of the end as the sentence has them"),
                _field(
                    "surface_text", TEXT, "[[arguments]] in a sentence, * marks odd ones; or null"
                ),
                _field("weight", pa.float64(), "strength of the assertion; below 0: negated"),
                _field("dataset", TEXT, "source of the assertion, as /d/conceptnet/4/en"),
                _field("license", TEXT, "licence of the source, as cc:by/4.0"),
                _field("uri", TEXT, "URI of the edge; for ConceptNet 4 made of its members"),
                _field("release", TEXT, "release of ConceptNet, 5 or 4; each is replaced whole"),
            ]
        ),
        ("release", "relation"),
        built_by="etl/import_knowledge.py conceptnet=…",
    ),
    Table(
        "wordnet_lemmas",
        "Lemmas of WordNet 3.0 with their parts of speech.",
        pa.schema(
            [
                _field("lemma", TEXT, "lower-cased, words parted by spaces"),
                _field("pos", TEXT, "n, v, a (adjectives, satellites included) or r"),
            ]
        ),
        built_by="etl/import_knowledge.py wordnet=auto",
    ),
    Table(
        "wordnet_exceptions",
        "Irregular forms of WordNet 3.0: what its rules of inflection do not reach.",
        pa.schema(
            [
                _field("form", TEXT, "inflected form, lower-cased"),
                _field("lemma", TEXT, "its lemma"),
                _field("pos", TEXT, "n, v, a or r"),
                _field("place", pa.int32(), "place among the lemmas of the form, from 0"),
            ]
        ),
        built_by="etl/import_knowledge.py wordnet=auto",
    ),
    Table(
        "wordnet_hypernyms",
        "Hypernyms of the nouns of WordNet 3.0 up to a distance of three, for every sense.",
        pa.schema(
            [
                _field("noun", TEXT, "lemma, lower-cased, words parted by spaces"),
                _field("sense", pa.int32(), "number of the noun's sense, from 1 (most frequent)"),
                _field("distance", pa.int32(), "steps up, from 1 to 3"),
                _field("hypernym", TEXT, "lemma of the hypernym, words parted by spaces"),
                _field("noun_synset", TEXT, "synset of the sense, as dog.n.01"),
                _field("hypernym_synset", TEXT, "synset of the hypernym"),
                _field("first_lemma", pa.bool_(), "whether hypernym is its synset's first lemma"),
            ]
        ),
        built_by="etl/import_knowledge.py wordnet=auto",
    ),
    Table(
        "adjective_classes",
        "Adjectives by the entailments of their phrases.",
        pa.schema(
            [
                _field("adjective", TEXT, "lower-cased"),
                _field("class", TEXT, "I intersective, S subsective, O intensional"),
                _field("source", TEXT, "lexicon and its version"),
            ]
        ),
        built_by="etl/import_knowledge.py",
    ),
    Table(
        "adept_entries",
        "Nouns that ADEPT's items are made of, each with its adjectives.",
        pa.schema(
            [
                _NOUN,
                _field(
                    "adjectives",
                    pa.list_(
                        pa.struct([("adjective", TEXT), ("count", COUNT), ("nonsubsective", _FLAG)])
                    ),
                    "adjectives of the noun, most frequent first",
                ),
                _EDITION,
            ]
        ),
        ("edition",),
        built_by="etl/build_adept.py",
    ),
    Table(
        "adept_items",
        "ADEPT before annotation: a sentence, and the same with an adjective before its noun.",
        pa.schema(
            [
                _field("item_id", TEXT, "content hash of sentence, adjective and noun"),
                _NOUN,
                _field("relation", TEXT, "relation of the predicate, as CapableOf"),
                _field("predicate", TEXT, "what is said of the noun"),
                _ADJECTIVE,
                _field("nonsubsective", _FLAG, "whether the adjective is non-subsective"),
                _field("variant", pa.int32(), "number among the variants of its sentence, from 0"),
                _field("chosen", _FLAG, "whether it is the variant that is annotated"),
                _field("sentence", TEXT, "the sentence without the adjective"),
                _field("modified_sentence", TEXT, "the sentence with it"),
                _field("path", TEXT, "surface_text, or template where the edge has no text"),
                _field("edge", TEXT, "URI of the edge of ConceptNet that the sentence is made of"),
                _EDITION,
            ]
        ),
        ("edition",),
        built_by="etl/build_adept.py",
    ),
    Table(
        "adept_batches",
        "What annotators are shown, and the key to it, which their files do not hold.",
        pa.schema(
            [
                _field("question_id", TEXT, "hash that stands for the question in the files"),
                _field("batch", TEXT, "name of the batch"),
                _field("page", TEXT, "page of the batch"),
                _field("place", pa.int32(), "place on the page, from 1"),
                _field("kind", TEXT, "item, gold or attention"),
                _field("item_id", TEXT, "id in adept_items, or of the check"),
                _field("expected", pa.int32(), "label that a check expects; audited label; null"),
                _field("sentence1", TEXT, "first text shown: the sentence, or the noun alone"),
                _field("sentence2", TEXT, "second text: the same with the adjective"),
                _field("round", TEXT, "pilot, main, expert, human or audit"),
                _field("condition", TEXT, "context or no_context"),
                _field("platform", TEXT, "mturk, label_studio or csv"),
                _EDITION,
            ]
        ),
        ("round",),
        built_by="etl/annotate_adept.py export batch=…",
    ),
    Table(
        "adept_annotations",
        "Answers of annotators to items of ADEPT, quality checks included.",
        pa.schema(
            [
                _field("item_id", TEXT, "id in adept_items, or of the check"),
                _field("annotator", TEXT, "keyed hash of the platform's id"),
                _field(
                    "label", pa.int32(), "0 impossible to 4 necessarily true; audit: the finding"
                ),
                _field("expected", pa.int32(), "label that a check expects; audited label; null"),
                _field("seconds", pa.float64(), "share of the page's time, if the platform tells"),
                _field("kind", TEXT, "item, gold or attention"),
                _field("round", TEXT, "pilot, main, expert, human or audit"),
                _field("condition", TEXT, "context or no_context"),
                _field("platform", TEXT, "mturk, label_studio or csv"),
                _field("batch", TEXT, "batch that it was exported in"),
                _field("page", TEXT, "page of the batch that it stood on"),
            ]
        ),
        ("round",),
        built_by="etl/annotate_adept.py import batch=…",
    ),
    Table(
        "adept",
        "ADEPT: how an adjective changes the plausibility of a sentence.",
        pa.schema(
            [
                _field("item_id", TEXT, "content hash of sentence, adjective and noun"),
                _field("sentence1", TEXT, "the sentence without the adjective"),
                _field("sentence2", TEXT, "the sentence with it"),
                _field("modifier", TEXT, "the adjective"),
                _NOUN,
                _field("label", pa.int32(), "0 impossible to 4 necessarily true"),
                _field("agreement", TEXT, "unanimous or majority; null where not published"),
                _field("split_random", TEXT, "train, val or test, over instances"),
                _field("split_noun_disjoint", TEXT, "the same, no noun in two parts"),
                _field("split_adjective_disjoint", TEXT, "the same, no adjective in two parts"),
                _EDITION,
            ]
        ),
        ("edition",),
        built_by="etl/annotate_adept.py finish",
    ),
    Table(
        "plane_items",
        "PLANE: does an adjective–noun phrase entail its noun, a hypernym, or a phrase of it?",
        pa.schema(
            [
                _field("item_id", TEXT, "hash of edition, inference type and the three words"),
                _field("group_id", TEXT, "hash of adjective, noun and hypernym"),
                _ADJECTIVE,
                _field("class", TEXT, "I intersective, S subsective, O intensional"),
                _field("noun", TEXT, "the noun; in the published edition as its text has it"),
                _field("hypernym", TEXT, "a hypernym of the noun"),
                _field("distance", pa.int32(), "steps from noun to hypernym, 1 to 3; or null"),
                _field("inference_type", pa.int32(), "1: AN is N, 2: AN is h(N), 3: AN is A h(N)"),
                _field("premise", TEXT, "the phrase AN"),
                _field("conclusion", TEXT, "what it is said to be"),
                _field("label", pa.int32(), "1 where the inference holds, else 0"),
                _field("sentence", TEXT, "premise and conclusion as one sentence"),
                _EDITION,
            ]
        ),
        ("edition", "class"),
        built_by="etl/build_plane.py",
    ),
    Table(
        "plane_splits",
        "Which part of which fold of a split scheme an item of PLANE belongs to.",
        pa.schema(
            [
                _field("scheme", TEXT, "published, strict, one_it, in_distribution or two_shot"),
                _field("fold", TEXT, "number of the fold, from 1"),
                _field("part", TEXT, "train, val or test"),
                _field("item_id", TEXT, "id in table plane_items"),
                _EDITION,
            ]
        ),
        ("edition", "scheme"),
        built_by="etl/build_plane.py",
    ),
    Table(
        "plane_association",
        "PMI of the phrases of PLANE, with the class of their adjectives (appendix A).",
        pa.schema(
            [
                _CORPUS,
                _ADJECTIVE,
                _field("class", TEXT, "I intersective, S subsective, O intensional"),
                _NOUN,
                _field("count", COUNT, "occurrences of the phrase"),
                _field("pmi", pa.float64(), "pointwise mutual information, bits"),
                _EDITION,
            ]
        ),
        ("edition",),
        built_by="etl/build_plane.py",
    ),
    Table(
        "nli",
        "Natural-language inference, as MNLI, SNLI and AddOne publish it.",
        pa.schema(
            [
                _field("item_id", TEXT, "content hash of source, premise and hypothesis"),
                _field("source", TEXT, "mnli, snli or addone"),
                _field("premise", TEXT, "the premise"),
                _field("hypothesis", TEXT, "the hypothesis"),
                _field("label", TEXT, "entailment, neutral, contradiction; AddOne: not_entailment"),
                _field("split", TEXT, "train, val or test; for MNLI also val_mismatched"),
            ]
        ),
        ("source",),
        built_by="etl/import_published.py nli=… or addone=…",
    ),
    Table(
        "graded_pairs",
        "Ratings that people gave to adjective–noun pairs.",
        pa.schema(
            [
                _field("pair_id", TEXT, "content hash of source, adjective and noun"),
                _field("source", TEXT, "name of the data"),
                _ADJECTIVE,
                _field("noun", TEXT, "the noun, lower-cased"),
                _field("score", pa.float64(), "the rating, on the source's own scale"),
                _field("split", TEXT, "train, val or test"),
            ]
        ),
        ("source",),
        built_by="etl/import_pairs.py file=… adjective=… noun=… score=…",
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
        built_by="training/finetune.py, score.py, predict.py or prompt.py",
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
