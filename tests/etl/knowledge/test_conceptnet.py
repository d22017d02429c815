import gzip
import json
from codecs import BOM_UTF8
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.conf import UserError
from adnominal.etl.corpora.files import units
from adnominal.etl.corpora.inputs import list_inputs
from adnominal.etl.knowledge import conceptnet


def line(relation: str, start: str, end: str, ascii: bool = False, **metadata: object) -> str:
    """A line of ConceptNet 5; its weight is 1.0 by default and missing with ``weight=None``."""
    fields = {"dataset": "/d/x", "license": "cc:by/4.0", "sources": [{}], "weight": 1.0, **metadata}
    fields = {name: value for name, value in fields.items() if value is not None}
    metadata_json = json.dumps(fields, ensure_ascii=ascii)
    path = f"/r/{relation}"
    return "\t".join((f"/a/[{path}/,{start}/,{end}/]", path, start, end, metadata_json))


GOOD = {
    "with a sentence": line(
        "CapableOf", "/c/en/dog/n", "/c/en/bark", surfaceText=" [[a dog]] can [[bark]] ",
        surfaceStart="a dog", surfaceEnd="bark", weight=2.5,
    ),
    "without": line("UsedFor", "/c/en/ice_box/n/wn/artifact", "/c/en/cool_beer"),
    "negated": line("NotHasProperty", "/c/en/café", "/c/en/cheap", surfaceText="[[x]] is [[y]]"),
    "odd frame": line("AtLocation", "/c/en/a", "/c/en/b", surfaceText="*On [[b]] is [[a]]"),
    "one argument": line("HasA", "/c/en/a", "/c/en/b", surfaceText="[[a]] has b", surfaceStart=" "),
    "negative": line("HasA", "/c/en/cat", "/c/en/gills", weight=-1.5),
    "nested": line("dbpedia/genre", "/c/en/x", "/c/en/y", weight=1),
}  # fmt: skip
BAD = {
    "one field": ("nothing", conceptnet.NOT_FIVE),
    "six fields": (GOOD["without"] + "\tmore", conceptnet.NOT_FIVE),
    "other start": (line("IsA", "/c/fr/chien", "/c/en/dog"), conceptnet.OTHER_LANGUAGE),
    "other end": (line("ExternalURL", "/c/en/dog", "http://dog"), conceptnet.OTHER_LANGUAGE),
    "eng": (line("IsA", "/c/eng/dog", "/c/en/dog"), conceptnet.OTHER_LANGUAGE),
    "no relation": (
        GOOD["without"].replace("\t/r/UsedFor", "\tUsedFor"), conceptnet.NO_RELATION
    ),
    "no word": (line("IsA", "/c/en/", "/c/en/dog"), conceptnet.NO_WORD),
    "no weight": (line("IsA", "/c/en/cat", "/c/en/dog", weight=None), conceptnet.NO_WEIGHT),
    "text weight": (line("IsA", "/c/en/cat", "/c/en/dog", weight="much"), conceptnet.NO_WEIGHT),
    "cut off": (GOOD["without"][:-9], conceptnet.NO_WEIGHT),
    "no json": (GOOD["without"].rpartition("\t")[0] + "\t[1]", conceptnet.NO_WEIGHT),
}  # fmt: skip


def write(path: Path, lines: list[str], newline: str = "\n") -> Path:
    path.write_text("".join(text + newline for text in lines), encoding="utf-8", newline="")
    return path


def read(spark, *paths: Path, release: str = "5", unit_bytes: int = 1 << 20, tasks: int = 2):
    files = list_inputs([str(path) for path in paths])
    assert {conceptnet.release_of(file) for file in files} <= {release}
    work = [unit for file in files for unit in units(file, "lines", unit_bytes)]
    return conceptnet.parsed_lines(spark, work, release, tasks)


def parse(text: str) -> tuple[dict[str, object], str | None]:
    edge, reason = conceptnet.parse_5(text.encode())
    return {} if edge is None else edge._asdict(), reason


def test_lines_of_conceptnet_5_are_edges():
    by_case = {case: parse(text)[0] for case, text in GOOD.items()}
    assert by_case["with a sentence"] == {
        "relation": "CapableOf", "start": "dog/n", "end": "bark", "start_label": "a dog",
        "end_label": "bark", "surface_text": "[[a dog]] can [[bark]]", "weight": 2.5,
        "dataset": "/d/x", "license": "cc:by/4.0", "release": "5",
        "uri": "/a/[/r/CapableOf/,/c/en/dog/n/,/c/en/bark/]",
    }  # fmt: skip
    without = by_case["without"]
    assert (without["start"], without["start_label"]) == ("ice_box/n/wn/artifact", "ice box")
    assert (without["end_label"], without["surface_text"]) == ("cool beer", None)
    negated = by_case["negated"]
    assert (negated["relation"], negated["weight"]) == ("HasProperty", -1.0)
    assert negated["start_label"] == "café"
    assert negated["uri"] == "/a/[/r/NotHasProperty/,/c/en/café/,/c/en/cheap/]"
    assert by_case["odd frame"]["surface_text"] == "*On [[b]] is [[a]]"
    assert (by_case["negative"]["weight"], by_case["nested"]["relation"]) == (-1.5, "dbpedia/genre")
    edge = by_case["one argument"]
    assert (edge["surface_text"], edge["start_label"]) == (None, "a")
    reasons = {case: parse(text)[1] for case, text in GOOD.items()}
    assert reasons == {**dict.fromkeys(GOOD), "one argument": conceptnet.ODD_SURFACE}


@pytest.mark.parametrize("case", BAD)
def test_other_lines_are_refused_with_a_reason(case):
    text, reason = BAD[case]
    assert parse(text) == ({}, reason)


def test_bytes_that_are_not_utf8_are_refused():
    damaged = GOOD["negated"].encode("latin-1")
    assert conceptnet.parse_5(damaged) == (None, conceptnet.NO_TEXT)
    assert conceptnet.parse_4(damaged) == (None, conceptnet.NO_TEXT)


@pytest.mark.parametrize("escape", ["\\ud83d", "\\u0000"])
def test_half_a_surrogate_pair_and_nul_are_refused(escape):
    line = GOOD["negated"].replace('"weight"', f'"surfaceStart": "a key{escape}", "weight"')
    assert parse(line) == ({}, conceptnet.NO_TEXT)


def test_true_is_no_weight():
    assert parse('/a/x\t/r/IsA\t/c/en/cat\t/c/en/pet\t{"weight": true}')[1] == conceptnet.NO_WEIGHT


WORD = st.text(
    st.characters(blacklist_characters="/_\t\n\r\0", blacklist_categories=["Cs"]), min_size=1
).filter(lambda text: text == text.strip())


@given(WORD, WORD, st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_labels_and_weights_are_read_as_written(start, end, weight, ascii):
    has = line("HasA", "/c/en/cat", "/c/en/x_y", ascii, surfaceStart=start, weight=weight)
    edge = parse(has)[0]
    assert (edge["start_label"], edge["end_label"], edge["weight"]) == (start, "x y", weight)
    assert parse(line("IsA", f"/c/en/{start}", f"/c/en/{end}"))[0]["end"] == end


def test_lines_of_conceptnet_4_are_edges():
    def of(text: str) -> tuple[object, str | None]:
        return conceptnet.parse_4(text.encode())

    assert of(conceptnet.HEADER_4) == (None, None)
    edge, reason = conceptnet.parse_4(b"CapableOf\tguide dog\tlead person\t2\t5")
    assert reason is None and edge is not None and edge._asdict() == {
        "relation": "CapableOf", "start": "guide_dog", "end": "lead_person",
        "start_label": "guide dog", "end_label": "lead person", "surface_text": None,
        "weight": 2.0, "dataset": "/d/conceptnet/4/en", "license": "cc:by/4.0",
        "uri": "/a/[/r/CapableOf/,/c/en/guide_dog/,/c/en/lead_person/]", "release": "4",
    }  # fmt: skip
    negated, _ = conceptnet.parse_4(b"CapableOf\tguide dog\tfly\t1\t-10")
    assert negated is not None and (negated.weight, negated.relation) == (-1.0, "CapableOf")
    assert negated.uri == "/a/[/r/NotCapableOf/,/c/en/guide_dog/,/c/en/fly/]"
    assert of("IsA\tdog\t\t1\t5") == (None, conceptnet.NO_WORD)
    assert of("IsA\tdog\tanimal\tone\t5") == (None, conceptnet.NO_NUMBERS)
    assert of("IsA\tdog\tanimal\t1\tnan") == (None, conceptnet.NO_NUMBERS)
    assert of("IsA\tdog\tanimal\t1") == (None, conceptnet.NOT_FIVE)
    assert of("\tdog\tanimal\t1\t5") == (None, conceptnet.NO_RELATION)


def test_files_give_edges_and_counts_of_other_lines(spark, tmp_path):
    bad = [text for text, _ in BAD.values()]
    first = write(tmp_path / "a.csv", [*GOOD.values(), "", *bad], "\r\n")
    second = write(tmp_path / "b.csv", [GOOD["without"], "nothing"])
    frame = read(spark, first)
    rows = {tuple(row) for row in conceptnet.edges(frame).collect()}
    assert rows == {conceptnet.parse_5(text.encode())[0] for text in GOOD.values()}
    reasons = Counter(reason for _, reason in BAD.values()) + Counter([conceptnet.ODD_SURFACE])
    assert {r["reason"]: r["count"] for r in conceptnet.tally(frame).collect()} == reasons
    # The sample is the smallest line, whatever its file and task.
    for unit_bytes, tasks in ((1 << 20, 1), (100, 3)):
        frame = read(spark, first, second, unit_bytes=unit_bytes, tasks=tasks)
        counted = conceptnet.tally(frame).collect()
        samples = {row["reason"]: row["sample"] for row in counted}
        assert samples[conceptnet.NOT_FIVE] == f"a.csv: {BAD['six fields'][0][:200]}"
        assert samples[conceptnet.NO_WORD].startswith("a.csv: /a/[/r/IsA/,/c/en//,")


def test_a_nul_character_does_not_hide_the_file_of_a_sample(spark, tmp_path):
    path = write(tmp_path / "a.csv", [GOOD["without"], "one\0column"])
    (row,) = conceptnet.tally(read(spark, path)).collect()
    assert row["sample"] == "a.csv: one\ufffdcolumn"


def test_a_byte_order_mark_is_no_part_of_a_line(tmp_path):
    assertions = tmp_path / "cn.csv"
    assertions.write_bytes(BOM_UTF8 + GOOD["without"].encode() + "\n\u3000\n".encode())
    table = tmp_path / "cn.tsv"
    table.write_bytes(BOM_UTF8 + conceptnet.HEADER_4.encode() + b"\nHasA\tcat\tfur\t2\t5\n")
    for path, parse_line in ((assertions, conceptnet.parse_5), (table, conceptnet.parse_4)):
        (file,) = list_inputs([str(path)])
        (batch,) = conceptnet._parse_units(list(units(file, "lines", 1 << 20)), parse_line)
        (edge,) = batch.to_pylist()
        assert (edge["uri"][:3], edge["reason"]) == ("/a/", None)


def test_each_edge_is_kept_once_in_any_order_and_partitioning(spark, tmp_path):
    weak = line("HasA", "/c/en/cat", "/c/en/tail", weight=0.5, surfaceText="[[a cat]] has [[tail]]")
    strong = line("HasA", "/c/en/cat", "/c/en/tail", weight=3)
    equal = line("HasA", "/c/en/cat", "/c/en/tail", weight=3, license="other")
    lines = [weak, GOOD["without"], strong, equal, GOOD["negative"]]
    first = read(spark, write(tmp_path / "a.csv", lines))
    second = read(spark, write(tmp_path / "b.csv", lines[::-1]))
    assert conceptnet.repeated_edge(conceptnet.edges(first)) == strong.split("\t")[0]
    assert conceptnet.repeated_edge(conceptnet.edges(first).where("relation = 'UsedFor'")) is None
    tables = []
    for parts, frame in ((1, first), (2, first), (7, second)):
        spread = conceptnet.edges(frame).repartition(parts)
        tables.append(sorted(map(tuple, conceptnet.without_repeats(spread).collect())))
    assert tables[0] == tables[1] == tables[2] and len(tables[0]) == 3
    unique_edges = conceptnet.without_repeats(conceptnet.edges(first)).collect()
    assert {row["license"] for row in unique_edges} == {"cc:by/4.0"}


def test_the_release_is_recognised_by_the_first_line(tmp_path):
    def release(name: str, data: bytes) -> str:
        (tmp_path / name).write_bytes(data)
        (file,) = list_inputs([str(tmp_path / name)])
        return conceptnet.release_of(file)

    plain = GOOD["without"].encode()
    assert release("a.csv", plain) == "5" and release("a.csv.gz", gzip.compress(plain)) == "5"
    assert release("four.tsv", conceptnet.HEADER_4.encode() + b"\r\n") == "4"
    assert release("mark.csv", BOM_UTF8 + plain) == "5"
    assert release("mark.tsv", BOM_UTF8 + conceptnet.HEADER_4.encode() + b"\n") == "4"
    # The first bytes decide on the compression, not the name.
    assert release("b.csv", gzip.compress(plain)) == release("c.gz", plain) == "5"
    with pytest.raises(UserError, match=r"d\.csv:1: got 'a,b'; expected an assertion of Concept"):
        release("d.csv", b"a,b\n")
    with pytest.raises(UserError, match=r"e\.csv: "):
        release("e.csv", b"\x28\xb5\x2f\xfd\x00")
    with pytest.raises(UserError, match=r"f\.csv\.gz: "):
        release("f.csv.gz", gzip.compress(plain)[:20])


def test_counts_of_the_published_samples(shared_data):
    text = (shared_data / "conceptnet" / "cn5_assertions.csv").read_bytes()
    counts = Counter(conceptnet.parse_5(row)[1] for row in text.splitlines())
    assert counts == {None: 96, conceptnet.OTHER_LANGUAGE: 668}
    packed = (shared_data / "conceptnet" / "conceptnet4_en_divisi2.tsv.gz").read_bytes()
    lines = gzip.decompress(packed).split(b"\n")
    outcomes = [conceptnet.parse_4(row) for row in lines if row]
    assert Counter(reason for _, reason in outcomes) == {None: 488_015}
    edges = [edge for edge, _ in outcomes if edge is not None]
    assert len(edges) == 488_014 and sum(edge.weight < 0 for edge in edges) == 13_340


def test_the_demo_file_has_every_frame_of_adept():
    demo = Path(__file__).parents[3] / "conf" / "demo" / "conceptnet.csv"
    outcomes = [conceptnet.parse_5(row) for row in demo.read_bytes().splitlines()]
    counts = Counter(reason for _, reason in outcomes)
    assert set(counts) == {None, conceptnet.OTHER_LANGUAGE} and counts[None] > 300
    rows = [edge for edge, _ in outcomes if edge is not None]
    surface_texts = {edge.surface_text for edge in rows if edge.surface_text}
    for frame in (
        "]] can [[", "]] can be [[", "]] may be [[", "]] is [[", "]] are [[", "]] has [[",
        "]] have [[", "]] is used for [[", "]] is used to [[", "]] is for [[",
        "]] can be used to [[", "]] can be used for [[", "You can use [[", "Sometimes [[",
        "The effect of [[", "as a consequence of [[", "]] cannot [[", "*Something",
    ):  # fmt: skip
        assert any(frame in text for text in surface_texts), frame
    assert sum(edge.surface_text is None for edge in rows) > 20
    assert sum(edge.weight < 0 for edge in rows) == 7
