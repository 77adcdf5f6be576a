"""What jobs in a guest were told, held against their own stopwatch."""

import json
import os
import platform
from pathlib import Path

import pytest
from support.command_line import run_slicewise
from support.programs import BUILD, need
from testbed.guest import NoPackages, guest_in

HERE = Path(__file__).resolve().parents[1] / "guest"
TIMEOUT_SECONDS = 1800.0
# Of the loss.
MOST_ERROR = 0.15


def run_servers(out: Path, *scripts: str) -> Path:
    """Runs scripts of a file server and its clients in the guest; gives what they left: `profiles`, and `took`."""
    return run_in_guest(out, "nodes.sh", *scripts)


def run_in_guest(out: Path, *scripts: str) -> Path:
    """Runs scripts in the guest, one after the other as one; gives what they left. Skips where no guest can be made."""
    if platform.machine() != "x86_64" or not Path("/etc/debian_version").exists():
        pytest.skip("no guest: it is made of Debian's packages for x86-64")
    if os.geteuid() != 0:
        pytest.skip("no guest: reading this machine's root directory needs root")
    need("qemu-system-x86_64", "busybox", "cpio", "depmod", "apt-get")
    try:
        guest = guest_in(BUILD / "guest")
    except NoPackages as unreached:
        pytest.skip(f"no guest: {unreached}")
    guest.run([HERE / script for script in scripts], out, BUILD, TIMEOUT_SECONDS)
    return out


def seconds_of(ran: Path) -> dict[str, float]:
    """How long each writer took, by its own stopwatch."""
    return {name: float(seconds) for name, seconds in map(str.split, (ran / "took").read_text().splitlines())}


def assert_blamed(ran: Path, job: str, neighbour: str, most_elsewhere: float, most_error: float = MOST_ERROR) -> None:
    """What a job lost is told, and all of it, but for a part, is one neighbour's."""
    took = seconds_of(ran)
    done = run_slicewise("blame", job, "--alone", "alone", "--json", directory=ran / "profiles")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    lost = took[job] - took["alone"]
    assert lost > 1.0
    assert found["lost_seconds"]["value"] == pytest.approx(lost, rel=most_error)
    (one,) = [each for each in found["neighbours"] if each["job"]]
    assert one["job"] == neighbour
    assert one["lost_seconds"]["value"] == pytest.approx(lost, rel=most_elsewhere)
