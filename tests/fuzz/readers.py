"""All our readers as functions of bytes, with valid inputs to mutate."""

import contextlib
import gzip
import io
import pickle
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adnominal import conf
from adnominal.analysis.semantics import drs_matching, polarity, prover
from adnominal.conf import UserError
from adnominal.etl.amod import reading, tasks
from adnominal.etl.amod import settings as amod_settings
from adnominal.etl.amod.kernel import PairCounter
from adnominal.etl.amod.rules import ReadingRules
from adnominal.etl.annotation.returned import read_answers
from adnominal.etl.corpora import columnar, text, wet, wikipedia, wikitext
from adnominal.etl.corpora.blocks import NoBoundary, blocks
from adnominal.etl.corpora.dialects import UnknownDialect
from adnominal.etl.corpora.files import Unit, Unreadable, units
from adnominal.etl.corpora.inputs import InputFile
from adnominal.etl.knowledge import conceptnet, lexicons, wordnet
from adnominal.etl.parsing.fast.counting import count_texts
from adnominal.etl.prompts import files as prompts
from adnominal.etl.published import adept, asp, nli, pairs, plane, sygns
from adnominal.etl.sygns import drs, fol, translate, vf
from tests.etl.amod.corpus import depcc_part
from tests.etl.knowledge import wordnet_files

REFUSALS = (UserError, Unreadable, NoBoundary, UnknownDialect)


@dataclass(frozen=True)
class Reader:
    """`read` takes bytes and a folder for files, and may raise `refuses`; `seeds` are valid."""

    name: str
    seeds: tuple[bytes, ...]
    read: Callable[[bytes, Path], Any]
    refuses: tuple[type[Exception], ...] = REFUSALS


DEPCC = depcc_part([("old", "key"), ("red", "car")])
CONLLU = b"""# newdoc id = d
# text = the old key shines
1\tthe\tthe\tDET\tDT\t_\t3\tdet\t_\t_
2\told\told\tADJ\tJJ\tDegree=Pos\t3\tamod\t_\t_
3-4\tkeys\t_\t_\t_\t_\t_\t_\t_\t_
3\tkey\tkey\tNOUN\tNN\t_\t4\tnsubj\t_\t_
4\tshines\tshine\tVERB\tVBZ\t_\t0\troot\t_\t_
5.1\tx\tx\tVERB\tVBZ\t_\t_\t_\t_\t_

"""
CONLLU_PLUS = (
    b"# global.columns = ID LEMMA FORM UPOS HEAD DEPREL\n"
    b"1\told\tOlder\tADJ\t2\tamod\n2\tdog\tdogs\tNOUN\t0\troot\n\n"
)
WIKIPEDIA = b"""<mediawiki><page>
 <title>Key</title><ns>0</ns><id>1</id>
 <revision><model>wikitext</model><text xml:space="preserve">The '''old key''' &amp; a
{{convert|3|km|mi}} [[File:a.jpg|thumb|A [[red]] key]] {| class="x"
| cell
|} shines&lt;ref name="a"&gt;b&lt;/ref&gt;.</text></revision></page>
 <page><title>K</title><ns>0</ns><redirect title="Key"/><revision><text>#REDIRECT [[Key]]</text>
 </revision></page></mediawiki>
"""
WET = (
    b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://a.example/\r\n"
    b"WARC-Identified-Content-Language: eng\r\nContent-Type: text/plain\r\n"
    b"Content-Length: 20\r\n\r\nThe old key shines.\n\r\n\r\n"
)
CONCEPTNET_5 = (
    b"/a/[/r/CapableOf/,/c/en/dog/,/c/en/bark/]\t/r/CapableOf\t/c/en/dog/n\t/c/en/bark\t"
    b'{"weight": 2.0, "surfaceText": "[[a dog]] can [[bark]]", "dataset": "/d/conceptnet/4/en", '
    b'"license": "cc:by/4.0"}'
)
CONCEPTNET_4 = b"CapableOf\tdog\tbark\t4\t10"
ADEPT = (
    b'[{"sentence1": "A dog barks.", "sentence2": "A small dog barks.", "modifier": "small", '
    b'"noun": "dog", "label": 3}]'
)
PLANE = (
    b"sentence\tlabel\tclass\tadjective\tnoun\thypernym\n"
    b"A red car is a car\t1\tI\tred\tcar\tvehicle\n"
)
FOL = (
    b"all x1.((cat(x1) & small(x1)) -> -dance(x1))",
    b"exists x2.(ann(x2) & exists x1.(two(x1) & (lick(x1,x2) | -(swim(x1) & come(x1)))))",
)
VF = (b"ALL AND CAT SMALL NOT DANCE", b"EXIST AND FOX LARGE NOT EXIST ANN LICK")
DRS = (
    b"b1 IMP b2 b3 [SEP] b2 REF x1 [SEP] b2 cat x1 [SEP] b2 small x1 [SEP] b3 NOT b4 "
    b"[SEP] b4 dance x1",
)
SYGNS = (
    b"depth\tsentence\tfol\tvf\tdrs\tfolpol\tvfpol\ttags\n"
    b"0\tall small cats did not dance\t" + FOL[0] + b"\t" + VF[0] + b"\t" + DRS[0] + b"\t"
    b"[[cat,neg]]\t[[cat,neg]]\tsbj_quant:yes\n"
)
ANSWERS = (
    b"question_1,annotator,label_1,seconds\nq1,ann,3,2.5\nq2,,impossible,\n",
    b"WorkerId,AssignmentStatus,WorkTimeInSeconds,Input.question_1,Answer.label_1.0\n"
    b'W1,Approved,30,"q1",true\n',
    b'[{"data": {"question_1": "q1"}, "annotations": [{"completed_by": {"id": 1}, "lead_time": 3, '
    b'"result": [{"from_name": "label_1", "value": {"choices": ["3"]}}]}]}]',
)
ASP = b"premise,hypothesis,label\nThe rope is 3 meters long.,The rope is long.,1\n"
SETTINGS = b"source: depcc\ninput: [a, b]\nexamples: 3\nlowercase: true\nmax_rejected: 0.5\n"


PROMPTS = (
    b"id: a\nversion: 1\ntask: asp\nsource: s\ntemplates:\n  t: '{premise} {hypothesis} {answer}'\n"
    b"verbalisers:\n  y: {entailment: [Yes], not_entailment: [No]}\ncontent_free: ['']\n",
    b"dataset: super_glue\nsubset: rte\ntemplates:\n  a: !Template\n    answer_choices: Y ||| N\n"
    b"    jinja: '{{premise}} So {{hypothesis}}? ||| {{answer_choices[label]}}'\n    name: n\n",
)


def _kernel(dialect: str) -> Callable[[bytes, Path], Any]:
    def read(data: bytes, folder: Path) -> Any:
        """Count with both implementations, which must agree."""
        results = []
        for implementation in ("compiled", "reference"):
            counter = PairCounter(dialect, ReadingRules(), implementation)
            for block in blocks(io.BytesIO(data)):
                counter.feed(block)
            counts = sorted(zip(*(column.to_pylist() for column in counter.drain()), strict=True))
            results.append((counts, counter.stats()))
        assert results[0] == results[1], f"compiled and reference differ: {results}"

    return read


def _file(name: str, read: Callable[[Path], Any]) -> Callable[[bytes, Path], Any]:
    def written(data: bytes, folder: Path) -> Any:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return read(path)

    return written


def _release(name: str, read: Callable[[Path], Any]) -> Callable[[bytes, Path], Any]:
    """Read a release that consists of the file in a folder."""
    return _file(name, lambda path: read(path.parents[name.count("/") - 1]))


def _unit(read: Callable[..., Any], kind: Any = "whole") -> Callable[[Path], Any]:
    def all_units(path: Path) -> Any:
        size = path.stat().st_size
        if not size:
            return
        file = InputFile(str(path), size, datetime(2020, 1, 1, tzinfo=UTC))
        for unit in units(file, kind, 64):
            for _ in read(unit):
                pass

    return all_units


def _parquet() -> bytes:
    table = pa.table({"id": ["a", "b"], "text": ["The old key shines.", None]})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def _wordnet(data: bytes, folder: Path) -> None:
    """Read a WordNet in which one file is replaced; its name is the first line of the data."""
    name, _, content = data.partition(b"\n")
    if name not in WORDNET:
        return
    place = wordnet_files.write(folder / "wordnet")
    (place / name.decode()).write_bytes(content)
    files = wordnet.find(str(place))
    wordnet.lemmas(files)
    wordnet.exceptions(files)
    wordnet.hypernyms(files)


WORDNET = (b"data.noun", b"index.noun", b"index.sense", b"noun.exc", b"data.verb", b"index.verb")


def _wordnet_seeds() -> tuple[bytes, ...]:
    with tempfile.TemporaryDirectory() as folder:
        place = wordnet_files.write(Path(folder))
        return tuple(
            name + b"\n" + (place / name.decode()).read_bytes()
            for name in WORDNET
            if (place / name.decode()).exists()
        )


def _formula(data: bytes, folder: Path) -> None:
    string = _text(data)
    formula = fol.parse(string)
    assert fol.parse(fol.text(formula)) == formula
    fol.canonical(formula)
    with contextlib.suppress(ValueError):  # not every formula has clauses
        translate.fol_to_drs(formula)
    polarity.polarities("fol", string)


def _term(data: bytes, folder: Path) -> None:
    string = _text(data)
    term = vf.parse(string)
    assert vf.parse(vf.text(term)) == term
    polarity.polarities("vf", string)
    prover.formula_of("vf", string)


def _structure(data: bytes, folder: Path) -> None:
    string = _text(data)
    # Any output of a model must get a score.
    drs_matching.match(DRS[0].decode(), string)
    box = drs.parse(string)
    assert drs.parse(drs.text(box)) == drs.parse(drs.text(drs.parse(drs.text(box))))
    prover.formula_of("drs", string)


def _settings(path: Path) -> None:
    conf.load(amod_settings.Settings, ["--config", str(path), f"lake={path.parent}"])


def _read_parsed(path: Path) -> None:
    size = path.stat().st_size
    with tasks.parsed_blocks(Unit(str(path), size, 0, size), "conllu") as (dialect, stored_blocks):
        counter = PairCounter(dialect.name, ReadingRules())
        for block in stored_blocks:
            counter.feed(block)


def _events(unit: Unit) -> Any:
    return reading.events(unit, amod_settings.Settings(source="text", input=[unit.path]))


def _pairs(path: Path) -> None:
    columns = {"premise": "p", "hypothesis": "h", "label": "l"}
    pairs.read(pairs.Settings(str(path), source="s", **columns))


def _read_graded(path: Path) -> None:
    pairs.read(pairs.Settings(str(path), source="s", adjective="a", noun="n", score="v"))


def _read_fast(data: bytes, folder: Path) -> None:
    """Count the pairs of a text with the compiled extractor."""
    count_texts([_text(data)])


def _prompts(path: Path) -> None:
    prompts.read(str(path), "asp")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def readers() -> tuple[Reader, ...]:
    """All readers."""
    formulas = (*REFUSALS, fol.ParseError)
    return (
        Reader("DepCC", (DEPCC,), _kernel("depcc")),
        Reader("CoNLL-U", (CONLLU,), _kernel("conllu")),
        Reader("MediaWiki XML", (WIKIPEDIA,), _file("a.xml", _unit(wikipedia.read_unit, "xml"))),
        Reader("wikitext", (WIKIPEDIA,), lambda data, _: wikitext.running_text(_text(data))),
        Reader("CoNLL-U Plus", (CONLLU_PLUS,), _file("a.conllup", _read_parsed)),
        Reader(
            "texts by their content",
            (
                b'{"id": 1, "text": "The old key shines."}\n{"text": "Red."}\n',
                b'<doc id="1" title="K">\nKey\n\nThe old key.[1] A gar-\nden.\n</doc>\n',
                b"id,text\n1,The old key shines.\n",
            ),
            _file("a", _unit(_events, "lines")),
        ),
        Reader(
            "labelled pairs",
            (b"p,h,l\nA man sleeps.,A man rests.,entailment\n",),
            _file("pairs.csv", _pairs),
        ),
        Reader(
            "labelled pairs in JSON lines",
            (b'{"p": "A man sleeps.", "h": "A man rests.", "l": "entailment"}\n',),
            _file("pairs.jsonl", _pairs),
        ),
        Reader("graded pairs", (b"a,n,v\nold,key,2.5\n",), _file("graded.csv", _read_graded)),
        Reader(
            "MultiNLI in lines",
            (b"gold_label\tsentence1\tsentence2\nneutral\tA man sleeps.\tA man rests.\n",),
            _release("nli/multinli_1.0_train.txt", nli.read),
        ),
        Reader(
            "MultiNLI in JSON lines",
            (b'{"gold_label": "neutral", "sentence1": "A man.", "sentence2": "He rests."}\n',),
            _release("lines/multinli_1.0_train.jsonl", nli.read),
        ),
        Reader(
            "AddOne",
            (b"4.2\tentails\t1\told\tkey\tA key.\tAn <b>old</b> key.\n",),
            _release("addone/data.train", nli.read_addone),
        ),
        Reader(
            "fast extractor",
            (b"The old key.[1] A gar-\nden\xc2\xad wall;\xe2\x80\x94no specimen, new york.\n",),
            _read_fast,
        ),
        Reader("prompts", PROMPTS, _file("prompts.yaml", _prompts)),
        Reader(
            "plain text",
            (b"The old key shines.\n\nIt is red.\n",),
            _file("a.txt", _unit(text.read_unit, "lines")),
        ),
        Reader(
            "JSON lines",
            (b'{"id": 1, "text": "The old key shines."}\n{"text": "Red."}\n',),
            _file("a.jsonl", _unit(text.read_unit, "lines")),
        ),
        Reader(
            "gzip",
            (gzip.compress(b"The old key.\n" * 9),),
            _file("a.txt.gz", _unit(text.read_unit)),
        ),
        Reader(
            "Parquet",
            (_parquet(),),
            _file("a.parquet", _unit(lambda unit: columnar.read_unit(unit, "text", "id"))),
        ),
        Reader("WET", (WET,), _file("a.warc.wet", _unit(wet.read_unit))),
        Reader("ConceptNet 5", (CONCEPTNET_5,), lambda data, _: conceptnet.parse_5(data)),
        Reader("ConceptNet 4", (CONCEPTNET_4,), lambda data, _: conceptnet.parse_4(data)),
        Reader("WordNet", _wordnet_seeds(), _wordnet),
        Reader("ADEPT's release", (ADEPT,), _release("adept/train.json", adept.read)),
        Reader("PLANE's release", (PLANE,), _release("plane/ood_train_1.tsv", plane.read)),
        Reader(
            "PLANE's pickles",
            (pickle.dumps([("A red car is a car", 1, "I", "red", "car", "vehicle")]),),
            _release("pickles/ood_train_1.pkl", plane.read),
        ),
        Reader(
            "ASP's release",
            (ASP,),
            _release("asp/EntailmentInference/argument.csv", asp.read),
        ),
        Reader("SyGNS's release", (SYGNS,), _release("sygns/results.tsv", sygns.read)),
        Reader("answers of annotators", ANSWERS, _file("answers", lambda p: read_answers(p, "a"))),
        Reader("FOL", FOL, _formula, formulas),
        Reader("VF", VF, _term, formulas),
        Reader("DRS", DRS, _structure, formulas),
        Reader("settings", (SETTINGS,), _file("settings.yaml", _settings)),
        Reader(
            "word lists",
            (
                b"adjective\tclass\nred\tI\nsmall\tS\n",
                b"adjective\tclass\ttags\ndeep\tI\tcontext-dependent\nred\tI\t\n",
            ),
            _file("words.tsv", lambda path: lexicons.class_list(path)),
        ),
    )
