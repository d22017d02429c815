"""Represents a process of a fork server: forwards arguments, streams, signals and the exit code.

`tests/fork_server.py` writes a copy of this file for each server. It imports little, so that it
starts in milliseconds.
"""

import json
import os
import signal
import socket
import struct
import sys

NO_SERVER = 70


def main(address: str) -> int:
    """The exit code of the process; a signal that ended the process ends this one too."""
    request = {
        "program": sys.argv[0],
        "arguments": sys.argv[1:],
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "parent": os.getppid(),
    }
    text = json.dumps(request).encode()
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(address)
            socket.send_fds(connection, [struct.pack("!I", len(text))], [0, 1, 2])
            connection.sendall(text)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda number, _: connection.sendall(bytes([number])))
            (code,) = struct.unpack("!i", connection.recv(4, socket.MSG_WAITALL))
    except (OSError, struct.error) as error:
        print(f"no answer from the fork server at {address}: {error}", file=sys.stderr)
        return NO_SERVER
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return int(code)
