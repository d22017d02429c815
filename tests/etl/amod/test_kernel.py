"""All implementations of the kernel give the results of the reference."""

import gzip
import io
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from zlib import crc32

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.etl.amod import kernel
from adnominal.etl.amod.kernel import BUCKETS, PAIRS, PairCounter, available_implementations
from adnominal.etl.amod.reference import Stats, sentences
from adnominal.etl.amod.rules import CLEAN, PAPER, ReadingRules
from adnominal.etl.corpora.blocks import blocks
from adnominal.etl.corpora.dialects import CONLLU, DEPCC, DIALECTS, detect
from tests.etl.amod import parsed

compiled = kernel.compiled_kernel()
# The ways to count: the compiled kernel with each instruction set, and the reference.
WAYS = [f"compiled {name}" for name in (compiled.instructions() if compiled else [])]
WAYS += ["reference"]
RULES = [
    CLEAN,
    PAPER,
    ReadingRules(proper_nouns=True, adjective_by="lemma", noun_by="form"),
    ReadingRules(heads="singular", proper_nouns=True, lowercase=False),
    ReadingRules(tag_column="fourth"),
]


@contextmanager
def using(way):
    """Set up a way to count; the name of its implementation."""
    implementation, _, detail = way.partition(" ")
    if compiled and implementation == "compiled":
        compiled.use(detail)
    try:
        yield implementation
    finally:
        if compiled:
            compiled.use(compiled.instructions()[0])


@pytest.fixture(params=WAYS)
def way(request):
    with using(request.param) as implementation:
        yield implementation


def as_counter(batch):
    """The counts of a batch, which has each pair once."""
    batch.validate(full=True)
    assert batch.schema == PAIRS
    rows = batch.to_pydict()
    counts = Counter(
        dict(zip(zip(rows["adjective"], rows["noun"], strict=True), rows["count"], strict=True))
    )
    assert len(counts) == batch.num_rows
    return counts


def count(data, dialect, rules, implementation):
    counter = PairCounter(dialect.name, rules, implementation)
    counter.feed(data)
    return as_counter(counter.drain()), counter.stats()


def expected(data, dialect, rules):
    stats = Stats()
    pairs = Counter(p for s in sentences([data], dialect, rules, stats) for p in s.pairs)
    return pairs, stats


def assert_same(data, dialect, rules, implementation):
    assert count(data, dialect, rules, implementation) == expected(data, dialect, rules)


def test_assert_same_fails_where_counts_differ(monkeypatch):
    data = b"0\tBig\tbig\tJJ\tJJ\t\t1\tamod\t_\tO\n1\tdogs\tdog\tNNS\tNNS\t\t1\tROOT\t_\tO\n"
    assert_same(data, DEPCC, CLEAN, "reference")
    monkeypatch.setitem(globals(), "expected", lambda *_: (Counter({("big", "dog"): 2}), Stats()))
    with pytest.raises(AssertionError):
        assert_same(data, DEPCC, CLEAN, "reference")


@settings(max_examples=120)
@given(parsed.cases(), st.sampled_from(RULES))
@example((DEPCC, b"0\t\t\t\t\t\t0\t\t\t"), CLEAN)
@example((DEPCC, b"0\ta\ta\tJJ\tJJ\t\t1\tamod\t\t\n1\tb\tb\tNN\tNN\t\t1\t\t\t"), CLEAN)
@example((DEPCC, b"\r"), CLEAN)
@example((DEPCC, b">>>>"), CLEAN)
@example((CONLLU, b""), CLEAN)
@example((CONLLU, b"100\tbig\tbig\tJJ\tJJ\t_\t100\tnsubj\t_\t\xffO\n"), CLEAN)
@example((DEPCC, b"7\t\xc3\xa9\ta\tJJ\t\t\t8\tamod\n8\ta\0b\ta\tNN\tNN\t\t0\tROOT\t_\n"), CLEAN)
@example((DEPCC, b"9\ta\ta\tJJ\tJJ\t\t10\tamod\t\t\n10\tb\tb\tNN\tNN\t\t10\tx\t\t\n"), CLEAN)
@example(
    (DEPCC, b"0\ta\t" + b"a" * 90 + b"\tJJ\tJJ\t\t9\tamod\t\t\n9\tb\tb\tNN\t\t\t9\tx\t\t"), CLEAN
)
def test_every_implementation_agrees_with_the_reference(case, rules):
    dialect, data = case
    right = expected(data, dialect, rules)
    for way in WAYS:
        with using(way) as implementation:
            assert count(data, dialect, rules, implementation) == right


@settings(max_examples=50)
@given(parsed.cases(), st.integers(64, 300), st.sampled_from(available_implementations()))
def test_counting_by_blocks_equals_counting_at_once(case, size, implementation):
    dialect, data = case
    counter = PairCounter(dialect.name, CLEAN, implementation)
    for block in blocks(io.BytesIO(data), size=size):
        counter.feed(block)
    assert (as_counter(counter.drain()), counter.stats()) == expected(data, dialect, CLEAN)


@pytest.mark.parametrize("implementation", available_implementations())
@pytest.mark.parametrize("comment", [b"", b"# text = An old key\n"])
def test_a_byte_order_mark_is_not_part_of_the_first_line(implementation, comment):
    rows = b"1\told\told\tADJ\tJJ\t_\t2\tamod\t_\t_\n2\tkey\tkey\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
    counter = PairCounter("conllu", CLEAN, implementation)
    for block in blocks(io.BytesIO(b"\xef\xbb\xbf" + comment + rows)):
        counter.feed(block)
    assert (as_counter(counter.drain()), counter.stats().rejected) == ({("old", "key"): 1}, {})
    assert counter.stats() == expected(comment + rows, CONLLU, CLEAN)[1]


def simply_counted(data):
    """The counts of pairs by the simplest means, a dictionary of rows per sentence."""
    pairs: Counter[tuple[str, str]] = Counter()
    for sentence in data.decode().replace("\n>>>>>", "\n\n>>>>>").split("\n\n"):
        rows = {}
        for line in sentence.split("\n"):
            columns = line.split("\t")
            if len(columns) == 10 and columns[0].isdigit():
                rows[columns[0]] = columns
        for columns in rows.values():
            head = rows.get(columns[6])
            if head is None or columns[7] != "amod" or not any(c.isalnum() for c in columns[1]):
                continue
            if columns[4].startswith("JJ") and head[4] in ("NN", "NNS"):
                pairs[columns[1].lower(), head[2].lower()] += 1
    return pairs


@pytest.mark.parametrize(
    ("path", "pairs", "tokens"),
    [
        ("ud_ewt/en_ewt-ud-dev.conllu", 1111, 25_147),
        ("depcc/conll.csv", 0, 8),
        ("depcc/conll-wo-enhanced-deps.csv", 0, 8),
        ("depcc/conll-1000-tokens.csv.gz", 42, 844),
        ("depcc/conll-large.csv.gz", 47, 965),
    ],
)
def test_counts_of_the_published_samples(shared_data, way, path, pairs, tokens):
    data = (shared_data / path).read_bytes()
    if path.endswith(".gz"):
        data = gzip.decompress(data)
    counts, stats = count(data, detect(data[:65536]), CLEAN, way)
    assert counts == simply_counted(data)
    assert (stats.pairs, stats.tokens, stats.rejected) == (pairs, tokens, {})
    assert counts.total() == pairs


def sentence(rng, n):
    """A sentence of n tokens, in which every second one is an adjective of the next."""
    lines = []
    for i in range(n):
        if i % 2 == 0 and i + 1 < n:
            lines.append(f"{i}\tw{rng.randrange(500)}é\t_\tJJ\tJJ\t\t{i + 1}\tamod\t_\tO")
        else:
            lines.append(f"{i}\tn\tn{rng.randrange(500)}\tNN\tNN\t\t0\tdobj\t_\tO")
    return "\n".join(lines) + "\n\n"


@pytest.fixture(scope="module")
def long_sentence():
    """Text with a sentence longer than a chunk, its counts, and its numbers of sentences and
    tokens."""
    rng = random.Random(7)
    lengths = [rng.randrange(1, 40) for _ in range(400)]
    lengths[200] = 12_000
    data = "".join(sentence(rng, n) for n in lengths).encode()
    return data, expected(data, DEPCC, CLEAN), (400, sum(lengths))


def test_many_chunks_and_a_sentence_longer_than_a_chunk(way, long_sentence):
    data, right, sizes = long_sentence
    counts, stats = count(data, DEPCC, CLEAN, way)
    assert (counts, stats) == right
    assert (stats.sentences, stats.tokens) == sizes


def test_damage_after_the_first_chunk_is_reported_with_its_line(way):
    good = sentence(random.Random(1), 30)
    lines_before = 2 * len((good * 300).split("\n")) - 2
    data = (good * 300).encode() * 2 + b"broken\n\n" + good.encode()
    stats = count(data, DEPCC, CLEAN, way)[1]
    assert stats.rejected["columns"] == (1, lines_before + 1, "broken")


def valid_rows(rng):
    """The rows of a valid sentence."""
    return [line.split("\t") for line in sentence(rng, rng.randrange(2, 12)).strip().split("\n")]


DAMAGES = {
    "a column missing": lambda row, _: row[:4] + row[5:],
    "a column too many": lambda row, _: [*row[:4], "x", *row[4:]],
    "two columns run together": lambda row, _: [*row[:6], row[6] + row[7], *row[8:]],
    "cut short": lambda row, _: row[:7],
    "NUL": lambda row, _: [row[0], row[1] + "\0", *row[2:]],
    "invalid UTF-8": lambda row, _: [row[0], row[1] + "\udcff", *row[2:]],
    "an invalid id": lambda row, _: ["x" + row[0], *row[1:]],
    "an id of another row": lambda row, rows: [
        rows[(rows.index(row) + 1) % len(rows)][0],
        *row[1:],
    ],
    "an invalid head": lambda row, _: [*row[:6], "-1", *row[7:]],
    "a head without a row": lambda row, _: [*row[:6], "777", *row[7:]],
    "a row that is its own head": lambda row, _: [*row[:6], row[0], *row[7:]],
    "a row missing": lambda row, _: [],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_damage_gives_a_wrong_pair(way, damage):
    rng = random.Random(damage)
    for _ in range(25):
        rows = valid_rows(rng)
        counts_without_damage = count("\n".join(map("\t".join, rows)).encode(), DEPCC, CLEAN, way)[
            0
        ]
        i = rng.randrange(len(rows))
        damaged_rows = [*rows[:i], DAMAGES[damage](rows[i], rows), *rows[i + 1 :]]
        data = "\n".join("\t".join(row) for row in damaged_rows if row).encode(
            "utf-8", "surrogateescape"
        )
        assert count(data, DEPCC, CLEAN, way)[0] <= counts_without_damage


def test_drain_empties_the_pairs_and_keeps_the_stats(way):
    data = sentence(random.Random(3), 30).encode()
    counter = PairCounter("depcc", CLEAN, way)
    assert as_counter(counter.drain()) == Counter()
    drained = counter.nbytes
    counter.feed(data)
    full = counter.nbytes
    assert full > drained
    first = as_counter(counter.drain())
    assert counter.nbytes == drained
    counter.feed(data)
    assert as_counter(counter.drain()) == first
    assert counter.stats().pairs == 2 * first.total()


def test_the_reported_memory_grows_with_the_pairs(way):
    rng = random.Random(5)
    counter = PairCounter("depcc", CLEAN, way)
    counter.feed("".join(sentence(rng, 40) for _ in range(1000)).encode())
    nbytes, batch = counter.nbytes, counter.drain()
    assert batch.num_rows > 15_000
    assert 40 < nbytes / batch.num_rows < 300


def test_stats_are_a_copy(way):
    counter = PairCounter("depcc", CLEAN, way)
    counter.feed(b"x\n")
    counter.stats().rejected.clear()
    assert counter.stats().rejected_lines == 1


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_blocks_may_be_any_bytes(way, kind):
    data = sentence(random.Random(3), 10).encode()
    counter = PairCounter("depcc", CLEAN, way)
    counter.feed(kind(data))
    assert counter.stats().tokens == 10


@pytest.mark.skipif(compiled is None, reason="the compiled kernel was not built")
def test_threads_with_separate_counters_count_concurrently():
    random_sentences = random.Random(11)
    parts = [
        "\n".join(sentence(random_sentences, 8) for _ in range(300)).encode() for _ in range(4)
    ]
    expected_counts = [expected(part, DEPCC, CLEAN) for part in parts]
    with ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            counts = threads.map(lambda part: count(part, DEPCC, CLEAN, "compiled"), parts)
            assert list(counts) == expected_counts


@pytest.mark.skipif(compiled is None, reason="the compiled kernel was not built")
def test_auto_uses_the_compiled_kernel():
    assert PairCounter("depcc", CLEAN).implementation == "compiled"
    assert available_implementations() == ("compiled", "reference")


def test_auto_uses_the_reference_if_no_kernel_was_compiled(monkeypatch):
    monkeypatch.setattr(kernel, "compiled_kernel", lambda: None)
    assert PairCounter("depcc", CLEAN).implementation == "reference"
    assert available_implementations() == ("reference",)
    message = r"install the wheel \(pip install adnominal\), or a C compiler .* run make setup"
    with pytest.raises(UserError, match=message):
        PairCounter("depcc", CLEAN, "compiled")


def test_every_dialect_can_be_counted(way):
    for name in DIALECTS:
        assert PairCounter(name, CLEAN, way).drain().schema.equals(pa.schema(PAIRS))


TWO_COLUMNS = (
    "1\tUsed\tuse\tVERB\tVBN\t_\t2\tamod\t_\t_\n"
    "2\tcars\tcar\tNOUN\tNNS\t_\t0\troot\t_\t_\n"
    "3\tBig\tbig\tADJ\tJJ\t_\t4\tamod\t_\t_\n"
    "4\tRome\tRome\tPROPN\tNN\t_\t2\tdep\t_\t_\n"
    "5\told\told\tJJ\tJJ\t_\t6\tamod\t_\t_\n"
    "6\ttown\ttown\tNN\tNN\t_\t2\tdep\t_\t_\n"
    "7\tnew\tnew\tJJ\tJJ\t_\t8\tamod\t_\t_\n"
    "8\ttowns\ttown\tNNS\tNN\t_\t2\tdep\t_\t_\n\n"
)


@pytest.mark.parametrize("kernel", ["compiled", "reference"])
@pytest.mark.parametrize(
    ("column", "expected"),
    [
        # The universal tag includes plurals; the fifth column is ignored.
        ("fourth", {("used", "car"), ("old", "town")}),
        ("fifth", {("big", "rome"), ("old", "town"), ("new", "town")}),
    ],
)
def test_the_paper_reads_the_fourth_column(kernel, column, expected):
    rules = replace(PAPER, tag_column=column)
    counter = PairCounter("conllu", rules, kernel)
    counter.feed(TWO_COLUMNS.encode())
    pairs = counter.drain()
    words = set(zip(pairs["adjective"].to_pylist(), pairs["noun"].to_pylist(), strict=True))
    assert words == expected


def test_pairs_are_drained_by_the_bucket_of_their_noun(way):
    rng = random.Random(7)
    data = "".join(sentence(rng, 40) for _ in range(300)).encode()
    counters = [PairCounter("depcc", CLEAN, way) for _ in range(2)]
    for counter in counters:
        counter.feed(data)
    buckets = dict(counters[0].drain_buckets())
    assert len(buckets) > 1
    for bucket, pairs in buckets.items():
        assert {crc32(noun.encode()) % BUCKETS for noun in pairs["noun"].to_pylist()} == {bucket}
    counts: Counter[tuple[str, str]] = Counter()
    for pairs in buckets.values():
        counts.update(as_counter(pairs))
    assert counts == as_counter(counters[1].drain())
    assert list(counters[0].drain_buckets()) == []


# Tags after the pattern of UD_English-LinES, whose POS is "positive degree".
OTHER_TAG_SET = (
    b"1\twooden\twooden\tADJ\tPOS\t_\t2\tamod\t_\t_\n"
    b"2\tgates\tgate\tNOUN\tPL-NOM\t_\t0\troot\t_\t_\n\n"
    b"1\told\told\tADJ\tNN\t_\t2\tamod\t_\t_\n"
    b"2\tsail\tsail\tNOUN\tVB\t_\t0\troot\t_\t_\n"
)


def test_tags_that_contradict_the_universal_tags_are_not_read_as_penns(way):
    pairs, stats = count(OTHER_TAG_SET, CONLLU, CLEAN, way)
    assert pairs == {("wooden", "gate"): 1, ("old", "sail"): 1}
    assert stats.notes == {"contradicting_tags": 2}
    assert (pairs, stats) == expected(OTHER_TAG_SET, CONLLU, CLEAN)


@pytest.mark.parametrize(
    "blank",
    [
        " \t ",
        "\t\r",
        9 * "\t",
        *"\t\v\f\x1c\x1f\x85\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
    ],
)
def test_a_line_of_white_space_ends_the_sentence(way, blank):
    sentence = (
        b"1\told\told\tADJ\tJJ\t_\t2\tamod\t_\t_\n2\tdogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_\n"
    )
    data = (sentence + blank.encode() + b"\n") * 40
    pairs, stats = count(data, CONLLU, CLEAN, way)
    assert pairs == {("old", "dog"): 40}
    assert not stats.rejected and stats.sentences == 40
    assert (pairs, stats) == expected(data, CONLLU, CLEAN)


def test_a_withheld_noun_makes_no_pair(way):
    data = b"1\told\told\tADJ\tJJ\t_\t2\tamod\t_\t_\n2\t_\t_\tNOUN\tNN\t_\t0\troot\t_\t_\n"
    pairs, stats = count(data, CONLLU, CLEAN, way)
    assert not pairs and stats.left_out["no_letter_or_digit"].lines == 1
    assert stats == expected(data, CONLLU, CLEAN)[1]


@pytest.mark.parametrize("character", ["\u200b", "\u2060", "\u0085x", "\u2010", "\ufffd"])
def test_a_line_of_other_characters_is_a_malformed_row(way, character):
    data = b"1\told\told\tADJ\tJJ\t_\t0\troot\t_\t_\n" + character.encode() + b"\n"
    _, stats = count(data, CONLLU, CLEAN, way)
    assert stats.rejected["columns"].lines == 1
    assert stats == expected(data, CONLLU, CLEAN)[1]


def test_a_byte_order_mark_where_a_file_was_appended_is_skipped(way):
    rows = b"1\told\told\tADJ\tJJ\t_\t2\tamod\t_\t_\n2\tdogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_\n"
    data = (rows + b"\n\xef\xbb\xbf") * 3 + b"# sent_id = 2\n" + rows
    pairs, stats = count(data, CONLLU, CLEAN, way)
    assert pairs == {("old", "dog"): 4}
    assert not stats.rejected
    assert (pairs, stats) == expected(data, CONLLU, CLEAN)


def test_the_sample_of_repeated_ids_is_the_row_that_repeats_one(way):
    rows = [b"2\tb", b"1\ta", b"3\tc", b"1\tagain", b"1\tonce more"]
    data = b"".join(row + b"\tx\tX\tX\t_\t0\troot\t_\t_\n" for row in rows)
    _, stats = count(data, CONLLU, CLEAN, way)
    duplicates = stats.rejected["duplicate_id"]
    assert (duplicates.lines, duplicates.line) == (5, 4)
    assert duplicates.sample.startswith("1\tagain")
    assert stats == expected(data, CONLLU, CLEAN)[1]
