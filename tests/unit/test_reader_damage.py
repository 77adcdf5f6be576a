"""What the reader says of damaged, incomplete and foreign files, and that all else is still read."""

import errno
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import pytest
from slicewise.errors import UserError
from slicewise.profile.files import unreadable
from slicewise.profile.reader import read_profile
from support.swz import LAST_FRAME, Frames, Writer, build_profile, schema_text

SLICES = 12
BYTES_A_SLICE = 1000
OF_ANOTHER_VERSION = schema_text().replace(b'"slicewise 2', b'"slicewise 1', 1)


def frames_of_a_job(pid: int = 4411, schema: bytes | None = None) -> Frames:
    """The schema, then six frames of two slices each, of process 1; slice k holds 1000 bytes written."""
    writer = Writer(schema)
    frames = [writer.schema_frame()]
    for number in range(6):
        rows = [{"slice": number * 2 + k, "write_bytes": BYTES_A_SLICE} for k in range(2)]
        head = writer.rows("processes", [{"job": "job", "pid": pid}]) if number in (0, 5) else b""
        payload = head + writer.rows("slices", rows)
        frames.append(writer.frame(1, number, payload, LAST_FRAME if number == 5 else 0))
    return Frames(frames)


def position(frames: Frames, place: int) -> tuple[int, int]:
    """First and end byte of a frame in the written file."""
    begin = sum(len(frame) for frame in frames.frames[:place])
    return begin, begin + len(frames.frames[place])


def flip(frame: bytes, at: int) -> bytes:
    return frame[:at] + bytes([frame[at] ^ 0x10]) + frame[at + 1 :]


def error_of(path: Path) -> str:
    with pytest.raises(UserError) as raised:
        read_profile(path)
    line = str(raised.value)
    assert "\n" not in line
    assert str(path) in line
    return line


@pytest.mark.parametrize(("place", "at"), [(3, -1), (3, 60), (3, 20), (3, 36)], ids=["checksum", "zstd", "id", "crc"])
def test_a_flipped_bit_costs_its_frame_and_is_named(tmp_path, place, at):
    frames = frames_of_a_job()
    begin, end = position(frames, place)
    frames.frames[place] = flip(frames.frames[place], at % len(frames.frames[place]))
    file = frames.write(tmp_path / "n17.swz")
    profile = read_profile(file)
    assert profile.slices["slice"].to_list() == [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]
    (damage,) = profile.damage
    assert (damage.kind, damage.byte_ranges, damage.processes) == ("damaged", ((begin, end),), (1,))
    assert (damage.lost_frames, damage.lost_slices) == (1, 2)
    assert damage.message == (
        f"{file}: 1 of 7 frames is damaged (bytes {begin:,}-{end - 1:,}): "
        "8 s of process 4411 are missing; all else was read"
    )


def of_four_billion() -> bytes:
    writer = Writer()
    return writer.frame(1, 0xFFFFFFFF, writer.rows("slices", [{"slice": 99}]), LAST_FRAME)


def longer_than_its_file() -> bytes:
    envelope = Writer().packed_frame(3, 0, b"")[:40]
    claimed = envelope[:24] + struct.pack("<I", 0xFFFFFFF0) + envelope[28:36]
    return claimed + struct.pack("<I", zlib.crc32(claimed))


# What is done to a job's frames, which slices are read of it, and the damage that is told: kind, lost frames, words.
CHANGES = {
    "bytes between frames": (lambda frames: frames.insert(3, b"not a frame at all"), range(12), [("damaged", 0)],
                             "nothing else is known to be missing"),
    "a torn one with others behind it": (lambda frames: frames.insert(2, frames.pop(2)[:-7]), [0, 1, *range(4, 12)],
                                         [("damaged", 1)], "8 s of process 4411 are missing"),
    "a damaged copy": (lambda frames: frames.insert(3, flip(frames[3], 60)), range(12), [], ""),
    "a torn one, written again": (lambda frames: frames.insert(3, frames[3][:-30]), range(12), [], ""),
    "two that are not there": (lambda frames: [frames.pop(3), frames.pop(3)], [*range(4), *range(8, 12)],
                               [("missing", 2)], "n1.swz: 16 s of process 4411 are missing; all else was read"),
    "the first one": (lambda frames: frames.pop(1), range(2, 12), [("missing", 1)],
                      "1 frame of process 4411 is missing"),
    "a schema of the reader's own version": (lambda frames: frames.insert(0, flip(frames.pop(0), 100)), range(12),
                                             [("damaged", 0)], ""),
    "a number of four billion": (lambda frames: frames.append(of_four_billion()), [*range(12), 99],
                                 [("missing", 0xFFFFFFFF - 6)], ""),
    "one longer than its file": (lambda frames: frames.insert(2, longer_than_its_file()), range(12),
                                 [("damaged", 1), ("unfinished", 0)], ""),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_wrong_with_frames_costs_these_alone(tmp_path, change):
    frames = frames_of_a_job()
    do, slices, damage, words = CHANGES[change]
    do(frames.frames)
    profile = read_profile(frames.write(tmp_path / "n1.swz"))
    assert profile.slices["slice"].to_list() == [*slices]
    assert profile.slices.filter(profile.slices["slice"] < SLICES)["write_bytes"].unique().to_list() == [BYTES_A_SLICE]
    assert [(one.kind, one.lost_frames) for one in profile.damage] == damage
    assert all(words in one.message for one in profile.damage)


def test_a_torn_end_is_damage_and_an_unfinished_process(tmp_path):
    frames = frames_of_a_job()
    begin, _ = position(frames, 6)
    frames.frames[6] = frames.frames[6][:50]
    file = frames.write(tmp_path / "n1.swz")
    profile = read_profile(file)
    assert profile.slices.height == SLICES - 2
    damaged, unfinished = profile.damage
    assert damaged.byte_ranges == ((begin, begin + 50),)
    assert "1 frame of process 4411 is missing" in damaged.message
    assert unfinished.kind == "unfinished"
    assert unfinished.message.startswith(f"{file}: 1 process has not finished (still running, or killed: slicewise")


def test_processes_that_still_run_are_counted(tmp_path):
    running = [{"process": number, "ending": "running"} for number in (1, 2, 3)]
    directory = build_profile(tmp_path / "job", [*running, {"process": 4}])
    (damage,) = read_profile(directory).damage
    assert (damage.kind, damage.processes) == ("unfinished", (1, 2, 3))
    assert damage.message == (
        f"{directory}: 3 processes have not finished (still running, or killed: slicewise recover {directory})"
    )


def test_a_lost_schema_of_another_version_ends_its_frames(tmp_path):
    frames = frames_of_a_job(schema=OF_ANOTHER_VERSION)
    frames.frames[0] = flip(frames.frames[0], 100)
    assert "no frame of it could be read" in error_of(frames.write(tmp_path / "n1.swz"))


def test_a_file_that_two_versions_wrote_has_the_first_ones_schema_alone(tmp_path):
    old = Writer(OF_ANOTHER_VERSION)
    first = old.frame(2, 0, old.rows("processes", [{"job": "job", "pid": 4410}]), LAST_FRAME)
    frames = Frames([old.schema_frame(), first, *frames_of_a_job().frames[1:]])
    profile = read_profile(frames.write(tmp_path / "n1.swz"))
    assert profile.processes["pid"].to_list() == [4411, 4410]
    assert profile.slices["write_bytes"].to_list() == [BYTES_A_SLICE] * SLICES
    assert profile.damage == []


def test_a_payload_that_contradicts_its_schema_counts_as_damage(tmp_path):
    writer = Writer()
    sound = writer.rows("slices", [{"slice": 5, "write_bytes": 9}])
    frames = Frames([writer.schema_frame(), writer.frame(1, 0, writer.rows("processes", [{"job": "job"}]))])
    frames.frames.append(writer.frame(1, 1, sound + sound[:-3]))
    frames.frames.append(writer.frame(1, 2, sound, LAST_FRAME))
    profile = read_profile(frames.write(tmp_path / "n1.swz"))
    assert profile.slices["write_bytes"].to_list() == [9]
    assert profile.damage[0].lost_frames == 1


def hostile_payloads() -> dict[str, bytes]:
    writer = Writer()
    presence = len(writer.flat_columns("slices"))
    head = bytes([writer.tables["slices"]]) + struct.pack("<I", 0xFFFFFFFF) + b"\xff" * (presence // 8)
    strings = bytes([writer.tables["processes"]]) + struct.pack("<I", 4000) + b"\x01\x00\x00" + b"\xff\xff" * 4000
    return {
        "four billion constant rows": head + bytes([presence % 8]) + b"\x80" + bytes(8),
        "four billion rows of nothing": bytes([writer.tables["slices"]]) + b"\xff" * 4 + bytes((presence + 7) // 8),
        "strings of 64 KiB each": strings, "a table that is not there": b"\xee" + bytes(20),
        "no rows": bytes([writer.tables["slices"]]) + bytes(60), "a hundred MiB of zeros": bytes(100 << 20),
        "a head alone": b"\x02",
    }  # fmt: skip


@pytest.mark.parametrize("name", hostile_payloads())
def test_sizes_that_a_file_claims_are_not_believed(tmp_path, name):
    frames = frames_of_a_job()
    frames.frames.insert(3, Writer().frame(2, 0, hostile_payloads()[name], LAST_FRAME))
    profile = read_profile(frames.write(tmp_path / "n1.swz"))
    assert profile.slices["write_bytes"].sum() == SLICES * BYTES_A_SLICE
    assert [damage.kind for damage in profile.damage] == ["damaged", "unfinished"]


def test_a_small_file_cannot_take_much_memory(tmp_path):
    writer = Writer()
    presence = len(writer.flat_columns("slices"))
    constant = b"\x80" + bytes(8)
    rows = bytes([writer.tables["slices"]]) + struct.pack("<I", 1 << 23) + b"\xff" * (presence // 8)
    rows += bytes([(1 << presence % 8) - 1]) + constant * presence
    frames = frames_of_a_job()
    frames.frames += [writer.frame(2, 0, bytes(1 << 30)), writer.frame(3, 0, rows)]
    file = frames.write(tmp_path / "n1.swz")
    script = (
        "import sys; from slicewise.profile.reader import read_profile\n"
        "assert len(read_profile(sys.argv[1]).damage[0].byte_ranges) == 2\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    peak = subprocess.run([sys.executable, "-c", script, file], capture_output=True, check=True, text=True).stdout
    assert file.stat().st_size < 1 << 20
    assert int(peak) < 300 << 10, "KiB"  # of its own: getrusage would tell that of the process that started it


def test_what_is_no_profile_gets_one_line(tmp_path):
    foreign = tmp_path / "notes.txt"
    foreign.write_text("nothing of the kind\n" * 100)
    assert "is not a Slicewise profile" in error_of(foreign)
    empty = tmp_path / "n1.swz"
    empty.touch()
    assert "is empty" in error_of(empty)
    assert "does not exist" in error_of(tmp_path / "absent")
    fifo = tmp_path / "pipe.swz"
    os.mkfifo(fifo)
    assert "neither a directory nor a file" in error_of(fifo)


def test_an_empty_directory_and_a_directory_of_jobs(tmp_path):
    assert f"slicewise recover {tmp_path}" in error_of(tmp_path)
    jobs = [build_profile(tmp_path / name, [{"process": 1}]) for name in ("48213", "48190")]
    line = error_of(tmp_path)
    assert all(str(job) in line for job in jobs)


def test_a_foreign_file_among_others_is_passed_over_and_named(tmp_path):
    directory = build_profile(tmp_path / "job", [{"process": 1}])
    foreign = directory / "n2.swz"
    foreign.write_bytes(os.urandom(5000))
    (damage,) = read_profile(directory).damage
    assert damage.message == f"{foreign}: is not a Slicewise profile, and was passed over"


def test_other_formats_are_refused_by_number(tmp_path):
    later = json.loads(schema_text()) | {"format": 7}
    file = Frames([Writer(json.dumps(later).encode()).schema_frame()]).write(tmp_path / "a.swz")
    assert "is of format 7" in error_of(file)
    frames = frames_of_a_job()
    frames.frames = [frame.replace(b"SWZ1", b"SWZ2", 1) for frame in frames.frames]
    assert "is of format 2" in error_of(frames.write(tmp_path / "b.swz"))


@pytest.mark.parametrize(
    "schema",
    [b"", b"[]", b"{}", b'{"format": 1}', b"\xff\xfe", b"[" * 100_000, schema_text()[:-40]],
    ids=["empty", "list", "object", "format alone", "not UTF-8", "deep", "cut"],
)
def test_a_schema_that_is_not_one(tmp_path, schema):
    writer = Writer()
    frames = Frames([writer.frame(0, 0, schema), *frames_of_a_job(schema=OF_ANOTHER_VERSION).frames[1:]])
    assert "no frame of it could be read" in error_of(frames.write(tmp_path / "n1.swz"))


def test_several_jobs_in_one_directory(tmp_path):
    directory = build_profile(tmp_path / "48213", [{"process": 1}])
    shutil.copy(build_profile(tmp_path / "48190", [{"process": 2}]) / "n1.swz", directory / "n2.swz")
    assert "holds several jobs (48190, 48213)" in error_of(directory)


def test_slices_of_different_length_in_one_job(tmp_path):
    processes = [{"process": 1}, {"process": 2, "slice_ns": 1_000_000_000}]
    assert re.search(r"slices of 1 s, 4 s; .*SLICEWISE_SLICE", error_of(build_profile(tmp_path / "job", processes)))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody who may not read")
def test_a_file_without_permission():
    directory = Path(tempfile.mkdtemp(prefix="slicewise-permission-"))
    try:
        file = build_profile(directory / "job", [{"process": 1}]) / "n1.swz"
        directory.chmod(0o755)
        file.chmod(0)
        os.seteuid(65534)
        assert error_of(file).endswith("cannot be read: Permission denied; ask its owner for permission to read it")
        with pytest.raises(UserError, match="Permission denied"):
            read_profile(file.parent)
    finally:
        os.seteuid(0)
        shutil.rmtree(directory)


@pytest.mark.parametrize(
    ("error", "way_out"),
    [(errno.EPERM, "ask its owner"), (errno.ESTALE, "it is there no longer"), (errno.EIO, "try again")],
)
def test_what_is_to_be_done_follows_from_why_a_file_is_not_read(error, way_out):
    assert f"{os.strerror(error)}; {way_out}" in unreadable(Path("n1.swz"), error)
    assert unreadable(Path("n1.swz"), OSError(error, "")) == unreadable(Path("n1.swz"), error)


NOW_NS = 1_790_000_000 * 10**9  # of 2026
A_YEAR_NS = 366 * 86400 * 10**9
CLOCKS = {  # what a clock says where it is years off, and how it is told
    "1960-01-02": (1 << 64) - 315532800 * 10**9, "1970-01-02": 86400 * 10**9, "2110-01-01": 4417977600 * 10**9,
    "2300-01-01": 10413792000 * 10**9,
}  # fmt: skip


def write_clocks(folder: Path, *start_ns: int) -> Path:
    """A job of processes that began at these times of their clocks, ran for 8 s and wrote in every slice."""
    writer = Writer()
    frames = [writer.schema_frame()]
    for number, start in enumerate(start_ns, 1):
        process = {"job": "job", "pid": 4410 + number, "start_ns": start, "end_ns": start + 8 * 10**9}
        rows = [{"slice": start // (4 * 10**9) + k, "write_bytes": BYTES_A_SLICE} for k in range(2)]
        payload = writer.rows("processes", [process]) + writer.rows("slices", rows)
        frames.append(writer.frame(number, 0, payload, LAST_FRAME))
    return Frames(frames).write(folder / "n1.swz")


@pytest.mark.parametrize("said", CLOCKS)
def test_a_process_whose_clock_is_years_off_costs_itself_alone(tmp_path, said):
    profile = read_profile(write_clocks(tmp_path, NOW_NS, CLOCKS[said], NOW_NS + 10**9))
    (damage,) = profile.damage
    assert (damage.kind, damage.processes) == ("implausible", (2,))
    assert f"process 4412 (its clock said {said}) is left out: no job has such numbers; all else was read" in str(
        damage.message
    )
    assert profile.processes["process"].to_list() == [1, 3]
    assert profile.slices["write_bytes"].sum() == 2 * 2 * BYTES_A_SLICE


@pytest.mark.parametrize("tables", [["processes"], ["slices"], ["calls"]])
def test_a_clock_that_is_years_off_leaves_every_question_the_same_processes(tmp_path, tables):
    """Also one that asks for no times."""
    profile = read_profile(write_clocks(tmp_path, NOW_NS, CLOCKS["1970-01-02"], NOW_NS), tables=tables)
    assert [damage.processes for damage in profile.damage] == [(2,)]


@pytest.mark.parametrize(
    ("clocks", "costs"),
    [
        ((CLOCKS["1970-01-02"], NOW_NS), [(1,)]),  # of two, years apart, the later stays
        ((NOW_NS, NOW_NS + A_YEAR_NS - 10**10), []),  # months apart
        ((CLOCKS["1970-01-02"],), []),  # by itself
    ],
)
def test_which_clock_is_off_is_told_by_the_others(tmp_path, clocks, costs):
    profile = read_profile(write_clocks(tmp_path, *clocks))
    assert [damage.processes for damage in profile.damage] == costs
    assert profile.processes.height == len(clocks) - len(costs)
