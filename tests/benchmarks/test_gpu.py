"""The check of training on GPUs: each part with tiny models, on cores."""

import sys

import pytest

from benchmarks import BENCH, CASES, gpu, load_case
from benchmarks.gpu import Settings
from tests import fork_server
from tests.benchmarks.page import page

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def forked_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts' processes are forked from one that has imported the libraries."""
    monkeypatch.setattr(sys, "executable", fork_server.python())


@pytest.fixture(scope="module")
def small_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The settings of twins, which share their models in one folder."""
    return Settings(size="small", keep=False, folder=str(tmp_path_factory.mktemp("gpu")))


def test_several_runs_share_a_device(small_settings):
    figures = gpu.runs_per_device(small_settings)
    assert figures["runs"] == 2
    assert figures["one"] > 0 and figures["several"] > 0


@pytest.mark.parametrize("name", ["micro_batch", "zero2", "llama_8b", "zero3", "bert_large"])
def test_each_part_has_the_speed_of_its_sides(small_settings, name):
    figures = getattr(gpu, name)(small_settings)
    sides = [side for side in figures.values() if isinstance(side, dict)]
    assert sides
    assert all(side["samples_per_second"] > 0 for side in sides)


def test_the_start_is_timed(small_settings):
    figures = gpu.start_up(small_settings)
    assert figures["ours"] > 0 and figures["library"] > 0


def test_a_killed_run_has_the_losses_of_one_in_peace(small_settings):
    figures = gpu.resume_run(small_settings)
    assert figures["equal"] == figures["updates"] == 6


def test_it_is_a_case_of_its_own_and_no_part_of_make_bench():
    assert load_case("gpu") is gpu.CASE
    assert "gpu" in CASES and "gpu" not in BENCH


def test_the_page_shows_the_recorded_figures():
    text = page(gpu.CASE, {"start_up": {"ours": 3.25, "library": 3.0}})
    assert '| start_up | {"library": 3.0, "ours": 3.25} |' in text
