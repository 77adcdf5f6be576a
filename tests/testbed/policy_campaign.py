"""Records pairs of jobs that take turns at a file server by a real coordinator, or share it.

`python -m testbed.policy_campaign BUILD PROFILES --scenario equal` does the runs of `testbed.policy_plans` that are not
in PROFILES yet, both jobs under `slicewise run` with SLICEWISE_COORDINATE set and nothing else, and leaves a profile a
job, named RUN-PLACE, and the coordinator's decisions, RUN.jsonl. runs.jsonl there has a line a run: of each phase of
each job when it began and how long it took, by the job's own clock. All else that it made is gone when it ends, however
it ends.
"""

import argparse
import contextlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from support.workload import MPIRUN

from testbed import nodes, servers
from testbed.campaign import MIB, RUN_SECONDS, profiled, warm_up
from testbed.policy_plans import IDLE_SECONDS, SCENARIOS, Scenario, Shape, Turns

# From a run's launch to its first phase; twice as long at each further attempt.
LEAD_SECONDS = 2.5
ATTEMPTS = 4
BURST_MIB = "0.25"
COORDINATOR_PORT = 7411
PHASE = re.compile(r"^phase \d+: ([\d.]+) s from ([\d.]+)$", re.MULTILINE)
FOLDER = "TESTBED_FOLDER"


@dataclass(frozen=True)
class Recorder:
    """A testbed with a node for each job, and one for the coordinator."""

    cluster: nodes.Cluster
    build: Path
    profiles: Path
    scenario: Scenario

    @property
    def address(self) -> str:
        return f"tcp:{self.cluster.nodes[2].address}:{COORDINATOR_PORT}"

    @property
    def secret(self) -> Path:
        return self.cluster.folder / "secret"

    def run_until_good(self, turns: Turns, repeat: int) -> dict:
        """Does a run; again if something was late."""
        name = f"{self.scenario.name}-{turns.name}-{repeat}"
        for attempt in range(1, ATTEMPTS + 1):
            wrong, phases = self._run_one(turns, name, LEAD_SECONDS * 2 ** (attempt - 1))
            print(f"{name}: {wrong or 'ok'}", flush=True)
            if not wrong:
                return {
                    "run": name, "scenario": self.scenario.name, "policy": turns.policy, "metric": turns.metric,
                    "repeat": repeat, "attempts": attempt, "phases": phases,
                }  # fmt: skip
        sys.exit(f"testbed: {name}: {wrong}")

    def _run_one(self, turns: Turns, name: str, lead: float) -> tuple[str, list[list[tuple[float, float]]]]:
        """What was wrong (empty: nothing), and of each job the beginning (s from the first phase's plan) and the
        seconds of each phase.
        """
        shapes, planned = (self.scenario.first, self.scenario.second), self.scenario.starts()
        with self._coordinator(turns, self.profiles / f"{name}.jsonl"), ThreadPoolExecutor(2) as running:
            start_at = math.ceil(10 * (time.time() + lead)) / 10
            told = list(running.map(lambda place: self._run_job(turns, name, place, shapes[place], start_at), (0, 1)))
        phases = []
        for place, (status, said) in enumerate(told):
            found = [(float(began) - start_at, float(seconds)) for seconds, began in PHASE.findall(said)]
            if status != 0 or len(found) != len(planned[place]) or "not coordinated" in said:
                return f"job {place + 1} failed with status {status}: {said}", []
            late = max(abs(began - wanted) for (began, _), wanted in zip(found, planned[place], strict=True))
            if late > self.scenario.most_late:
                return f"a phase of job {place + 1} began {late:.2f} s late", []
            phases.append([(round(began, 3), seconds) for began, seconds in found])
        return "", phases

    def _run_job(self, turns: Turns, name: str, place: int, shape: Shape, start_at: float) -> tuple[int, str]:
        node = self.cluster.nodes[place]
        profile = self.profiles / f"{name}-{place + 1}"
        shutil.rmtree(profile, ignore_errors=True)
        starts = ",".join(f"{start:g}" for start in self.scenario.starts()[place])
        # All nodes have the same few processors: ranks that wait leave them to those that write.
        command = [*MPIRUN, str(shape.processes), "--mca", "mpi_yield_when_idle", "1"]
        command += [str(self.build / "bin" / "slicewise-load"), "--volume", f"{shape.volume_mib}M"]
        command += [
            "--transfer", f"{self.scenario.transfer_kib}K", "--fsync", "--remove", "--start-at", f"{start_at:.3f}",
        ]  # fmt: skip
        command += ["--phases-at", starts, str(servers.MOUNT_POINT / node.name)]
        settings = {"": turns.policy, "_AT": self.address, "_SECRET": str(self.secret), "_BURST": BURST_MIB}
        given = ["env", *(f"SLICEWISE_COORDINATE{key}={value}" for key, value in settings.items())]
        done = subprocess.run(
            node.command(*given, *profiled(self.scenario.slice_seconds, command, self.build, profile)),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=RUN_SECONDS, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    @contextlib.contextmanager
    def _coordinator(self, turns: Turns, log: Path) -> Iterator[None]:
        """Decides on a node of its own, whose way to the jobs is not the link."""
        node = self.cluster.nodes[2]
        log.unlink(missing_ok=True)
        command = [self.build / "bin" / "slicewise-collect", "coordinate", "--listen", self.address]
        command += ["--secret-file", self.secret, "--policy", turns.policy, "--metric", turns.metric, "--log", log]
        command += ["--delay", f"{self.scenario.delay:g}", "--capacity", f"{self.scenario.capacity * MIB:.0f}"]
        command += ["--idle-seconds", f"{IDLE_SECONDS:g}"]
        process = node.start(self.cluster.folder / "coordinator.log", *command)
        try:
            nodes.wait_for_port(node, COORDINATOR_PORT)
            yield
        finally:
            process.terminate()
            process.wait(RUN_SECONDS)


def main() -> None:
    """Records a scenario's runs; exits with status 1 and one line where it cannot."""
    parser = argparse.ArgumentParser(prog="testbed.policy_campaign")
    parser.add_argument("build", type=Path)
    parser.add_argument("profiles", type=Path)
    parser.add_argument("--scenario", choices=sorted(SCENARIOS), default="equal")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--until", type=float, default=math.inf, help="begin no run after this second of the clock")
    parser.add_argument("--timeout", type=float, default=7200)
    arguments = parser.parse_args()
    if nodes.is_isolated():
        _record(arguments)
        return
    nodes.require(
        "mpirun.openmpi",
        *servers.needs(SCENARIOS[arguments.scenario].server),
        str(arguments.build / "bin" / "slicewise-load"),
    )
    arguments.profiles.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="slicewise-testbed-") as folder:
        os.environ[FOLDER] = folder
        sys.exit(nodes.isolated("testbed.policy_campaign", *sys.argv[1:], timeout=arguments.timeout))


def _record(arguments: argparse.Namespace) -> None:
    profiles, scenario = arguments.profiles.resolve(), SCENARIOS[arguments.scenario]
    cluster = nodes.Cluster(Path(os.environ[FOLDER]), 3, f"{scenario.link_mbit}mbit")
    servers.SERVERS[scenario.server](cluster)
    warm_up(cluster, scenario.warm_up_mib)
    recorder = Recorder(cluster, arguments.build.resolve(), profiles, scenario)
    recorder.secret.write_text(os.urandom(32).hex())
    recorder.secret.chmod(0o600)
    log = profiles / "runs.jsonl"
    done = {json.loads(line)["run"] for line in log.read_text().splitlines()} if log.exists() else set()
    for repeat in range(1, arguments.repeats + 1):
        for turns in scenario.turns:
            if f"{scenario.name}-{turns.name}-{repeat}" in done:
                continue
            if time.time() > arguments.until:
                print(f"{scenario.name}-{turns.name}-{repeat}: not begun, for there is no time left", flush=True)
                continue
            with log.open("a") as runs:
                runs.write(json.dumps(recorder.run_until_good(turns, repeat)) + "\n")


if __name__ == "__main__":
    main()
