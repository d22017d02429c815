"""Hosts on one machine: network namespaces with addresses, names and folders of their own.

Each host has its own ``/tmp`` and sees nothing of the checkout, unless it is told to; all see the
shared folder ``/mnt`` and the installed package in ``/opt``. It needs root.
"""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from adnominal.conf import ROOT

# docs/cluster.md says how the package is installed; tests/cluster/install.sh does so.
INSTALLED = Path(os.environ.get("ADNOMINAL_HOSTS", ROOT / "build" / "engines" / "hosts"))
NETWORK = "10.77.0"
# Names of interfaces have up to fifteen characters.
PREFIX = f"adn{os.getpid() % 10_000}"


def run_quietly(*words: str) -> None:
    """Run a command; fail with its errors."""
    process = subprocess.run(words, capture_output=True, text=True, check=False)
    assert process.returncode == 0, f"{shlex.join(words)}: {process.stderr}"


class Host:
    """A host with the name ``one``, ``two`` and so on.

    Attributes:
        name: its name.
        folder: its own files; ``tmp`` is its ``/tmp``.
        processes: what was started on it.
    """

    def __init__(self, name: str, number: int, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self._space = f"{PREFIX}-{name}"
        self._address = f"{NETWORK}.{number}"
        (folder / "tmp").mkdir(parents=True)

    def start(self, shared: Path, hosts_file: Path, *, has_checkout: bool) -> None:
        """Connect it to the switch, and start the process that keeps its mounts."""
        space, port = self._space, f"{PREFIX}{self.name}"
        run_quietly("ip", "netns", "add", space)
        run_quietly(
            "ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", space
        )
        run_quietly("ip", "link", "set", port, "netns", f"{PREFIX}-switch")
        switch = ("ip", "-n", f"{PREFIX}-switch", "link", "set", port)
        run_quietly(*switch, "master", "bridge")
        run_quietly(*switch, "up")
        run_quietly("ip", "-n", space, "address", "add", f"{self._address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            run_quietly("ip", "-n", space, "link", "set", device, "up")
        mounts = [
            f"hostname {self.name}",
            f"mount --bind {hosts_file} /etc/hosts",
            f"mount --bind {shared} /mnt",
            f"mount --bind {INSTALLED} /opt",
            f"mount --bind {self.folder / 'tmp'} /tmp",
        ]
        if not has_checkout:
            mounts.append(f"mount -t tmpfs none {ROOT}")
        script = "; ".join(["set -e", *mounts, "echo ready", "exec sleep infinity"])
        self._keeper = subprocess.Popen(
            ["ip", "netns", "exec", space, "unshare", "-m", "-u", "bash", "-c", script],
            stdout=subprocess.PIPE,
        )
        assert self._keeper.stdout is not None and self._keeper.stdout.readline() == b"ready\n"

    def run(
        self, log: str, script: str, cwd: str = "/tmp", variables: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        """Start a shell script on the host; its output goes to a file in its folder."""
        enter = ["nsenter", "-t", str(self._keeper.pid), "-m", "-n", "-u", f"--wd={cwd}"]
        environment = ["env", "-i", "HOME=/root", "LANG=C.UTF-8", f"PATH={os.environ['PATH']}"]
        with (self.folder / f"{log}.log").open("wb") as out:
            process = subprocess.Popen(
                [*enter, *environment, *variables, "bash", "-c", script],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def log(self, name: str) -> str:
        """The output of a script so far."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def cut_off(self) -> None:
        """Take its cable out: nobody is told."""
        run_quietly("ip", "-n", self._space, "link", "set", "eth0", "down")

    def kill_all(self) -> None:
        """End what was started on it, and what that has started."""
        listed = subprocess.run(
            ["ip", "netns", "pids", self._space], capture_output=True, text=True
        )
        pids = {int(pid) for pid in listed.stdout.split()} - {self._keeper.pid}
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self.processes:
            process.wait()

    def stop(self) -> None:
        """End all its processes, and remove it."""
        self.kill_all()
        self._keeper.kill()
        self._keeper.wait()
        run_quietly("ip", "netns", "delete", self._space)


class Hosts:
    """Hosts at one switch; the first one, or all, also have the checkout."""

    def __init__(
        self, folder: Path, names: Sequence[str], *, all_have_checkout: bool = False
    ) -> None:
        if os.geteuid() or shutil.which("ip") is None:
            pytest.skip("hosts are network namespaces, which need root and iproute2")
        if not (INSTALLED / "adnominal" / "bin" / "python").exists():
            pytest.skip(f"no installed package in {INSTALLED} (tests/cluster/install.sh)")
        self.shared = folder / "shared"
        self.shared.mkdir(parents=True)
        self._all_have_checkout = all_have_checkout
        self._hosts_file = folder / "hosts"
        lines = [f"{NETWORK}.{number} {name}" for number, name in enumerate(names, 1)]
        self._hosts_file.write_text("\n".join(["127.0.0.1 localhost", *lines]) + "\n")
        self.hosts = [Host(name, number, folder / name) for number, name in enumerate(names, 1)]

    def start(self) -> None:
        """Start the switch and all hosts."""
        switch = f"{PREFIX}-switch"
        run_quietly("ip", "netns", "add", switch)
        run_quietly("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
        run_quietly("ip", "-n", switch, "link", "set", "bridge", "up")
        for host in self.hosts:
            has_checkout = self._all_have_checkout or host is self.hosts[0]
            host.start(self.shared, self._hosts_file, has_checkout=has_checkout)
        time.sleep(1)  # the switch learns its ports

    def stop(self) -> None:
        """Remove the hosts and the switch."""
        for host in self.hosts:
            host.stop()
        run_quietly("ip", "netns", "delete", f"{PREFIX}-switch")
