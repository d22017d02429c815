"""Text files that cannot be read are reported in one line with their place."""

import pytest

from adnominal.conf import UserError
from adnominal.conf.delimited import Row, read_rows
from adnominal.conf.texts import first_line, json_lines, json_value


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b'{"a": 1}\n{"a": "caf\xe9"}\n', "not UTF-8 at byte 19, in line 2; save it as UTF-8"),
        (b"\xff\xfe{\x00}\x00", "UTF-16; save it as UTF-8"),
        (b'{"a": 1}\n{"a": ' + b"[" * 100_000, r"line 2: not JSON \(nested too deeply"),
        (b'{"a": 1}\n{"a": 1, "a": 2}\n', "line 2: not JSON .*the name 'a' twice in one object"),
        (b'{"a": 1}\n\n{"a": ', r"line 3: not JSON .*is the file complete\?"),
        (b"[1]\n", "line 1: expected a JSON object, got"),
        (b'{"a": ' + b"9" * 5000 + b"}", r"line 1: not JSON \(a number of thousands of digits\)"),
    ],
)
def test_faults_of_json_lines_are_reported_with_the_line(tmp_path, content, fault):
    file = tmp_path / "rows.jsonl"
    file.write_bytes(content)
    with pytest.raises(UserError, match=f"^file=x: {fault}"):
        list(json_lines(file, "file=x"))


def test_blank_lines_and_byte_order_marks_are_no_objects(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n \t\r\n\xef\xbb\xbf{"a": 2}\n')
    assert list(json_lines(file, "x")) == [(1, {"a": 1}), (3, {"a": 2})]
    file.write_text('\u3000\n\u00a0\n\f\n\x1c\n{"a": "\u2028"}', encoding="utf-8")
    assert list(json_lines(file, "x")) == [(5, {"a": "\u2028"})]


def test_json_values_may_have_a_name_in_several_objects():
    assert json_value('[{"a": 1}, {"a": {"a": 2}}]') == [{"a": 1}, {"a": {"a": 2}}]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"p,h,l,l\n", "line 1 has more than one column l; rename or remove all but one"),
        (b"\xef\xbb\xbfp,h,p,h\n", "line 1 has more than one column p, h;"),
        (b"p,h\na,b\nc,caf\xe9\n", "not UTF-8 at byte 13, in line 3"),
        (b"p,h\na,b\n" + b"x" * 200_000, "line 3: field larger than field limit"),
        (b"", "line 1 has no column p, it has nothing"),
    ],
)
def test_faults_of_rows_are_reported_with_the_line(tmp_path, content, fault):
    file = tmp_path / "rows.csv"
    file.write_bytes(content)
    with pytest.raises(UserError, match=f"^file=x: {fault}"):
        list(read_rows(file, "file=x", ("p",)))


def test_the_caller_decides_on_rows_with_surplus_fields(tmp_path):
    file = tmp_path / "rows.tsv"
    file.write_bytes(b'p\th\t\t\n"a\tb\n\nc\td\te\tf\tg\n')
    assert list(read_rows(file, "file=x", tabs=True)) == [
        Row(2, {"p": '"a', "h": "b", "": ""}),
        Row(4, {"p": "c", "h": "d", "": "f"}, is_surplus=True),
    ]


def test_the_first_line_of_a_message_is_its_reason():
    assert first_line(ValueError("no such table\n  at line 3\n")) == "no such table"
    assert first_line("\n bad \nworse") == "bad"
    # An error without a text is named by its kind.
    assert first_line(TimeoutError()) == "TimeoutError"
