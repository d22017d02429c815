"""Exports are uploaded by the real huggingface_hub to a stub of the hub on loopback."""

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from adnominal import conf
from adnominal.analysis.export.job import Settings
from adnominal.conf import ROOT, UserError
from tests.analysis.export.conftest import EDITION

TOKEN = "hf_" + "x" * 34
OLD = "adept/random/gone.parquet"


class Hub(ThreadingHTTPServer):
    """A hub with one dataset: who asks, creates it, lists its files, and commits to it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.created: dict[str, Any] = {}
        self.files: dict[str, bytes] = {}
        self.deleted: list[str] = []
        self.tokens: set[str] = set()
        self.refuses_commits = False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        if "/tree/" in self.path:
            self.reply([{"type": "file", "path": OLD, "size": 1, "oid": "0" * 40}])
        elif self.path.endswith("/whoami-v2"):
            token = self.headers["authorization"].removeprefix("Bearer ")
            self.server.tokens.add(token)
            self.reply({"name": "jane"} if token == TOKEN else {}, 200 if token == TOKEN else 401)
        else:
            self.reply({"id": "jane/mine", "sha": "0" * 40, "siblings": []})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/api/repos/create":
            self.server.created = json.loads(body)
            self.reply({"url": f"{self.server.address}/datasets/jane/mine"})
        elif self.path == "/api/validate-yaml":
            self.reply({"warnings": [], "errors": []})
        elif "/preupload/" in self.path:
            names = [file["path"] for file in json.loads(body)["files"]]
            modes = [{"path": n, "uploadMode": "regular", "shouldIgnore": False} for n in names]
            self.reply({"files": modes})
        elif self.server.refuses_commits:
            self.reply({"error": "full"}, 507)
        else:
            for line in map(json.loads, body.splitlines()):
                value = line["value"]
                if line["key"] == "file":
                    self.server.files[value["path"]] = base64.b64decode(value["content"])
                elif line["key"] == "deletedFile":
                    self.server.deleted.append(value["path"])
            url = f"{self.server.address}/datasets/jane/mine/commit/1"
            self.reply({"commitUrl": url, "commitOid": "1", "success": True})

    def reply(self, value: Any, status: int = 200) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def export(lake, out, address, token=TOKEN, *words):
    """Run the command with its own store of tokens; huggingface_hub reads both when imported."""
    home = out.parent / "hub"
    home.mkdir(exist_ok=True)
    if token:
        (home / "token").write_text(token)
    names = [name for name in os.environ if name.startswith(("HF_", "HUGGING"))]
    environment = {name: value for name, value in os.environ.items() if name not in names}
    command = [sys.executable, "-m", "analysis.export", "dataset=adept", f"edition={EDITION}"]
    command += ["format=huggingface", f"out={out}", f"lake={lake}", "push=jane/mine", *words]
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**environment, "HF_ENDPOINT": address, "HF_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_export_is_uploaded_in_one_commit(small_lake, tmp_path, hub):
    out = tmp_path / "out"
    result = export(small_lake, out, hub.address, TOKEN, "private=true")
    assert result.returncode == 0, result.stderr
    names = {file.relative_to(out).as_posix() for file in out.rglob("*") if file.is_file()}
    assert {"README.md", "LICENSE.md"} < set(hub.files) == names
    assert hub.files["README.md"] == (out / "README.md").read_bytes()
    assert hub.deleted == [OLD]
    assert (hub.created["name"], hub.created["organization"]) == ("mine", "jane")
    assert (hub.created["type"], hub.created["visibility"]) == ("dataset", "private")
    assert f"{hub.address}/datasets/jane/mine/commit/1" in result.stderr
    assert hub.tokens == {TOKEN}
    assert TOKEN not in result.stdout + result.stderr


def test_a_failed_upload_leaves_the_export_and_says_how_to_go_on(small_lake, tmp_path, hub):
    hub.refuses_commits = True
    out = tmp_path / "out"
    result = export(small_lake, out, hub.address)
    assert result.returncode == 1
    assert f"upload it with: hf upload jane/mine {out} --repo-type dataset" in result.stderr
    assert (out / "README.md").is_file()
    assert TOKEN not in result.stderr


@pytest.mark.parametrize(
    ("token", "message"),
    [("", "no token of the hub here; log in with: hf auth"), ("hf_other", "refuses the stored")],
)
def test_without_a_token_that_the_hub_accepts_nothing_is_exported(
    small_lake, tmp_path, hub, token, message
):
    out = tmp_path / "out"
    result = export(small_lake, out, hub.address, token)
    assert result.returncode == 2
    assert message in result.stderr.splitlines()[-1]
    assert not out.exists()
    assert not hub.created


def test_offline_mode_fails_before_the_export(small_lake, tmp_path, hub, monkeypatch):
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "1")
    result = export(small_lake, tmp_path / "out", hub.address)
    assert result.returncode == 1
    assert "push=jane/mine: the hub does not answer" in result.stderr.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_a_hub_that_does_not_answer_fails_before_the_export(small_lake, tmp_path, hub):
    hub.server_close()
    result = export(small_lake, tmp_path / "out", hub.address)
    assert result.returncode == 1
    assert "push=jane/mine: the hub does not answer" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["push=mine"], "push=mine: expected USER/NAME"),
        (["push=jane/mine", "format=croissant"], "push= with format=croissant: expected format="),
        (["private=true"], "private=true without push="),
    ],
)
def test_settings_are_checked(tmp_path, words, message):
    given = ["dataset=adept", "edition=e", "format=huggingface", f"out={tmp_path}/out", *words]
    with pytest.raises(UserError, match=message):
        conf.load(Settings, given)
