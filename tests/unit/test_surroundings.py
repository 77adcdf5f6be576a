"""What lies beside a job's profile: many profiles are read at once, and say what their digests say."""

import io
import shutil

import polars as pl
from slicewise.catalog.kept import find_job
from slicewise.catalog.neighbours import Company, Neighbourhood
from slicewise.catalog.store import Catalog, day_of
from slicewise.digest.company import MOST_RUNS
from slicewise.digest.digest import read_digest
from slicewise.digest.outlines import JOBS_AT_ONCE, outlines
from slicewise.digest.surroundings import Surroundings, servers_nearby
from slicewise.terminal.progress import reading_profiles
from support.catalogs import catalog_of
from support.jobs import write_competing_jobs
from support.runs import metadata, read, write_run, wrote
from support.site_days import SLICE_NS, day_frames

SECOND = 1_000_000_000


def writer(directory, begin, processes=1, program="/opt/simulation", source="disk"):
    rows = [{at: wrote(10, 0.5) for at in range(10)}] * processes
    return write_run(
        directory, 10, rows, program=program, begin=begin, mounts={"type": "nfs4", "source": f"{source}:/s"}
    )


def names(paths):
    return [path.name for path in paths]


def test_outlines_say_what_digests_say(tmp_path):
    rows = [{at: wrote(10, 0.5) | metadata(5, 0.1) for at in range(10)}, {0: read(0.001, 0.001)}]
    written = [
        *write_competing_jobs(tmp_path, "a", "b"),
        write_run(tmp_path / "ranks", 10, rows, is_mpi=True),
        write_run(tmp_path / "killed", 10, rows, ending="killed", spans=[(0, -1_700_000_000), (2, 10)]),
        write_run(tmp_path / "idle", 10, [{at: metadata(5, 0.1) for at in range(3)}]),
    ]
    found = outlines(written)
    assert [outline.place for outline in found] == written
    for outline in found:
        digest = read_digest(outline.place)
        job = digest.jobs.row(0, named=True)
        assert (outline.program, outline.did["processes"]) == (job["program"], job["processes"])
        assert (outline.did["start_ns"], outline.did["end_ns"]) == (job["start_ns"], job["end_ns"])
        used = digest.mounts.filter((digest.mounts["read_bytes"] + digest.mounts["write_bytes"]) > 0)
        assert outline.storages == set(used["storage"])
        assert outline.ids == set(digest.processes["process"])


def test_neighbours_quiet_runs_and_what_cannot_be_read(tmp_path):
    own = writer(tmp_path / "own", 1000)
    writer(tmp_path / "neighbour", 1005, program="/opt/other")
    writer(tmp_path / "elsewhere", 1005, program="/opt/other", source="tape")
    for place in range(MOST_RUNS + 2):
        writer(tmp_path / f"quiet{place}", 100 * place)
    writer(tmp_path / "larger", 2000, processes=3)
    for name in ("in-company", "company"):
        writer(tmp_path / name, 3000)
    writer(tmp_path / "another-program", 4000, program="/opt/other")
    shutil.copytree(own, tmp_path / "own-again")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "n1.swz").write_bytes(b"no profile")
    (tmp_path / "empty").mkdir()
    found = Surroundings().nearby(own)
    assert names(found.neighbours) == ["neighbour"]
    assert names(found.quiet) == [*(f"quiet{place}" for place in (6, 5, 4, 3, 2)), "larger"]
    assert names(found.unread) == ["damaged"]
    assert found.looked_at == 15
    assert Surroundings().nearby(next(own.glob("*.swz"))) == found


def test_runs_on_the_same_storage_come_before_nearer_ones_elsewhere(tmp_path):
    own = writer(tmp_path / "jobs" / "own", 1000)
    for place in range(MOST_RUNS):
        writer(tmp_path / "jobs" / f"elsewhere{place}", 1100 + 100 * place, source="tape")
    for place in range(2):
        writer(tmp_path / "jobs" / f"same{place}", 3000 + 100 * place)
    few = [{at: wrote(1, 0.5) for at in range(2)}]
    write_run(tmp_path / "jobs" / "other-work", 2, few, program="/opt/simulation", begin=900)
    expected = ["same0", "same1", "elsewhere0", "elsewhere1", "elsewhere2"]
    assert names(Surroundings().nearby(own).quiet) == expected
    catalog = catalog_of(tmp_path / "catalog", tmp_path / "jobs")
    assert [run.job for run in Neighbourhood(catalog).quiet_runs(find_job(catalog, "own"))] == expected


def test_a_quiet_run_is_found_behind_many_with_company(tmp_path):
    """In a catalog as beside a profile, however many runs are nearer that others shared a storage with."""
    own = writer(tmp_path / "jobs" / "own", 1000)
    for place in range(21):
        writer(tmp_path / "jobs" / f"near{place:02}", 1100 + 10 * place)
        writer(tmp_path / "jobs" / f"with{place:02}", 1100 + 10 * place, program="/opt/other")
    writer(tmp_path / "jobs" / "quiet", 9000)
    catalog = catalog_of(tmp_path / "catalog", tmp_path / "jobs")
    assert names(Surroundings().nearby(own).quiet) == ["quiet"]
    assert [run.job for run in Neighbourhood(catalog).quiet_runs(find_job(catalog, "own"))] == ["quiet"]


def test_jobs_that_follow_each_other_within_a_slice_have_no_company(tmp_path):
    frames = day_frames(0, 40)
    jobs, rows = frames["jobs"].head(2), frames["job_slices"].head(4)
    start, key = int(jobs["start_ns"][0]) // SLICE_NS * SLICE_NS, jobs["key"]
    slices = pl.Series([0, 1, 1, 2]) * SLICE_NS + start
    for begin, is_quiet in ((7, True), (5, False)):
        jobs = jobs.with_columns(
            start_ns=pl.Series([start, start + begin * SECOND]),
            end_ns=pl.Series([start + 6 * SECOND, start + 12 * SECOND]),
        )
        rows = rows.with_columns(
            key=key.gather([0, 0, 1, 1]), storage=pl.lit(1, pl.UInt64), begin_ns=slices, end_ns=slices + SLICE_NS
        )
        catalog = Catalog.make(tmp_path / str(begin))
        with catalog.locked() as writing:
            made = {"jobs": jobs, "job_slices": rows, "storages": frames["storages"].clear()}
            writing.put({day_of(start): made})
        company = Company(catalog)
        assert [company.is_quiet(one, start) for one in key] == [is_quiet, is_quiet]


def test_a_job_that_was_active_only_between_is_no_neighbour_beside_a_profile_nor_in_a_catalog(tmp_path):
    """Nor is one that begins within the second in which the other ended."""
    nfs = {"program": "/opt/simulation", "mounts": {"type": "nfs4", "source": "disk:/s"}}
    own = write_run(tmp_path / "jobs" / "own", 10, [{at: wrote(10, 0.5) for at in (0, 9)}], **nfs)
    for name, when in (("between", range(2, 8)), ("at-once", range(5, 10))):
        write_run(tmp_path / "jobs" / name, 10, [{at: wrote(10, 0.5) for at in when}], **nfs)
    write_run(tmp_path / "jobs" / "after", 12, [{at: wrote(10, 0.5) for at in (10, 11)}], spans=[(10, 12)], **nfs)
    assert names(Surroundings().nearby(own).neighbours) == ["at-once"]
    catalog = catalog_of(tmp_path / "catalog", tmp_path / "jobs")
    assert [job.job for job in Neighbourhood(catalog).neighbours_of(find_job(catalog, "own"))] == ["at-once"]


def test_a_server_of_several_names_is_one_storage_by_its_address(tmp_path):
    """Whatever export and version the mounts have; beside profiles and in a catalog."""
    rows = [{at: wrote(10, 0.5) for at in range(10)}]
    for name, source, kind, address in (
        ("own", "files:/home", "nfs4", "10.0.0.1"),
        ("alias", "files.site:/scratch", "nfs", "10.0.0.1"),
        ("elsewhere", "files:/home", "nfs4", "10.0.0.2"),
        ("untold", "files:/home", "nfs4", ""),
    ):
        write_run(tmp_path / "jobs" / name, 10, rows, mounts={"type": kind, "source": source, "address": address})
    own = tmp_path / "jobs" / "own"
    assert names(Surroundings().nearby(own).neighbours) == ["alias"]
    catalog = catalog_of(tmp_path / "catalog", tmp_path / "jobs")
    assert [job.job for job in Neighbourhood(catalog).neighbours_of(find_job(catalog, "own"))] == ["alias"]


def test_two_file_systems_of_beegfs_are_apart_though_their_source_is_one(tmp_path):
    """The file that is everywhere says no more than none."""
    rows = [{at: wrote(10, 0.5) for at in range(10)}]
    usual = "/etc/beegfs/beegfs-client.conf"
    for name, address in (("own", usual), ("older", ""), ("home", "/etc/beegfs/home.conf"), ("managed", "10.0.0.8")):
        mounts = {"type": "beegfs", "source": "beegfs_nodev", "address": address}
        write_run(tmp_path / "jobs" / name, 10, rows, mounts=mounts)
    assert names(Surroundings().nearby(tmp_path / "jobs" / "own").neighbours) == ["older"]


def test_profiles_of_servers_beside_jobs_are_none_of_them(tmp_path):
    own = writer(tmp_path / "own", 0)
    other = writer(tmp_path / "other", 0)
    servers = tmp_path / "servers.disk.2026-11-27"
    servers.mkdir()
    (servers / "disk.swz").write_bytes(next(own.glob("*.swz")).read_bytes())
    assert servers_nearby(own) == [servers]
    found = Surroundings().nearby(own)
    assert (found.neighbours, found.unread) == ([other], [])


def test_a_directory_is_read_once_for_all_jobs_of_a_command_and_says_how_far_it_is(tmp_path):
    runs = [writer(tmp_path / f"run{place:03}", 100 * place) for place in range(JOBS_AT_ONCE + 1)]
    told = []
    around = Surroundings(progress=lambda done, total: told.append((done, total)))
    for run in (runs[0], runs[50]):
        assert len(around.nearby(run).quiet) == MOST_RUNS
    assert told == [(JOBS_AT_ONCE, len(runs)), (len(runs), len(runs))]


def test_running_jobs_are_read_from_their_copies(tmp_path):
    own, copy = tmp_path / "jobs" / "own", writer(tmp_path / "copies" / "own", 1000)
    other = writer(tmp_path / "copies" / "other", 1002, program="/opt/other")
    (tmp_path / "jobs").mkdir()
    around = Surroundings({own: copy, tmp_path / "jobs" / "other": other})
    assert around.nearby(own).neighbours == [other]
    assert around.place(own) == copy


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_who_waits_is_told_and_nobody_else(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        now[0] = 0.0
        told = reading_profiles(stream)
        for done in range(100, 1001, 100):
            now[0] += 0.5
            told(done, 1000)
    assert terminal.getvalue().count("Read ") == 2
    assert "Read 400 of 1,000 profiles beside it" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert pipe.getvalue() == ""


def test_runs_of_one_interpreter_that_do_something_else_are_no_standalone_runs(tmp_path):
    """Of a program of its own name, as python or sh are, a run may be anything."""
    python = {"program": "/usr/bin/python3", "mounts": {"type": "nfs4", "source": "disk:/s"}}
    own = write_run(tmp_path / "own", 10, [{at: wrote(10, 0.5) for at in range(10)}], begin=5000, **python)
    others = {
        "again": {at: wrote(10, 0.3) for at in range(10)},
        "nearly": {at: wrote(12, 0.3) | metadata(5, 0.1) for at in range(10)},
        "reads": {at: read(10, 0.3) for at in range(10)},
        "reads-too": {at: wrote(10, 0.3) | read(10, 0.3) for at in range(10)},
        "small-calls": {at: wrote(10, 0.3, size=4096) for at in range(10)},
        "less": {0: wrote(10, 0.3)},
    }
    for place, (name, did) in enumerate(others.items()):
        write_run(tmp_path / name, 10, [did], begin=100 * place, **python)
    # What did less in the same time may have a set length.
    assert sorted(names(Surroundings().nearby(own).quiet)) == ["again", "less", "nearly"]
