import gzip

import pytest

from adnominal.conf import UserError
from adnominal.conf.delimited import read_rows, rows_of, text_of


def test_rows_have_the_number_of_their_first_line():
    text = 'a,b\r\n1,"two\r\nlines"\r\n3\r\n'
    assert list(rows_of(text, "file=x", ("b",))) == [
        (2, {"a": "1", "b": "two\r\nlines"}),
        (4, {"a": "3", "b": ""}),
    ]
    assert list(rows_of('a\tb\n"1\t2\n', "file=x", tabs=True)) == [(2, {"a": '"1', "b": "2"})]


def test_blank_rows_are_skipped():
    text = "\u3000\na,b\n,\n \n\u00a0,\t\n1,2\n\n"
    assert list(rows_of(text, "file=x", ("a", "b"))) == [(6, {"a": "1", "b": "2"})]
    assert list(rows_of("a\tb\n\t\n1\t2\n", "x", tabs=True)) == [(3, {"a": "1", "b": "2"})]


def test_a_file_without_a_header_has_the_given_columns():
    text = "false\tkey\nold\n"
    assert list(rows_of(text, "file=x", ("b",), tabs=True, columns=("a", "b"))) == [
        (1, {"a": "false", "b": "key"}),
        (2, {"a": "old", "b": ""}),
    ]
    with pytest.raises(UserError, match=r"line 1: more fields than the 1 columns; remove a tab"):
        list(rows_of(text, "file=x", tabs=True, columns=("a",)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"caf\xe9", "not UTF-8 at byte 3"),
        (b"", "line 1 has no column a, it has nothing"),
        (b"a\tb\n1\t2\n", "tabs separate the columns in line 1; name the file .tsv"),
        (b"\xef\xbb\xbfb\n", "line 1 has no column a, it has b$"),
        (b"sep=;\na;b\n1;2\n", "line 1 is a spreadsheet's mark of the separator; remove it"),
        ("a,b\n1,2\n".encode("utf-16-le"), "UTF-16; save it as UTF-8"),
        ("a,b\n1,2\n".encode("utf-16-be"), "UTF-16; save it as UTF-8"),
        (b"a\n1\n\0\n", "NUL, which is no text, in line 3; save it as UTF-8"),
        # Without the time of compression, which would differ in the name of the test.
        (gzip.compress(b"a\n1\n", mtime=0), "gzip data; unpack it"),
        (
            b"PK\x03\x04\x14\xff",
            "a zip archive or a workbook of a spreadsheet; unpack or export it",
        ),
        (b"PAR1\xff", "Parquet; name the file .parquet"),
        (
            b'a\n"1\n2"\n3,4\n',
            "line 4: more fields than the 1 columns; quote a field that has a comma",
        ),
        (b"b;a\n1;2;3\n", "line 2: more fields than the 2 columns; quote .* has a semicolon$"),
        (b'a\n1\n"2\n3\n', "line 3: unexpected end of data; close every quote"),
        (b"a\n1\n" + b"x" * 200_000, "line 3: field larger"),
    ],
)
def test_unreadable_files_are_reported_with_the_place(tmp_path, content, message):
    path = tmp_path / "rows.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=f"^file={path}: {message}"):
        list(rows_of(text_of(path, f"file={path}"), f"file={path}", ("a",)))


def test_files_read_line_by_line_have_the_same_faults(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_bytes("a\tb\n".encode("utf-16-le"))
    with pytest.raises(UserError, match="UTF-16; save it as UTF-8"):
        list(read_rows(path, "file=x", ("a",), tabs=True))
    path.write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match="no tab in line 1; expected columns between tabs"):
        list(read_rows(path, "file=x", ("a",), tabs=True))


def test_white_space_around_the_names_of_columns_is_no_part_of_them():
    assert list(rows_of("a, b \n1,2\n", "file=x", ("a", "b"))) == [(2, {"a": "1", "b": "2"})]
