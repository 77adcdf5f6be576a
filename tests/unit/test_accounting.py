"""Which job a client of the file servers was, by a scheduler's accounting and by the nodes of profiled jobs."""

import time
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from slicewise.digest import clients
from slicewise.digest.digest import read_digest
from slicewise.errors import UserError
from slicewise.imports.jobstats import is_accounting, nodes_in, read_accounting, read_served
from slicewise.imports.served_jobs import write_job, write_jobs
from slicewise.imports.write_servers import write_servers

BEGIN = 1_795_687_200  # 2026-11-26 10:00 UTC
MIB = 1 << 20
SACCT = """JobID|JobName|NodeList|Start|End
12|sim|n[1-2]|2026-11-26T10:00:00+00:00|2026-11-26T11:00:00+00:00
12.batch|sim|n1|2026-11-26T10:00:00+00:00|2026-11-26T11:00:00+00:00
13|post|n3|2026-11-26T10:00:00+00:00|Unknown
14|a|n4|2026-11-26T10:00:00+00:00|2026-11-26T11:00:00+00:00
15|b|n4|2026-11-26T10:00:00+00:00|2026-11-26T11:00:00+00:00
16|never|None assigned|Unknown|Unknown
"""
CLIENTS = ["10.0.0.1@tcp", "10.0.0.2:789", "n3.cluster", "n4", "10.9.9.9"]


@pytest.fixture(autouse=True)
def hosts(tmp_path, monkeypatch):
    """The machine's table of addresses."""
    table = tmp_path / "of-hosts"
    table.write_text("127.0.0.1 localhost n9\n10.0.0.1 n1.cluster n1 # first\n10.0.0.2 n2\n")
    monkeypatch.setattr(clients, "HOSTS", table)
    clients._names.cache_clear()
    yield
    clients._names.cache_clear()


@pytest.fixture
def kept(tmp_path) -> Path:
    """A directory with a file server's counts by client, and with the scheduler's accounting."""
    where = tmp_path / "kept"
    where.mkdir()
    rows = [f"{BEGIN + 10},{BEGIN + 14},{client},fs,{(at + 1) * MIB}" for at, client in enumerate(CLIENTS)]
    (where / "clients.csv").write_text("begin,end,client,target,write_bytes\n" + "\n".join(rows) + "\n")
    (where / "sacct.txt").write_text(SACCT)
    return where


def moved(rows: pl.DataFrame) -> dict[tuple[str, bool], int]:
    return {
        (job, is_client): size // MIB
        for job, is_client, size in rows.group_by("job", "is_client").agg(pl.col("write_bytes").sum()).iter_rows()
    }


def test_clients_are_the_jobs_that_had_their_nodes(kept):
    """Whose a node's traffic was that two jobs had, or that nobody knows, is not known: it stays the node's."""
    assert moved(read_served([kept])) == {
        ("12", False): 1 + 2, ("13", False): 3, ("n4", True): 4, ("10.9.9.9", True): 5,
    }  # fmt: skip


def test_a_job_had_its_nodes_for_its_own_time_alone(kept):
    late = SACCT.replace("T10:00:00+00:00|Unknown", "T10:00:12+00:00|Unknown").replace("T11:", "T09:")
    (kept / "sacct.txt").write_text(late)
    assert moved(read_served([kept]))[("13", False)] == 3  # it began while the bytes were moved
    assert ("12", False) not in moved(read_served([kept]))


def test_jobs_of_clients_are_jobs_of_a_profile_of_servers(kept, tmp_path):
    """As catalog ingest takes it, with the accounting beside it, and as commands take one job of it."""
    counts = read_served([kept / "clients.csv"])
    assert counts["is_client"].all()
    into = tmp_path / "site"
    (written,), _ = write_servers(counts, 10**9, into, "a log")
    (into / "sacct.txt").write_text(SACCT)
    read = [read_digest(file) for file in write_jobs(written.path.parent, tmp_path)]
    jobs = {job.job: job.process_slices["write_bytes"].sum() // MIB for job in read}
    assert jobs == {"12": 3, "13": 3, "n4": 4, "10.9.9.9": 5}
    assert write_job("12", [into], tmp_path) is not None
    assert write_job("12", [kept], tmp_path) is not None
    assert write_job("17", [kept], tmp_path) is None


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("n1", ["n1"]),
        ("n[08-10,12],gpu3", ["n08", "n09", "n10", "n12", "gpu3"]),
        ("r[1-2]c[1-2]", ["r1c1", "r1c2", "r2c1", "r2c2"]),
        ("n1/0*8+n2/1*8", ["n1", "n2"]),  # PBS
        ("8*n1:8*n2", ["n1", "n2"]),  # LSF
        ("n[1-99999999999]", []),
        ("", []),
    ],
)
def test_lists_of_nodes(text, nodes):
    assert list(nodes_in(text)) == nodes


@pytest.mark.parametrize(
    "text",
    [
        f'job,nodes,start,end\n7,"a,b",{BEGIN},{BEGIN + 60}\n',
        "JOBID;HOSTS;START_TIME;END_TIME\n7;a b;2026-11-26T10:00:00Z;2026-11-26T10:01:00Z\n",
        "JOBID,EXEC_HOST,START_TIME,FINISH_TIME\n7,8*a:8*b,Nov 26 10:00:00 2026,Nov 26 10:01:00 2026 L\n",
        f"11/26/2026 10:01:00;E;7;user=u jobname=x start={BEGIN} exec_host=a/0*8+b/0 session=1 end={BEGIN + 60} x=0\n",
        "JobID|JobIDRaw|NodeList|Start|End|\n6_1|7|a,b|2026-11-26T10:00:00Z|2026-11-26T10:01:00Z|\n",
        "JobID\tNodeList\tStart\tEnd\n7\ta,b\t2026-11-26 10:00:00+00:00\t2026-11-26 10:01:00+00:00\n",
    ],
)
def test_tables_of_other_schedulers(text, monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert is_accounting(text.encode())
    found = read_accounting(Path("jobs.csv"), text.encode())
    span = (BEGIN * 10**9, (BEGIN + 60) * 10**9)
    assert found.rows() == [("a", "7", *span), ("b", "7", *span)]


def test_a_job_of_pbs_is_no_step(kept):
    (kept / "sacct.txt").write_text(SACCT.replace("13|post", "13.pbs01|post"))
    assert moved(read_served([kept]))[("13.pbs01", False)] == 3


def test_days_without_a_year_are_the_last_ones():
    """As LSF prints them."""
    found = read_accounting(Path("j"), b"JOBID,EXEC_HOST,START_TIME,FINISH_TIME\n7,a,Nov 26 10:00,-\n")
    begin = datetime.fromtimestamp(found["begin_ns"][0] / 1e9)
    assert (begin.month, begin.day, begin.hour) == (11, 26, 10)
    assert begin < datetime.now() + timedelta(days=31)
    with pytest.raises(UserError, match="at a known time"):
        read_accounting(Path("j"), b"job,nodes,start,end\n7,a,26th at 10,27th\n")


def test_times_without_a_zone_are_this_machines(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        text = b"JobID|NodeList|Start|End\n7|a|2026-11-26T11:00:00|2026-11-26T11:00:01\n"
        assert read_accounting(Path("x"), text)["begin_ns"].to_list() == [BEGIN * 10**9]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_table_of_counts_is_no_accounting():
    assert not is_accounting(b"begin,end,client,target,write_bytes\n1,2,n1,fs,3\n")
    assert not is_accounting(b"job_stats:\n- job_id: 1\n")


def test_what_squeue_prints_of_jobs_that_run_and_wait(tmp_path):
    text = b"""JOBID|NODELIST|START_TIME|END_TIME
4716|n[1-2]|2026-11-26T10:00:00+00:00|2026-11-27T10:00:00+00:00
4717||N/A|N/A
4718|n9|2026-11-26T11:00:00+00:00|N/A
"""
    assert is_accounting(text)
    found = read_accounting(tmp_path / "squeue.txt", text)
    assert found.select("node", "job").rows() == [("n1", "4716"), ("n2", "4716"), ("n9", "4718")]
    assert found["begin_ns"].to_list() == [BEGIN * 10**9, BEGIN * 10**9, (BEGIN + 3600) * 10**9]
