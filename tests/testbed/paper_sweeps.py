"""Runs every panel of every shipped plan on the testbed, and keeps what each one shows, as data.

`python -m testbed.paper_sweeps --run BUILD DIR [PLAN...]` (as root): each plan as `testbed.sweep` runs it, with the
volumes and offsets below, which are smaller than the plans' own. DIR/PLAN has the profiles, DIR/load.csv the machine's
load. What is recorded is not run again.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from slicewise.running.delta_campaign import shipped_plans
from slicewise.toml import tomllib

from testbed.disk import block_device
from testbed.sweep import STRIPED, TWO_DISKS

Settings = Mapping[str, str | float]
# Offsets of all plans but `pairs`, whose jobs begin together.
OFFSETS: Settings = {"from": -3, "to": 3, "step": 3}
# Half as many writers as the plans have, where these are not what a panel is about.
FEWER: Settings = {"processes": 8, "hosts_a": "n1:4,n2:4", "hosts_b": "n3:4,n4:4"}
SECONDS_BETWEEN_LOADS = 5.0
# Stands for the disk's numbers, MAJOR:MINOR.
DISK = "DISK"


@dataclass(frozen=True)
class Sweep:
    """How a plan is run: the testbed's server, its link and disk, settings of all panels, and of single ones."""

    server: str
    link: str
    disk_mib_s: int
    settings: Settings
    panels: Mapping[str, Settings] = field(default_factory=dict)


SWEEPS = {
    "device": Sweep(
        TWO_DISKS, "400mbit", 24, {**OFFSETS, "volume": "150M"}, {
            "memory-sync": {"volume": "280M"}, "memory": {"volume": "280M"},
            "throttled-sync": {
                "volume": "48M", "limit": "/mnt/group/blkio.throttle.write_bps_device", "slow": f"{DISK} {8 << 20}",
                "free": f"{DISK} {24 << 20}",
            },
        },
    ),
    "network": Sweep(
        "glusterfs", "1gbit", 0, OFFSETS, {
            "as-it-is": {"volume": "600M"}, "400-mbit": {"volume": "280M"}, "100-mbit": {"volume": "72M"},
            "400-mbit-small-queue": {"volume": "16M"},
        },
    ),
    "servers": Sweep(
        STRIPED, "100mbit", 0, OFFSETS, {
            "1-server": {"volume": "72M"}, "2-servers": {"volume": "144M"}, "4-servers": {"volume": "288M"},
            "4-servers-partitioned": {"volume": "144M"}, "file-system-each": {"volume": "72M"},
        },
    ),
    "writers": Sweep(TWO_DISKS, "400mbit", 24, {**OFFSETS, "volume": "144M"}),
    "request": Sweep(TWO_DISKS, "400mbit", 12, {**OFFSETS, "volume": "72M"}),
    "sizes": Sweep(
        TWO_DISKS, "400mbit", 24, {**OFFSETS, "volume_a": "144M"}, {
            name: {"volume_b": volume}
            for sync in ("on", "off")
            for name, volume in {
                f"equal-sync-{sync}": "144M", f"a-quarter-sync-{sync}": "36M", f"a-sixteenth-sync-{sync}": "9M",
            }.items()
        },
    ),
    # Blocks of the testbed's servers are 64 times as large as the plan's stripes, and so are these requests.
    "stripe": Sweep(
        STRIPED, "100mbit", 0,
        {**OFFSETS, **FEWER, "volume": "256M", "request": "16M"},
    ),
    "pairs": Sweep(
        TWO_DISKS, "400mbit", 24, {**FEWER, "volume": "144M", "repeat": 1}, {
            "link-alone": {"volume": "280M"},
            **{
                f"block-1-of-{ratio}": {
                    "volume": "256M", "transfer": "64K", "access_a": f"--shared --block {block}",
                    "access_b": f"--shared --block {block}",
                }
                for ratio, block in ((4096, "64K"), (256, "1M"), (16, "16M"))
            },
        },
    ),
}  # fmt: skip


def plan_of(name: str, disk: str) -> str:
    """The text of a shipped plan with the settings of its sweep. disk: MAJOR:MINOR."""
    told = tomllib.loads(shipped_plans()[name].read_text(encoding="utf-8"))
    sweep = SWEEPS[name]
    panels = told.pop("panel")
    lines = [_line(*setting) for setting in {**told, **sweep.settings}.items()]
    for panel in panels:
        lines += ["", "[[panel]]"]
        lines += [_line(*setting) for setting in {**panel, **sweep.panels.get(panel["name"], {})}.items()]
    return ("\n".join(lines) + "\n").replace(DISK, disk)


def _line(key: str, value: str | float) -> str:
    return f"{key} = {json.dumps(value)}"  # a string of JSON is one of TOML


def run(build: Path, directory: Path, plan: str) -> int:
    """Runs a plan's panels that are not recorded yet; gives the status of `slicewise study sweep`."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"{plan}.toml"
    major, minor = block_device(build) or (0, 0)  # where there is none, `testbed.sweep` says so
    file.write_text(plan_of(plan, f"{major}:{minor}"), encoding="utf-8")
    sweep = SWEEPS[plan]
    command = [sys.executable, "-m", "testbed.sweep", build, directory / plan, sweep.server, file, "--link", sweep.link]
    with _load_recorded(directory / "load.csv"):
        return subprocess.run([*command, "--disk-mib-s", str(sweep.disk_mib_s)], check=False).returncode


@contextlib.contextmanager
def _load_recorded(file: Path) -> Iterator[None]:
    """Meanwhile a line every few seconds: the time (s), the load of the last minute, processes that want to run."""
    ended = threading.Event()

    def record() -> None:
        with file.open("a", encoding="utf-8") as log:
            while not ended.wait(SECONDS_BETWEEN_LOADS):
                load, _, _, running, _ = Path("/proc/loadavg").read_text(encoding="utf-8").split()
                log.write(f"{time.time():.0f},{load},{running.partition('/')[0]}\n")
                log.flush()

    thread = threading.Thread(target=record)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def main() -> None:
    """Runs them; the status is that of the last plan that failed."""
    parser = argparse.ArgumentParser(prog="testbed.paper_sweeps")
    parser.add_argument("--run", nargs=2, type=Path, required=True, metavar=("BUILD", "DIR"))
    parser.add_argument("plans", nargs="*")
    given = parser.parse_args()
    build, directory = (path.resolve() for path in given.run)
    status = 0
    for plan in given.plans or SWEEPS:
        status = run(build, directory, plan) or status
    sys.exit(status)


if __name__ == "__main__":
    main()
