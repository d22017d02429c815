"""Declarations of every table of the lake: name, columns, partitioning and meaning.

A column's meaning is in the field's ``comment`` metadata, so ``python -m etl.lake show`` and the
dataset cards agree with this module. Reading or writing anything that is not declared here is an
error that shows the difference (`etl.lake.spark`, `etl.lake.arrow`).
"""

import pyarrow as pa

from adnominal.conf.help import spelling_hint
from adnominal.etl.lake.columns import (
    ADJECTIVE,
    CORPUS,
    COUNT,
    EDITION,
    NOUN,
    TEXT,
    TIME,
    Table,
    column,
    schema,
)
from adnominal.etl.lake.errors import LakeError
from adnominal.etl.registry import DATASETS

_RELATION_PAIRS = schema(
    CORPUS,
    column("relation", TEXT, "predicative, compound, obj or advmod"),
    column("dependent", TEXT, "adjective, modifier, object or adverb"),
    column("head", TEXT, "subject, head noun, verb, or what the adverb modifies"),
    column("count", COUNT, "occurrences"),
)
_ASSOCIATION = schema(
    CORPUS,
    ADJECTIVE,
    NOUN,
    column("count", COUNT, "occurrences of the pair"),
    column("adjective_count", COUNT, "pairs with this adjective"),
    column("noun_count", COUNT, "pairs with this noun"),
    column("pmi", pa.float64(), "pointwise mutual information, bits"),
    column("npmi", pa.float64(), "PMI over -log2 of the pair's share, in [-1, 1]"),
    column("log_dice", pa.float64(), "14 + log2 of the Dice coefficient"),
)
LOOKED_UP = 1 << 15
"""Rows per row group in tables for look-ups by word: a look-up reads at least one row group."""

_ALL = (
    Table(
        "amod_files",
        "The ledger of extraction: every input file, the wave it was read in, and its outcome.",
        schema(
            CORPUS,
            column("path", TEXT, "path or URI of the file"),
            column("bytes", COUNT, "size of the file as stored"),
            column("modified", TIME, "last modification, UTC"),
            column("wave", pa.int32(), "number of the wave that reads the file, from 0"),
            column("status", TEXT, "planned, done or failed"),
            column("sentences", COUNT, "sentences read"),
            column("tokens", COUNT, "tokens read (rows of words; no ranges or empty nodes)"),
            column("pairs", COUNT, "adjective–noun pairs counted, repetitions included"),
            column("rejected_lines", COUNT, "malformed lines (or documents) dropped"),
            column("reason", TEXT, "why the file failed; null otherwise"),
        ),
        ("corpus",),
    ),
    Table(
        "amod_counts",
        "Pair counts of each wave; amod_pairs is their sum.",
        schema(
            CORPUS,
            column("wave", pa.int32(), "wave of input files, from 0"),
            ADJECTIVE,
            NOUN,
            column("count", COUNT, "occurrences in the wave"),
        ),
        ("corpus",),
        sort_by=("noun", "adjective"),
    ),
    Table(
        "amod_pairs",
        "Adjective–noun pairs of a corpus with their counts.",
        schema(CORPUS, ADJECTIVE, NOUN, column("count", COUNT, "occurrences")),
        ("corpus",),
        sort_by=("noun", "adjective"),
    ),
    Table(
        "relation_pairs",
        "Pairs of words under relations other than amod (relations=…), with their counts.",
        _RELATION_PAIRS,
        ("corpus", "relation"),
        built_by="etl/extract_amod.py relations=…",
        sort_by=("head", "dependent"),
    ),
    Table(
        "relation_association",
        "Association of the members of each pair of relation_pairs, within its relation.",
        schema(
            *_RELATION_PAIRS,
            column("dependent_count", COUNT, "pairs of the relation with the dependent"),
            column("head_count", COUNT, "pairs of the relation with the head"),
            *(_ASSOCIATION.field(name) for name in ("pmi", "npmi", "log_dice")),
        ),
        ("corpus", "relation"),
        built_by="etl/extract_amod.py relations=… relation_association=true",
        sort_by=("head", "dependent"),
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
        schema(
            CORPUS,
            ADJECTIVE,
            NOUN,
            column("sentence", TEXT, "the sentence"),
            column("document", TEXT, "URL, title or id of its document"),
        ),
        ("corpus",),
    ),
    Table(
        "amod_seen",
        "Digests of the sentences or documents already counted, if duplicates are dropped.",
        schema(
            CORPUS,
            column("wave", pa.int32(), "wave that counted it"),
            column("digest", pa.binary(), "BLAKE2b-128 of the sentence or document"),
        ),
        ("corpus",),
    ),
    Table(
        "sentences",
        "The sentences read, kept on request (keep_text=true).",
        schema(
            CORPUS,
            column("document", TEXT, "URL, title or id of the document"),
            column("sentence_id", TEXT, "content hash of document, place and text"),
            column("text", TEXT, "the sentence"),
        ),
        ("corpus",),
    ),
    Table(
        "conceptnet_edges",
        "English assertions of ConceptNet: two nodes, their relation and its weight.",
        schema(
            column("relation", TEXT, "relation without its path, as CapableOf"),
            column("start", TEXT, "start node without its language, as dog/n"),
            column("end", TEXT, "end node without its language"),
            column("start_label", TEXT, "words of the start as in the sentence"),
            column("end_label", TEXT, "words of the end as in the sentence"),
            column("surface_text", TEXT, "[[arguments]] in a sentence, * marks odd ones; or null"),
            column("weight", pa.float64(), "strength of the assertion; below 0: negated"),
            column("dataset", TEXT, "source of the assertion, as /d/conceptnet/4/en"),
            column("license", TEXT, "licence of the source, as cc:by/4.0"),
            column("uri", TEXT, "URI of the edge; made from its members for ConceptNet 4"),
            column("release", TEXT, "release of ConceptNet, 5 or 4; each is replaced whole"),
        ),
        ("release", "relation"),
        built_by="etl/import_knowledge.py conceptnet=…",
    ),
    Table(
        "wordnet_lemmas",
        "Lemmas of WordNet 3.0 with their parts of speech.",
        schema(
            column("lemma", TEXT, "lower-cased, words separated by spaces"),
            column("pos", TEXT, "n, v, a (adjectives, satellites included) or r"),
        ),
        built_by="etl/import_knowledge.py wordnet=auto",
    ),
    Table(
        "wordnet_exceptions",
        "Irregular forms of WordNet 3.0 that its inflection rules do not cover.",
        schema(
            column("form", TEXT, "inflected form, lower-cased"),
            column("lemma", TEXT, "its lemma"),
            column("pos", TEXT, "n, v, a or r"),
            column("place", pa.int32(), "place among the lemmas of the form, from 0"),
        ),
        built_by="etl/import_knowledge.py wordnet=auto",
    ),
    Table(
        "wordnet_hypernyms",
        "Hypernyms of the nouns of WordNet 3.0 up to a distance of three, for every sense.",
        schema(
            column("noun", TEXT, "lemma, lower-cased, words separated by spaces"),
            column("sense", pa.int32(), "number of the noun's sense, from 1 (most frequent)"),
            column("distance", pa.int32(), "steps up, from 1 to 3"),
            column("hypernym", TEXT, "lemma of the hypernym, words separated by spaces"),
            column("noun_synset", TEXT, "synset of the sense, as dog.n.01"),
            column("hypernym_synset", TEXT, "synset of the hypernym"),
            column("first_lemma", pa.bool_(), "whether hypernym is its synset's first lemma"),
        ),
        built_by="etl/import_knowledge.py wordnet=auto",
    ),
    Table(
        "adjective_classes",
        "Adjectives by the entailments of their phrases.",
        schema(
            column("adjective", TEXT, "lower-cased"),
            column("class", TEXT, "I intersective, S subsective, O intensional"),
            column("source", TEXT, "lexicon and its version"),
        ),
        built_by="etl/import_knowledge.py",
    ),
    *(table for dataset in DATASETS.values() for table in dataset.schemas),
    Table(
        "nli",
        "Natural-language inference data of MNLI, SNLI and AddOne.",
        schema(
            column("item_id", TEXT, "content hash of source, premise and hypothesis"),
            column("source", TEXT, "mnli, snli, addone (two labels) or addone_three"),
            column("premise", TEXT, "the premise"),
            column("hypothesis", TEXT, "the hypothesis"),
            column("label", TEXT, "entailment, neutral, contradiction; addone: not_entailment"),
            column("split", TEXT, "train, val or test; for MNLI also val_mismatched"),
        ),
        ("source",),
        built_by="etl/import_published.py nli=… or addone=…",
    ),
    Table(
        "graded_pairs",
        "Ratings that people gave to adjective–noun pairs.",
        schema(
            column("pair_id", TEXT, "content hash of source, adjective and noun"),
            column("source", TEXT, "name of the data"),
            ADJECTIVE,
            column("noun", TEXT, "the noun, lower-cased"),
            column("score", pa.float64(), "the rating, on the source's own scale"),
            column("split", TEXT, "train, val or test"),
        ),
        ("source",),
        built_by="etl/import_pairs.py file=… adjective=… noun=… score=…",
    ),
    Table(
        "minimal_pairs",
        "Minimal pairs of sentences, of which one is better than the other.",
        schema(
            column("pair_id", TEXT, "content hash of source and both sentences"),
            column("source", TEXT, "name of the data"),
            column("good", TEXT, "the better sentence"),
            column("bad", TEXT, "the worse sentence"),
            column("split", TEXT, "train, val or test"),
        ),
        ("source",),
        built_by="etl/import_pairs.py file=… good=… bad=…",
    ),
    Table(
        "label_votes",
        "People's labels of an item, counted: one row for each label that somebody gave.",
        schema(
            column("dataset", TEXT, "dataset of the item, or the table nli"),
            EDITION,
            column("item_id", TEXT, "id of the item in its table"),
            column("label", TEXT, "name of the label"),
            column("votes", COUNT, "number of people who gave it, 1 or more"),
            column("source", TEXT, "where the votes are from; simulated-… of no people"),
        ),
        ("dataset",),
        built_by="etl/annotate_adept.py finish, or etl/import_pairs.py file=… votes=…",
    ),
    Table(
        "predictions",
        "Predictions of models for items: the only source of reports and scores.",
        schema(
            column("run_id", TEXT, "run of the experiment tracker"),
            column("task", TEXT, "dataset and what was predicted"),
            EDITION,
            column("scheme", TEXT, "split scheme"),
            column("fold", TEXT, "fold, round or primitive of the scheme"),
            column("item_id", TEXT, "id of the item in its table"),
            column("gold", TEXT, "gold label"),
            column("predicted", TEXT, "predicted label"),
            column("scores", pa.list_(pa.float64()), "score of each label"),
            column("text", TEXT, "generated text, or the first token of a masked model"),
            column("prompt", TEXT, "prompt, if there was one"),
            column("verbaliser", TEXT, "words that represent the labels"),
            column("premise_order", TEXT, "order of the premises"),
            column("seed", COUNT, "seed of the run"),
            column("model", TEXT, "model"),
            column("table_version", COUNT, "version of the table that was read"),
            column(
                "state",
                TEXT,
                "of an answer that was written: parsed, unparsable, refused, cut off or failed",
                later=True,
            ),
        ),
        ("task",),
        built_by="training/finetune.py conf/training/….yaml",
    ),
    Table(
        "report_numbers",
        "The report's numbers: what the papers print, ours, and what the comparison shows.",
        schema(
            column("paper", TEXT, "adept, plane, asp, sygns or across"),
            column("exhibit", TEXT, "table or figure of the paper, or title of one of our own"),
            column("table_name", TEXT, "printed table, or caption of one of our own"),
            column("row", TEXT, "name of the row"),
            column("column", TEXT, "name of the column"),
            column("published", pa.float64(), "number that the paper prints"),
            column("printed", TEXT, "the same as printed, with its ± or ~"),
            column("decimals", pa.int32(), "digits after the point, as printed"),
            column("ours", pa.float64(), "our number, in the paper's unit"),
            column("low", pa.float64(), "lower bound of our 95 % interval"),
            column("high", pa.float64(), "upper bound"),
            column("interval_kind", TEXT, "how the interval was computed"),
            column("n", COUNT, "number of items"),
            column("unit", TEXT, "percent, share, Cohen's kappa; null for counts"),
            column("status", TEXT, "what the comparison shows (analysis.report_numbers.STATUSES)"),
            column("note", TEXT, "remark on the number"),
            column("runs", pa.list_(TEXT), "runs whose answers it comes from"),
            column("model", TEXT, "model that it is of"),
            column("edition", TEXT, "edition of the rows that it is of"),
            column("versions", TEXT, "tables read, each with its version"),
            column("command", TEXT, "command that fills what is not run"),
        ),
        built_by="python -m analysis.report save=true",
    ),
    Table(
        "dropped",
        "Rows dropped by each job: counts and a sample by reason.",
        schema(
            column("job", TEXT, "job and its subject, as extract_amod/wikipedia"),
            column("table", TEXT, "the table that would have held it"),
            column("reason", TEXT, "why they were dropped"),
            column("count", COUNT, "number of rows"),
            column("sample", TEXT, "one of them, with its file and line if known"),
        ),
        ("job",),
    ),
)

TABLES: dict[str, Table] = {table.name: table for table in _ALL}


def table(name: str) -> Table:
    """Return the declaration of `name`; raise a `LakeError` listing the tables if unknown."""
    if name not in TABLES:
        hint = spelling_hint(name, TABLES) or f"; known: {', '.join(TABLES)}"
        raise LakeError(f"no table {name!r}{hint} (adnominal lake list shows those that exist)")
    return TABLES[name]
