"""The recorded campaigns: runs them, packs them, reads what they hold.

`python -m testbed.recordings --run BUILD CAMPAIGNS` makes a directory of profiles in CAMPAIGNS for each of `PLANS`, of
`usual_plans.PLANS` and of `blame_plans.STORAGES`: what is there already is not run again. `--pack CAMPAIGNS ARCHIVES`
makes an archive of each.
"""

import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
from slicewise.analysis.campaign.result import CampaignResult, result_of
from slicewise.analysis.delta import DeltaGraph, graph_and_evidence
from slicewise.analysis.runs.campaign import Campaign, campaign
from slicewise.analysis.sharing.weights import Weighting
from slicewise.digest.digest import Digest
from slicewise.digest.shared import several
from slicewise.profile.files import job_places
from support.folders import folder_for_life

from testbed import blame_plans, servers, usual_plans
from testbed.nodes import ENDS_WITH_PARENT, is_installed
from testbed.slim import slim

PAIRS = "1+4 1+12 2+6 2+10 4+12 6+10 10+12"
ALONE = "1 2 4 6 10 12"
ON_NODES = "2/1 4/2 6/3 10/5 2/1+6/3 4/2+10/5 2/1+10/5"
MORE = "1+4+6@1 2+4*0.5@1+6+10*1.5@2"
OFFSETS = "4 4@4+4 4@2+4 4+4 4+4@2 4+4@4"
# So much that a job alone takes some seconds, and all campaigns an hour; and small calls, so that 22 of them wait in
# the link's queue for less time than TCP gives an answer (200 ms).
SIZES = ["--volume", "128", "--load", "--fsync --transfer 256K"]
DELTA = ["--load", "--fsync --transfer 256K", "--server-samples"]
SHARED = ["--volume", "128", "--load", "--fsync --transfer 256K --shared"]
# name: server, runs, repeats, further options
PLANS: dict[str, tuple[str, str, int, list[str]]] = {
    "glusterfs": ("glusterfs", f"{ALONE} {PAIRS} {ON_NODES} {MORE}", 5, SIZES),
    "sshfs": ("sshfs", f"{ALONE} {PAIRS} {ON_NODES} {MORE}", 5, SIZES),
    "glusterfs-shared": ("glusterfs", f"{ALONE} {PAIRS} {ON_NODES}", 5, SHARED),
    "sshfs-shared": ("sshfs", f"{ALONE} {PAIRS} {ON_NODES}", 5, SHARED),
    "one-size": ("glusterfs", "4 4+4", 3, SIZES),
    "delta-glusterfs": ("glusterfs", OFFSETS, 3, DELTA),
    "delta-turns": ("sshfs-turns", OFFSETS, 3, DELTA),
    "delta-slow": ("sshfs-slow", OFFSETS, 3, ["--volume", "96", *DELTA]),
    "cephfs": ("cephfs", f"{ALONE} {PAIRS} {MORE}", 3, SIZES),
}
# Left out where their servers are not installed.
OPTIONAL = {"cephfs"}


def main() -> None:
    """Runs campaigns, or packs them."""
    does = {"--run": run_campaigns, "--pack": pack}[sys.argv[1]]
    does(Path(sys.argv[2]), Path(sys.argv[3]))


def run_campaigns(build: Path, campaigns: Path) -> None:
    """Runs those campaigns whose profiles are not there; stops at the first that cannot be run."""
    for name, arguments in _commands(build, campaigns).items():
        if (campaigns / name / "complete").exists():
            continue
        if name in OPTIONAL and not all(map(is_installed, servers.needs(name))):
            print(f"recordings: {name}: left out, for it needs {', '.join(servers.needs(name))}", flush=True)
            continue
        command = [*ENDS_WITH_PARENT, sys.executable, "-m", *arguments, "--timeout", "7200"]
        if subprocess.run(command, check=False).returncode != 0:
            sys.exit(f"recordings: {name}: the campaign failed")
        (campaigns / name / "complete").touch()


def _commands(build: Path, campaigns: Path) -> dict[str, list[str]]:
    """The module that records each campaign, and its arguments."""
    found = {}
    for name, (server, runs, repeats, options) in PLANS.items():
        found[name] = ["testbed.campaign", str(build), str(campaigns / name), "--server", server]
        found[name] += ["--runs", runs, "--repeats", str(repeats), *options]
    for name, plan in usual_plans.PLANS.items():
        repeats = ["--repeats", str(usual_plans.REPEATS)]
        found[name] = ["testbed.campaign", str(build), str(campaigns / name), *plan.arguments(plan.runs), *repeats]
    for storage in blame_plans.STORAGES:
        name = blame_plans.recording_of(storage)
        found[name] = ["testbed.blame_campaign", str(build), str(campaigns / name), "--storage", storage]
    return found


def pack(campaigns: Path, archives: Path) -> None:
    """Makes an archive of each campaign that is complete; of those of `usual_plans`, of what is looked at there."""
    for name in _commands(Path(), campaigns):
        if not (campaigns / name / "complete").exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            packed = Path(shutil.copytree(campaigns / name, Path(folder) / name))
            if name in usual_plans.PLANS:
                slim(packed)
            shutil.make_archive(str(archives / name), "xztar", folder, name)


@functools.cache
def unpacked(directory: Path) -> Path:
    """Where campaigns lie that `directory` has archives of, as long as this process lives; itself if it has none."""
    archives = sorted(directory.glob("*.tar.xz"))
    if not archives:
        return directory
    target = folder_for_life("slicewise-campaigns-")
    for archive in archives:
        shutil.unpack_archive(archive, target)
    return target


@functools.cache
def _digests(directory: Path) -> list[Digest]:
    """A directory of profiles, read once."""
    return several(job_places([directory]))


@functools.cache
def read_campaign(directory: Path) -> Campaign:
    """What a directory of profiles holds, of writing."""
    return campaign(_digests(directory), "write")


@functools.cache
def read_result(directory: Path) -> CampaignResult:
    """What `slicewise study campaign` shows of a directory of profiles."""
    return result_of(read_campaign(directory))


@functools.cache
def read_delta(directory: Path) -> tuple[DeltaGraph, pl.DataFrame]:
    """The Delta-graph of a directory's profiles, and the evidence for causes in them."""
    data = campaign(_digests(directory), "write", is_by_name=True, may_be_apart=True)
    return graph_and_evidence(directory.name, data, Weighting("processes"))


if __name__ == "__main__":
    main()
