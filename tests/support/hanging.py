"""A file system that can be told to hang: sshfs over a pipe to an sftp server that is stopped and continued."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from testbed.servers import SFTP_SERVERS

MOUNT_SECONDS = 20


class HangingFileSystem:
    """Mounted at `point`; what is written lies in `export` too, which never hangs."""

    def __init__(self, point: Path, export: Path, server: subprocess.Popen[bytes]) -> None:
        self.point = point
        self.export = export
        self._server = server

    def hang(self) -> None:
        """From when it returns on nothing is answered any more."""
        self._server.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._server.pid, os.WSTOPPED)

    def answer(self) -> None:
        self._server.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def hanging_file_system(folder: Path) -> Iterator[HangingFileSystem]:
    """Mounts one below `folder`, or skips the test."""
    sftp = next((path for path in SFTP_SERVERS if Path(path).exists()), None)
    if sftp is None or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("needs an sftp server and /dev/fuse")
    point, export = folder / "hanging", folder / "export"
    point.mkdir()
    export.mkdir()
    ours, theirs = socket.socketpair()
    server = subprocess.Popen([sftp], stdin=theirs, stdout=theirs)
    client = subprocess.Popen(["sshfs", "-f", "-o", "passive", f":{export}", point], stdin=ours, stdout=ours)
    ours.close()
    theirs.close()
    try:
        deadline = time.monotonic() + MOUNT_SECONDS
        while not os.path.ismount(point):
            if client.poll() is not None or time.monotonic() > deadline:
                pytest.skip("sshfs cannot be mounted here")
            time.sleep(0.02)
        yield HangingFileSystem(point, export, server)
    finally:
        server.send_signal(signal.SIGCONT)
        client.terminate()  # which unmounts, and fails whatever still waits
        with contextlib.suppress(subprocess.TimeoutExpired):
            client.wait(10)
        client.kill()
        client.wait()
        server.kill()
        server.wait()
        subprocess.run(["umount", "-l", point], stderr=subprocess.DEVNULL, check=False)
