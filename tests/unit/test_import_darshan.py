"""`slicewise import darshan`, on logs that the package `darshan` brings along, and on logs put together by hand."""

import contextlib
import importlib
import struct
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicewise.digest.digest import read_digest
from slicewise.errors import UserError
from slicewise.imports import darshan, darshan_log
from slicewise.imports.darshan_log import HeatBins, Log, Record, Trace, require_sound
from slicewise.imports.events import by_weight, events, slices_of
from slicewise.imports.job import ImportedJob, moved_in
from support.command_line import answer_of, slicewise_command
from support.programs import BUILD, need_built

S = 1_000_000_000
PEERS = BUILD / "peers"
START_NS = 1_700_000_000 * S
WAYS = ("read", "write")


@pytest.fixture
def samples(monkeypatch) -> Path:
    """The logs that the package `darshan` has for its own tests; it is where the tools that exports are for are."""
    need_built(PEERS / "bin" / "python", how="make build/peers/.installed")
    (packages,) = PEERS.glob("lib/python*/site-packages")
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    return Path(importlib.import_module("darshan").__file__).parent / "tests" / "input"


def refusal(*arguments: object, status: int = 2) -> str:
    done = slicewise_command("import", "darshan", *arguments)
    assert done.status == status, (done.text, done.errors)
    return done.errors.strip()


def test_a_log_with_dxt(samples, tmp_path):
    file = samples / "sample-dxt-simple.darshan"
    done = answer_of("import", "darshan", file, "--into", tmp_path)
    digest = read_digest(tmp_path / "4233209")
    # What darshan-parser --total prints of it: 4,040 bytes in 14 writes, 40 of them in files of the machine itself.
    assert digest.jobs.select("read_bytes", "write_bytes", "is_mpi", "user", "source").row(0) == (
        0, 4040, True, 28751, "Darshan DXT",
    )  # fmt: skip
    assert digest.processes.height == 16
    assert digest.processes["clock_error_ns"].to_list() == [S] * 16
    assert digest.processes["node"].unique().to_list() == ["sn176"]
    assert digest.process_slices["spread"].to_list() == [1] * digest.process_slices.height
    again = slicewise_command("import", "darshan", file, "--into", tmp_path)
    assert again.text == done


def test_a_log_without_times_is_refused(samples, tmp_path):
    logs = [samples / name for name in ("sample.darshan", "noposix.darshan", "sample-dxt-simple.darshan")]
    assert "has neither DXT nor heat maps" in refusal(logs[0], "--into", tmp_path)
    said = refusal(*logs, "--into", tmp_path, status=1).splitlines()
    assert [line.split(": ")[1].rpartition("/")[2] for line in said] == ["sample.darshan", "noposix.darshan"]
    assert (tmp_path / "4233209").is_dir(), "the others are imported"


def is_sound(log: Path) -> bool:
    with contextlib.suppress(UserError):
        require_sound(log)
        return True
    return False


def unpacked(place: Path, log: bytes) -> list[bytes]:
    pieces = []
    for begin, end in darshan_log._header(place, log, 21)[1]:
        packed = log[begin:end]
        while packed:
            stream = zlib.decompressobj()
            pieces.append(stream.decompress(packed))
            packed = stream.unused_data
    return pieces


def test_any_damaged_byte_of_a_packed_region_is_found(samples, tmp_path):
    whole = (samples / "sample-dxt-simple.darshan").read_bytes()
    require_sound(samples / "sample-dxt-simple.darshan")
    log = tmp_path / "log.darshan"
    (first,) = struct.unpack_from("<Q", whole, 24)  # where the names begin
    harmless = 0
    for at in range(first, len(whole), 97):
        damaged = whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :]
        log.write_bytes(damaged)
        if is_sound(log):
            # A stream's last byte may have bits that stand for nothing.
            assert unpacked(log, damaged) == unpacked(log, whole)
            harmless += 1
    assert harmless < 5
    log.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(UserError, match=r"is damaged: bytes [\d,]+ to 6,630 do not unpack"):
        require_sound(log)
    for length, wrong in (
        (0, "is empty"),
        (100, "within its header"),
        (len(whole) - 1, "1 of 6,631 bytes are missing"),
    ):
        log.write_bytes(whole[:length])
        with pytest.raises(UserError, match=wrong):
            require_sound(log)
    log.write_bytes(b"3.20" + whole[4:])
    assert "Darshan 3.2.0" in refusal(log)
    log.write_bytes(b"\x7fELF" + whole[4:])
    assert "is no Darshan log" in refusal(log)


def test_big_endian_logs_and_those_of_few_modules_are_checked_too(tmp_path):
    log = tmp_path / "log.darshan"
    for order, version, modules, flag in ((">", b"3.10", 16, "3xI"), ("<", b"3.41", 64, "7xQ")):
        form = struct.Struct(f"{order}8sqB{flag}{2 * (modules + 1)}Q{modules}I")
        at = form.size + -form.size % 8
        job, names = zlib.compress(b"job"), zlib.compress(b"names") + zlib.compress(b"more")
        maps = [at + len(job), len(names), *[0] * (2 * modules), *[0] * modules]
        head = form.pack(version, 6567223, 0, 0, *maps).ljust(at, b"\0")
        log.write_bytes(head + job + names)
        require_sound(log)
        log.write_bytes(head + job + names[:-1] + b"\0")
        with pytest.raises(UserError, match="is damaged"):
            require_sound(log)


def test_without_the_package_one_line_says_what_to_install(samples, monkeypatch):
    monkeypatch.setitem(sys.modules, "darshan.backend", None)
    assert "pip install 'slicewise[darshan]'" in refusal(samples / "sample.darshan")


def a_log(records=(), traces=(), heat=(), ranks: int = 2) -> Log:
    modules = [*(["DXT_POSIX"] if traces else []), *(["HEATMAP"] if heat else [])]
    return Log(
        place=Path("some.darshan"), digest="d", version="3.41", job="7", pid=0, user=1, program="/bin/sim",
        start_ns=START_NS, end_ns=START_NS + 100 * S, clock_error_ns=0, ranks=ranks,
        mounts={"/": "ext4", "/s": "lustre"}, names={1: "/s/a", 2: "/b", 3: "<STDOUT>"}, modules=modules, partial=[],
        records=list(records), traces=list(traces), heat=list(heat), hosts={}, object_bytes=0,
    )  # fmt: skip


def a_record(file: int = 1, rank: int = 0, module: str = "POSIX", **counters: float) -> Record:
    named = {f"{module}_{name}": value for name, value in counters.items()}
    return Record(module, file, rank, {k: int(v) for k, v in named.items()}, {k: float(v) for k, v in named.items()})


def a_trace(lengths, begin, end, file: int = 1, rank: int = 0, way: str = "write") -> Trace:
    return Trace(file, rank, way, np.array(lengths), np.array(begin, float), np.array(end, float))


def imported(log: Log, monkeypatch, heat_maps: bool = False) -> tuple[list[ImportedJob], list[str]]:
    monkeypatch.setattr(darshan, "load", lambda place: log)
    return darshan.read_logs([log.place], 4 * S, heat_maps, {})


def test_segments_lie_in_their_slices_and_the_rest_is_spread(monkeypatch):
    record = a_record(BYTES_WRITTEN=30, WRITES=2, OPENS=4, F_OPEN_START_TIMESTAMP=1, F_CLOSE_END_TIMESTAMP=9)
    streams = a_record(3, module="STDIO", BYTES_WRITTEN=8, WRITES=1)
    log = a_log([record, streams], [a_trace([10, 20], [0.5, 6], [0.75, 10])])
    ((job,), refused) = imported(log, monkeypatch)
    assert refused == []
    assert job.mounts[0].source == "lustre:/s"
    found = slices_of(job.events, job.slice_ns)
    rows = found.filter((found["mount"] == 0) & (found["process"] == 0)).sort("slice")
    assert rows["write_bytes"].to_list() == [10, 10, 10]
    assert rows["write_ops"].to_list() == [1, 0, 1]
    assert rows["meta_ops"].to_list() == [1, 2, 1]
    assert rows["spread"].to_list() == [1, 1, 1]
    assert moved_in(found) == {
        ("posix", "read"): 0, ("posix", "write"): 30, ("stdio", "read"): 0, ("stdio", "write"): 8,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({"partial": ["DXT_POSIX"]}, "its DXT was cut short: its end is missing"),
        ({"records": [a_record(BYTES_WRITTEN=100, WRITES=1)]}, "it has 30 of 100 bytes written of 1 file; raise"),
        ({"partial": ["POSIX"]}, "its module POSIX ran out of room"),
        ({"object_bytes": 5}, "moved 5 bytes on DFS and DAOS"),
        ({"modules": []}, "has neither DXT nor heat maps"),
    ],
)
def test_logs_that_lack_something_are_refused(monkeypatch, more, wrong):
    log = replace(a_log([a_record(BYTES_WRITTEN=30, WRITES=2)], [a_trace([10, 20], [0, 1], [1, 2])]), **more)
    jobs, (line,) = imported(log, monkeypatch)
    assert jobs == []
    assert wrong in line


def test_a_heat_map_takes_the_place_of_a_cut_trace_where_asked(monkeypatch):
    heat = [HeatBins("POSIX", 0, "write", 10.0, np.array([40, 60]))]
    log = a_log([a_record(BYTES_WRITTEN=100, WRITES=5)], [a_trace([10], [0], [1])], heat)
    assert "--heat-map takes its heat maps instead" in imported(log, monkeypatch)[1][0]
    ((job,), _) = imported(log, monkeypatch, heat_maps=True)
    found = slices_of(job.events, job.slice_ns)
    assert (job.source, found["write_bytes"].sum(), found["spread"].max()) == ("Darshan heat maps", 100, 3)
    lacking = replace(log, heat=[HeatBins("POSIX", 0, "write", 10.0, np.array([40, 30]))])
    assert "the heat map of POSIX has 70 of 100 bytes" in imported(lacking, monkeypatch, heat_maps=True)[1][0]


def test_a_killed_job_is_imported_if_its_logs_are_joined(monkeypatch):
    whole = a_log([a_record(BYTES_WRITTEN=1, WRITES=1)], [a_trace([1], [0], [1])], ranks=2)
    joined = replace(whole, has_end=False)
    ((job,), refused) = imported(joined, monkeypatch)
    assert (len(job.processes), refused) == (2, [])
    assert "1 log has no end" in job.notes[0]
    one_rank = replace(joined, place=Path("0_sim_id7_mmap-log-9-0.darshan"))
    assert "darshan-merge" in imported(one_rank, monkeypatch)[1][0]
    alone = replace(one_rank, ranks=1)
    assert imported(alone, monkeypatch)[1] == []
    monkeypatch.setattr(darshan, "load", lambda place: joined)
    jobs, (line,) = darshan.read_logs([Path("a"), Path("b")], 4 * S, False, {})
    assert jobs == []
    assert "darshan-merge" in line


def test_a_job_is_not_imported_without_one_of_its_logs(monkeypatch):
    good = a_log([a_record(BYTES_WRITTEN=1, WRITES=1)], [a_trace([1], [0], [1])])
    bad = replace(good, place=Path("other.darshan"), partial=["POSIX"])
    monkeypatch.setattr(darshan, "load", lambda place: {"some": good, "other": bad}[place.stem])
    jobs, refused = darshan.read_logs([good.place, bad.place], 4 * S, False, {})
    assert jobs == []
    assert "job 7: not imported, for it would lack a log: 1 more log is of it" in refused[1]


amounts = st.integers(0, 1 << 40)


@given(st.data())
def test_what_a_heat_map_log_says_comes_out(data):
    """Files of ranks of their own and shared ones, on two mounts: bytes, calls and time are the counters'."""
    ranks = data.draw(st.integers(1, 3))
    records, mapped = [], np.zeros((ranks, 5), np.int64)
    for _ in range(data.draw(st.integers(1, 4))):
        rank, file = data.draw(st.integers(-1, ranks - 1)), data.draw(st.sampled_from([1, 2]))
        shares = np.array(data.draw(st.lists(amounts, min_size=5 * ranks, max_size=5 * ranks))).reshape(ranks, 5)
        if rank >= 0:
            shares[np.arange(ranks) != rank] = 0
        mapped += shares
        size = int(shares.sum())
        calls = data.draw(st.integers(1, 1000)) if size else 0
        records.append(a_record(file, rank, BYTES_READ=size, READS=calls, F_READ_TIME=calls / 8))
    heat = [HeatBins("POSIX", rank, "read", 2.5, bins) for rank, bins in enumerate(mapped) if bins.any()]
    log = a_log(records, heat=heat, ranks=ranks)
    job = darshan._LoggedJob([log], False, {}).made(4 * S)
    found = slices_of(job.events, job.slice_ns)
    of_counters = {
        name: sum(record.counters[f"POSIX_{name}"] for record in records) for name in ("BYTES_READ", "READS")
    }
    assert found["read_bytes"].sum() == of_counters["BYTES_READ"] == job.moved["posix", "read"]
    assert found["read_ops"].sum() == of_counters["READS"]
    assert found["read_ns"].sum() == sum(round(record.times["POSIX_F_READ_TIME"] * S) for record in records)
    assert (found["read_bytes"] >= 0).all()
    for place, mount in enumerate(job.mounts):
        own = sum(r.counters["POSIX_BYTES_READ"] for r in records if (r.file == 1) == (mount.point == "/s"))
        assert found.filter(found["mount"] == place)["read_bytes"].sum() == own


@given(st.lists(st.tuples(st.integers(0, 10**11), st.integers(0, 10**11), amounts, st.integers(1, 99), st.booleans())))
def test_cutting_keeps_every_sum(calls):
    rows = [
        (place % 3, 0, -1, "posix", "write", begin, begin + length, moved, number if in_sum else 1, length, in_sum)
        for place, (begin, length, moved, number, in_sum) in enumerate(calls)
    ]
    found, cut = events(rows), slices_of(events(rows), 4 * S)
    for name, column in (("bytes", "write_bytes"), ("calls", "write_ops"), ("busy_ns", "write_ns")):
        assert cut[column].sum() == found[name].sum()
        assert (cut[column] >= 0).all()


@given(amounts, st.lists(amounts, min_size=1).filter(any))
def test_parts_by_weight_add_up(total, weights):
    parts = by_weight(total, np.array(weights))
    assert parts.sum() == total
    assert (parts >= 0).all()
