"""A campaign on the testbed: jobs alone and together on one server, round robin, every one under `slicewise run`.

`python -m testbed.campaign BUILD PROFILES --server glusterfs --runs "1 4 1+4"` leaves the profiles of all runs in
PROFILES, one job a directory, named RUN-REPEAT-PLACE. A run is jobs joined by +, a job PROCESSES, or PROCESSES/NODES.
What the server's own TCP counters moved in each run is in server-tcp.jsonl there. All else that it made is gone when it
ends, however it ends; a run whose jobs began too far apart is done again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from testbed import nodes, servers

MIB = 1 << 20
SECONDS_TO_START = 2.5
MOST_APART = 1.0
LATER = 4.0  # times as long, at each further attempt
ATTEMPTS = 4
RUN_SECONDS = 600


@dataclass(frozen=True)
class Job:
    """A job of a run: its processes, the nodes that they are on, MiB, and seconds after the run's start."""

    processes: int
    nodes: int
    volume_mib: int
    delay: float = 0.0


@dataclass(frozen=True)
class Plan:
    """What a campaign does. runs: "1 4 1+4"; a job is PROCESSES[/NODES][*VOLUME_FACTOR][@DELAY]."""

    server: str
    runs: list[str]
    repeats: int
    volume_mib: int
    slice_seconds: float
    options: list[str]
    link: str

    def jobs(self, run: str) -> list[Job]:
        """The jobs of a run."""
        found = []
        for text in run.split("+"):
            match = re.fullmatch(r"(\d+)(?:/(\d+))?(?:\*([\d.]+))?(?:@([\d.]+))?", text)
            if match is None:
                raise SystemExit(f"testbed: {text}: is no job; the form is PROCESSES[/NODES][*VOLUME][@DELAY]")
            processes, on, factor, delay = match.groups()
            volume = round(self.volume_mib * float(factor or 1))
            found.append(Job(int(processes), int(on or 1), volume, float(delay or 0)))
        return found

    @property
    def nodes(self) -> int:
        """How many nodes the largest run takes; jobs share none."""
        return max(sum(job.nodes for job in self.jobs(run)) for run in self.runs)


def main() -> None:
    """Runs a campaign; exits with status 1 and one line where it cannot."""
    parser = argparse.ArgumentParser(prog="testbed.campaign")
    parser.add_argument("build", type=Path)
    parser.add_argument("profiles", type=Path)
    parser.add_argument("--server", choices=sorted(servers.SERVERS), default="glusterfs")
    parser.add_argument("--runs", default="1 4 1+4")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--volume", type=int, default=192, metavar="MIB")
    parser.add_argument("--slice", type=float, default=0.25)
    parser.add_argument("--timeout", type=float, default=3600)
    parser.add_argument("--link", default=nodes.LINK, help="rate of the link to the server, as tc takes it")
    parser.add_argument("--load", default="--fsync", help="further options of slicewise-load")
    arguments = parser.parse_args()
    plan = Plan(
        arguments.server, arguments.runs.split(), arguments.repeats, arguments.volume, arguments.slice,
        arguments.load.split(), arguments.link,
    )  # fmt: skip
    if nodes.is_isolated():
        _run_all(plan, arguments.build.resolve(), arguments.profiles.resolve(), Path(os.environ["TESTBED_FOLDER"]))
        return
    try:
        nodes.require("mpirun.openmpi", *servers.needs(plan.server), str(arguments.build / "bin" / "slicewise-load"))
    except nodes.Missing as reason:
        sys.exit(f"testbed: {reason}")
    arguments.profiles.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="slicewise-testbed-") as folder:
        os.environ["TESTBED_FOLDER"] = folder
        sys.exit(nodes.isolated("testbed.campaign", *sys.argv[1:], timeout=arguments.timeout))


def _run_all(plan: Plan, build: Path, profiles: Path, folder: Path) -> None:
    cluster = nodes.Cluster(folder, plan.nodes, plan.link)
    servers.SERVERS[plan.server](cluster)
    (profiles / "campaign.json").write_text(json.dumps(asdict(plan), indent=2) + "\n")
    for repeat in range(1, plan.repeats + 1):
        for run in plan.runs:
            name = f"{run.replace('/', 'on').replace('*', 'x').replace('@', 'after')}-{repeat}"
            for attempt in range(ATTEMPTS):
                lead = SECONDS_TO_START * LATER**attempt
                before = cluster.server.tcp_counters()
                said = _run_one(plan, plan.jobs(run), cluster, build, profiles, name, lead)
                print(f"{name}: {said}", flush=True)
                if said.startswith("ok"):
                    after = cluster.server.tcp_counters()
                    counted = {counter: after[counter] - before[counter] for counter in after}
                    with (profiles / "server-tcp.jsonl").open("a") as log:
                        log.write(json.dumps({"run": name} | counted) + "\n")
                    break
            else:
                sys.exit(f"testbed: {name}: {said}")


def _run_one(
    plan: Plan, jobs: list[Job], cluster: nodes.Cluster, build: Path, profiles: Path, name: str, lead: float
) -> str:
    """Runs the jobs of a run, `lead` seconds from now; what came of it, beginning with "ok" if it is of use."""
    start_at = math.ceil(10 * (time.time() + lead + 0.5 * max(job.nodes > 1 for job in jobs))) / 10
    left = list(cluster.nodes)
    running = []
    for place, job in enumerate(jobs):
        own, left = left[: job.nodes], left[job.nodes :]
        directory = profiles / f"{name}-{place + 1}"
        shutil.rmtree(directory, ignore_errors=True)
        command = _command(plan, job, own, cluster, build, directory, start_at + job.delay)
        running.append(
            subprocess.Popen(
                own[0].command(*command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                stdin=subprocess.DEVNULL,
            )
        )  # fmt: skip
    began = []
    for process, job in zip(running, jobs, strict=True):
        said = process.communicate(timeout=RUN_SECONDS)[0]
        line = re.search(r"^.* in ([0-9.]+) s: .*from ([0-9.]+)$", said, re.MULTILINE)
        if process.returncode != 0 or line is None:
            return f"failed with status {process.returncode}: {said}"
        began.append((float(line[2]) - job.delay, float(line[1])))
    apart = max(start for start, _ in began) - min(start for start, _ in began)
    if apart > MOST_APART:
        return f"began {apart:.1f} s apart, which is too much"
    return "ok, " + ", ".join(f"{seconds:.2f} s" for _, seconds in began) + f", {1000 * apart:.0f} ms apart"


def _command(
    plan: Plan, job: Job, own: list[nodes.Node], cluster: nodes.Cluster, build: Path, directory: Path, start_at: float
) -> list[str]:
    file = servers.MOUNT_POINT / f"{own[0].name}"
    load = [build / "bin" / "slicewise-load", "--volume", f"{job.volume_mib}M", "--start-at", f"{start_at:.3f}"]
    mpirun = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", job.processes]
    if len(own) > 1:
        each = -(-job.processes // len(own))
        mpirun += ["--mca", "plm_rsh_agent", cluster.agent, "--mca", "plm_rsh_no_tree_spawn", "1"]
        mpirun += ["--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0"]
        mpirun += ["--host", ",".join(f"{node.name}:{each}" for node in own)]
    run = [build / "bin" / "slicewise", "run", "--dir", directory.parent, "--job", directory.name]
    run += ["--slice", f"{plan.slice_seconds:g}", "--", *mpirun, *load, *plan.options, "--remove", file]
    return [str(word) for word in run]


if __name__ == "__main__":
    main()
