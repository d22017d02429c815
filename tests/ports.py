"""Ports of this machine for the servers and launchers of tests and benchmarks."""

import socket

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """A port of the loopback interface that is not in use."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
