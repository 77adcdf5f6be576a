"""Records jobs that lose time to each other, alone and in company, with the truth beside their profiles.

`python -m testbed.blame_campaign BUILD PROFILES --storage glusterfs` does the runs of `testbed.blame_plans` that are
not in PROFILES yet, each job under `slicewise run`, and leaves a profile a job, named RUN-PLACE. truth.jsonl there has
a line a run: of each job when it began, how long it took, and how long its calls took, all by its own clock. All else
that it made is gone when it ends, however it ends.
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
from dataclasses import dataclass
from pathlib import Path

from support.workload import MPIRUN

from testbed import cgroup, disk, loader, nodes, servers
from testbed.blame_plans import DISK, LIMIT_MIB_S, LINK, PLANS, STORAGES, Member, Run
from testbed.campaign import ATTEMPTS, MOST_APART, RUN_SECONDS, profiled, server_collector, warm_up

# From a run's launch to its start: the same for all, since a profile begins with it.
LEAD_SECONDS = 3.0
LATER_SECONDS = 2.0  # more, at each further attempt
LINE = re.compile(
    r"^\d+ processes \w+ (\d+) bytes in ([\d.]+) s: .*in calls ([\d.]+) s at most, ([\d.]+) s in the mean, "
    r"from ([\d.]+)$",
    re.MULTILINE,
)
FIO_JOB = Path(__file__).with_name("blame.fio")
# A line of IOR's: what was done, MiB/s, calls/s, latency, sizes of block and call, and seconds of opening, moving,
# closing and of all.
IOR_LINE = re.compile(r"^(?:write|read)\s+(?:[\d.]+\s+){8}([\d.]+)\s+\d+\s*$", re.MULTILINE)
IMAGE_SIZE = "4G"
# The same in each session, so that its runs are known to be on the same file system.
IMAGE_IDS = {
    "disk.img": "77770000-0000-4000-8000-000000000001",
    "elsewhere.img": "77770000-0000-4000-8000-000000000002",
}
GROUP = "TESTBED_GROUP"
FOLDER = "TESTBED_FOLDER"


class Network:
    """A file server, and a node with a mount of its own for each place of a run."""

    def __init__(self, storage: str, folder: Path, places: int, elsewhere: Path) -> None:
        self.cluster = nodes.Cluster(folder, places, LINK)
        _mount_image(folder / "elsewhere.img", elsewhere)
        # Mounts that are made later in the first namespace are in none of the nodes'.
        for node in self.cluster.nodes:
            node.run("mount", "--mkdir", _loop_of(elsewhere), elsewhere)
        servers.SERVERS[storage](self.cluster)
        warm_up(self.cluster)

    def command(self, place: int, words: list[str]) -> list[str]:
        return self.cluster.nodes[place].command(*words)


class LimitedDisk:
    """A disk behind a control group that all places share, reading and writing being limited apart."""

    cluster = None

    def __init__(self, folder: Path, elsewhere: Path) -> None:
        nodes.run("mount", "-t", "tmpfs", "-o", "size=6g", "testbed", folder)
        nodes.run("mount", "-t", "tmpfs", "testbed", "/dev/shm")
        nodes.run("mount", "-t", "tmpfs", "-o", "size=1m", "testbed-mnt", "/mnt")
        nodes.run("ip", "link", "set", "lo", "up")  # mpirun wants an interface
        _mount_image(folder / "elsewhere.img", elsewhere)
        _mount_image(folder / "disk.img", servers.MOUNT_POINT)
        self.group = Path(os.environ[GROUP])
        device = disk.block_device(servers.MOUNT_POINT)
        assert device is not None
        cgroup.limit_blkio(self.group, device, LIMIT_MIB_S * disk.MIB, ("read", "write"))

    def command(self, place: int, words: list[str]) -> list[str]:
        return ["sh", "-c", f'echo 0 > {self.group}/cgroup.procs && exec "$@"', f"place{place + 1}", *words]


@dataclass(frozen=True)
class Campaign:
    """Where a campaign's runs take place, and what is made of them."""

    storage: str
    build: Path
    profiles: Path
    elsewhere: Path
    loader: Path
    fio: Path
    where: Network | LimitedDisk

    def path(self, place: int, member: Member) -> Path:
        """What a job's files are named after; each place has files of its own."""
        folder = self.elsewhere if member.job.is_elsewhere else servers.MOUNT_POINT
        return folder / f"{member.name}-{place + 1}"

    def words(self, place: int, member: Member, start_at: float) -> list[str]:
        """A job's command line."""
        job = member.job
        words = self._filled(job.words, place, member, start_at)
        # All nodes have the same few processors: ranks that wait leave them to those that work.
        mpirun = [*MPIRUN, str(job.processes), "--mca", "mpi_yield_when_idle", "1"]
        if not job.is_load:
            return [*mpirun, *words] if job.is_mpi else words
        direct = ["--direct"] if self.storage == DISK and "--direct" not in words else []
        load = [str(self.build / "bin" / "slicewise-load"), "--start-at", f"{start_at:.3f}", *direct, *words]
        return [*mpirun, *load, str(self.path(place, member))]

    def prepare(self, place: int, member: Member) -> None:
        """Makes what a job reads, once for each place."""
        made = self.path(place, member).with_name(f"{self.path(place, member).name}-made")
        look = self.where.command(place, ["test", "-e", str(made)])
        if not member.job.prepares or subprocess.run(look, check=False).returncode == 0:
            return
        words = self._filled(member.job.prepares, place, member, 0)
        if member.job.is_load:
            words = [*MPIRUN, str(member.job.processes), *words]
        nodes.run(*self.where.command(place, [*words]))
        nodes.run(*self.where.command(place, ["touch", str(made)]))

    def _filled(self, text: str, place: int, member: Member, start_at: float) -> list[str]:
        given = {
            "file": self.path(place, member), "start": f"{start_at:.3f}", "loader": self.loader,
            "fio": self.fio, "load": self.build / "bin" / "slicewise-load",
        }  # fmt: skip
        return [word.format(**given) for word in shlex.split(text)]


def main() -> None:
    """Records a storage's runs; exits with status 1 and one line where it cannot."""
    parser = argparse.ArgumentParser(prog="testbed.blame_campaign")
    parser.add_argument("build", type=Path)
    parser.add_argument("profiles", type=Path)
    parser.add_argument("--storage", choices=STORAGES, default="glusterfs")
    parser.add_argument("--only", nargs="*", help="runs, in place of all of the plan's", metavar="JOB+JOB@DELAY")
    parser.add_argument("--part", type=int, default=0, help="of the storage's plan, from 1 on, in place of all")
    parser.add_argument(
        "--folder", type=Path, help="what all is mounted in; recordings with the same one are of one storage"
    )
    parser.add_argument("--until", type=float, default=math.inf, help="begin no run after this second of the clock")
    parser.add_argument("--timeout", type=float, default=7200)
    arguments = parser.parse_args()
    if nodes.is_isolated():
        _record(arguments)
        return
    needed = () if arguments.storage == DISK else servers.needs(arguments.storage)
    nodes.require("mpirun.openmpi", *needed, str(arguments.build / "bin" / "slicewise-load"))
    arguments.profiles.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as made:
        if arguments.folder is None:
            arguments.folder = Path(made.enter_context(tempfile.TemporaryDirectory(prefix="slicewise-testbed-")))
        os.environ[FOLDER] = str(arguments.folder.resolve())
        if arguments.storage == DISK:
            try:
                os.environ[GROUP] = str(made.enter_context(cgroup.blkio_group()))
            except OSError as reason:
                sys.exit(f"testbed: no control group limits a disk here: {reason}")
        sys.exit(nodes.isolated("testbed.blame_campaign", *sys.argv[1:], timeout=arguments.timeout))


def _record(arguments: argparse.Namespace) -> None:
    profiles, folder = arguments.profiles.resolve(), Path(os.environ[FOLDER])
    planned = [run for part in PLANS[arguments.storage] for run in part]
    runs = PLANS[arguments.storage][arguments.part - 1] if arguments.part else planned
    if arguments.only is not None:
        runs = list(map(Run, arguments.only))
    elsewhere = folder / "elsewhere"
    if arguments.storage == DISK:
        where = LimitedDisk(folder, elsewhere)
    else:
        where = Network(arguments.storage, folder, max(len(run.members) for run in runs), elsewhere)
    # Profiles tell the names of programs and of what Python reads: those of the testbed alone.
    loader_copy = Path(shutil.copy(loader.__file__, folder))
    fio_copy = Path(shutil.copy(FIO_JOB, folder))
    campaign = Campaign(arguments.storage, arguments.build.resolve(), profiles, elsewhere, loader_copy, fio_copy, where)
    truth = profiles / "truth.jsonl"
    done = {json.loads(line)["run"] for line in truth.read_text().splitlines()} if truth.exists() else set()
    for run in runs:
        if run.name in done:
            continue
        missing = [member.job.program for member in run.members if not nodes.is_installed(member.job.program)]
        if missing:
            print(f"{run.name}: left out, for it needs {missing[0]}", flush=True)
            continue
        if time.time() > arguments.until:
            print(f"{run.name}: not begun, for there is no time left", flush=True)
            continue
        with truth.open("a") as log:
            log.write(json.dumps(_run_until_good(campaign, run)) + "\n")


def _run_until_good(campaign: Campaign, run: Run) -> dict:
    for place, member in enumerate(run.members):
        campaign.prepare(place, member)
    for attempt in range(ATTEMPTS):
        wrong, found = _run_one(campaign, run, LEAD_SECONDS + attempt * LATER_SECONDS)
        seconds = ", ".join(f"{job['seconds']:.2f} s" for job in found)
        print(f"{run.name}: {wrong or 'ok'}, {seconds}", flush=True)
        if not wrong:
            return {
                "run": run.name, "storage": campaign.storage, "slice_seconds": run.slice_seconds,
                "attempts": attempt + 1, "jobs": found,
            }  # fmt: skip
    sys.exit(f"testbed: {run.name}: {wrong}")


def _run_one(campaign: Campaign, run: Run, lead: float) -> tuple[str, list[dict]]:
    """Runs the jobs of a run, `lead` seconds from now: what was wrong (empty: nothing), and the truth of each job."""
    start_at = math.ceil(10 * (time.time() + lead)) / 10
    with contextlib.ExitStack() as sampled, ThreadPoolExecutor(len(run.members)) as running:
        if run.is_sampled:
            sampled.enter_context(_server_sampled(campaign, run))
        told = list(running.map(lambda place: _run_job(campaign, run, place, start_at), range(len(run.members))))
    wrong = next((found for found, _ in told if found), "")
    if wrong:
        return wrong, []
    jobs = [job for _, job in told]
    began = [job["began"] - member.delay for job, member in zip(jobs, run.members, strict=True)]
    apart = max(began) - min(*began, start_at)
    return f"began {apart:.1f} s apart, which is too much" if apart > MOST_APART else "", jobs


def _run_job(campaign: Campaign, run: Run, place: int, start_at: float) -> tuple[str, dict]:
    member = run.members[place]
    start_at += member.delay
    profile = _profile(campaign, run, place)
    shutil.rmtree(profile, ignore_errors=True)
    command = profiled(run.slice_seconds, campaign.words(place, member, start_at), campaign.build, profile)
    if not member.job.has_clock:
        time.sleep(max(0.0, start_at - time.time()))
    began = time.time()
    done = subprocess.run(
        campaign.where.command(place, command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=RUN_SECONDS, check=False,
    )  # fmt: skip
    job = {"job": member.name, "profile": profile.name, "delay": member.delay}
    line = LINE.search(done.stdout)
    if done.returncode != 0 or (member.job.has_clock and line is None):
        return f"{member.name} failed with status {done.returncode}: {done.stdout}", job
    if line is None:
        seconds = time.time() - began
        return "", job | {"began": began, "seconds": seconds} | _in_calls(member.job.clock, done.stdout, seconds)
    moved, seconds, most, mean, began = map(float, line.groups())
    return "", job | {"began": began, "seconds": seconds, "in_calls": most, "in_calls_mean": mean, "bytes": int(moved)}


def _in_calls(clock: str, said: str, seconds: float) -> dict[str, float]:
    """Seconds in calls of the process with most, as other programs say them."""
    if clock == "runtime":
        return {"in_calls": seconds}
    if clock == "ior":
        return {"in_calls": sum(map(float, IOR_LINE.findall(said)))}
    jobs = json.loads(said[said.index("{") : said.rindex("}") + 1])["jobs"]
    latencies = [[job[kind]["lat_ns"] for kind in ("read", "write", "sync")] for job in jobs]
    return {"in_calls": max(sum(each["mean"] * each["N"] for each in kinds) for kinds in latencies) / 1e9}


def _profile(campaign: Campaign, run: Run, place: int) -> Path:
    return campaign.profiles / f"{run.name}-{place + 1}"


@contextlib.contextmanager
def _server_sampled(campaign: Campaign, run: Run) -> Iterator[None]:
    """What a collector on the server counts meanwhile goes to the first job's profile."""
    cluster = campaign.where.cluster
    assert cluster is not None, "a disk has no server"
    collector = server_collector(run.slice_seconds, cluster, campaign.build, _profile(campaign, run, 0))
    try:
        yield
    finally:
        collector.terminate()
        collector.wait(RUN_SECONDS)


def _mount_image(image: Path, point: Path) -> None:
    """A file system of its own on a file, which goes with the namespaces."""
    point.mkdir(parents=True, exist_ok=True)
    nodes.run("truncate", "-s", IMAGE_SIZE, image)
    nodes.run("mkfs.ext4", "-q", "-U", IMAGE_IDS[image.name], "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
    nodes.run("mount", "-o", "loop", image, point)


def _loop_of(point: Path) -> str:
    return next(line.split()[0] for line in Path("/proc/self/mounts").read_text().splitlines() if f" {point} " in line)


if __name__ == "__main__":
    main()
