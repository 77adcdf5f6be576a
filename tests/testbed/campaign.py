"""A campaign on the testbed: jobs alone and together on one server, round robin, every one under `slicewise run`.

`python -m testbed.campaign BUILD PROFILES --server glusterfs --runs "1 4 1+4"` leaves the profiles of all runs in
PROFILES, one job a directory, named RUN-REPEAT-PLACE. A run is jobs joined by +, a job PROCESSES, or PROCESSES/NODES;
with ~KIND it has further options of slicewise-load (--kind KIND=OPTIONS), and one that ends in ! is not profiled.
What a job reads (--read among its options) is made beforehand, while the servers' links are not limited.
What the server's own TCP counters moved in each run is in server-tcp.jsonl there, how many attempts each took and how
long its jobs by their own clock in runs.jsonl, and with --server-samples all that a
collector on the server samples is in each job's profile; with --bare each run is also done
without Slicewise, in turn, and seconds.jsonl there has how long each job of both took. All else that it made is gone
when it ends, however it ends; a run whose jobs began too far apart is done again.
"""

import argparse
import contextlib
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from support.workload import MPIRUN

from testbed import nodes, servers, slow_disk

MIB = 1 << 20
SECONDS_TO_START = 1.0
# Until those of a run are there, who are to begin together.
SECONDS_TO_GATHER = 1.5
SECONDS_TO_REACH_NODES = 1.5
# For each process beyond a dozen: all nodes have the same few processors.
SECONDS_MORE = 0.2
MANY = 12
MOST_APART = 0.3
LATER = 4.0  # times as long, at each further attempt
ATTEMPTS = 4
# A new connection's window is small: it grows before anything is measured.
WARM_UP_MIB = 6  # of a dozen files each
WARM_UP = "for i in $(seq 12); do dd if=/dev/zero of={file}-$i bs=1M count={mib} conv=fsync & done; wait"
RUN_SECONDS = 600


# PROCESSES[/NODES][*VOLUME_FACTOR][~KIND][@DELAY][!]
JOB = re.compile(r"(\d+)(?:/(\d+))?(?:\*([\d.]+))?(?:~([a-z]+))?(?:@([\d.]+))?(!?)")
# What stands for these in names of files.
IN_NAMES = {"/": "on", "*": "x", "~": "", "@": "after", "!": "unseen"}
# What is kept beside the profiles: counts of TCP, and attempts and the jobs' own clocks.
TCP, RUNS = "server-tcp.jsonl", "runs.jsonl"


@dataclass(frozen=True)
class Job:
    """A job of a run: its processes, the nodes that they are on, MiB, and seconds after the run's start; kind: what
    further options it has, by their name.
    """

    processes: int
    nodes: int
    volume_mib: int
    delay: float = 0.0
    kind: str | None = None
    is_profiled: bool = True


@dataclass(frozen=True)
class Plan:
    """What a campaign does. runs: "1 4 1+4", of jobs (see `JOB`). network: one of `nodes.NETWORKS`; kinds: further
    options of jobs of a kind.

    is_bare_too: each run is done without Slicewise as well. is_server_sampled: profiles hold the server's samples as
    well. program: another program than slicewise-load, with {file},
    {mib} (of the whole job) and {kib} (of each process) in its words; it counts from its launch, and has no delay.
    """

    server: str
    runs: list[str]
    repeats: int
    volume_mib: int
    slice_seconds: float
    options: list[str]
    link: str
    is_bare_too: bool = False
    is_server_sampled: bool = False
    program: str | None = None
    network: str = "steady"
    servers: int = 1
    kinds: dict[str, list[str]] = field(default_factory=dict)
    warm_up_mib: int = WARM_UP_MIB

    def jobs(self, run: str) -> list[Job]:
        found = []
        for text in run.split("+"):
            match = JOB.fullmatch(text)
            if match is None:
                raise SystemExit(
                    f"testbed: {text}: is no job; the form is PROCESSES[/NODES][*VOLUME][~KIND][@DELAY][!]"
                )
            processes, on, factor, kind, delay, unseen = match.groups()
            if kind and kind not in self.kinds:
                raise SystemExit(f"testbed: {text}: nothing says what {kind} is; give --kind {kind}=OPTIONS")
            if delay and self.program is not None:
                raise SystemExit(f"testbed: {text}: a job of --program cannot be delayed; leave out @{delay}")
            volume = round(self.volume_mib * float(factor or 1))
            found.append(Job(int(processes), int(on or 1), volume, float(delay or 0), kind, not unseen))
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
    parser.add_argument("--bare", action="store_true", help="do each run without Slicewise as well")
    parser.add_argument("--server-samples", action="store_true", help="let a collector sample the server, too")
    parser.add_argument(
        "--program", help="in place of slicewise-load; {file}, {mib} of the job and {kib} of a process are filled in"
    )
    parser.add_argument("--load", default="--fsync", help="further options of slicewise-load")
    parser.add_argument(
        "--kind", action="append", default=[], metavar="KIND=OPTIONS", help="of jobs ~KIND, in addition"
    )
    parser.add_argument("--network", choices=nodes.NETWORKS, default="steady")
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--warm-up", type=int, default=WARM_UP_MIB, metavar="MIB", help="written first, a dozen times")
    parser.add_argument("--first", type=int, default=1, help="number of the first repeat")
    parser.add_argument("--folder", type=Path, help="what all is mounted in, the same in each session of a campaign")
    arguments = parser.parse_args()
    plan = Plan(
        arguments.server, arguments.runs.split(), arguments.repeats, arguments.volume, arguments.slice,
        arguments.load.split(), arguments.link, arguments.bare,
        arguments.server_samples, arguments.program, arguments.network, arguments.servers,
        {name: options.split() for name, _, options in (kind.partition("=") for kind in arguments.kind)},
        arguments.warm_up,
    )  # fmt: skip
    if nodes.is_isolated():
        folder = Path(os.environ["TESTBED_FOLDER"])
        _run_all(plan, arguments.build.resolve(), arguments.profiles.resolve(), folder, arguments.first)
        return
    nodes.require("mpirun.openmpi", *servers.needs(plan.server), str(arguments.build / "bin" / "slicewise-load"))
    arguments.profiles.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="slicewise-testbed-") as folder:
        os.environ["TESTBED_FOLDER"] = str((arguments.folder or Path(folder)).resolve())
        with slow_disk.made() if servers.has_disk(plan.server) else contextlib.nullcontext():
            status = nodes.isolated("testbed.campaign", *sys.argv[1:], timeout=arguments.timeout)
        sys.exit(status)


def _run_all(plan: Plan, build: Path, profiles: Path, folder: Path, first: int) -> None:
    cluster = nodes.Cluster(folder, plan.nodes, plan.link, nodes.NETWORKS[plan.network], plan.servers)
    servers.SERVERS[plan.server](cluster)
    _make_what_is_read(plan, cluster, build)
    warm_up(cluster, plan.warm_up_mib)
    (profiles / "campaign.json").write_text(json.dumps(asdict(plan), indent=2) + "\n")
    for repeat in range(first, first + plan.repeats):
        for run in plan.runs:
            name = f"{run.translate(str.maketrans(IN_NAMES))}-{repeat}"
            seconds, counted, attempts = _run_until_good(plan, run, cluster, build, profiles / name)
            _log(profiles / TCP, {"run": name} | counted)
            _log(profiles / RUNS, {"run": name, "attempts": attempts, "seconds": seconds})
            if plan.is_bare_too:
                bare, _, _ = _run_until_good(plan, run, cluster, build, profiles / f"{name}-bare", is_profiled=False)
                _log(profiles / "seconds.jsonl", {"run": name, "profiled": seconds, "bare": bare})


def _make_what_is_read(plan: Plan, cluster: nodes.Cluster, build: Path) -> None:
    """The files of all jobs that read, written through the node that a job begins on and synced."""
    made = set()
    with cluster.unlimited(), slow_disk.unlimited() if servers.has_disk(plan.server) else contextlib.nullcontext():
        for run in plan.runs:
            for job, own in _places(plan, run, cluster):
                command = _load(plan, job, own, build)
                if "--read" not in command or (file := command[-1]) in made:
                    continue
                made.add(file)
                own[0].run(
                    *map(str, [*MPIRUN, job.processes, *(word for word in command if word != "--read"), "--fsync"])
                )


def _forget_what_was_read() -> None:
    """Drops what the kernel keeps of files, or readers find there what they read in an earlier run. What is not stored
    yet it keeps: whoever writes here syncs at the end.
    """
    Path("/proc/sys/vm/drop_caches").write_text("1")


def _places(plan: Plan, run: str, cluster: nodes.Cluster) -> Iterator[tuple[Job, list[nodes.Node]]]:
    """Each job of a run, and the nodes that it has."""
    left = list(cluster.nodes)
    for job in plan.jobs(run):
        yield job, left[: job.nodes]
        left = left[job.nodes :]


def warm_up(cluster: nodes.Cluster, mib: int = WARM_UP_MIB) -> None:
    """Lets each mount carry data, so that the first run finds it as the later ones do."""
    for node in cluster.nodes:
        file = servers.MOUNT_POINT / f"warm-up-{node.name}"
        node.run("sh", "-c", f"{WARM_UP.format(file=file, mib=mib)}; rm {file}-*")


def _log(file: Path, record: dict) -> None:
    with file.open("a") as log:
        log.write(json.dumps(record) + "\n")


def _run_until_good(
    plan: Plan, run: str, cluster: nodes.Cluster, build: Path, directory: Path, *, is_profiled: bool = True
) -> tuple[list[float], dict[str, int], int]:
    """Runs a run, again if its jobs do not begin together: seconds of each by its own clock, what the server's TCP
    counted, and how many attempts it took.
    """
    for attempt in range(ATTEMPTS):
        lead = SECONDS_TO_START * LATER**attempt
        before = _tcp_counters(cluster)
        wrong, seconds = _run_one(plan, run, cluster, build, directory, lead, is_profiled=is_profiled)
        print(f"{directory.name}: {wrong or 'ok'}, {', '.join(f'{each:.2f} s' for each in seconds)}", flush=True)
        if not wrong:
            after = _tcp_counters(cluster)
            return seconds, {counter: after[counter] - before[counter] for counter in after}, attempt + 1
    sys.exit(f"testbed: {directory.name}: {wrong}")


def _tcp_counters(cluster: nodes.Cluster) -> dict[str, int]:
    """The first server's counters, and how much all nodes sent again."""
    again = sum(node.tcp_counters()[nodes.SENT_AGAIN] for node in cluster.nodes)
    return {**cluster.server.tcp_counters(), "RetransSegs of all nodes": again}


def _run_one(
    plan: Plan, run: str, cluster: nodes.Cluster, build: Path, directory: Path, lead: float, *, is_profiled: bool
) -> tuple[str, list[float]]:
    """Runs the jobs of a run, `lead` seconds from now: what was wrong (empty: nothing), and the seconds of each."""
    jobs = plan.jobs(run)
    _forget_what_was_read()
    if len(jobs) > 1:
        lead += SECONDS_TO_GATHER + SECONDS_TO_REACH_NODES * any(job.nodes > 1 for job in jobs)
    lead += SECONDS_MORE * max(sum(job.processes for job in jobs) - MANY, 0)
    start_at = math.ceil(10 * (time.time() + lead)) / 10
    running, collectors = [], []
    for place, (job, own) in enumerate(_places(plan, run, cluster)):
        command = _command(plan, job, own, cluster, build, start_at + job.delay)
        if is_profiled and job.is_profiled:
            profile = directory.with_name(f"{directory.name}-{place + 1}")
            shutil.rmtree(profile, ignore_errors=True)
            command = profiled(plan.slice_seconds, command, build, profile)
            if plan.is_server_sampled:
                collectors.append(server_collector(plan.slice_seconds, cluster, build, profile))
        running.append(
            subprocess.Popen(
                own[0].command(*command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                stdin=subprocess.DEVNULL,
            )
        )  # fmt: skip
    launched = time.time()
    with ThreadPoolExecutor(len(running)) as waiting:
        ended = list(waiting.map(_end_of, running))
    for collector in collectors:
        collector.terminate()
        collector.wait(RUN_SECONDS)
    began = []
    for process, job, (said, end) in zip(running, jobs, ended, strict=True):
        line = re.search(r"^.* in ([0-9.]+) s: .*from ([0-9.]+)$", said, re.MULTILINE)
        if plan.program is not None:
            line = ("", end - launched, launched)
        if process.returncode != 0 or line is None:
            return f"failed with status {process.returncode}: {said}", []
        began.append((float(line[2]) - job.delay, float(line[1])))
    apart = max(start for start, _ in began) - min(start for start, _ in began)
    wrong = f"began {apart:.1f} s apart, which is too much" if apart > MOST_APART else ""
    return wrong, [seconds for _, seconds in began]


def _end_of(process: subprocess.Popen[str]) -> tuple[str, float]:
    return process.communicate(timeout=RUN_SECONDS)[0], time.time()


def _command(
    plan: Plan, job: Job, own: list[nodes.Node], cluster: nodes.Cluster, build: Path, start_at: float
) -> list[str]:
    if plan.program is None:
        load = [*_load(plan, job, own, build)]
        load[1:1] = ["--start-at", f"{start_at:.3f}"]
    else:
        sizes = {"mib": job.volume_mib, "kib": job.volume_mib * 1024 // job.processes}
        file = servers.MOUNT_POINT / own[0].name
        load = [word.format(file=file, **sizes) for word in shlex.split(plan.program)]
    mpirun = [*MPIRUN, job.processes]
    if len(own) > 1:
        each = -(-job.processes // len(own))
        mpirun += ["--mca", "plm_rsh_agent", cluster.agent, "--mca", "plm_rsh_no_tree_spawn", "1"]
        mpirun += ["--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0"]
        # All nodes have the same few processors: ranks that wait leave them to those that work.
        mpirun += ["--mca", "mpi_yield_when_idle", "1"]
        mpirun += ["--host", ",".join(f"{node.name}:{each}" for node in own)]
    return [str(word) for word in [*mpirun, *load]]


def _load(plan: Plan, job: Job, own: list[nodes.Node], build: Path) -> list[str | Path]:
    """slicewise-load as a job has it, without a start. What is read stays where it is, written files do not."""
    load = [build / "bin" / "slicewise-load", "--volume", f"{job.volume_mib}M"]
    load += [*plan.options, *plan.kinds.get(job.kind or "", [])]
    if "--read" in load:
        return [*load, servers.MOUNT_POINT / f"{own[0].name}-read-by-{job.processes}"]
    return [*load, "--remove", servers.MOUNT_POINT / own[0].name]


def profiled(slice_seconds: float, command: list[str], build: Path, profile: Path) -> list[str]:
    """A command under `slicewise run`, whose profile is the directory `profile`."""
    run = [build / "bin" / "slicewise", "run", "--dir", profile.parent, "--job", profile.name]
    return [*map(str, run), "--slice", f"{slice_seconds:g}", "--", *command]


def server_collector(
    slice_seconds: float, cluster: nodes.Cluster, build: Path, profile: Path
) -> subprocess.Popen[bytes]:
    """Samples the server for a job's profile. It has its segment elsewhere: all nodes here have one /dev/shm."""
    segments = cluster.folder / "server-segments"
    segments.mkdir(exist_ok=True)
    settings = {"DIR": profile.parent, "SLICE": f"{slice_seconds:g}", "SEGMENT_DIR": segments}
    given = ["env", *(f"SLICEWISE_{name}={value}" for name, value in settings.items())]
    collector = [build / "bin" / "slicewise-collect", "node", "--samples", "--job", profile.name]
    return cluster.server.start(cluster.folder / "collectors.log", *given, *collector)


if __name__ == "__main__":
    main()
