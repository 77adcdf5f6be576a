"""What share of the kernel's bytes was seen, what the rest is put down to, and the words for it."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from slicewise.analysis.coverage import Cause, Coverage, Gap, LeastSeen, ProcessCoverage, Rings, Unprofiled, coverage
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from slicewise.report.coverage import coverage_words
from slicewise.report.coverage.unseen import coverage_table
from support.programs import LIBRARY, ROOT, need
from support.swz import START_NS, Writer, build_profile

MIB = 1 << 20
NODE = "n1"
LAUNCHED = 1 << 40
ALL_SEEN = Coverage(1.0, 1.0, 100, 100, 4, 4, [], None, None, [], [], None, [])
# Not made in a process that may have such a filter.
NOT_OURS = {
    "fdatasync": "the collector's alone (spool_is_kept)", "statmount": "not made where a filter is in force",
    "rt_sigaction": "likewise (computing.c)", "timer_create": "likewise", "timer_settime": "likewise",
    "timer_delete": "likewise",
    "mlockall": "the program's own call, passed on", "mremap": "the program's own call, passed on",
    "setsid": "a step of the program's own call of daemon", "chdir": "a step of the program's own call of daemon",
}  # fmt: skip
LIST = re.compile(r"own_calls\[\] = \{\n(.*?)\n\};", re.DOTALL)


def kernel(process: int, **counts: int) -> dict:
    """The kernel's count of a process in one slice."""
    return {"process": process, "mount": 0, "layer": "kernel", "slice": 1} | counts


def append_launch(file: Path, row: dict) -> None:
    """As `slicewise-collect launched` does: a frame with a process id of its own."""
    writer = Writer()
    with file.open("ab") as profile:
        profile.write(writer.frame(LAUNCHED, 0, writer.rows("launches", [row]), 1))


@pytest.fixture
def of(tmp_path: Path) -> Callable[..., Coverage]:
    """of(processes, slices, unprofiled=, mishaps=, launch=): the coverage of a small job."""

    def build(processes: list[dict], slices: list[dict], launch: dict | None = None, **tables: list[dict]) -> Coverage:
        directory = build_profile(tmp_path / "job", processes, slices, **tables)
        if launch:
            append_launch(next(directory.glob("*.swz")), {"host": NODE, "reason": "unknown"} | launch)
        profile = read_profile(directory)
        assert profile.damage == []
        return coverage(Digest(profile))

    return build


GAPS = {
    "few small reads are the loader's and libc's": (
        [{"process": 1, "slice": 1, "read_bytes": 10_000, "read_ops": 2}, kernel(1, read_bytes=15_000, read_ops=8)],
        [Gap("read", "small", 5_000, 6, 1)],
    ),
    "calls underneath stdio are not known": (
        [{"process": 1, "slice": 1, "layer": "stdio", "read_bytes": 5, "read_ops": 1, "kernel_read_bytes": 4096},
         kernel(1, read_bytes=5_000, read_ops=4)],
        [Gap("read", "small", 904, None, 1)],
    ),
    "as much read as written is copied within the kernel": (
        [kernel(1, read_bytes=MIB + 100, read_ops=5, write_bytes=MIB, write_ops=1)],
        [Gap("read", "copied", MIB + 100, 5, 1), Gap("write", "copied", MIB, 1, 1)],
    ),
    # 600 times `echo > file`: each counts as a page, and changes a directory and an inode.
    "whole pages of small writes are no mapped files": (
        [{"process": 1, "slice": 1, "layer": "posix", "write_bytes": 3_600, "write_ops": 600, "meta_ops": 1_800},
         kernel(1, write_bytes=3_600, write_ops=600, kernel_write_bytes=600 * 4096)],
        [Gap("write", "pages", 600 * 4096 - 3_600, None, 1)],
    ),
    "large folios of small writes are no mapped files": (
        [kernel(1, write_bytes=8 * MIB, write_ops=1024, kernel_write_bytes=202 * MIB)],
        [Gap("write", "pages", 194 * MIB, None, 1), Gap("write", "past_libc", 8 * MIB, 1024, 1)],
    ),
    "what calls cannot have made is mapped": (
        [kernel(1, read_bytes=4096, read_ops=3, kernel_read_bytes=20 * MIB + 4096)],
        [Gap("read", "mapped", 14 * MIB, None, 1), Gap("read", "pages", 6 * MIB, None, 1),
         Gap("read", "small", 4096, 3, 1)],
    ),
    "what one process saw too much does not hide another's gap": (
        [{"process": 1, "slice": 1, "write_bytes": 300}, kernel(2, write_bytes=300, write_ops=1)],
        [Gap("write", "past_libc", 300, 1, 1), Gap("write", "uncounted", 300, None, 1)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GAPS)
def test_what_gaps_are_put_down_to(of, case):
    slices, gaps = GAPS[case]
    found = of([{"process": 1}, {"process": 2}], slices)
    assert sorted(found.gaps, key=str) == sorted(gaps, key=str)


def test_what_was_seen_is_a_share_of_what_the_kernel_counted(of):
    assert of([{"process": 1}], GAPS["few small reads are the loader's and libc's"][0]).read == 10_000 / 15_000


@pytest.mark.parametrize(
    "counts",
    [
        {"read_bytes": 5_000, "read_ops": 0},  # not in calls of their own
        {"read_bytes": MIB, "read_ops": 300},  # not few
        {"read_bytes": 200_000, "read_ops": 2},  # not small
        {"write_bytes": 5_000, "write_ops": 6},  # not reads
    ],
)
def test_all_other_bytes_are_put_down_to_calls_past_libc(of, counts):
    (gap,) = of([{"process": 1}], [kernel(1, **counts)]).gaps
    way = "read" if "read_bytes" in counts else "write"
    assert gap == Gap(way, "past_libc", counts[f"{way}_bytes"], counts[f"{way}_ops"], 1)


def test_storage_without_calls_is_put_down_to_mapped_files(of):
    seen = of([{"process": 1}], [kernel(1, kernel_read_bytes=8 * MIB, kernel_write_bytes=MIB)])
    assert seen.gaps == [Gap("read", "mapped", 8 * MIB, None, 1)]
    assert (seen.read, seen.write) == (None, None)


@pytest.mark.parametrize(
    ("mount", "causes"),
    [
        ({}, {"mapped": 3 * MIB - 100 * 4096, "pages": 7 * MIB + 100 * 4096}),  # 3 MiB were mapped, and no more
        ({"type": "tmpfs"}, {"pages": 10 * MIB}),
        ({"object": "other"}, {"pages": 10 * MIB}),
    ],
)
def test_what_was_mapped_of_storage_bounds_what_mappings_moved(of, mount, causes):
    mapped = {"process": 1, "slice": 1, "mapped_bytes": 3 * MIB - 100 * 4096}
    counted = kernel(1, write_bytes=400 * 1024, write_ops=100, kernel_write_bytes=10 * MIB + 400 * 1024)
    seen = of([{"process": 1}], [mapped, counted], mounts=[{"process": 1, "mount": 1} | mount])
    assert {gap.cause: gap.bytes for gap in seen.gaps if gap.cause != "past_libc"} == causes


def mark(mishap: str, count: int = 1) -> list[dict]:
    return [{"process": 1, "mishap": mishap, "count": count}]


def test_requests_that_were_seen_are_no_mapped_files(of):
    requests = {"process": 1, "slice": 1, "layer": "async", "read_bytes": 8 * MIB, "read_ops": 8}
    assert of([{"process": 1}], [requests, kernel(1, kernel_read_bytes=8 * MIB)]).gaps == []
    counted = requests | {"kernel_read_bytes": 8 * MIB}  # of POSIX aio
    seen = of([{"process": 1}], [counted, kernel(1, read_bytes=8 * MIB, kernel_read_bytes=16 * MIB)])
    assert seen.gaps == [Gap("read", "pages", 8 * MIB, None, 1)]


def test_storage_of_a_process_with_unseen_rings_is_put_down_to_them(of):
    slices = [kernel(1, kernel_write_bytes=8 * MIB), kernel(2, kernel_write_bytes=4 * MIB)]
    seen = of([{"process": 1}, {"process": 2}], slices, mishaps=mark("uring_unseen", 5))
    assert seen.gaps == [Gap("write", "io_uring", 8 * MIB, None, 1), Gap("write", "mapped", 4 * MIB, None, 1)]


@pytest.mark.parametrize("read", [0, MIB], ids=["written", "both"])
def test_bytes_of_a_process_with_libraries_bound_apart_are_put_down_to_them(of, read):
    slices = [kernel(number, write_bytes=MIB, write_ops=1, read_bytes=read, read_ops=1) for number in (1, 2)]
    seen = of([{"process": 1}, {"process": 2}], slices, mishaps=mark("bound_apart"))
    other = "copied" if read else "past_libc"
    assert {(gap.cause, gap.processes) for gap in seen.gaps} == {("bound_apart", 1), (other, 1)}


@pytest.mark.parametrize("mishap", ["calls_dropped", "requests_unclaimed"])
def test_bytes_of_a_process_whose_calls_could_not_be_counted_are_put_down_to_them(of, mishap):
    slices = [kernel(number, write_bytes=MIB, write_ops=1) for number in (1, 2)]
    seen = of([{"process": 1}, {"process": 2}], slices, mishaps=mark(mishap))
    assert {(gap.cause, gap.processes) for gap in seen.gaps} == {("dropped", 1), ("past_libc", 1)}


def test_rings_are_told_with_what_was_seen_of_them(of):
    processes = [{"process": 1}, {"process": 2}]
    calls = [{"process": 1, "operation": "uring_write", "calls": 30}, {"process": 1, "operation": "read", "calls": 3}]
    assert of(processes, [], calls=calls).io_uring is None
    marks = [*mark("uring_used", 2), {"process": 2, "mishap": "uring_used", "count": 1}, *mark("uring_unseen", 10)]
    assert of(processes, [], calls=calls, mishaps=marks).io_uring == Rings(2, 30, 10)
    assert of(processes, [], mishaps=mark("uring_used")).io_uring == Rings(1, 0, 0)


def test_every_process_is_there_the_least_seen_first(of):
    slices = [
        {"process": 1, "slice": 1, "write_bytes": 3 * MIB},
        kernel(1, write_bytes=3 * MIB, read_bytes=100, read_ops=1),
        kernel(2, write_bytes=2 * MIB, write_ops=1, kernel_read_bytes=4 * MIB),
    ]
    seen = of([{"process": 1}, {"process": 2, "program": "/bin/raw"}, {"process": 3, "ending": "killed"}], slices)
    assert (seen.processes, seen.of, seen.killed) == (2, 3, 1)
    assert seen.by_process == [
        ProcessCoverage("process 2 on n1", "/bin/raw", None, 0.0, 0, 0, 0, 2 * MIB, ["mapped", "past_libc"]),
        ProcessCoverage("process 1 on n1", "/usr/bin/simulation", 0.0, 1.0, 0, 3 * MIB, 100, 3 * MIB, ["small"]),
    ]
    table = coverage_table(seen, most=1)
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["process 2 on n1", "raw", "2 MiB", "0 %", "0 B", "-", "mmap, calls past libc"]
    ]


def test_more_seen_than_counted_is_all_and_says_why(of):
    seen = of([{"process": 1}], [
        {"process": 1, "slice": 1, "write_bytes": 300, "write_ops": 3},
        kernel(1, write_bytes=100, write_ops=1),
    ])  # fmt: skip
    assert seen.write == 1.0
    assert seen.gaps == [Gap("write", "uncounted", 200, None, 1)]


def test_the_processes_least_seen_are_named(of):
    processes = [{"process": number, "pid": 100 + number, "rank": number, "ranks": 6} for number in range(1, 6)]
    slices = [kernel(number, write_bytes=number * MIB, write_ops=1) for number in range(1, 6)]
    slices.append({"process": 5, "slice": 1, "write_bytes": 5 * MIB - 100})
    seen = of(processes, slices)
    assert [(row.process, row.share) for row in seen.least_seen] == [
        ("rank 4 on n1", 0.0), ("rank 3 on n1", 0.0), ("rank 2 on n1", 0.0)
    ]  # fmt: skip


def test_programs_that_could_not_be_profiled_are_added_up(of):
    noted = {"number": 1, "program": "/bin/busybox", "reason": "static", "time_ns": START_NS + 5}
    seen = of([{"process": 1}, {"process": 2}], [], unprofiled=[
        {"process": 1, "times": 3, "pid": 7} | noted, {"process": 2, "times": 1, "pid": 9} | noted,
        {"process": 2, "number": 2, "program": "/opt/rclone", "reason": "go", "times": 1, "pid": 8},
    ])  # fmt: skip
    assert seen.unprofiled == [Unprofiled("/bin/busybox", "static", 4), Unprofiled("/opt/rclone", "go", 1)]
    assert (seen.unprofiled_read_bytes, seen.unprofiled_write_bytes) == (None, None)


def test_one_that_was_profiled_after_all_is_not_there(of):
    noted = {"process": 1, "program": "/bin/ping", "reason": "privileged", "times": 1, "pid": 7, "time_ns": START_NS}
    processes = [{"process": 1, "pid": 1}, {"process": 2, "pid": 7, "start_ns": START_NS + 10}]
    assert of(processes, [], unprofiled=[noted]).unprofiled == []


def test_an_exec_without_a_successor_is_a_program_that_is_not_known(of):
    processes = [
        {"process": 1, "pid": 1, "ending": "exec"},
        {"process": 2, "pid": 1, "start_ns": START_NS + 10},
        {"process": 3, "pid": 3, "ending": "exec"},
    ]
    launch = {"pid": 9, "program": "/bin/sh", "read_bytes": 0, "write_bytes": 0, "own_bytes": 0}
    assert Unprofiled("", "unknown", 1) in of(processes, [], launch=launch).unprofiled


def test_an_exec_without_a_successor_may_still_run_until_the_launch_is_over(of):
    seen = of([{"process": 1, "pid": 1}, {"process": 3, "pid": 3, "ending": "exec"}], [])
    assert seen.unprofiled == [Unprofiled("", "unheard", 1)]
    said = coverage_words.could_not_be_profiled(seen.unprofiled)
    assert said == "nothing is known yet of 1 process that still runs or could not be profiled"
    two = [Unprofiled("/bin/st", "static", 1), Unprofiled("", "unheard", 2)]
    assert coverage_words.could_not_be_profiled(two) == (
        "1 process could not be profiled (static): st; "
        "nothing is known yet of 2 processes that still run or could not be profiled"
    )


def test_an_exec_that_was_noted_counts_once(of):
    noted = {"process": 1, "program": "/bin/st", "reason": "static", "times": 1, "pid": 3, "time_ns": START_NS + 1}
    assert of([{"process": 1, "pid": 3, "ending": "exec"}], [], unprofiled=[noted]).unprofiled == [
        Unprofiled("/bin/st", "static", 1)
    ]


def test_what_they_moved_is_the_launched_commands_count_less_that_of_the_profiled(of):
    seen = of(
        [
            {"process": 1, "pid": 1, "host": NODE, "all_write_bytes": 50, "all_read_bytes": 40, "ending": "exec"},
            {"process": 2, "pid": 1, "host": NODE, "all_write_bytes": 120, "all_read_bytes": 70},
        ],
        [{"process": 2, "slice": 1, "write_bytes": 100}, kernel(2, write_bytes=100)],
        unprofiled=[{"process": 2, "program": "/bin/busybox", "reason": "static", "times": 1, "pid": 9}],
        launch={"pid": 1, "write_bytes": 1050, "read_bytes": 170, "own_bytes": 30},
    )
    assert (seen.unprofiled_write_bytes, seen.unprofiled_read_bytes) == (1050 - 120 - 30, 100)
    assert seen.kernel_write_bytes == 1000
    assert seen.write == 0.1


def test_a_killed_process_is_taken_to_have_moved_what_was_seen(of):
    seen = of(
        [{"process": 1, "pid": 1, "host": NODE, "all_write_bytes": 10, "ending": "killed"}],
        [{"process": 1, "slice": 1, "write_bytes": 600}],
        launch={"pid": 7, "write_bytes": 1000, "program": "/bin/busybox", "reason": "static"},
    )
    assert seen.unprofiled == [Unprofiled("/bin/busybox", "static", 1)]
    assert seen.unprofiled_write_bytes == 400


def test_without_unprofiled_programs_the_launch_changes_nothing(of):
    launch = {"pid": 1, "write_bytes": 5000}
    seen = of([{"process": 1, "pid": 1}], [kernel(1, write_bytes=100)], launch=launch)
    assert (seen.kernel_write_bytes, seen.unprofiled_write_bytes) == (100, None)


def test_a_go_program_with_libraries_could_not_be_profiled_either(of):
    mishap = {"process": 1, "mishap": "go_program", "count": 1}
    seen = of([{"process": 1, "program": "/opt/daemon", "ending": "killed"}], [], mishaps=[mishap])
    assert seen.unprofiled == [Unprofiled("/opt/daemon", "go", 1)]


def test_profiles_of_before_these_tables_are_read(tmp_path):
    schema = Writer().schema_text.replace(b'"launches"', b'"lunches"').replace(b'"unprofiled"', b'"undone"')
    writer = Writer(schema)
    payload = writer.rows("processes", [{"process": 1, "job": "old"}])
    (tmp_path / "n1.swz").write_bytes(writer.schema_frame() + writer.frame(1, 0, payload, 1))
    profile = read_profile(tmp_path)
    assert coverage(Digest(profile)).unprofiled == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"read": None, "write": 0.9998, "processes": 3},
         "saw 99.98 % of the bytes written that the kernel counted (over 3 of 4 processes)"),
        ({"read": None, "write": 0.9998, "processes": 3, "killed": 1},
         "saw 99.98 % of the bytes written that the kernel counted (over 3 of 4 processes; "
         "1 process was killed or ended by its own system call, as Go's do, so the kernel's last count is not known)"),
        ({"read": None, "write": None}, "had nothing to compare with, for the kernel counted no bytes"),
        ({"read": None, "write": None, "processes": 0, "killed": 4},
         "had nothing to compare with: 4 processes were killed or ended by their own system call, as Go's do, so the "
         "kernel's last count is not known"),
        ({"read": 0.12, "gaps": [Gap("read", "small", 88, 2, 1)]},
         "saw 100 % of the bytes written and 12 % of the bytes read (the rest were small reads, such as "
         "those of the loader and libc) that the kernel counted"),
        ({"read": 0.12, "gaps": [Gap("read", "small", 40, 2, 1), Gap("read", "past_libc", 48, 1, 1)]},
         "saw 100 % of the bytes written and only 12 % of the bytes read that the kernel counted"),
        ({"read": 0.12}, "saw 100 % of the bytes written and only 12 % of the bytes read that the kernel counted"),
        ({"read": None, "write": 0.12,
          "unprofiled": [Unprofiled("/bin/busybox", "static", 1), Unprofiled("/opt/rclone", "static", 1)]},
         "saw only 12 % of the bytes written that the kernel counted: "
         "2 processes could not be profiled (static): busybox, rclone"),
    ],
)  # fmt: skip
def test_the_sentence(change, line):
    assert coverage_words.seen(replace(ALL_SEEN, **change)) == line


def test_some_bytes_of_workers_that_a_pool_ended_are_no_gap():
    """mp.Pool kills its workers: 4 of 26 bytes beside a gigabyte in the other direction."""
    seen = replace(ALL_SEEN, kernel_read_bytes=1 << 30, kernel_write_bytes=26, write=22 / 26, processes=3, killed=1)
    assert "written" not in coverage_words.seen(seen)
    assert "written" in coverage_words.seen(replace(seen, kernel_write_bytes=9 * MIB))


def test_the_sentence_with_bytes():
    assert coverage_words.seen(replace(ALL_SEEN, read=None, kernel_write_bytes=3 * MIB), says_bytes=True) == (
        "saw 100 % of the 3 MiB written that the kernel counted"
    )


def test_every_cause_has_a_guess_and_a_name():
    assert set(get_args(Cause)) == set(coverage_words.GUESSES) == set(coverage_words.CAUSES)


@pytest.mark.parametrize(
    ("rings", "end"),
    [
        (Rings(1, 0, 0), "1 process, and the kernel does not count its bytes: none of its requests was seen."),
        (Rings(2, 30, 0), "2 processes, and the kernel does not count its bytes: all of its 30 requests were seen."),
        (Rings(2, 3, 27), ": only 10 % of its 30 requests were seen, and the bytes of the others are in no count."),
    ],
)
def test_the_line_on_rings(rings, end):
    (line,) = coverage_words.gap_lines(replace(ALL_SEEN, io_uring=rings))
    assert line.startswith("io_uring was in use in ")
    assert line.endswith(end)


def test_what_the_loader_reads_may_be_left_out():
    seen = replace(ALL_SEEN, gaps=[Gap("read", "small", 4096, 12, 3)])
    assert list(coverage_words.gap_lines(seen, says_small=False)) == []


def test_many_programs_are_not_all_named():
    unprofiled = [Unprofiled(f"/bin/p{number}", "static", 1) for number in range(6)] + [Unprofiled("", "unknown", 2)]
    assert coverage_words.could_not_be_profiled(unprofiled) == (
        "8 processes could not be profiled (static and why is not known): p0, p1, p2, p3 and 3 more"
    )


def test_lines_on_gaps_call_a_guess_a_guess():
    seen = replace(
        ALL_SEEN,
        unprofiled=[Unprofiled("/bin/busybox", "static", 1)],
        unprofiled_write_bytes=MIB,
        gaps=[Gap("read", "small", 4096, 12, 3), Gap("write", "mapped", MIB, None, 1)],
        least_seen=[LeastSeen("rank 3 on n17", "/usr/bin/python3", "write", 0.12, 3 * MIB)],
    )
    lines = list(coverage_words.gap_lines(seen))
    assert lines[0] == "By the kernel's count, what could not be profiled wrote 1 MiB."
    assert lines[1].startswith(
        "4 KiB read in at most 12 calls by 3 processes: not seen; cause: not measured. The loader and libc"
    )
    assert lines[2].startswith("1 MiB more were sent to storage than calls wrote, by 1 process; a guess: files mapped")
    assert lines[3] == "Least was seen of rank 3 on n17 (python3: 12 % of 3 MiB written)."


def test_every_reason_of_the_schema_has_words():
    reasons = {entry["name"] for entry in Writer().schema["enumerations"]["reasons"]}
    assert reasons == set(coverage_words.REASONS)


def listed() -> set[str]:
    found = LIST.search((ROOT / "libprofiler" / "filter.c").read_text())
    assert found is not None
    return set(re.findall(r"\bSYS_(\w+)", found[1]))


def made() -> set[str]:
    names: set[str] = set()
    for path in (*(ROOT / "libprofiler").glob("*.[ch]"), *(ROOT / "store").glob("*.[ch]")):
        if path.name != "filter.c":
            names |= set(re.findall(r"\bSYS_(\w+)", path.read_text()))
    for path in (ROOT / "wrappers").glob("*.[ch]"):
        names |= set(re.findall(r"\bsyscall\(SYS_(\w+)", path.read_text()))
    return names


def test_what_the_library_calls_by_number_is_listed() -> None:
    assert {"statx", "clone", "writev"} <= made()
    assert made() - listed() == set(NOT_OURS)


# What the library asks the loader for. No function that tells or changes anything of the process or the node: that of a
# library beside ours (libfaketime's clock_gettime), or of the program (bash's getenv), would be found.
IMPORTED = {
    "text and memory": "memchr memcpy memmove mempcpy memrchr memset strchr strchrnul strcmp strcspn strlen strncmp "
    "memcmp strncpy strnlen strrchr strsep strspn strstr strtol strtoul strtoull snprintf inet_pton strerror_r "
    "strerrordesc_np bcmp rawmemchr stpcpy strcpy strcat strncat",
    "the loader's own": "dlsym dlvsym getauxval _r_debug gnu_get_libc_version x86_get_cpuid_feature_leaf tls_get_addr",
    "the program's threads, streams and environment": "pthread_key_create pthread_key_delete pthread_once "
    "pthread_setspecific libc_single_threaded errno_location environ stdin stdout stderr _IO_list_all "
    "_IO_list_lock _IO_list_unlock ctype_get_mb_cur_max dirfd stack_chk_fail",
    "the program's end": "cxa_atexit cxa_at_quick_exit cxa_finalize",
    "zstd's, which are not called": "malloc calloc free ZSTD_trace_compress_begin ZSTD_trace_compress_end",
}


def test_what_the_library_imports_has_no_state_of_another() -> None:
    need("nm")
    listing = ["nm", "--dynamic", "--undefined-only", "--format=posix", LIBRARY]
    lines = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.splitlines()
    plain = re.compile(r"^(?:__isoc23_|__)?(\w+?)(?:_chk)?(?:@.*)?$")
    imported = {plain.sub(r"\1", line.split()[0]) for line in lines}
    assert {"memcpy", "dlsym"} <= imported
    assert imported <= {name for names in IMPORTED.values() for name in names.split()}
