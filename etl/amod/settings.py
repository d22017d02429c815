"""The settings of the extraction job, and which of them decide the content of its tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from adnominal.conf import UserError, setting, to_dict
from adnominal.conf.checks import check_default, check_minimum
from adnominal.etl.amod.rules import ReadingRules
from adnominal.etl.corpora.documents import DocumentFilter
from adnominal.etl.engine import EngineSettings
from adnominal.etl.lake.storage import check_name
from adnominal.etl.parsing.fast.counting import check_rules

PARSED, RAW = ("depcc", "conllu"), ("wikipedia", "text")
# The version of a source's pairs, which a change of behaviour raises. Version 2 of text leaves
# invisible characters, marks of references and links out of words, joins words at line ends, and
# has other lemmas of Latin, Greek and -men; pairs of well-formed parsed input did not change.
VERSIONS = {**dict.fromkeys(PARSED, 1), **dict.fromkeys(RAW, 2)}
# Settings of documents and of their parser.
_OF_TEXT = (
    "parser",
    "parser_model",
    "parser_language",
    "text_field",
    "id_field",
    "where",
    "language",
    "min_characters",
)


@dataclass(frozen=True)
class Settings(EngineSettings):
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "clean": {},
        "paper": {"dependent": "any", "heads": "singular", "tag_column": "fourth"},
    }

    COMMON: ClassVar[Mapping[str, str]] = {
        "adnominal extract source=text input='texts/*.txt' examples=3": "plain text, parsed here",
        "adnominal extract source=text input='fineweb/*.parquet' text_field=text corpus=fineweb": (
            "web text in Parquet, by the fast parser"
        ),
        "adnominal extract source=depcc input='depcc/part-*.gz' corpus=depcc": (
            "a corpus that was parsed elsewhere; source=conllu reads treebanks"
        ),
    }
    FIRST: ClassVar[tuple[str, ...]] = (
        "source",
        "input",
        "corpus",
        "lake",
        "examples",
        "keep_text",
        "parser",
        "preset",
        "deduplicate",
        "engine",
    )

    source: str = setting(
        help="layout of the input", choices=(*PARSED, *RAW), example="source=wikipedia"
    )
    input: list[str] = setting(
        help="paths, globs, folders or URIs", example="input=dumps/enwiki-*.xml.bz2"
    )
    corpus: str | None = setting(
        None,
        help="name of the corpus in the tables; that of the source if not given",
        example="corpus=cc",
        free_text=True,
    )
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")
    preset: str = setting("clean", help="reading rule: see below", choices=("clean", "paper"))
    parser: str = setting(
        "auto",
        help="parser of plain text; auto: fast (compiled, about forty times as fast) if all files "
        "are Parquet, Arrow or WET, else spacy",
        choices=("auto", "spacy", "fast", "stanza", "sparknlp"),
    )
    parser_model: str | None = setting(
        None, help="model of the parser; its default if not given", example="parser_model=en"
    )
    parser_language: str | None = setting(
        None,
        help="language of the models of parser=stanza, by its code there; en if not given",
        example="parser_language=fr",
    )
    dependent: str = setting(
        "adjective", help="required tag of the dependent of amod", choices=("adjective", "any")
    )
    heads: str = setting(
        "common", help="heads: common nouns, or singular ones only", choices=("common", "singular")
    )
    proper_nouns: bool = setting(False, help="count proper-noun heads too")
    adjective_by: str = setting(
        "form", help="word counted as the adjective", choices=("form", "lemma")
    )
    noun_by: str = setting("lemma", help="word counted as the noun", choices=("lemma", "form"))
    lowercase: bool = setting(True, help="lower-case both")
    tag_column: str = setting(
        "fifth",
        help="tag column of parsed corpora: the fifth (Penn's), else the fourth; or only the "
        "fourth, as ADEPT's authors read (in CoNLL-U the universal tag)",
        choices=("fifth", "fourth"),
    )
    deduplicate: str = setting(
        "none",
        help="count equal sentences or documents only once in the whole corpus",
        choices=("none", "sentence", "document"),
    )
    relations: list[str] = setting(
        ["amod"],
        help="relations counted in the same scan of a parsed corpus; those other than amod go to "
        "relation_pairs",
        example="relations=amod,predicative,obj",
        choices=("amod", "predicative", "compound", "obj", "advmod"),
    )
    relation_association: bool = setting(
        False,
        help="with relations=: measure the association of the further relations as well, into "
        "relation_association",
    )
    examples: int = setting(0, help="example sentences to keep for each pair (amod_examples)")
    keep_text: bool = setting(False, help="keep all sentences (table sentences)")
    text_field: str = setting(
        "text", help="field of JSON lines, or column of Parquet and Arrow files, with the text"
    )
    id_field: str | None = setting(
        None,
        help="field or column that names the documents; id, url or title if not given",
        example="id_field=doc_id",
    )
    where: str | None = setting(
        None,
        help="read only the rows of Parquet and Arrow files for which this condition in SQL on "
        "their columns is true",
        example="where=\"language = 'en' AND score > 0.5\"",
        free_text=True,
    )
    language: str | None = setting(
        None,
        help="read only documents in this language (ISO 639-1), by the record's header in WET "
        "files, else as py3langid identifies it; the parser must read it",
        example="language=en",
    )
    min_characters: int = setting(0, help="skip plain-text documents with fewer characters")
    max_rejected: float = setting(
        0.001, help="share of malformed lines (or documents) above which a file fails"
    )
    seed: int = setting(0, help="seed of the choice of examples")
    kernel: str = setting(
        "auto",
        help="counting kernel of parsed corpora",
        choices=("auto", "compiled", "reference"),
    )
    wave_bytes: int = setting(
        64 << 30, help="stored bytes read between two commits", example="wave_bytes=268435456"
    )
    unit_bytes: int = setting(64 << 20, help="stored bytes per task, if a file can be split")
    partitions: int | None = setting(
        None, help="tasks per wave; by units of work and cores if not given"
    )
    memory_mb: int = setting(
        256, help="memory of a task for pairs, beyond which it stages partial sums"
    )
    restart: bool = setting(False, help="forget what was read of this corpus and read it again")
    continue_earlier: bool = setting(
        False,
        help="continue a corpus of text that an earlier version began; needed once, since its "
        "pairs then come from two versions",
    )

    def __post_init__(self) -> None:
        if not 0 <= self.max_rejected <= 1:
            raise UserError(f"max_rejected={self.max_rejected}: expected a share from 0 to 1")
        check_minimum(self, 1, "wave_bytes", "unit_bytes", "memory_mb", "partitions")
        check_minimum(self, 0, "examples", "min_characters")
        if self.source in PARSED:
            reason = f"is for plain text; source={self.source} is already parsed, so leave it out"
            check_default(self, _OF_TEXT, reason)
        elif self.source == "wikipedia":
            reason = "is for source=text; a dump has one layout, so leave it out"
            check_default(self, ("text_field", "id_field", "where"), reason)
        if self.source in RAW:
            reason = f"is for parsed corpora; source={self.source} is plain text, so leave it out"
            if self.preset != "paper":
                check_default(self, ("tag_column",), reason)
            check_default(self, ("kernel",), reason)
        if self.parser_language is not None and self.parser != "stanza":
            raise UserError(
                f"parser_language={self.parser_language} is for parser=stanza; with parser=spacy "
                "the model decides (parser_model=fr_core_news_sm), and parser=fast reads English"
            )
        self._check_relations()
        if self.where is not None and not self.where.strip():
            raise UserError("where= is empty; give a condition or leave it out")
        if self.corpus is not None and not self.corpus.strip():
            raise UserError("corpus= is empty; give a name or leave it out")
        check_name("corpus", self.name)
        if self.text_parser == "fast" and self.source in RAW:
            check_rules(self.rules)

    def _check_relations(self) -> None:
        """Raise `UserError` if the relations do not go with the source or with each other."""
        if "amod" not in self.relations:
            raise UserError("relations=: amod is always counted; expected it among them")
        if self.further_relations and self.source not in PARSED:
            raise UserError(
                f"relations={','.join(self.relations)}: source={self.source} is parsed only for "
                f"amod; expected a parsed corpus (source={' or source='.join(PARSED)})"
            )
        if self.further_relations and self.deduplicate != "none":
            raise UserError("relations= other than amod cannot be combined with deduplicate=")
        if self.relation_association and not self.further_relations:
            raise UserError(
                "relation_association=true: there is no relation other than amod, whose "
                "association is always measured; give relations=amod,predicative or more"
            )

    @property
    def further_relations(self) -> tuple[str, ...]:
        """The distinct relations other than amod, sorted."""
        return tuple(sorted({*self.relations} - {"amod"}))

    @property
    def name(self) -> str:
        """The name of the corpus."""
        return self.corpus or self.source

    @property
    def text_parser(self) -> str:
        """The parser of plain text; ``auto`` means spacy here.

        `etl.amod.reading.with_parser` resolves ``auto`` by the files before.
        """
        return "spacy" if self.parser == "auto" else self.parser

    @property
    def by_sentence(self) -> bool:
        """Whether sentences are read one by one rather than counted in blocks."""
        return self.deduplicate != "none" or self.examples > 0 or self.keep_text

    @property
    def packs_pairs(self) -> bool:
        """Whether tasks count in compiled code and stage packed pairs."""
        return not self.by_sentence and (self.source in PARSED or self.text_parser == "fast")

    @property
    def memory_bytes(self) -> int:
        """The memory of a task for pairs, in bytes."""
        return self.memory_mb << 20

    @property
    def document_filter(self) -> DocumentFilter:
        """Which documents are read."""
        return DocumentFilter(self.language, self.min_characters)

    @property
    def rules(self) -> ReadingRules:
        """The reading rules."""
        return ReadingRules(
            dependent=self.dependent,
            heads=self.heads,
            proper_nouns=self.proper_nouns,
            adjective_by=self.adjective_by,
            noun_by=self.noun_by,
            lowercase=self.lowercase,
            # Parsers give only Penn tags.
            tag_column=self.tag_column if self.source in PARSED else "fifth",
        )


# The settings that decide the content of the tables; the others (paths, sizes of tasks) do not.
DECISIVE = (
    "source",
    "dependent",
    "heads",
    "proper_nouns",
    "adjective_by",
    "noun_by",
    "lowercase",
    "deduplicate",
    "examples",
    "keep_text",
    "text_field",
    "max_rejected",
    "seed",
)


def earlier_identities(settings: Settings) -> list[dict[str, Any]]:
    """What `decisive` was for these settings in earlier versions of the source's pairs."""
    current = decisive_settings(settings)
    return [{**current, "version": number} for number in range(1, VERSIONS[settings.source])]


def decisive_settings(settings: Settings) -> dict[str, Any]:
    """The settings that decide the tables' content; those of the parser only for plain text."""
    values = to_dict(settings) | {"parser": settings.text_parser}
    names = DECISIVE if settings.source in PARSED else (*DECISIVE, "parser", "parser_model")
    if settings.rules.tag_column != "fifth":
        # Included only if it matters, so that corpora that were read before the setting existed
        # continue.
        names = (*names, "tag_column")
    later = (
        ("id_field", None),
        ("where", None),
        ("language", None),
        ("min_characters", 0),
        ("parser_language", None),
    )
    names = (*names, *(name for name, default in later if values[name] != default))
    stated = {"version": VERSIONS[settings.source], **{name: values[name] for name in names}}
    if settings.deduplicate != "none" and settings.source in PARSED:
        # Digests of earlier versions covered all columns, then columns 1 to 8 without the text.
        stated["compared"] = "text and columns 1 to 8"
    if settings.further_relations:
        stated["relations"] = list(settings.further_relations)
        if settings.dependent == "any" and {"predicative", "advmod"} & {*settings.relations}:
            # Earlier versions took any word for an adjective here too.
            stated["dependent of further relations"] = "adjective"
    return stated
