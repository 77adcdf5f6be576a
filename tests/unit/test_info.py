"""`slicewise report --detail` and the sums behind it, on small jobs whose answers are known."""

import json
import os
import re
from pathlib import Path

import polars as pl
import pytest
import slicewise
from slicewise.analysis.job import io_time as job
from slicewise.analysis.job.io_time import busiest_files, io_time
from slicewise.analysis.job.phases import phases
from slicewise.analysis.job.totals import summarize
from slicewise.digest.digest import Digest
from slicewise.digest.outlines import outlines
from slicewise.digest.processes import count_processes, with_first_program
from slicewise.profile.reader import read_profile
from support.command_line import completed as run
from support.command_line import json_of, refusal_of
from support.swz import START_NS, Writer, build_profile

FIRST = START_NS // 4_000_000_000
SECOND_NS = 1_000_000_000
MIB = 1 << 20
S = 1_000_000_000


@pytest.fixture
def mpi_job(tmp_path) -> Path:
    """Two ranks on two nodes and their mpirun: MPI-IO over POSIX on a file, stdio on a pipe, and the kernel's count."""
    ranks = [
        {"process": number, "rank": number - 1, "ranks": 2, "host": f"n{number}", "profiler_ns": 30_000_000,
         "call_cost_ps": 50_000}
        for number in (1, 2)
    ]  # fmt: skip
    slices = []
    for process in (1, 2):
        slices += [
            {"process": process, "slice": FIRST, "write_bytes": 100, "write_ops": 2, "write_ns": SECOND_NS,
             "write_slowest_ns": process * 1000},
            {"process": process, "slice": FIRST + 2, "write_bytes": 60, "write_ops": 1, "errors": 1},
            {"process": process, "slice": FIRST, "layer": "mpiio", "write_bytes": 100, "write_ops": 1},
            {"process": process, "slice": FIRST, "layer": "mpiio_coll", "write_bytes": 60, "write_ops": 1},
            {"process": process, "slice": FIRST, "mount": 2, "layer": "stdio", "write_bytes": 15, "write_ops": 5,
             "kernel_write_bytes": 20},
            {"process": process, "slice": FIRST + 9, "mount": 0, "layer": "kernel", "write_bytes": 200},
        ]  # fmt: skip
    slices.append({"process": 3, "slice": FIRST + 40, "write_bytes": 5000, "write_ops": 1})
    mounts = [
        row
        for process in (1, 2, 3)
        for row in (
            {"process": process, "mount": 0, "object": "process", "point": "", "type": "", "source": ""},
            {"process": process, "mount": 1},
            {"process": process, "mount": 2, "object": "pipe", "point": "", "type": "", "source": ""},
        )
    ]
    return build_profile(
        tmp_path / "48213",
        processes=[*ranks, {"process": 3, "program": "/usr/bin/mpirun"}],
        slices=slices,
        mounts=mounts,
        calls=[
            {"process": 1, "operation": "pwrite", "calls": 400_000},
            {"process": 2, "operation": "pwrite", "calls": 200_000},
            {"process": 3, "operation": "write", "calls": 1},
        ],
        mishaps=[{"process": number, "mishap": "files_full", "count": number - 1} for number in (2, 3)],
    )


def test_keys_and_sums(mpi_job):
    done = run("report", "--detail", mpi_job, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    info = json.loads(done.stdout)
    assert (info["job"], info["slice_seconds"], info["ranks"], info["ranks_of"]) == ("48213", 4.0, 2, 2)
    assert (info["processes"], info["other_processes"]) == (2, 1)
    assert (info["hosts"], info["programs"]) == (["n1", "n2"], ["/usr/bin/simulation"])
    assert (info["slices"], info["first_slice"], info["end_slice"]) == (2, FIRST, FIRST + 3)
    assert info["start"] == "2023-11-14T22:13:20.000000+00:00"
    assert info["end"] == "2023-11-14T22:14:20.000000+00:00"
    posix = info["totals"]["posix"]
    assert (posix["write_bytes"], posix["write_ops"], posix["errors"]) == (320, 6, 2)
    assert (posix["write_seconds"], posix["write_slowest_seconds"]) == (2.0, 2e-6)
    assert (posix["read_bytes"], posix["meta_ops"], posix["sync_seconds"]) == (0, 0, 0)
    assert info["totals"]["stdio"]["write_bytes"] == 0
    assert (info["totals"]["mpiio"]["write_bytes"], info["totals"]["mpiio"]["write_ops"]) == (320, 4)
    assert {name: sums["write_bytes"] for name, sums in info["by_object"].items()} == {
        "file": 320, "device": 0, "pipe": 30, "socket": 0, "other": 0
    }  # fmt: skip
    (mount,) = info["mounts"]
    assert (mount["point"], mount["processes"], mount["write_bytes"]) == ("/scratch", 2, 320)
    assert info["calls"] == {"pwrite": 600_000}
    assert info["mishaps"] == {"files_full": 3}
    assert info["damage"] == []


def test_coverage_is_of_what_the_kernel_counted(mpi_job):
    coverage = summarize(Digest(read_profile(mpi_job))).coverage
    assert coverage.write == (320 + 40) / 400
    assert coverage.read is None
    assert (coverage.kernel_write_bytes, coverage.processes, coverage.of) == (400, 2, 2)


def test_the_profilers_cost_is_its_slow_paths_and_its_calls(mpi_job):
    cost = summarize(Digest(read_profile(mpi_job))).profiler
    assert cost.seconds == pytest.approx(0.06 + 600_000 * 0.8 * 50e-9)
    assert cost.share_of_runtime == pytest.approx(0.046 / 60), "of the rank that had most calls"


def test_a_parent_that_waits_does_not_make_profiling_cheaper(tmp_path):
    """A shell starts a program, which lives as long: the profiler's second is one of 10, not of 20."""
    lives = {"start_ns": FIRST, "end_ns": FIRST + 10 * S}
    processes = [{"process": 1, **lives}, {"process": 2, **lives, "profiler_ns": S}]
    cost = summarize(Digest(read_profile(build_profile(tmp_path / "a", processes)))).profiler
    assert (cost.seconds, cost.share_of_runtime) == pytest.approx((1, 0.1))
    after = [{**processes[0], "end_ns": FIRST + 5 * S}, {**processes[1], "start_ns": FIRST + 5 * S}]
    cost = summarize(Digest(read_profile(build_profile(tmp_path / "b", after)))).profiler
    assert cost.share_of_runtime == pytest.approx(0.1), "one after another"


@pytest.mark.parametrize(("statx_ps", "taken"), [(200_000, 200e-9), (0, 9.6 * 50e-9)])
def test_an_open_costs_system_calls_too(tmp_path, statx_ps, taken):
    process = {"process": 1, "call_cost_ps": 50_000, "statx_ps": statx_ps}
    calls = [{"process": 1, "operation": "open", "calls": 1000}, {"process": 1, "operation": "mkdir", "calls": 100}]
    job = build_profile(tmp_path / "job", [process], [{"process": 1, "slice": 1, "meta_ops": 1100}], calls=calls)
    cost = summarize(Digest(read_profile(job))).profiler
    assert cost.seconds == pytest.approx(1000 * (8 * 50e-9 + 2 * taken) + 100 * (5 * 50e-9 + taken / 2))


@pytest.mark.parametrize(
    ("process", "mishaps"),
    [
        ({"ending": "killed"}, []),
        ({"ending": "running"}, []),
        ({}, ["no_kernel_count"]),
        ({}, ["kernel_count_partial"]),
    ],
)
def test_processes_without_a_whole_kernel_count_are_not_in_the_coverage(tmp_path, process, mishaps):
    profile = build_profile(
        tmp_path / "job",
        [{"process": 1}, {"process": 2} | process],
        [
            {"process": 1, "slice": 1, "read_bytes": 10},
            {"process": 1, "slice": 1, "layer": "kernel", "mount": 0, "read_bytes": 20},
            {"process": 2, "slice": 1, "read_bytes": 500},
            {"process": 2, "slice": 1, "layer": "kernel", "mount": 0, "read_bytes": 3},
        ],
        mishaps=[{"process": 2, "mishap": mishap, "count": 1} for mishap in mishaps],
    )
    coverage = summarize(Digest(read_profile(profile))).coverage
    assert (coverage.read, coverage.processes, coverage.of) == (0.5, 1, 2)


def test_without_mpi_all_processes_are_the_job(tmp_path):
    slices = [{"process": 2, "slice": 5, "read_bytes": 7, "read_ops": 1}]
    summary = summarize(Digest(read_profile(build_profile(tmp_path / "job", [{"process": 1}, {"process": 2}], slices))))
    assert (summary.processes, summary.other_processes, summary.ranks) == (2, 0, 0)
    assert summary.totals["posix"]["read_bytes"] == 7


def test_a_mount_counts_the_processes_of_all_layers_once(tmp_path):
    slices = [
        {"process": process, "slice": 5, "layer": layer, "read_ops": 1}
        for process, layer in [(1, "posix"), (1, "stdio"), (2, "stdio"), (3, "posix"), (4, "kernel")]
    ]
    processes = [{"process": number} for number in (1, 2, 3, 4)]
    (mount,) = summarize(Digest(read_profile(build_profile(tmp_path / "job", processes, slices)))).mounts
    assert (mount["processes"], mount["read_ops"]) == (3, 4)


def test_bytes_whose_mount_is_lost_are_other(tmp_path):
    slices = [{"process": 1, "slice": 5, "read_bytes": 9}]
    summary = summarize(Digest(read_profile(build_profile(tmp_path / "job", [{"process": 1}], slices, mounts=[]))))
    assert summary.by_object["other"]["read_bytes"] == 9
    assert summary.totals["posix"]["read_bytes"] == 0


def test_a_program_that_execs_stays_one_process(tmp_path):
    processes = [
        {"process": 1, "pid": 10, "ending": "exec"}, {"process": 2, "pid": 10, "ending": "exit"},
        {"process": 3, "pid": 11, "ending": "exec"}, {"process": 4, "pid": 11, "ending": "exec"},
        {"process": 5, "pid": 10, "host": "n2"},
    ]  # fmt: skip
    assert count_processes(Digest(read_profile(build_profile(tmp_path / "job", processes))).processes) == 3


def test_each_count_is_of_processes_where_one_ran_several_programs(tmp_path):
    """Two processes of five programs: in mounts, phases, files and times, and in what analyses count."""
    start, second = START_NS, 1_000_000_000
    programs = [(1, 10, "exec"), (2, 10, "exec"), (3, 10, "exit"), (4, 11, "exec"), (5, 11, "exit")]
    processes = [
        {
            "process": number, "pid": pid, "ending": ending, "start_ns": start + number * second,
            "end_ns": start + (number + 1) * second
        }
        for number, pid, ending in programs
    ]  # fmt: skip
    slices = [
        {
            "process": number, "slice": start // (4 * second), "write_bytes": 1 << 20, "write_ops": 1,
            "write_ns": second // 10, "threads": 1
        }
        for number, _, _ in programs
    ]  # fmt: skip
    files = [{"process": number, "file": 1, "path": "/scratch/a", "opens": 1} for number, _, _ in programs]
    digest = Digest(read_profile(build_profile(tmp_path / "job", processes, slices, files=files), distributions=True))
    summary = summarize(digest)
    assert (summary.processes, summary.mounts[0]["processes"]) == (2, 2)
    assert digest.jobs["processes"].item() == 2
    assert outlines([tmp_path / "job"])[0].did["processes"] == 2
    assert busiest_files(digest, 1)["processes"].item() == 2
    found = phases(digest)
    assert found.phases["processes"].to_list() == [2]
    # 0.3 of 3 s, and 0.2 of 2 s.
    assert (found.time_in_io.slowest, found.time_in_io.median) == (pytest.approx(0.1), pytest.approx(0.1))
    times = io_time(digest)
    assert times.processes["seconds"].to_list() == [pytest.approx(0.3), pytest.approx(0.2)]
    assert times.slowest_label == "process 10 on n1"


def test_a_process_id_that_came_again_is_another_process():
    rows = pl.DataFrame(
        {
            "process": [3, 1, 2, 4], "node": ["n1"] * 4, "pid": [7] * 4, "start_ns": [30, 10, 20, 40],
            "ending": ["exec", "exec", "exit", "exit"]
        }
    )  # fmt: skip
    assert with_first_program(rows)["first_program"].to_list() == [3, 1, 1, 3]
    assert count_processes(rows) == 2


def test_a_profile_in_which_nothing_happened(tmp_path):
    directory = build_profile(tmp_path / "job", [{"process": 1}])
    info = json_of("report", "--detail", directory)
    assert (info["slices"], info["first_slice"], info["end_slice"], info["mounts"]) == (0, None, None, [])
    assert (info["coverage"]["read"], info["coverage"]["write"]) == (None, None)
    done = run("report", "--detail", directory)
    assert (done.returncode, done.stderr) == (0, "")
    assert "nothing" in done.stdout


def test_the_terminal_says_who_what_and_what_next(mpi_job):
    text = run("report", "--detail", mpi_job).stdout
    assert "Job 48213: simulation, 2 processes on 2 nodes (n1, n2), 2 MPI ranks" in text
    assert re.search(r"Saw 90(\.0)? % of the 400 B written that the kernel counted; ", text)
    assert "files_full, 3 times" in text
    assert f"Next: slicewise report {mpi_job}" in text


def test_damage_is_shown_and_names_survive_as_they_are(tmp_path):
    job = "[red]x[/red]</script>"
    directory = build_profile(tmp_path / "d", [{"process": 1, "job": job, "ending": "running"}])
    text = run("report", "--detail", directory).stdout
    assert f"Job {job}:" in text
    assert "1 process has not finished" in text


@pytest.mark.parametrize("options", [[], ["--json"], ["--json", "-o", "out"], ["-o", "out"]], ids=" ".join)
def test_a_path_that_is_no_text(tmp_path, monkeypatch, options):
    directory = build_profile(tmp_path / "job", [{"process": 1, "ending": "running"}])
    odd = directory.rename(tmp_path / os.fsdecode(b"job\xff"))
    monkeypatch.chdir(tmp_path)
    done = run("report", "--detail", odd, *options)
    assert (done.returncode, done.stderr) == (0, "")
    shown = "job\\udcff" if "--json" in options else "job\\xff"
    assert shown in done.stdout or shown in (tmp_path / "out").read_text()


def test_output_goes_to_a_file(mpi_job, tmp_path):
    done = run("report", "--detail", mpi_job, "--json", "-o", tmp_path / "info.json")
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads((tmp_path / "info.json").read_text())["job"] == "48213"
    assert run("report", "--detail", mpi_job, "-o", tmp_path / "info.txt").returncode == 0
    assert "Job 48213" in (tmp_path / "info.txt").read_text()


def test_an_output_that_cannot_be_written_is_one_line(mpi_job, tmp_path):
    done = refusal_of("report", "--detail", mpi_job, "-o", tmp_path / "no" / "such" / "directory.txt")
    assert "cannot be written: No such file or directory" in done


def test_every_counter_of_the_schema_is_in_the_sums_and_every_key_in_the_docs(mpi_job):
    info = json_of("report", "--detail", mpi_job)
    counters = [
        column["name"]
        for column in Writer().schema["tables"][2]["columns"]
        if column["merge"] in ("SUM", "MAX") and "bins" not in column and column["unit"] != "threads"
    ]
    expected = {name.removesuffix("_ns") + "_seconds" if name.endswith("_ns") else name for name in counters}
    assert set(info["totals"]["posix"]) == expected
    documented = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    assert [key for key in info if f"`{key}`" not in documented] == []


def test_controls_in_names_are_spelled_out_and_not_lost(tmp_path):
    """Rich drops some controls in silence: then two programs, or two hosts, would be one to whoever reads."""
    controls = "".join(map(chr, (*range(1, 32), 127)))
    job = build_profile(
        tmp_path / "48213",
        [{"process": 1, "program": f"/bin/a{controls}b", "host": "n\a1"}],
        [{"process": 1, "slice": FIRST, "write_bytes": 100, "write_ops": 1, "write_ns": 5}],
    )
    done = run("report", "--detail", job)
    spelled = "".join(f"\\x{ord(letter):02x}" for letter in controls)
    assert f"a{spelled}b, 1 process on 1 node (n\\x071)" in done.stdout


def test_what_goes_to_a_terminal_is_made_in_one_place():
    """A Text that is made elsewhere loses controls before they can be spelled out."""
    package = Path(slicewise.__file__).parent
    makers = [file.name for file in package.rglob("*.py") if "rich.text" in file.read_text(encoding="utf-8")]
    assert makers == ["tables.py"]


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
                        "process": 1, "file": 1, "path": "/scratch/a", "opens": 1, "write_bytes": 3 * MIB,
                        "write_ns": 2 * S,
                    },
                    {"process": 2, "file": 1, "path": "/scratch/a", "opens": 2, "write_bytes": 3 * MIB, "write_ns": S},
                    {"process": 2, "file": 2, "path": "/scratch/b", "opens": 1, "read_bytes": 9 * MIB, "read_ns": S},
                ],
            ),
            distributions=True,
        )
    )  # fmt: skip


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
