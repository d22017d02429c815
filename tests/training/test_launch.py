from __future__ import annotations

import socket

import pytest

from conf import UserError
from training import launch


def test_a_taken_port_is_told(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    with socket.socket() as listener:
        listener.bind(("", 0))
        listener.listen()
        monkeypatch.setenv("MASTER_PORT", str(listener.getsockname()[1]))
        with pytest.raises(UserError, match="choose a free one"):
            launch.check_port()
    launch.check_port()


@pytest.mark.parametrize("port", ["many", "99999"])
def test_a_port_that_is_none_is_told(monkeypatch, port):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("MASTER_PORT", port)
    with pytest.raises(UserError, match=f"MASTER_PORT={port}"):
        launch.check_port()


def test_only_the_first_process_listens(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("MASTER_PORT", "none")
    launch.check_port()


def test_one_process_asks_nobody():
    launch.environment()
    assert (launch.rank(), launch.world_size()) == (0, 1)
    assert launch.broadcast("x") == "x"
    assert launch.gather("x") == ["x"]
    with launch.first_on_machine():
        launch.barrier()
