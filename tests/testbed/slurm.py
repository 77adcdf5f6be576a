"""A cluster of one node: Slurm's own daemons, from packages, with all that is theirs in one directory.

`with cluster(directory, **settings) as slurm` starts them and ends them. Every command has a time limit: a client of a
daemon that is not there would wait for ever.
"""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

LONGEST_WAIT_SECONDS = 120
OVER = ("COMPLETED", "CANCELLED", "TIMEOUT", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY")
PROCESSORS = 16


class NoCluster(Exception):
    """The daemons did not come up; the reason in words."""


class Slurm:
    """The cluster's clients."""

    def __init__(self, directory: Path) -> None:
        self._environment = {**os.environ, "SLURM_CONF": str(directory / "slurm.conf")}

    def call(self, *command: str | Path, **environment: str) -> str:
        """What a client prints. Raises CalledProcessError."""
        done = subprocess.run(
            [str(word) for word in command], env=self._environment | environment, capture_output=True, text=True,
            check=True, timeout=LONGEST_WAIT_SECONDS,
        )  # fmt: skip
        return done.stdout

    def submit(self, script: str, *options: str, **environment: str) -> int:
        """The id of a new job that runs the script."""
        return int(self.call("sbatch", "--parsable", *options, f"--wrap={script}", **environment))

    def state(self, job: int) -> str:
        shown = self.call("scontrol", "show", "job", str(job))
        (state,) = [word.partition("=")[2] for word in shown.split() if word.startswith("JobState=")]
        return state

    def wait(self, job: int) -> str:
        """Waits until the job is over, epilogue and all. Returns its state."""
        deadline = time.monotonic() + LONGEST_WAIT_SECONDS
        while (state := self.state(job)) not in OVER:
            if time.monotonic() > deadline:
                raise TimeoutError(f"job {job} is still {state}")
            time.sleep(0.1)
        return state


@contextlib.contextmanager
def cluster(directory: Path, **settings: str | Path) -> Iterator[Slurm]:
    """A cluster in an empty directory, with more settings for slurm.conf. Raises NoCluster."""
    for name in ("state", "spool"):
        (directory / name).mkdir()
    key = directory / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    (directory / "slurm.conf").write_text(_configuration(directory, settings))
    munge = [f"--{what}-file={directory / f'munge.{what}'}" for what in ("key", "pid", "log", "seed")]
    daemons = [
        ["munged", "--foreground", "--force", *munge, f"--socket={directory / 'munge.socket'}"],
        ["slurmctld", "-D", "-f", directory / "slurm.conf"],
        ["slurmd", "-D", "-f", directory / "slurm.conf"],
    ]
    with contextlib.ExitStack() as stack:
        for command in daemons:
            _start(stack, command, directory)
            if command[0] == "munged":
                _wait_until(lambda: (directory / "munge.socket").exists(), "munged made no socket")
        slurm = Slurm(directory)
        _wait_until(lambda: _is_idle(slurm), f"no node became idle, see {directory}/*.log")
        yield slurm


def _start(stack: contextlib.ExitStack, command: list[str | Path], directory: Path) -> None:
    log = stack.enter_context((directory / f"{command[0]}.output").open("wb"))
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    stack.callback(_end, process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _is_idle(slurm: Slurm) -> bool:
    try:
        return slurm.call("sinfo", "--noheader", "--format=%T").strip() == "idle"
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return False


def _wait_until(holds: object, what_if_not: str) -> None:
    deadline = time.monotonic() + LONGEST_WAIT_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise NoCluster(what_if_not)
        time.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _configuration(directory: Path, settings: dict[str, str | Path]) -> str:
    host = socket.gethostname()
    controller_port, node_port = _free_ports(2)
    lines = {
        "ClusterName": "test",
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={directory / 'munge.socket'}",
        "CredType": "cred/munge",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        "AccountingStorageType": "accounting_storage/none",
        "MpiDefault": "none",
        "SwitchType": "switch/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        "SlurmdParameters": "config_overrides",
        "SlurmctldPort": str(controller_port),
        "SlurmdPort": str(node_port),
        "StateSaveLocation": directory / "state",
        "SlurmdSpoolDir": directory / "spool",
        "SlurmctldPidFile": directory / "slurmctld.pid",
        "SlurmdPidFile": directory / "slurmd.pid",
        "SlurmctldLogFile": directory / "slurmctld.log",
        "SlurmdLogFile": directory / "slurmd.log",
        "KillWait": "1",
        **settings,
    }
    text = "".join(f"{name}={value}\n" for name, value in lines.items())
    text += f"NodeName=localhost NodeHostname={host} NodeAddr=127.0.0.1 CPUs={PROCESSORS}\n"
    return text + "PartitionName=all Nodes=localhost Default=YES MaxTime=INFINITE State=UP\n"
