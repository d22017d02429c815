"""Servers on loopback that stand for a web server and for Hugging Face's hub."""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

MODIFIED = "Thu, 02 Jan 2020 03:00:00 GMT"
COMMITTED = "2020-01-02T03:00:00.000Z"
DATASET = "tester/corpus"


class FileServer(BaseHTTPRequestHandler):
    """Serves `files` by their paths, with byte ranges."""

    files: ClassVar[Mapping[str, bytes]] = {}
    has_ranges: ClassVar[bool] = True
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        data = self.files.get(unquote(urlsplit(self.path).path))
        if data is None:
            self.send_body(404, b"", {})
            return
        headers = {"Last-Modified": MODIFIED, "ETag": '"1"'}
        requested = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not (requested and self.has_ranges):
            self.send_body(200, data, headers)
            return
        start = int(requested[1])
        stop = int(requested[2]) + 1 if requested[2] else len(data)
        part = data[start:stop]
        headers["Content-Range"] = f"bytes {start}-{start + len(part) - 1}/{len(data)}"
        self.send_body(206, part, headers)

    def send_body(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *words: Any) -> None:
        pass


class Hub(FileServer):
    """The hub's API for one dataset, as far as listing and reading its files need it."""

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        resolved = path.removeprefix(f"/datasets/{DATASET}/resolve/main/")
        if resolved != path:
            self.path = f"/{resolved}"
            super().do_GET()
        elif path.startswith(f"/api/datasets/{DATASET}/tree/main"):
            folder = path.removeprefix(f"/api/datasets/{DATASET}/tree/main").strip("/")
            entries = self.entries(f"{folder}/" if folder else "")
            if entries:
                self.send_json(entries)
            else:
                self.send_error_code("EntryNotFound")
        elif path == f"/api/datasets/{DATASET}/commits/main":
            commit = {"id": "1" * 40, "title": "a commit", "message": "", "date": COMMITTED}
            self.send_json([{**commit, "authors": []}])
        elif path.startswith(f"/api/datasets/{DATASET}"):
            self.send_json({"id": DATASET, "sha": "0" * 40, "private": False, "siblings": []})
        else:
            self.send_error_code("RepoNotFound")

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        paths = parse_qs(self.rfile.read(length).decode())["paths"]
        self.send_json([entry for entry in self.entries("") if entry["path"] in paths])

    def entries(self, folder: str) -> list[dict[str, Any]]:
        """The files whose paths begin with a folder, and their own folders."""
        commit = {"id": "1" * 40, "title": "a commit", "date": COMMITTED}
        entries: dict[str, dict[str, Any]] = {}
        for path, data in self.files.items():
            name = path.strip("/")
            if not name.startswith(folder):
                continue
            entry = {"type": "file", "path": name, "size": len(data), "oid": "2" * 40}
            entries[name] = {**entry, "lastCommit": commit}
            parent = name.rpartition("/")[0]
            if parent.startswith(folder):
                entry = {"type": "directory", "path": parent, "oid": "3" * 40, "size": 0}
                entries[parent] = {**entry, "lastCommit": commit}
        return [entries[name] for name in sorted(entries)]

    def send_error_code(self, code: str) -> None:
        self.send_body(404, b"{}", {"X-Error-Code": code, "X-Error-Message": code})

    def send_json(self, value: Any) -> None:
        self.send_body(200, json.dumps(value).encode(), {"Content-Type": "application/json"})


@contextmanager
def serve(
    handler: type[FileServer], files: Mapping[str, bytes], has_ranges: bool = True
) -> Iterator[str]:
    """The address of a server with these files, while it runs."""
    served = type("Served", (handler,), {"files": files, "has_ranges": has_ranges})
    server = ThreadingHTTPServer(("127.0.0.1", 0), served)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
