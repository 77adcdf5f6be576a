"""Stacks of a job's processes as a tree and in words, and what is said where there are none."""

import json
import struct
import sys
from pathlib import Path

import pytest
from slicewise.errors import UserError
from slicewise.live import ProcessLook
from slicewise.report.live.live_screen import Screen
from slicewise.report.live.stack_words import stack_lines, stacks_record
from slicewise.stacks import ProcessStacks, ThreadNow, stacks_now, tree
from slicewise.symbols.resolve import CodePlace, NotElf, read_elf

MAIN, SOLVE, WRITE, BARRIER = (CodePlace(name, "program") for name in ("main", "solve", "write", "MPI_Barrier"))


def thread(tid: int, state: str, *frames: CodePlace, is_whole: bool = True) -> ThreadNow:
    return ThreadNow(tid, "program", state, state == "R", is_whole, list(frames))


def process(pid: int, rank: int, *threads: ThreadNow, ended: str = "done") -> ProcessStacks:
    return ProcessStacks(pid, rank, "/bin/program", 1000, ended, list(threads))


HELPER = CodePlace("progress", "mpi")
FOUND = [
    process(10, 0, thread(10, "D", MAIN, SOLVE, WRITE), thread(11, "S", HELPER)),
    process(20, 1, thread(20, "R", MAIN, SOLVE, BARRIER), thread(21, "S", HELPER)),
    process(30, 2, thread(30, "R", MAIN, SOLVE, BARRIER), thread(31, "S", HELPER, is_whole=False)),
    process(40, 3, ended="late"),
]


def test_stacks_are_put_together_from_outside_in() -> None:
    assert stack_lines("job", "node", FOUND, tree(FOUND)) == [
        "Job job on node: 3 processes with 6 threads: 1 waits for I/O, 2 run, 3 wait", "", "    3  main",
        "    3  solve", "    2    MPI_Barrier   <- 2 run   [ranks 1, 2]",
        "    1    write   <- 1 waits for I/O   [rank 0]", "    3  progress   <- 3 wait", "",
        "Of 1 stack the outer part is missing: it could not be walked to its beginning.",
        "Process 40 did not answer in time.",
    ]  # fmt: skip


def test_the_record_has_the_same_tree() -> None:
    record = stacks_record("job", "node", FOUND, tree(FOUND))
    (main, progress) = record["tree"]
    assert (main["function"], main["threads"], main["pids"]) == ("main", 3, [10, 20, 30])
    assert [child["function"] for child in main["children"][0]["children"]] == ["MPI_Barrier", "write"]
    assert progress["states"] == {"S": 3}


def test_processes_without_ranks_are_named_by_their_numbers() -> None:
    found = [process(10, -1, thread(10, "R", MAIN)), process(20, -1, thread(20, "R", SOLVE))]
    lines = stack_lines("job", "node", found, tree(found))
    assert lines[2:] == ["    1  main   <- 1 runs   [process 10]", "    1  solve   <- 1 runs   [process 20]"]


def helper_that_prints(folder: Path, *lines: dict[str, object]) -> Path:
    """What stands for slicewise-collect."""
    program = folder / "collect"
    program.write_text("#!/bin/sh\ncat <<'END'\n" + "\n".join(map(json.dumps, lines)) + "\nEND\n")
    program.chmod(0o755)
    return program


LOOK = ProcessLook("1", "job", "", "/bin/program", 1000, 10, 0, 0, {}, 0, 0)


@pytest.mark.parametrize(
    ("ended", "said"),
    [("denied", "process 10 may not be looked into"), ("libunwind", "libunwind8"), ("late", "did not answer in time")],
)
def test_what_forbids_a_look_is_said_in_a_line(tmp_path: Path, ended: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as told:
        stacks_now(helper_that_prints(tmp_path, {"pid": 10, "ended": ended}), "job", [LOOK], 1.0)
    assert "\n" not in str(told.value)


def test_code_that_is_in_no_readable_file_has_its_place(tmp_path: Path) -> None:
    about = {"pid": 10, "tid": 10, "state": "S", "call": 0, "was_stopped": False, "is_whole": True, "name": "a"}
    helper = helper_that_prints(
        tmp_path,
        {"pid": 10, "begin": 4096, "end": 8192, "offset": 0, "path": "/nowhere/program (deleted)"},
        about | {"frames": [4100, 9000]},
        {"pid": 10, "ended": "done"},
    )
    (found,) = stacks_now(helper, "job", [LOOK], 1.0)
    assert [place.function for place in found.threads[0].frames] == ["code in no file", "program (deleted)+0x4"]


def test_a_key_asks_for_the_stacks_of_a_job_and_leaves_them() -> None:
    screen = Screen(opened="job")
    screen.press("s", [])
    assert screen.asked is None
    screen.stacks_of = "job"
    screen.show_stacks(["a", "b"])
    screen.press("s", [])
    assert screen.asked == ""
    screen.press("escape", [])
    assert (screen.stacks, screen.opened) == (None, "job")


def test_a_file_whose_sections_cannot_be_read_has_its_segments(tmp_path):
    """As a packed program: its addresses are told all the same."""
    whole = bytearray(Path(sys.executable).resolve().read_bytes())
    known, packed = read_elf(Path(sys.executable).resolve()), tmp_path / "packed"
    struct.pack_into("<Q", whole, 0x28, len(whole) + 64)  # where its table of sections begins
    packed.write_bytes(whole)
    assert known.segments
    assert read_elf(packed).segments == known.segments
    assert (read_elf(packed).build_id, read_elf(packed).names) == ("", [])
    packed.write_bytes(whole[:60])
    with pytest.raises(NotElf):
        read_elf(packed)
