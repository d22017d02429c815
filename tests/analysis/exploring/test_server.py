"""The answers of the server, and its protection against pages of other hosts."""

import shutil
import socket
import sys
from signal import SIGINT
from subprocess import PIPE, Popen
from urllib.request import urlopen

import pytest
from starlette.testclient import TestClient

from adnominal.analysis.exploring.queries import Query
from adnominal.analysis.exploring.server import application, bound
from adnominal.analysis.exploring.sketches import Sketches, tsv
from adnominal.conf import UserError
from tests.lake_of_pairs import write_pairs


@pytest.fixture(scope="module")
def client(sketches: Sketches) -> TestClient:
    return TestClient(application(sketches), base_url="http://127.0.0.1")


def test_the_page_has_a_content_security_policy(client):
    page = client.get("/")
    assert page.status_code == 200 and "Word sketches" in page.text
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert client.get("/explore.js").status_code == 200
    assert client.get("/../server.py").status_code == 404


def test_rows_are_served_as_json_and_as_tsv(client, sketches):
    expected = sketches.view(Query("noun", "key", measure="count", floor=2))
    values = {"role": "noun", "word": "key", "measure": "count", "floor": "2"}
    assert client.get("/api/rows", params=values).json() == expected
    table = client.get("/api/rows.tsv", params=values)
    assert table.text == tsv(expected["rows"])
    assert table.headers["content-disposition"] == "attachment"


def test_suggestions_corpora_and_pairs_are_served(client):
    assert client.get("/api/suggest?role=noun&word=do").json() == [{"word": "door", "count": 14}]
    assert client.get("/api/about").json()["corpora"] == {"news": 7, "web": 3}
    pair = client.get("/api/pair?adjective=false&noun=key").json()
    assert [row["corpus"] for row in pair["rows"]] == ["news", "web"]
    assert len(pair["examples"]) == 2
    assert client.get("/api/pair?adjective=false&noun=Key").json()["rows"] == []


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
def test_wrong_requests_are_refused_in_one_line(client, address, remedy):
    answer = client.get(address)
    assert answer.status_code == 400 and remedy in answer.text and "\n" not in answer.text


def test_pairs_changed_after_the_start_are_refused_in_one_line(tmp_path):
    lake = tmp_path / "lake"
    write_pairs(str(lake), {"news": [("old", "key", 3)]})
    changed = application(Sketches(str(lake), tmp_path / "cache"))
    client = TestClient(changed, base_url="http://127.0.0.1")
    addresses = ["about", "rows?word=key", "rows.tsv?word=key", "pair?adjective=old&noun=key"]
    assert {client.get(f"/api/{one}").status_code for one in addresses} == {200}
    write_pairs(str(lake), {"web": [("new", "key", 2)]})
    for removed in (lake / "none", *lake.glob("amod_association/data"), lake):
        shutil.rmtree(removed, ignore_errors=True)
        for word in ("key", "door"):
            answer = client.get(f"/api/rows?word={word}")
            assert answer.status_code == 503 and "\n" not in answer.text
            assert "were changed after adnominal explore was started" in answer.text
        assert {client.get(f"/api/{one}").status_code for one in addresses} == {503}


def test_requests_with_another_host_name_are_refused(sketches):
    client = TestClient(application(sketches), base_url="http://example.org")
    assert client.get("/api/about").status_code == 400


def test_ctrl_c_ends_the_server_without_an_error(lake, tmp_path):
    command = [sys.executable, "-m", "analysis.explore", f"lake={lake}", "port=0"]
    server = Popen([*command, f"cache={tmp_path}"], stderr=PIPE, text=True)
    assert server.stderr is not None
    printed = next(line for line in server.stderr if "Ctrl-C ends" in line)
    with urlopen(printed.partition(" on ")[2].split(" ")[0]) as answer:
        assert answer.status == 200
    server.send_signal(SIGINT)
    assert server.wait(30) == 0
    assert "error" not in server.stderr.read()


def test_a_port_in_use_is_refused():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with pytest.raises(UserError, match="port=0 for any free port"):
            bound(listener.getsockname()[1])
    with pytest.raises(UserError, match="expected 1 to 65535"):
        bound(70000)
