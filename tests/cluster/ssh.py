"""ssh between hosts, with a key that only they have; it needs sshd, and pdsh for DeepSpeed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cluster.hosts import Host, Hosts
from tests.spark.test_cluster import wait_until

# One key for the servers and for those who log in.
SERVER = """HostKey /etc/ssh/key
AuthorizedKeysFile /etc/ssh/key.pub
StrictModes no
UsePAM no
"""
CLIENT = """IdentityFile /etc/ssh/key
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
"""
# The host has its own folders in the place of the machine's.
START = (
    "mount --bind /mnt/ssh /etc/ssh; mount -t tmpfs none /run; mkdir /run/sshd; exec $SSHD -D -e"
)


class SecureShell:
    """Servers of ssh on hosts, which trust each other."""

    def __init__(self, hosts: Hosts) -> None:
        if shutil.which("pdsh") is None or not server().exists():
            pytest.skip("no sshd or no pdsh (apt-get install openssh-server pdsh)")
        folder = hosts.shared / "ssh"
        folder.mkdir()
        key = str(folder / "key")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        (folder / "sshd_config").write_text(SERVER)
        (folder / "ssh_config").write_text(CLIENT)

    def start(self, host: Host) -> None:
        """Start the server of a host, also again."""
        process = host.run("sshd", START, variables=(f"SSHD={server()}",))
        wait_until(lambda: "Server listening" in host.log("sshd"), "an ssh server", process)


def server() -> Path:
    """The program, which is outside the PATH of plain users."""
    return Path(shutil.which("sshd") or "/usr/sbin/sshd")
