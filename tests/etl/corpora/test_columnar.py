import itertools
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adnominal.etl.corpora import columnar, text
from adnominal.etl.corpora.columnar import Texts, WrongColumn
from adnominal.etl.corpora.documents import Document, LeftOut, Rejected
from adnominal.etl.corpora.files import Unit, Unreadable, units
from adnominal.etl.corpora.inputs import InputFile, list_inputs

ROWS = pa.table(
    {
        "text": ["A red apple.", "An old tree.", "A fat cat.", "A small key."],
        "url": ["http://a/", None, " ", "http://d/"],
        "nested": [{"x": 1}] * 4,
    }
)


def write_parquet(path, table, group=2):
    pq.write_table(table, path, row_group_size=group)


def write_file(path, table, group=2):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=group)


def write_stream(path, table, group=2):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=group)


WRITERS = {"x.parquet": write_parquet, "x.arrow": write_file, "y.arrow": write_stream}


def whole_file_unit(path):
    size = path.stat().st_size
    return Unit(str(path), size, 0, size)


def rows(path, **fields):
    """The name and text of each document, and the other events."""
    texts: list[tuple[str, str]] = []
    events: list[object] = []
    for event in columnar.read_unit(whole_file_unit(path), **fields):
        if isinstance(event, Texts):
            for result in columnar.documents_of(event):
                if isinstance(result, Document):
                    texts.append((result.id, result.text))
                else:
                    events.append(result)
        else:
            events.append(event)
    return texts, events


@pytest.fixture(params=WRITERS)
def file_format(request, tmp_path):
    """A path and a function that writes a table to it in one of the formats."""
    path = tmp_path / request.param
    return path, lambda table, group=2: WRITERS[request.param](path, table, group)


def test_rows_are_named_by_their_id_or_else_by_their_number(file_format):
    path, write = file_format
    write(ROWS)
    names = ["http://a/", f"{path}#row=1", f"{path}#row=2", "http://d/"]
    assert rows(path) == (list(zip(names, ROWS["text"].to_pylist(), strict=True)), [])


def test_an_id_comes_from_the_first_column_that_has_one_as_in_json_lines(file_format, tmp_path):
    path, write = file_format
    table = pa.table(
        {
            "title": ["t0", None, " ", "t3"],
            "text": ROWS["text"],
            "id": pa.array([None, 7, None, None], pa.int64()),
            "url": pa.array(["u0", "u1", "", None]).dictionary_encode(),
        }
    )
    write(table)
    names = [name for name, _ in rows(path)[0]]
    assert names == ["u0", "7", f"{path}#row=2", "t3"]
    records = "".join(f"{json.dumps(row)}\n" for row in table.to_pylist())
    (tmp_path / "x.jsonl").write_text(records)
    events = text.read_unit(whole_file_unit(tmp_path / "x.jsonl"))
    ids = [event.id for event in events if isinstance(event, Document)]
    assert [*ids[:2], ids[3]] == ["u0", "7", "t3"] and "#byte=" in ids[2]
    # The column of the texts gives no ids.
    [first, *_] = text.read_unit(whole_file_unit(tmp_path / "x.jsonl"), "url")
    assert isinstance(first, Document) and first.id == "t0"
    assert rows(path, text_field="url")[0][0] == ("t0", "u0")


def test_an_id_that_is_not_utf8_leaves_the_other_names_alone(file_format):
    path, write = file_format
    names = pa.array([b"a", b"bad \xff", None, b"d"]).view(pa.string())
    write(pa.table({"text": ROWS["text"], "id": names}), group=9)
    assert [name for name, _ in rows(path)[0]] == ["a", f"{path}#row=1", f"{path}#row=2", "d"]


@pytest.mark.parametrize("name", ["text", "id"])
def test_two_columns_of_one_name_are_refused(file_format, name):
    path, write = file_format
    columns = ["text", "id", name]
    write(pa.Table.from_arrays([ROWS["text"]] * 3, names=columns))
    with pytest.raises(WrongColumn, match=f"2 columns are named {name}; expected one"):
        rows(path)


def test_rows_become_documents_or_are_rejected():
    texts = [b"A red apple.", b"An old\n\ntree.", b"bad \xff", b"  ", b"nul\0"]
    names, numbers = pa.array(["a", "b", "x", "c", "d"]), pa.array([3, 4, 6, 7, 8])
    rows = Texts("x", names, pa.array(texts).view(pa.string()), numbers)
    assert list(columnar.documents_of(rows)) == [
        Rejected("invalid_utf8", "row 6: bad \\xff"),
        Document("a", "A red apple."),
        Document("b", "An old\ntree."),
        LeftOut("empty", "c"),
        Rejected("nul", "nul\\0"),
    ]


@pytest.mark.parametrize(
    "kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_every_kind_of_text_column_is_read(tmp_path, kind):
    column = ROWS["text"].combine_chunks()
    column = column.dictionary_encode() if pa.types.is_dictionary(kind) else column.cast(kind)
    write_file(tmp_path / "x.arrow", pa.table({"body": column, "id": [7, 8, 9, 10]}))
    named_texts, _ = rows(tmp_path / "x.arrow", text_field="body")
    assert named_texts == list(zip(["7", "8", "9", "10"], ROWS["text"].to_pylist(), strict=True))


@pytest.mark.parametrize("borders", [(), (1,), (0, 2), (1, 2, 3, 4)])
def test_units_give_every_row_once(file_format, borders):
    path, write = file_format
    table = pa.table({"text": [f"text {i}" for i in range(23)]})
    write(table, group=3)
    size = path.stat().st_size
    cuts = [0, *(size * border // 5 for border in borders), size]
    texts, numbers = [], []
    for start, end in itertools.pairwise(cuts):
        for event in columnar.read_unit(Unit(str(path), size, start, end)):
            assert isinstance(event, Texts)
            texts += event.texts.to_pylist()
            numbers += event.rows.to_pylist()
    assert texts == table["text"].to_pylist()
    assert numbers == list(range(23))


def test_a_file_of_many_row_groups_has_several_units(tmp_path):
    write_parquet(tmp_path / "x.parquet", pa.table({"text": ["x" * 99] * 400}), group=50)
    [file] = list_inputs([str(tmp_path)])
    assert len(units(InputFile(file.path, file.bytes, file.modified), "lines", 1000)) > 1


def test_other_columns_are_not_read(tmp_path):
    path = tmp_path / "x.parquet"
    write_parquet(path, pa.table({"big": ["y" * 5000] * 100, "text": ["A red apple."] * 100}))
    footer = pq.read_metadata(path)
    data = bytearray(path.read_bytes())
    for group in range(footer.num_row_groups):
        column = footer.row_group(group).column(0)
        start = column.dictionary_page_offset or column.data_page_offset
        data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(data)
    assert len(rows(path)[0]) == 100


def test_other_columns_and_units_of_an_arrow_file_are_not_decompressed(tmp_path):
    path = tmp_path / "x.arrow"
    table = pa.table({"text": [f"A red apple {i}." for i in range(400)], "html": ["y" * 99] * 400})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=100)
    data, magic = bytearray(path.read_bytes()), b"\x28\xb5\x2f\xfd"
    for place in (data.find(magic), data.rfind(magic)):  # the first text, the last html
        data[place : place + 4] = bytes(4)
    path.write_bytes(data)
    with pytest.raises(Unreadable):
        rows(path)
    size = len(data)
    [texts] = columnar.read_unit(Unit(str(path), size, size * 5 // 8, size))
    assert isinstance(texts, Texts) and texts.rows.to_pylist() == list(range(300, 400))


REPEATED = pa.DictionaryArray.from_arrays(pa.array([0] * 900), pa.array(["y" * 300]))


@pytest.mark.parametrize("kind", ["dictionary", "string", "string_view"])
def test_repeated_values_are_read_in_small_batches(file_format, monkeypatch, kind):
    path, write = file_format
    monkeypatch.setattr(columnar, "_BATCH_BYTES", 1000)
    column = REPEATED if kind == "dictionary" else REPEATED.cast(pa.string()).cast(kind)
    write(pa.table({"text": column}), group=900)
    batches = list(columnar.read_unit(whole_file_unit(path)))
    assert max(len(batch.texts) for batch in batches if isinstance(batch, Texts)) == 3
    assert len(rows(path)[0]) == 900


@pytest.mark.parametrize(
    ("options", "texts", "count"),
    [
        ({}, ["y" * 1_000_000] * 500, 16),
        ({"use_dictionary": False}, ["y" * 1000] * 2000, 1024),
        ({"use_dictionary": False}, ["y" * 4_000_000] * 3, 4),
        ({"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}, ["y"] * 9, 16),
    ],
)
def test_parquet_is_decoded_some_megabytes_at_a_time(tmp_path, options, texts, count):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": texts}), path, **options)
    with pa.memory_map(str(path)) as stream:
        assert columnar._rows_at_once(stream, pq.ParquetFile(stream), [0], ["text"]) == count


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text_field": "body"}, "no column text_field=body; it has text, url, nested"),
        ({"text_field": "nested.x"}, "no column text_field=nested.x.*nested columns are not read"),
        ({"text_field": "nested"}, "column text_field=nested is of type struct.*expected text"),
        ({"id_field": "key"}, "no column id_field=key"),
        ({"id_field": "nested"}, "column id_field=nested is of type struct"),
    ],
)
def test_errors_name_the_column_that_cannot_be_read(file_format, fields, message):
    path, write = file_format
    write(ROWS)
    with pytest.raises(WrongColumn, match=message):
        rows(path, **fields)
    with pytest.raises(WrongColumn, match=message):
        columnar.check_columns(str(path), fields.get("text_field", "text"), fields.get("id_field"))


def test_null_and_overlong_texts_are_rejected(file_format, monkeypatch):
    path, write = file_format
    monkeypatch.setattr(columnar, "MAX_LINE_BYTES", 20)
    write(pa.table({"text": ["A red apple.", None, "x" * 21, "An old tree."]}))
    named_texts, events = rows(path)
    assert [text for _, text in named_texts] == ["A red apple.", "An old tree."]
    assert events == [
        Rejected("not_text", "row 1: null"),
        Rejected("line_too_long", "row 2: 21 bytes"),
    ]


def test_invalid_utf8_is_rejected_by_row(file_format):
    path, write = file_format
    texts = pa.array([b"A red apple.", b"bad \xff", b"An old tree."]).view(pa.string())
    write(pa.table({"text": texts}), group=9)
    named_texts, events = rows(path)
    assert [text for _, text in named_texts] == ["A red apple.", "An old tree."]
    assert events == [Rejected("invalid_utf8", "row 1: bad \\xff")]


def test_a_file_without_rows_is_dropped(file_format):
    path, write = file_format
    write(ROWS.schema.empty_table())
    assert rows(path) == ([], [LeftOut("no_rows", str(path))])


@pytest.mark.parametrize("share", [0.02, 0.5, 0.97])
def test_truncated_files_are_unreadable(file_format, share):
    path, write = file_format
    write(pa.table({"text": [f"text {i} " * 50 for i in range(2000)]}), group=100)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(Unreadable, match="damaged or truncated"):
        rows(path)


def test_flipped_bytes_are_found_if_pages_have_checksums(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(ROWS, path, compression="none", write_page_checksum=True, use_dictionary=False)
    path.write_bytes(path.read_bytes().replace(b"red apple", b"bad apple", 1))
    with pytest.raises(Unreadable, match="checksum"):
        rows(path)


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_a_file_of_another_format_is_recognised_by_its_first_bytes(tmp_path, name):
    (tmp_path / name).write_bytes(b"plain text\n" * 20)
    with pytest.raises(Unreadable, match="whatever its name: it begins with b'plain te'"):
        rows(tmp_path / name)
