"""Jobs on kernel clients of a real samba server, held against their own stopwatch. `make guest` runs it."""

import json
from pathlib import Path

import polars as pl
import pytest
from slicewise.profile.servers import read_servers
from support.command_line import run_slicewise
from support.programs import BUILD
from testbed.guest import guest_in

MIB = 1 << 20
TIMEOUT_SECONDS = 1800.0
# Of the loss.
MOST_ERROR, MOST_ELSEWHERE = 0.15, 0.25


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the guest left: `profiles`, and `took`."""
    out = tmp_path_factory.mktemp("guest")
    scripts = [Path(__file__).with_name(name) for name in ("nodes.sh", "samba_server.sh")]
    guest_in(BUILD / "guest").run(scripts, out, BUILD, TIMEOUT_SECONDS)
    return out


@pytest.mark.parametrize(("job", "neighbour"), [("victim", "10.9.0.12"), ("victim-of-other", "other")])
def test_who_cost_whom_how_much(ran, job, neighbour):
    took = {name: float(seconds) for name, seconds in map(str.split, (ran / "took").read_text().splitlines())}
    done = run_slicewise("blame", job, "--alone", "alone", "--json", directory=ran / "profiles")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    lost = took[job] - took["alone"]
    assert lost > 1.0
    assert found["lost_seconds"]["value"] == pytest.approx(lost, rel=MOST_ERROR)
    (one,) = [each for each in found["neighbours"] if each["job"]]
    assert one["job"] == neighbour
    assert one["lost_seconds"]["value"] == pytest.approx(lost, rel=MOST_ELSEWHERE)


def test_the_server_counts_what_clients_sent(ran):
    (place,) = (ran / "profiles").glob("servers.*")
    sums = read_servers([place]).rows.group_by("job").agg(pl.col("write_bytes").sum() / MIB)
    sent = {name: float(size) for name, size in sums.rows()}
    assert sent["10.9.0.12"] == pytest.approx(120, rel=0.05)
    assert sent["10.9.0.11"] == pytest.approx(400, rel=0.05)
    assert sent["10.9.0.13"] == pytest.approx(101, rel=0.05)
