"""Jobs on kernel clients of a real samba server, held against their own stopwatch. `make guest` runs it."""

from pathlib import Path

import polars as pl
import pytest
from slicewise.profile.servers import read_servers
from support.guests import assert_blamed, run_servers

MIB = 1 << 20


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_servers(tmp_path_factory.mktemp("guest"), "samba_server.sh")


@pytest.mark.parametrize(("job", "neighbour"), [("victim", "10.9.0.12"), ("victim-of-other", "other")])
def test_who_cost_whom_how_much(ran, job, neighbour):
    assert_blamed(ran, job, neighbour, 0.25)


def test_the_server_counts_what_clients_sent(ran):
    (place,) = (ran / "profiles").glob("servers.*")
    sums = read_servers([place]).rows.group_by("job").agg(pl.col("write_bytes").sum() / MIB)
    sent = {name: float(size) for name, size in sums.rows()}
    assert sent["10.9.0.12"] == pytest.approx(120, rel=0.05)
    assert sent["10.9.0.11"] == pytest.approx(400, rel=0.05)
    assert sent["10.9.0.13"] == pytest.approx(101, rel=0.05)
