"""One job by itself, against profiles whose sums are known."""

import pytest
from slicewise.analysis.job import io_time as job
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from support.swz import build_profile

MIB = 1 << 20
S = 1_000_000_000


@pytest.fixture
def profile(tmp_path):
    """Ranks 0 and 1 that write files, mpirun that writes a file too, a pipe, and MPI-IO on top of it all."""
    moved = {"write_bytes": 3 * MIB, "write_ops": 3, "write_ns": 2 * S, "write_size_4": 3, "write_latency_20": 3}
    return Digest(
        read_profile(
            build_profile(
                tmp_path / "48213",
                [
                    {"process": 1, "rank": 0, "ranks": 2},
                    {"process": 2, "rank": 1, "ranks": 2, "host": "n2"},
                    {"process": 3, "program": "/usr/bin/mpirun"},
                ],
                [
                    {"process": 1, "slice": 10} | moved,
                    {"process": 1, "slice": 10, "layer": "mpiio"} | moved,
                    {"process": 1, "slice": 10, "layer": "stdio", "read_bytes": MIB, "read_ops": 1, "read_ns": S},
                    {"process": 1, "slice": 10, "mount": 2} | moved,
                    {"process": 2, "slice": 11, "meta_ops": 4, "meta_ns": S, "meta_latency_10": 4} | moved,
                    {"process": 3, "slice": 11} | moved,
                ],
                [
                    *({"process": process} for process in (1, 2, 3)),
                    {"process": 1, "mount": 2, "object": "pipe", "point": "", "type": "", "source": ""},
                ],
                [
                    {
                        "process": 1,
                        "file": 1,
                        "path": "/scratch/a",
                        "opens": 1,
                        "write_bytes": 3 * MIB,
                        "write_ns": 2 * S,
                    },
                    {"process": 2, "file": 1, "path": "/scratch/a", "opens": 2, "write_bytes": 3 * MIB, "write_ns": S},
                    {"process": 2, "file": 2, "path": "/scratch/b", "opens": 1, "read_bytes": 9 * MIB, "read_ns": S},
                ],
            ),
            distributions=True,
        )
    )


def test_a_jobs_own_io_is_that_of_its_ranks_on_files_without_mpi_io_again(profile):
    rows = job.per_slice(job.own_slices(profile)).rows()
    assert rows == [(10, MIB, 3 * MIB, 1, 3, 0, 0), (11, 0, 3 * MIB, 0, 3, 4, 0)]


def test_time_in_io_is_by_rank_with_the_slowest_named(profile):
    time = job.io_time(profile)
    assert time.processes["label"].to_list() == ["rank 0 on n1", "rank 1 on n2"]
    assert time.processes["seconds"].to_list() == [3.0, 3.0]
    assert (time.slowest, time.median) == (3.0, 3.0)
    assert time.slowest_label == "rank 0 on n1"


def test_calls_by_bin_show_one_bin_around_those_that_were_used(profile):
    sizes = job.by_bin(profile, "size")
    edges = (0, 101, 1025, 10241, 102401, 1048577, 4194305)
    assert sizes.rows() == [
        ("write", 3, edges[3], edges[4] - 1, 0),
        ("write", 4, edges[4], edges[5] - 1, 6),
        ("write", 5, edges[5], edges[6] - 1, 0),
    ]
    latencies = job.by_bin(profile, "latency")
    used = {(kind, place): calls for kind, place, _, _, calls in latencies.rows() if calls}
    assert used == {("write", 20): 6, ("meta", 10): 4}


def test_files_add_up_over_processes_the_busiest_first(profile):
    rows = job.busiest_files(profile, most=5).rows()
    assert rows == [("/scratch/b", 1, 1, 9 * MIB, 0, 1.0, 0, 0.0), ("/scratch/a", 2, 3, 0, 6 * MIB, 3.0, 0, 0.0)]
    assert job.busiest_files(profile, most=1).height == 1


def test_a_job_without_io_has_empty_answers(tmp_path):
    quiet = Digest(read_profile(build_profile(tmp_path / "quiet", [{"process": 1}]), distributions=True))
    assert job.per_slice(job.own_slices(quiet)).is_empty()
    assert job.by_bin(quiet, "size").is_empty()
    assert job.io_time(quiet).slowest == 0.0
