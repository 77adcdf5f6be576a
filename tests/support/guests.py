"""What jobs in a guest were told, held against their own stopwatch."""

import json
from pathlib import Path

import pytest
from support.command_line import run_slicewise
from support.programs import BUILD
from testbed.guest import guest_in

HERE = Path(__file__).resolve().parents[1] / "guest"
TIMEOUT_SECONDS = 1800.0
# Of the loss.
MOST_ERROR = 0.15


def run_servers(script: str, out: Path) -> Path:
    """Runs a script of a file server and its clients in the guest; gives what it left: `profiles`, and `took`."""
    return run_in_guest(out, "nodes.sh", script)


def run_in_guest(out: Path, *scripts: str) -> Path:
    """Runs scripts in the guest, one after the other as one; gives what they left."""
    guest_in(BUILD / "guest").run([HERE / script for script in scripts], out, BUILD, TIMEOUT_SECONDS)
    return out


def seconds_of(ran: Path) -> dict[str, float]:
    """How long each writer took, by its own stopwatch."""
    return {name: float(seconds) for name, seconds in map(str.split, (ran / "took").read_text().splitlines())}


def assert_blamed(ran: Path, job: str, neighbour: str, most_elsewhere: float) -> None:
    """What a job lost is told, and all of it, but for a part, is one neighbour's."""
    took = seconds_of(ran)
    done = run_slicewise("blame", job, "--alone", "alone", "--json", directory=ran / "profiles")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    lost = took[job] - took["alone"]
    assert lost > 1.0
    assert found["lost_seconds"]["value"] == pytest.approx(lost, rel=MOST_ERROR)
    (one,) = [each for each in found["neighbours"] if each["job"]]
    assert one["job"] == neighbour
    assert one["lost_seconds"]["value"] == pytest.approx(lost, rel=most_elsewhere)
