"""What spark-submit and the guides give to Kubernetes is valid by the schema of its API."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from adnominal.conf import ROOT

SECONDS = 300.0


class Api(BaseHTTPRequestHandler):
    """An API server without anything; it accepts and records what is created."""

    created: list[dict[str, Any]]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        resource = json.loads(self.rfile.read(length))
        self.created.append(resource)
        metadata = {"uid": f"uid-{len(self.created)}", "resourceVersion": "1"}
        merged = {**resource["metadata"], "namespace": "default", **metadata}
        self.answer(201, {**resource, "metadata": merged})

    do_PATCH = do_POST
    do_PUT = do_POST

    def answer(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of an API server, and the list of what is created on it."""
    created: list[dict[str, Any]] = []
    handler = type("Recording", (Api,), {"created": created})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", created
    server.shutdown()
    server.server_close()


def validate(path: Path) -> None:
    """Check resources by the schema of the API, without further fields."""
    program = shutil.which("kubernetes-validate")
    if program is None:
        pytest.skip("kubernetes-validate is not installed (pip install kubernetes-validate)")
    process = subprocess.run([program, "--strict", str(path)], capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr


def recipe(address: str) -> list[str]:
    """The command of docs/cluster.md that submits a job to Kubernetes."""
    text = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    match = re.search(r"^spark-submit --master k8s://.*?wave_bytes=\d+$", text, re.DOTALL | re.M)
    assert match is not None
    words = shlex.split(match[0].replace("\\\n", " "))
    words[words.index("k8s://https://HOST:6443")] = f"k8s://{address}"
    no_wait = ["--conf", "spark.kubernetes.submission.waitAppCompletion=false"]
    return [words[0], *no_wait, *words[1:]]


def test_spark_submit_creates_valid_resources(server, tmp_path):
    address, created = server
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {**os.environ, "PATH": path, "SPARK_LAUNCHER_OPTS": "-Xmx256m"}
    process = subprocess.run(
        recipe(address), cwd=ROOT, env=variables, capture_output=True, text=True, timeout=SECONDS
    )
    assert process.returncode == 0, process.stderr[-4000:]
    by_kind = {resource["kind"]: resource for resource in created}
    assert by_kind.keys() == {"Pod", "ConfigMap", "Service"}
    (container,) = by_kind["Pod"]["spec"]["containers"]
    assert container["image"] == "REGISTRY/adnominal:0.1.0"
    assert container["args"][0] == "driver"
    assert "local:///opt/adnominal/etl/extract_amod.py" in container["args"]
    assert container["resources"]["limits"]["memory"] == f"{(4 + 2) * 1024}Mi"
    assert by_kind["Pod"]["spec"]["serviceAccountName"] == "spark"
    file = tmp_path / "resources.yaml"
    file.write_text(yaml.safe_dump_all(created))
    validate(file)


def test_the_training_job_of_the_guide_is_valid(tmp_path):
    text = (ROOT / "docs" / "training_at_size.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(apiVersion: batch/v1\n.*?)```", text, re.DOTALL)
    file = tmp_path / "job.yaml"
    file.write_text(str(block))
    validate(file)
