"""What is told of jobs that wrote into the caches of real clients, held against their own stopwatches."""

import json
import shutil
import statistics
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.kept import KeptDigest, find_job
from slicewise.catalog.store import Catalog
from slicewise.digest.digest import read_digest
from slicewise.imports.jobstats import read_served
from slicewise.profile.servers import read_servers
from support.command_line import answer_of, completed, json_of, refusal_of
from testbed import measured, recordings
from testbed.cached_tables import Told, told

HERE = Path(__file__).parent / "cached"
# Seconds that each job took in its own calls: `nfs`, NFS 4.2 on a link of 160 Mbit/s; `lustre`, version 2.17 with two
# targets of 5 requests a second. Each writes so many MiB by calls of 1 MiB, then calls fsync.
TOOK = {"small": 28.459, "small-alone": 19.636, "large": 48.484, "large-alone": 30.004, "smallu": 30.617}
LUSTRE_ALONE = 15.129
# `nfs-server`, Linux 6.1, three clients on a link of 80 Mbit/s to the server, whose counts by client are beside them:
# what 100 MiB and an fsync took, whose fault that was, and within how much of the loss the answer must be.
NFS_SERVER = {
    "small": (16.476, "c2", 0.1),  # an unprofiled writer on another node
    "small-v3": (19.973, "other3", 0.15),  # a profiled one on another node, by NFS 3
    "small-same-node": (20.698, "the rest of c1", 0.1),  # an unprofiled one on its own node
}
NFS_ALONE = 13.076
# `nfs-kinds`, Linux 6.1, two or three clients on a link of 80 Mbit/s: tar, cp, cat, sqlite, a program that reads a
# mapped file, one that makes and unlinks files, dd with O_DIRECT. Each has its neighbours here, and the least part of
# the loss that must be theirs by name. took.json has all times by stopwatch.
NFS_KINDS = {
    "tarx": (["tarx-other"], 0.9), "cpin": (["cpin-other"], 0.75), "cold": (["cold-other"], 0.9),
    "sql": (["sql-other"], 0.75), "mapped": (["mapped-other"], 0.8), "stats": (["stats-other"], 0.75),
    "direct": (["direct-other"], 0.9), "two": (["two-b", "two-c"], 0.8),
}  # fmt: skip
# Servers that count clients, which have a name only where they are profiled: `glusterfs-server` and `cephfs-server` by
# FUSE; `samba-server` and `cephfs-kernel` with kernel clients, the second under emulation, where runs alone differ by
# 12 %; `beegfs-server`, BeeGFS 7.4.6 with three kernel clients under emulation on a link of 80 Mbit/s, of both
# directions together, to a data server and a metadata server. Of each place: how far the loss may be off, and the
# neighbour's part of it; then of each job its run alone and its neighbour.
POOL = {f"{kind}1": (f"{kind}-alone", "10.77.0.12") for kind in ("small", "read", "meta")}
PAIR = {"victim": ("alone", "10.9.0.12"), "victim-of-other": ("alone", "other")}
STORM = {"storm": ("storm-alone", "10.9.0.12")}
BEEGFS = PAIR | STORM | {"read": ("read-alone", "10.9.0.12"), "other": ("other-alone", "victim-of-other")}
SERVED = {
    "glusterfs-server": (0.05, 0.22, POOL), "cephfs-server": (0.05, 0.22, POOL), "samba-server": (0.10, 0.15, PAIR),
    "cephfs-kernel": (0.15, 0.20, PAIR | STORM), "beegfs-server": (0.05, 0.05, BEEGFS),
}  # fmt: skip
# Of the loss: a standalone run is known to within the scatter of runs.
MOST_ERROR, MOST_TO_NOBODY = 0.10, 0.10


# Losses of this share of the time alone and more; smaller ones are as small as what runs alone differ by.
LARGE = 0.2
pytestmark = pytest.mark.xdist_group("cached")


@pytest.fixture(scope="module")
def recorded() -> Path:
    return recordings.unpacked(HERE)


@pytest.fixture(scope="module")
def trial(recorded) -> list[Told]:
    """Jobs of many kinds on NFS, CIFS and ext4, with their runs alone."""
    return told(recorded / "clients", True)


@pytest.fixture(scope="module")
def without_runs(recorded) -> list[Told]:
    """The same jobs, where nobody knows how long they take alone."""
    return told(recorded / "clients", False)


def answer(where: Path, *words: str) -> dict:
    return json_of("blame", *words, directory=where)


def took_in(where: Path, job: str) -> float:
    """Seconds by stopwatch."""
    seconds: float = json.loads((where / "took.json").read_text())[job]
    return seconds


@pytest.mark.parametrize(("victim", "neighbour"), [("small", "large"), ("large", "small")])
@pytest.mark.parametrize("is_given", [True, False])
def test_writers_on_nfs(recorded, victim, neighbour, is_given):
    """is_given: the standalone run is; else it is found beside the profile, where one of another size lies, too."""
    words = [victim, neighbour, "--alone", f"{victim}-alone"] if is_given else [victim]
    found = answer(recorded / "nfs", *words)
    lost = TOOK[victim] - TOOK[f"{victim}-alone"]
    assert found["confidence"] == "high"
    assert found["lost_seconds"]["value"] == pytest.approx(lost, rel=MOST_ERROR)
    assert found["lost_seconds"]["low"] <= lost <= found["lost_seconds"]["high"]
    (one,) = [each for each in found["neighbours"] if each["job"] == neighbour]
    assert one["lost_seconds"]["value"] == pytest.approx(found["lost_seconds"]["value"], rel=MOST_TO_NOBODY)
    alone = found["runtime_seconds"] - lost
    assert one["without_it_end"]["value"] == pytest.approx(alone, rel=0.15)


@pytest.fixture(scope="module")
def took(recorded) -> dict[str, float]:
    return json.loads((recorded / "nfs-kinds" / "took.json").read_text())


@pytest.mark.parametrize("job", NFS_KINDS)
def test_programs_of_many_kinds_on_nfs(recorded, took, job):
    found = answer(recorded / "nfs-kinds", job, "--alone", f"{job}-alone")
    lost = took[job] - took[f"{job}-alone"]
    outside = found["outside"]["seconds"] if found["outside"] else 0.0
    assert found["confidence"] == "high"
    assert found["lost_seconds"]["value"] + outside == pytest.approx(lost, rel=MOST_ERROR)
    names, least = NFS_KINDS[job]
    by_name = {one["job"]: one["lost_seconds"]["value"] for one in found["neighbours"] if one["job"]}
    assert sorted(by_name, key=by_name.__getitem__, reverse=True) == names
    assert sum(by_name.values()) >= least * lost


@pytest.mark.parametrize("job", ["coldw", "quiet"])
def test_nobody_is_accused_of_what_did_no_harm(recorded, took, job):
    """A cold read beside a writer on a link with two directions, and a writer beside one that writes a little."""
    assert took[job] == pytest.approx(took[f"{job}-alone"], abs=0.1)
    for words in ([], ["--alone", f"{job}-alone"]):
        assert not answer(recorded / "nfs-kinds", job, *words)["is_claimed"]


def test_four_busy_loops_beside_a_program_are_no_matter_of_its_neighbour(recorded, took):
    found = answer(recorded / "nfs-kinds", "hog", "--alone", "hog-alone")
    lost = took["hog"] - took["hog-alone"]
    assert found["outside"]["seconds"] == pytest.approx(lost, rel=MOST_ERROR)
    assert sum(one["lost_seconds"]["value"] for one in found["neighbours"]) < 0.02 * lost


def test_a_program_that_reads_a_mapped_file_is_a_culprit_by_its_name(recorded):
    """cold-other did the same with company: what it lost is a lower bound."""
    found = answer(recorded / "nfs-kinds", "mapped-other", "--alone", "cold-other")
    (one,) = [each for each in found["neighbours"] if each["job"]]
    assert one["job"] == "mapped"
    assert one["lost_seconds"]["value"] > 0.8 * found["lost_seconds"]["value"] > 0.0
    assert found["mapped_seconds"] == 0.0


def test_a_catalog_keeps_what_mapped_files_fetched(recorded, tmp_path):
    catalog = Catalog.make(tmp_path / "catalog")
    names = ["mapped", "mapped-other", "cold"]
    ingest(catalog, places([recorded / "nfs-kinds" / name for name in names]))
    for name in names:
        fetched = read_digest(recorded / "nfs-kinds" / name).fetched
        assert fetched.is_empty() == (name != "mapped"), name
        assert_frame_equal(KeptDigest(catalog, find_job(catalog, name)).fetched, fetched)


def test_a_reader_here_and_there_in_a_mapped_file_on_a_limited_disk(recorded):
    """`disk-limits`: a local disk, 150 requests a second of each direction by a control group."""
    where = recorded / "disk-limits"
    took = json.loads((where / "took.json").read_text())
    lost = took["mapped"] - took["mapped-alone"]
    found = answer(where, "mapped")
    assert (found["confidence"], found["neighbours"][0]["job"]) == ("high", "reads")
    assert found["lost_seconds"]["value"] == pytest.approx(lost, rel=MOST_ERROR)


@pytest.mark.parametrize(
    ("kind", "neighbour", "limit"),
    [
        ("nfs-kinds", "mapped-other", 5.65),
        ("disk-limits", "reads", 150 * 4 / 1024),
    ],  # MiB/s: one alone; 4 KiB a request
)
def test_a_reader_of_a_mapped_file_has_one_time_and_one_rate(recorded, kind, neighbour, limit):
    """Its I/O took nearly all of its runtime by stopwatch, it read what the kernel fetched for it, and it and its
    neighbour together got what the storage gives.
    """
    where = recorded / kind
    took = json.loads((where / "took.json").read_text())["mapped"]
    fetched = int(read_digest(where / "mapped").fetched["fetched_bytes"].sum())
    blamed = answer(where, "mapped", neighbour)
    spent = json_of("report", "mapped", directory=where)["phases"]["time_in_io"]
    assert spent["mapped_seconds"] == pytest.approx(blamed["mapped_seconds"])
    assert spent["slowest"] * blamed["runtime_seconds"] == pytest.approx(blamed["io_seconds"], rel=0.001)
    compared = json_of("overlap", "mapped", neighbour, directory=where)
    own, its = compared["directions"]["read"]["jobs"]
    assert own["seconds"]["value"] == pytest.approx(took, rel=0.03)
    assert fetched <= own["bytes"] <= fetched + (128 << 10)  # and by calls the program and its libraries
    assert own["region_mib_s"] + its["region_mib_s"] == pytest.approx(limit, rel=0.06)


def test_a_database_that_commits_few_bytes_at_a_time_has_no_share_of_what_was_served(recorded):
    """Reads and writes have limits of their own there: the reader beside it cost sql nothing. By its share of the bytes
    it lost 10 s.
    """
    where = recorded / "disk-limits"
    took = json.loads((where / "took.json").read_text())
    assert took["sql"] == pytest.approx(took["sql-alone"], rel=0.01)
    found = answer(where, "sql")
    assert not found["is_claimed"]
    assert found["confidence"] in ("low", "unknown")
    given = answer(where, "sql", "--alone", "sql-alone")
    assert not given["is_claimed"]


@pytest.mark.parametrize("servers", [[], ["--servers", "jobstats"]])
def test_a_stranger_on_lustre(recorded, servers):
    """Job 4716 has no profile. The client's counters show that there was traffic; the servers' whose it was."""
    found = answer(recorded / "lustre", "smallu", "--alone", "small-alone", *servers)
    lost = TOOK["smallu"] - LUSTRE_ALONE
    assert found["confidence"] == "high"
    (one,) = found["neighbours"]
    assert one["job"] == ("4716" if servers else None)
    assert one["lost_seconds"]["value"] == pytest.approx(lost, rel=MOST_ERROR)
    assert one["without_it_end"]["value"] == pytest.approx(LUSTRE_ALONE, rel=0.15)
    if servers:
        assert any("4715: they counted 300 MiB, and its calls moved 300 MiB" in note for note in found["notes"])


def test_of_three_jobs_without_a_profile_the_innocent_one_is_not_blamed(recorded, tmp_path):
    """4716 as two jobs, which did three and two fifths of it at the same time, and one that wrote 1 MiB."""
    where = recorded / "lustre"
    rows = read_served([where / "jobstats"])
    parts = [
        rows.with_columns(
            job=pl.when(pl.col("job") == "4716").then(pl.lit(name)).otherwise("job"),
            **{
                what: pl.when(pl.col("job") == "4716").then(pl.col(what) * fifths // 5).otherwise(what)
                for what in ("write_bytes", "write_ops", "meta_ops")
            },
        ).filter((pl.col("job") == name) | (pl.lit(name == "more") & (pl.col("job") != "4716")))
        for name, fifths in (("more", 3), ("less", 2))
    ]
    begin = read_digest(where / "smallu").about["start_ns"] // 10**9
    told = pl.concat(parts).select(
        "job", "target", "write_bytes", "write_ops", "meta_ops", begin=pl.col("begin_ns") / 1e9,
        end=pl.col("end_ns") / 1e9,
    )  # fmt: skip
    text = told.write_csv() + f"innocent,#0,{1 << 20},1,1,{begin + 9},{begin + 10}\n"
    (tmp_path / "jobs.csv").write_text(text)
    found = answer(where, "smallu", "--alone", "small-alone", "--servers", str(tmp_path))
    lost = TOOK["smallu"] - LUSTRE_ALONE
    assert found["lost_seconds"]["value"] == pytest.approx(lost, rel=MOST_ERROR)
    by_job = {one["job"]: one["lost_seconds"]["value"] for one in found["neighbours"] if one["job"]}
    assert by_job["more"] == pytest.approx(0.6 * lost, rel=0.15)
    assert by_job["less"] == pytest.approx(0.4 * lost, rel=0.15)
    assert by_job["innocent"] < 0.03 * lost


@pytest.mark.parametrize(("requests", "is_taken"), [(1, True), (2000, False)])
def test_a_run_beside_a_storm_of_requests_was_not_alone(recorded, tmp_path, requests, is_taken):
    """Whoever made them moved no byte."""
    about = read_digest(recorded / "lustre" / "small-alone").about
    begin, end = about["start_ns"] // 10**9, about["end_ns"] // 10**9
    rows = [f"{at},{at + 1},storm,lus,0,{requests}" for at in range(begin, end)]
    rows += [f"{begin},{end},small-alone,lus,{300 << 20},5"]
    (tmp_path / "jobs.csv").write_text("begin,end,job,target,write_bytes,meta_ops\n" + "\n".join(rows) + "\n")
    found = answer(recorded / "lustre", "smallu", "--servers", str(tmp_path))
    (run,) = found["standalone_runs"]
    assert run["is_taken"] == is_taken
    assert is_taken or "requests of other jobs" in run["why_not"]


@pytest.fixture(scope="module")
def servers(recorded, tmp_path_factory) -> Path:
    """The profile of the servers of /lus, made of what they said."""
    made = tmp_path_factory.mktemp("servers")
    log = recorded / "lustre" / "jobstats"
    answer_of("import", "jobstats", str(log), "--storage", "lus", "--into", str(made), directory=made)
    return made


def test_a_job_of_the_servers_is_a_profile_to_other_commands(recorded, servers):
    """Its bytes are; of its calls, its processes and its time alone nothing is invented."""
    where, by = recorded / "lustre", ["--servers", str(servers), "--json"]
    shown = json.loads(completed("report", "4716", *by, directory=where).stdout)
    (mount,) = shown["summary"]["mounts"]
    assert (mount["point"], mount["write_bytes"], mount["write_seconds"]) == ("/lus", 500 << 20, None)
    assert "I/O calls" not in completed("report", "4716", *by[:2], directory=where).stdout
    found = json.loads(completed("overlap", "smallu", "4716", "--alone", "small-alone", *by, directory=where).stdout)
    of_small, of_served = found["blames"]
    assert of_small["neighbours"][0]["job"] == "4716"
    assert of_small["lost_seconds"]["value"] == pytest.approx(TOOK["smallu"] - LUSTRE_ALONE, rel=MOST_ERROR)
    assert of_served["lost_seconds"] is None
    assert of_served["confidence"] == "unknown"
    assert [job["processes"] for job in found["directions"]["write"]["jobs"]] == [1, None]
    compared = json.loads(completed("compare", "small-alone", "smallu", *by, directory=where).stdout)
    assert compared["neighbours"] == ["4716"]
    everyone = json.loads(completed("blame", "--all", ".", *by, directory=where).stdout)
    assert [one["neighbours"][0]["job"] for one in everyone["jobs"] if one["is_claimed"]] == ["4716"]


def test_a_client_is_the_profiled_job_that_had_its_node(recorded, tmp_path):
    """A server that counts by client alone, as one of NFS does: smallu ran on vm, and somebody on another node."""
    begin = 1795696964  # smallu's first second
    rows = [f"{begin + at},{begin + at + 1},{who},lus,{size}" for at in range(31) for who, size in
            [("vm.cluster", (300 << 20) // 31), ("10.9.0.7", 316 << 20 >> 5)]]  # fmt: skip
    (tmp_path / "clients.csv").write_text("begin,end,client,target,write_bytes\n" + "\n".join(rows) + "\n")
    where, words = recorded / "lustre", ["smallu", "--alone", "small-alone", "--servers", str(tmp_path)]
    assert [one["job"] for one in answer(where, *words)["neighbours"]] == ["10.9.0.7"]
    start, end = (f"2026-11-26T{clock}+00:00" for clock in ("12:42:00", "12:44:00"))
    (tmp_path / "sacct.txt").write_text(f"JobID|NodeList|Start|End\n4716|10.9.0.7|{start}|{end}\n")
    found = answer(where, *words)
    assert [one["job"] for one in found["neighbours"]] == ["4716"]
    assert found["lost_seconds"]["value"] == pytest.approx(TOOK["smallu"] - LUSTRE_ALONE, rel=MOST_ERROR)


@pytest.mark.parametrize("job", ["small", "small-v3", "small-same-node"])
def test_neighbours_of_a_real_nfs_server(recorded, job):
    """The server's counts lie beside the profiles. Clients call it by an alias, by its address, and by version 3."""
    took, neighbour, share = NFS_SERVER[job]
    found = answer(recorded / "nfs-server", job, "--alone", "small-alone")
    assert found["lost_seconds"]["value"] == pytest.approx(took - NFS_ALONE, rel=MOST_ERROR)
    (one,) = [each for each in found["neighbours"] if each["job"]]
    assert one["job"] == neighbour
    assert one["lost_seconds"]["value"] == pytest.approx(took - NFS_ALONE, rel=share)
    assert any(f"know this job as {job}: they counted 100 MiB" in note for note in found["notes"])


@pytest.mark.parametrize("names", ["plain", "hash"])
def test_a_catalog_blames_no_job_on_its_own_node(recorded, tmp_path, names, monkeypatch):
    """There the clients are jobs of their own, and c1's bytes are those of the jobs that ran there once more."""
    answer_of("catalog", "ingest", str(tmp_path / "site"), "nfs-server", "--names", names, directory=recorded)
    monkeypatch.setenv("SLICEWISE_CATALOG", str(tmp_path / "site"))
    for job, moved in (("small", 42.8), ("small-same-node", 73.6)):
        done = completed("blame", job, "--json", directory=tmp_path)
        (one,) = [each for each in json.loads(done.stdout)["neighbours"] if each["job"]]
        assert one["write_bytes"] == pytest.approx(moved * (1 << 20), rel=0.01)
        assert (one["job"] == "the rest of c1") == (job == "small-same-node")
    answer_of("catalog", "worst", str(tmp_path / "site"), "--json", directory=tmp_path)


def test_everyone_of_a_directory_with_the_servers_counts(recorded):
    done = completed("blame", "--all", "nfs-server", "--json", directory=recorded)
    told = {one["job"]: [each["job"] for each in one["neighbours"]] for one in json.loads(done.stdout)["jobs"]}
    assert {job: told[job] for job in NFS_SERVER} == {job: [who] for job, (_, who, _) in NFS_SERVER.items()}


def test_who_lost_nothing_beside_a_reader_is_told_so(recorded):
    """The link is limited in the direction of the server alone."""
    found = answer(recorded / "nfs-server", "small-read", "--alone", "small-alone")
    assert found["confidence"] == "low"
    assert [one["job"] for one in found["neighbours"]] == ["10.9.0.13"]


def test_a_name_that_the_servers_do_not_know_is_one_line(recorded, servers):
    done = refusal_of("report", "4799", "--servers", str(servers), directory=recorded / "lustre")
    assert "no job of that name" in done


def test_all_losses_are_told_with_few_seconds_of_error(trial):
    lost = [one for one in trial if one.truth > LARGE * one.alone]
    claimed = [one for one in lost if one.is_claimed]
    assert len(lost) == 57
    assert len(claimed) >= 0.98 * len(lost)
    errors = [abs(one.lost / one.truth - 1) for one in claimed]
    assert statistics.mean(errors) < 0.04
    assert max(errors) < 0.17


def test_what_all_profiled_jobs_did_is_blamed_on_them(trial):
    shares = [one.to_nobody for one in trial if one.truth > LARGE * one.alone and one.is_claimed]
    assert statistics.mean(shares) < 0.10


def test_no_job_that_lost_nothing_is_told_that_it_did(trial):
    quiet = [one for one in trial if one.truth < 0.05 * one.alone]
    assert len(quiet) >= 10
    assert not [one for one in quiet if one.is_claimed or one.blame.outside]


def test_most_losses_are_told_without_runs_alone(without_runs):
    lost = [one for one in without_runs if one.has_lost]
    claimed = [one for one in lost if one.is_claimed]
    assert len(lost) == 60
    assert len(claimed) >= 0.8 * len(lost)
    errors = [abs(one.lost / one.truth - 1) for one in claimed]
    assert statistics.mean(errors) < 0.15
    assert sum(error <= 0.40 for error in errors) >= 0.95 * len(claimed)
    held = [one for one in claimed if one.blame.lost and one.blame.lost.low <= one.truth <= one.blame.lost.high]
    assert 0.90 * len(claimed) <= len(held) <= 0.98 * len(claimed)


def test_no_loss_is_told_without_runs_alone_where_nothing_was_lost(without_runs):
    quiet = [one for one in without_runs if not one.has_lost]
    assert len(quiet) >= 14
    assert not [one for one in quiet if one.is_claimed]


def test_the_figures_are_those_that_were_looked_at():
    assert measured.made("cached") == measured.kept("cached")


def test_overlap_and_policies_take_the_runs_alone_that_blame_takes(recorded):
    found = answer(recorded / "nfs-kinds", "cold")
    words = ("cold", "cold-other", "--json")
    compared = json.loads(completed("overlap", *words, directory=recorded / "nfs-kinds").stdout)
    assert compared["blames"][0]["alone_seconds"] == found["alone_seconds"]
    policies = json.loads(completed("turns", "policy", *words, directory=recorded / "nfs-kinds").stdout)["policies"]
    first = next(one["jobs"][0] for one in policies if one["policy"] == "fcfs")
    assert first["io_seconds"] == pytest.approx(8.37, abs=0.01)  # of cold-alone


@pytest.mark.parametrize(
    ("place", "job", "is_given"),
    [
        (place, job, is_given)
        for place, (_, _, jobs) in SERVED.items()
        for job in jobs
        for is_given in (True, False)
        if is_given or place != "cephfs-kernel"
    ],
)
def test_neighbours_of_real_servers(recorded, place, job, is_given):
    """Servers count by client alone; kernel clients write back from their caches. Where no standalone run is given it
    is found; a run beside which a client wrote 1 MiB is one, and whoever had company by the servers' counts is none.
    The storm's files are gone before they are sent, and its node moved requests alone.
    """
    error, part, jobs = SERVED[place]
    alone, neighbour = jobs[job]
    found = answer(recorded / place, job, *(["--alone", alone] if is_given else []))
    lost = took_in(recorded / place, job) - took_in(recorded / place, alone)
    outside = found["outside"]["seconds"] if found["outside"] else 0.0
    assert found["confidence"] == "high"
    assert found["lost_seconds"]["value"] + outside == pytest.approx(lost, rel=error)
    assert found["lost_seconds"]["value"] > 0.8 * lost
    named = [one for one in found["neighbours"] if one["job"]]
    most = max(named, key=lambda one: one["lost_seconds"]["value"])
    assert most["job"] == neighbour
    assert most["lost_seconds"]["value"] == pytest.approx(found["lost_seconds"]["value"], rel=part)
    assert len(named) == 1 or (jobs is POOL and "10.77.0.11" not in [one["job"] for one in named])


@pytest.mark.parametrize(
    ("place", "job", "alone", "beside"),
    [
        ("glusterfs-server", "small2", "small-alone", "10.77.0.13"),
        ("cephfs-server", "small2", "small-alone", "10.77.0.13"),
        ("samba-server", "victim-of-nobody", "alone", "10.9.0.13"),
        ("beegfs-server", "victim-of-nobody", "alone", "10.9.0.12"),
    ],
)
def test_nobody_is_blamed_where_servers_counted_little_of_others_or_late(recorded, place, job, alone, beside):
    found = answer(recorded / place, job, "--alone", alone)
    assert not found["is_claimed"]
    assert found["lost_seconds"]["low"] <= 0
    assert {one["job"] for one in found["neighbours"]} == {beside}


# Those of which a catalog is asked too: whose run is alone, and whose fault the loss was.
IN_CATALOGS = [
    (place, job)
    for place, (_, _, jobs) in SERVED.items()
    for job in jobs
    if place != "cephfs-kernel" and job not in ("other", "storm")
]


@pytest.fixture(scope="module")
def catalogs(recorded, tmp_path_factory) -> Path:
    """The sampler was told what clients mount, but for those of BeeGFS, all of which mount beegfs_nodev."""
    made = tmp_path_factory.mktemp("catalogs")
    for place in {place for place, *_ in IN_CATALOGS}:
        answer_of("catalog", "ingest", str(made / place), place, directory=recorded)
    return made


@pytest.mark.parametrize(("place", "job"), IN_CATALOGS)
def test_a_catalog_finds_runs_alone_where_servers_counted_their_nodes(
    recorded, catalogs, tmp_path, monkeypatch, place, job
):
    monkeypatch.setenv("SLICEWISE_CATALOG", str(catalogs / place))
    found = json_of("blame", job, directory=tmp_path)
    alone, neighbour = SERVED[place][2][job]
    lost = took_in(recorded / place, job) - took_in(recorded / place, alone)
    assert found["lost_seconds"]["value"] == pytest.approx(lost, rel=MOST_ERROR)
    most = max(found["neighbours"], key=lambda one: one["lost_seconds"]["value"])
    assert most["job"] == neighbour
    assert most["lost_seconds"]["value"] == pytest.approx(lost, rel=0.22)


def test_a_catalog_finds_the_run_alone_where_servers_counted_jobs(recorded, servers, tmp_path, monkeypatch):
    """Beside small-alone they counted `mkdir` and `lfs`, of a few requests each."""
    answer_of("catalog", "ingest", str(tmp_path / "site"), "lustre", str(servers), directory=recorded)
    monkeypatch.setenv("SLICEWISE_CATALOG", str(tmp_path / "site"))
    found = json_of("blame", "smallu", directory=tmp_path)
    assert [run["job"] for run in found["standalone_runs"] if run["is_taken"]] == ["small-alone"]
    assert (found["confidence"], found["neighbours"][0]["job"]) == ("high", "4716")
    assert found["lost_seconds"]["value"] == pytest.approx(TOOK["smallu"] - LUSTRE_ALONE, rel=MOST_ERROR)


def test_a_catalog_shows_no_job_beside_its_own_node(catalogs, tmp_path):
    """c1's address is of the victims, c3's of the other; a client that wrote 1 MiB makes no run one with company."""
    place = str(catalogs / "samba-server")
    beside = {
        job: {one["job"] for one in json_of("catalog", "show", place, job, directory=tmp_path)[0]["partners"]}
        for job in ("victim", "victim-of-other")
    }
    assert beside == {"victim": {"10.9.0.12"}, "victim-of-other": {"other"}}
    worst = completed("catalog", "worst", place, directory=tmp_path).stdout
    assert worst.startswith("3 jobs with a profile shared a file system")


def test_an_address_in_a_catalog_is_no_user_of_a_program(catalogs, tmp_path, monkeypatch):
    monkeypatch.setenv("SLICEWISE_CATALOG", str(catalogs / "samba-server"))
    told = completed("blame", "10.9.0.12", directory=tmp_path).stdout
    assert told.startswith("client 10.9.0.12 has no profile.")
    assert "of user" not in told


def test_servers_of_beegfs_count_their_clients_alone(recorded):
    """Not each other: the metadata server, 10.9.0.2, removes files on the data server, 10.9.0.1."""
    (place,) = (recorded / "beegfs-server").glob("servers.*")
    rows = read_servers([place]).rows
    assert set(rows["target"]) == {"beegfs/files", "beegfs/meta"}
    sums = rows.group_by("job").agg(pl.col("write_bytes", "read_bytes").sum() / (1 << 20))
    moved = {name: sizes for name, *sizes in sums.rows()}
    assert moved.keys() == {"10.9.0.11", "10.9.0.12", "10.9.0.13"}
    assert moved["10.9.0.11"] == pytest.approx([403, 200], rel=0.01)
    assert moved["10.9.0.12"][0] == pytest.approx(401, rel=0.01)
    assert moved["10.9.0.13"][0] == pytest.approx(240, rel=0.01)


def test_texts_of_beegfs_say_what_its_connections_do(recorded, tmp_path):
    for job in ("victim-of-other", "other", "read", "read-alone", "other-alone"):
        shutil.copytree(recorded / "beegfs-server" / job, tmp_path / job)
    took = json.loads((recorded / "beegfs-server" / "took.json").read_text())
    for job in ("read", "other"):
        alone, neighbour = BEEGFS[job]
        texts = str(recorded / "beegfs-server" / "clientstats")
        found = answer(tmp_path, job, "--alone", alone, "--servers", texts)
        assert found["lost_seconds"]["value"] == pytest.approx(took[job] - took[alone], rel=MOST_ERROR)
        assert found["neighbours"][0]["job"] == neighbour


@pytest.mark.parametrize("job", ["mapped", "swapped"])
def test_memory_that_was_short_is_nobodys_io(recorded, job):
    """Beside a program that takes the memory of their control group a job reads a mapped file again and again, and
    another one works on memory that goes to swap. A warm run is told apart, and alone is the time alone.
    """
    where = recorded / "memory"
    took = json.loads((where / "took.json").read_text())
    found = answer(where, job, "--alone", f"{job}-alone")
    assert found["runtime_seconds"] == pytest.approx(took[job], rel=0.03)
    assert found["alone_seconds"]["value"] == pytest.approx(took[f"{job}-alone"], rel=0.1, abs=0.5)
    assert found["outside"]["memory_seconds"] > 0.5 * found["outside"]["seconds"]
    assert found["sentences"][0].startswith(f"{job} took ")
    assert "not because of I/O" in found["sentences"][0]
    assert "memory was short" in found["sentences"][0]
    assert not [one["job"] for one in found["neighbours"] if one["lost_seconds"]["value"] > 1]
    compared = json_of("compare", f"{job}-alone", job, directory=where)
    assert compared["outside"]["memory_seconds"] == pytest.approx(found["outside"]["memory_seconds"], rel=0.05)
    assert compared["outside"]["memory_seconds"] <= compared["computing_seconds"]


def test_memory_that_did_not_hold_what_calls_read_is_told_as_a_wait(recorded):
    """What it slept for what it had read before is what it took longer; no run alone is needed to see that."""
    where = recorded / "memory"
    took = json.loads((where / "took.json").read_text())
    found = answer(where, "again")
    assert found["memory_seconds"]["value"] == pytest.approx(took["again"] - took["again-alone"], rel=0.2)
    assert "memory was short" in found["sentences"][0]
    assert found["neighbours"] == []
    assert found["next_step"] is None, "a run by itself has the same memory"
