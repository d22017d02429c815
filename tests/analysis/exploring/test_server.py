"""The answers of the server, and its protection against pages of other hosts."""

from __future__ import annotations

import socket

import pytest
from starlette.testclient import TestClient

from analysis.exploring.server import application, bound
from analysis.exploring.sketches import Query, Sketches, tsv
from conf import UserError


@pytest.fixture(scope="module")
def client(sketches: Sketches) -> TestClient:
    return TestClient(application(sketches), base_url="http://127.0.0.1")


def test_the_page_has_a_content_security_policy(client: TestClient) -> None:
    page = client.get("/")
    assert page.status_code == 200 and "Word sketches" in page.text
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert client.get("/explore.js").status_code == 200
    assert client.get("/../server.py").status_code == 404


def test_rows_are_served_as_json_and_as_tsv(client: TestClient, sketches: Sketches) -> None:
    expected = sketches.sketch(Query("noun", "key", measure="count", floor=2))
    values = {"role": "noun", "word": "key", "measure": "count", "floor": "2"}
    assert client.get("/api/rows", params=values).json() == expected
    table = client.get("/api/rows.tsv", params=values)
    assert table.text == tsv(expected["rows"])
    assert "attachment" in table.headers["content-disposition"]


def test_suggestions_corpora_and_pairs_are_served(client: TestClient) -> None:
    assert client.get("/api/suggest?role=noun&word=do").json() == [{"word": "door", "count": 14}]
    assert client.get("/api/about").json()["corpora"] == {"news": 7, "web": 3}
    pair = client.get("/api/pair?adjective=false&noun=key").json()
    assert [row["corpus"] for row in pair["rows"]] == ["news", "web"]
    assert len(pair["examples"]) == 2


@pytest.mark.parametrize(
    ("address", "remedy"),
    [
        ("/api/rows?word=key&measure=pmy", "did you mean 'pmi'"),
        ("/api/rows?word=key&floor=two", "expected a whole number"),
        (f"/api/rows?word=key&limit={'9' * 5000}", "of at most 18 digits"),
        (f"/api/rows?word=key&limit={'9' * 19}", "of at most 18 digits"),
        ("/api/rows?word=key&corpus=gone", "expected one of news, web"),
        ("/api/suggest?role=verb&word=a", "expected one of noun, adjective"),
    ],
)
def test_wrong_requests_are_refused_in_one_line(
    client: TestClient, address: str, remedy: str
) -> None:
    answer = client.get(address)
    assert answer.status_code == 400 and remedy in answer.text and "\n" not in answer.text


def test_requests_with_another_host_name_are_refused(sketches: Sketches) -> None:
    client = TestClient(application(sketches), base_url="http://example.org")
    assert client.get("/api/about").status_code == 400


def test_a_port_in_use_is_refused() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with pytest.raises(UserError, match="port=0 for any free port"):
            bound(listener.getsockname()[1])
    with pytest.raises(UserError, match="expected 1 to 65535"):
        bound(70000)
