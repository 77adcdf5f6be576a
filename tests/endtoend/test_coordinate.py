"""Jobs that take turns: who waits for whom, what the log says of it, and whom it lets in."""

import contextlib
import hashlib
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from socketserver import BaseRequestHandler, TCPServer, ThreadingMixIn
from typing import Any

import polars as pl
import pytest
from slicewise.analysis.policies.simulation import IoPhase, PolicyJob, simulate
from slicewise.kinds import Policy
from slicewise.profile.reader import read_profile
from slicewise.text import words
from support.command_line import run_slicewise, slicewise_command
from support.coordination import (
    MIB,
    Coordinator,
    another_goes,
    assert_replays,
    coordinator,
    is_as_written,
    start_burst,
    waited_seconds,
)
from support.programs import COLLECTOR, LIBRARY, ROOT, Apps, Job, need
from support.workload import LOAD, MPIRUN, require_load

TURNS_LIBRARY = LIBRARY.with_name("libslicewise-coordinate.so")
SECRET = "a secret of twenty or so bytes"


def write_in_turns(job: Job, apps: Apps, service: Coordinator, policy: str, **settings: str) -> None:
    """A job of 40 MiB, and one of 8 MiB that comes while it writes; both write what they should."""
    program = apps.build("burst")
    ours = {"SLICEWISE_COORDINATE": policy, "SLICEWISE_COORDINATE_AT": service.address} | settings
    first = start_burst(job, program, "first", 40, 20, **ours)
    service.await_event("authorise")
    second = start_burst(job, program, "second", 8, 20, **ours)
    assert [first.wait(60), second.wait(60)] == [0, 0]
    assert is_as_written(job.data / "first", 40)
    assert is_as_written(job.data / "second", 8)


@pytest.mark.parametrize(("policy", "who_waits"), [("fcfs", "second"), ("interrupt", "first")])
def test_who_waits(job: Job, apps: Apps, tmp_path: Path, policy: str, who_waits: str) -> None:
    with coordinator(tmp_path) as service:
        write_in_turns(job, apps, service, policy)
    waited = {name: waited_seconds(job, name) for name in ("first", "second")}
    assert max(waited, key=lambda name: waited[name]) == who_waits
    assert waited[who_waits] > 0.1
    slices = read_profile(job.folder / who_waits).slices
    assert slices["write_ns"].sum() / 1e9 < 60
    assert_replays(service)
    assert "first" not in service.log.read_text()


def test_who_waits_under_a_policy_that_weighs_can_be_replayed(job: Job, apps: Apps, tmp_path: Path) -> None:
    with coordinator(tmp_path, "--policy", "dynamic", "--metric", "sum_interference", "--capacity", "4e6") as service:
        write_in_turns(job, apps, service, "fcfs")
    assert_replays(service)


def test_over_a_network_with_a_secret(job: Job, apps: Apps, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    other = tmp_path / "other"
    other.write_text(SECRET + " not")
    with coordinator(tmp_path, "--secret-file", str(secret), listen="tcp:127.0.0.1:17643") as service:
        write_in_turns(job, apps, service, "fcfs", SLICEWISE_COORDINATE_SECRET=str(secret))
        events = len(service.events())
        settings = {"SLICEWISE_COORDINATE_AT": service.address, "SLICEWISE_COORDINATE_SECRET": str(other)}
        stranger = start_burst(job, apps.build("burst"), "stranger", 4, 0, **settings)
        _, errors = stranger.communicate(timeout=60)
        assert stranger.returncode == 0
        assert errors.decode() == (
            "slicewise: I/O is not coordinated any more: the coordinator is gone, or has another secret\n"
        )
        assert len(service.events()) == events
    assert_replays(service)


class Listener(ThreadingMixIn, TCPServer):
    """The end of a tunnel, by which connections reach a coordinator; it keeps all that they carry."""

    daemon_threads = True

    def __init__(self, coordinator: tuple[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), BaseRequestHandler)
        self.coordinator, self.heard = coordinator, bytearray()

    def finish_request(self, request: Any, client_address: Any) -> None:
        with socket.create_connection(self.coordinator) as onward:
            back = threading.Thread(target=self.carry, args=(onward, request), daemon=True)
            back.start()
            self.carry(request, onward)
            back.join()

    def carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while some := source.recv(1 << 16):
                self.heard += some
                sink.sendall(some)
            sink.shutdown(socket.SHUT_WR)


def test_through_a_tunnel_and_what_a_listener_hears(job: Job, apps: Apps, tmp_path: Path) -> None:
    """Neither the secret, in plain or as keys are made of it, nor names."""
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    with (
        coordinator(tmp_path, "--secret-file", str(secret), listen="tcp:127.0.0.1:17644") as service,
        Listener(("127.0.0.1", 17644)) as tunnel,
    ):
        threading.Thread(target=tunnel.serve_forever, daemon=True).start()
        service.address = f"tcp:127.0.0.1:{tunnel.server_address[1]}"
        write_in_turns(job, apps, service, "fcfs", SLICEWISE_COORDINATE_SECRET=str(secret))
        tunnel.shutdown()
    assert service.jobs() == 2
    assert len(tunnel.heard) > 128
    for hidden in (SECRET.encode(), hashlib.sha256(SECRET.encode()).digest(), b"first", b"second"):
        assert hidden not in tunnel.heard


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--listen", "tcp:127.0.0.1:17643"], "give --secret-file"),
        (["--listen", "nowhere"], "neither unix:/PATH nor tcp:ADDRESS:PORT"),
        (["--listen", "unix:/x", "--policy", "mine"], "--policy mine"),
        (["--listen", "unix:/x", "--most-seconds", "-1"], "not a number"),
    ],
)
def test_what_a_coordinator_refuses(options: list[str], complaint: str) -> None:
    done = subprocess.run([COLLECTOR, "coordinate", *options], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_ranks_wait_together_before_a_collective_call(job: Job, apps: Apps, tmp_path: Path) -> None:
    require_load()
    name = tmp_path / "shared"
    collective = ["--api", "mpiio", "--collective", "--shared", "--volume", "8M", "--transfer", "2M", name]
    with coordinator(tmp_path, "--policy", "fcfs") as service:
        settings = {"SLICEWISE_COORDINATE": "fcfs", "SLICEWISE_COORDINATE_AT": service.address}
        with another_goes(job, apps.build("burst"), service):
            done = job.run([*MPIRUN, "2", LOAD, *collective], **settings)
        assert (done.status, done.errors) == (0, "")
    assert name.stat().st_size == 8 * MIB
    ranks = job.profile().processes.filter(pl.col("rank") >= 0)
    assert ranks["waits"].to_list() == [1, 1]
    assert ranks["waited_ns"].min() > 0.1e9
    in_slices = job.profile().waits.group_by("process").agg(pl.col("waited_ns").sum())
    assert ranks.join(in_slices, on="process", suffix="_in_slices").select(
        pl.col("waited_ns") == pl.col("waited_ns_in_slices")
    )["waited_ns"].to_list() == [True, True]
    writes = job.profile().slices.filter(pl.col("layer") == "mpiio_coll")
    assert writes["write_ops"].sum() == 4
    assert writes["write_ns"].sum() < ranks["waited_ns"].sum()
    text = slicewise_command("report", "--detail", job.spool_dir).text
    assert "for its turn at I/O" in text
    assert_replays(service)


def test_a_phase_is_judged_by_the_one_before_it(job: Job, tmp_path: Path) -> None:
    """By all that it wrote, in calls that are too small to ask each time as well."""
    require_load()
    load = [LOAD, "--volume", "8M", "--transfer", "256K", "--phases-at", "0,2.5", tmp_path / "file"]
    with coordinator(tmp_path, "--policy", "fcfs", "--capacity", "1e9") as service:
        settings = {"SLICEWISE_COORDINATE": "fcfs", "SLICEWISE_COORDINATE_AT": service.address}
        job.must_run([*MPIRUN, "1", *load], SLICEWISE_COORDINATE_BURST="0.25", **settings)
        events = service.events()
    begins = [place for place, event in enumerate(events) if event["event"] == "authorise"]
    assert [events[place - 1]["bytes"] for place in begins] == [MIB // 4, 8 * MIB]
    assert events[begins[1] - 1]["seconds"] == pytest.approx(8 * MIB / 1e9, rel=0.001)


def test_a_command_waits_for_its_turn(job: Job, apps: Apps, tmp_path: Path) -> None:
    with coordinator(tmp_path, "--policy", "fcfs") as service, another_goes(job, apps.build("burst"), service):
        began = time.monotonic()
        done = run_slicewise(
            "turns", "wait", "--at", service.address, "--", "sh", "-c", "echo mine; exit 3", directory=tmp_path
        )
        assert (done.returncode, done.stdout) == (3, "mine\n")
        assert "for its turn" in done.stderr
        assert time.monotonic() - began > 0.2
    assert_replays(service)


def test_who_claims_more_processes_than_can_be_is_not_believed(job: Job, apps: Apps, tmp_path: Path) -> None:
    with coordinator(tmp_path, "--most-processes", "4") as service:
        command = ["turns", "wait", "--at", service.address, "--processes", "1000000000", "--", "true"]
        assert run_slicewise(*command, directory=tmp_path).returncode == 0
        (informed,) = [event for event in service.events() if event["event"] == "inform"]
        assert informed["processes"] == 4


def test_who_is_served_for_too_long_must_queue_anew(job: Job, apps: Apps, tmp_path: Path) -> None:
    with coordinator(tmp_path, "--policy", "fcfs", "--most-seconds", "0.5") as service:
        write_in_turns(job, apps, service, "fcfs")
        assert next(event["why"] for event in service.events() if event["event"] == "deadline") == "served"
    assert_replays(service)


@pytest.mark.parametrize("how", ["fwrite", "fputs", "fprintf", "fread"])
def test_a_burst_through_a_stream_waits_without_its_lock(job: Job, apps: Apps, tmp_path: Path, how: str) -> None:
    name = job.data / "streamed"
    written = b"".join(bytes([ord("a") + part]) * MIB for part in range(6))
    if how == "fread":
        name.write_bytes(written)
    with coordinator(tmp_path, "--policy", "fcfs") as service:
        ours = {"SLICEWISE_COORDINATE": "fcfs", "SLICEWISE_COORDINATE_AT": service.address}
        ours |= {"SLICEWISE_COORDINATE_BURST": "2", "SLICEWISE_COORDINATE_READS": "1"}
        with another_goes(job, apps.build("burst"), service):
            done = job.run([apps.build("burst_stdio", "-pthread"), how, name, "6", "20"], **ours)
        assert (done.status, done.errors) == (0, "")
    assert name.read_bytes() == written
    waited_us = job.profile().processes["waited_ns"].sum() / 1e3
    assert waited_us > 0.2e6
    assert int(done.output) < waited_us / 2
    assert_replays(service)


@pytest.mark.parametrize("mebibytes", [0, 200])
def test_what_was_asked_for_and_not_moved_is_no_burst(job: Job, apps: Apps, tmp_path: Path, mebibytes: int) -> None:
    with (job.data / "read").open("wb") as file:
        file.truncate(mebibytes * MIB)
    reads = "import os; fd = os.open('read', os.O_RDONLY); [os.read(fd, 1 << 20) for _ in range(200)]"
    with coordinator(tmp_path) as service:
        ours = {"SLICEWISE_COORDINATE": "fcfs", "SLICEWISE_COORDINATE_AT": service.address}
        ours |= {"SLICEWISE_COORDINATE_BURST": "64", "SLICEWISE_COORDINATE_READS": "1"}
        job.must_run([sys.executable, "-I", "-S", "-c", reads], **ours)
        assert service.has_logged("inform") == (mebibytes > 0)


def test_a_turn_may_last_until_the_file_is_closed(job: Job, apps: Apps, tmp_path: Path) -> None:
    with coordinator(tmp_path) as service:
        write_in_turns(job, apps, service, "interrupt", SLICEWISE_COORDINATE_BY="file")
        events = service.events()
    steps = [event["job"] for event in events if event["event"] == "inform"]
    assert steps == [1, 2]
    assert_replays(service)


def files_within_main(job: Job, program: Path, name: str, **settings: str) -> set[str]:
    """The source files of which any instruction ran within main."""
    out = job.folder / f"callgrind-{name}"
    callgrind = ["valgrind", "--tool=callgrind", "--toggle-collect=main", "--compress-strings=no"]
    done = job.run([*callgrind, f"--callgrind-out-file={out}", program, job.data / name, "8", "0"], **settings)
    assert done.status == 0, done.errors
    return {Path(line).name for line in re.findall(r"^f[lie]=(.*)$", out.read_text(), re.MULTILINE)}


def test_where_nobody_asked_for_turns_no_instruction_is_spent_on_them(job: Job, apps: Apps) -> None:
    need("valgrind")
    program = apps.build("burst")
    asked = {"SLICEWISE_COORDINATE": "fcfs", "SLICEWISE_COORDINATE_BURST": "2"}
    asked["SLICEWISE_COORDINATE_AT"] = f"unix:{job.folder}/nobody"
    with_turns = files_within_main(job, program, "asked", **asked)
    without = files_within_main(job, program, "not_asked")
    assert {"burst.c", "burst_posix.c", "coordinate.c", "turn_client.c"} <= with_turns
    assert {"posix.c", "call.c"} <= without
    assert not {name for name in without if name.startswith(("burst_", "coordinate.", "turn_client.", "mpi_turns."))}


def sources_of(library: Path) -> set[str]:
    """The source files that a library has symbols of."""
    listed = subprocess.run(["readelf", "--symbols", "--wide", library], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in listed.stdout.splitlines() if " FILE " in line}


def test_the_profiler_has_no_code_that_delays_anybody() -> None:
    turns = {path.name for path in (ROOT / "turns").glob("*.c")}
    assert {"burst.c", "turn_client.c", "mpi_turns.c"} <= turns
    assert turns <= sources_of(TURNS_LIBRARY)
    assert not turns & sources_of(LIBRARY)
    assert {"posix.c", "call.c"} <= sources_of(LIBRARY)


def test_the_library_of_turns_is_opened_only_where_they_are_asked_for(job: Job) -> None:
    asked = {"SLICEWISE_COORDINATE": "fcfs", "SLICEWISE_COORDINATE_AT": f"unix:{job.folder}/nobody"}
    for settings, is_open in ((asked, True), (asked | {"SLICEWISE_OFF": "1"}, False), ({}, False)):
        done = job.run(["cat", "/proc/self/maps"], **settings)
        assert done.status == 0, done.errors
        assert (bytes(TURNS_LIBRARY) in done.output) == is_open, settings


def test_call_sites_are_the_programs_where_it_takes_turns(job: Job, apps: Apps, tmp_path: Path) -> None:
    with coordinator(tmp_path) as service:
        asked = {"SLICEWISE_COORDINATE": "fcfs", "SLICEWISE_COORDINATE_AT": service.address}
        done = job.run([apps.build("burst"), job.data / "file", "64", "5"], **asked, SLICEWISE_SITE_MS="0.1")
        assert done.status == 0, done.errors
        assert service.count("authorise") > 0
    profile = job.profile()
    used = profile.frames.join(profile.modules, on=["process", "module"])["path"]
    assert len(used) > 0
    assert not used.str.contains("libslicewise").any()


@pytest.mark.parametrize("other", ["absent", "of another build"])
def test_a_profiler_without_its_library_of_turns_goes_on_without(
    job: Job, apps: Apps, tmp_path: Path, other: str
) -> None:
    alone = tmp_path / "lib"
    alone.mkdir()
    shutil.copy(LIBRARY, alone)
    if other != "absent":
        source = tmp_path / "other.c"
        source.write_text("const void *slicewise_turns_begin(const void *provided) { (void)provided; return 0; }")
        build = ["cc", "-shared", "-fPIC", source, "-o", alone / TURNS_LIBRARY.name]
        subprocess.run(build, check=True)
    asked = {"SLICEWISE_COORDINATE": "fcfs", "SLICEWISE_COORDINATE_AT": f"unix:{job.folder}/nobody"}
    preload = {"LD_PRELOAD": str(alone / LIBRARY.name)}
    done = job.run([apps.build("burst"), job.data / "file", "20", "0"], **asked, **preload)
    assert done.status == 0, done.errors
    assert is_as_written(job.data / "file", 20)
    assert f"I/O is not coordinated: {alone / TURNS_LIBRARY.name} is not there" in done.errors
    mishaps = job.profile().mishaps
    assert mishaps.filter(pl.col("mishap") == "not_coordinated")["count"].sum() == 1


def test_reports_of_jobs_that_took_turns(job: Job, apps: Apps, tmp_path: Path) -> None:
    """What was counted while the second job waited is what every command says."""
    with coordinator(tmp_path) as service:
        write_in_turns(job, apps, service, "fcfs", SLICEWISE_SLICE="0.1")
    waited = waited_seconds(job, "second")
    first, second = job.folder / "first", job.folder / "second"

    def told(command: str, *words: object) -> tuple[str, dict[str, Any]]:
        text = slicewise_command(command, *words)
        record = slicewise_command(command, *words, "--json")
        assert (text.status, record.status) == (0, 0), text.errors + record.errors
        return text.text, json.loads(record.text)

    of_second = f"{words.duration(waited)} for its turn"
    text, found = told("overlap", first, second)
    assert f"second waited {of_second} (coordination)." in text
    assert found["waited_seconds"] == {"first": pytest.approx(0.0, abs=0.1), "second": pytest.approx(waited)}
    # It wrote its first MiB without asking, and so the wait is within its I/O time span.
    (write,) = [one for one in found["directions"]["write"]["jobs"] if one["job"] == "second"]
    assert write["waited_seconds"] == pytest.approx(waited, abs=0.2)
    _, found = told("report", second)
    assert found["turns"]["waited_seconds"] == pytest.approx(waited)
    assert sum(one["seconds"] for one in found["turns"]["slices"]) == pytest.approx(waited)
    text, found = told("blame", second, first)
    assert "while first had it" in text
    assert found["turn"]["seconds"]["value"] == pytest.approx(waited)
    assert [one["job"] for one in found["turn"]["had_it"]] == ["first"]


def test_a_program_of_python_says_what_its_phases_move(job: Job, tmp_path: Path) -> None:
    program = f"""
import os, time
from slicewise.running.turns import Turns
turns = Turns()
fd = os.open({str(job.data / "claims")!r}, os.O_WRONLY | os.O_CREAT, 0o600)
for _ in range(3):
    turns.prepare_values(bytes=1 << 15, rounds=2, colour="blue")
    turns.inform()
    assert turns.wait()
    os.write(fd, bytes(4 << 20))
    turns.complete()
    time.sleep(0.3)
"""
    with coordinator(tmp_path, "--policy", "fcfs") as service:
        settings = {"SLICEWISE_COORDINATE_AT": service.address, "SLICEWISE_SLICE": "0.1"}
        job.must_run([sys.executable, "-c", program], **settings)
    assert [one["bytes"] for one in service.events() if one["event"] == "inform"] == [1 << 16] * 3
    assert_replays(service)


@dataclass
class Told:
    """When the coordinator was told of a job's phase, let it go, and was told of its end; and how long it went (s)."""

    begun: float
    went: float = 0.0
    ended: float = 0.0
    seconds: float = 0.0
    since: float | None = None

    def take(self, event: str, time_seconds: float) -> None:
        if event == "authorise":
            self.went = time_seconds
        if self.since is not None and event in ("pause", "leave"):
            self.seconds += time_seconds - self.since
        if event in ("authorise", "resume", "pause", "leave"):
            self.since = time_seconds if event in ("authorise", "resume") else None
        self.ended = time_seconds


def told_of(job: Job, apps: Apps, service: Coordinator, bursts: Sequence[tuple[int, str]]) -> list[Told]:
    """Jobs of so many MiB, with what they know of their phases, that begin one after the other."""
    started = []
    for place, (mebibytes, values) in enumerate(bursts):
        ours = {"SLICEWISE_COORDINATE_AT": service.address, "SLICEWISE_COORDINATE_VALUES": values}
        started.append(start_burst(job, apps.build("burst"), f"job-{place}", mebibytes, 40, **ours))
        service.await_that(lambda place=place: service.jobs() == place + 1)
    assert [one.wait(60) for one in started] == [0] * len(bursts)
    service.await_that(lambda: service.count("leave") == len(bursts))
    found: dict[int, Told] = {}
    for event in service.events():
        if "job" in event:
            time_seconds = event["time_seconds"]
            found.setdefault(event["job"], Told(time_seconds)).take(event["event"], time_seconds)
    return list(found.values())


@pytest.mark.parametrize("policy", ["fcfs", "interrupt", "set10"])
def test_jobs_take_as_long_as_the_simulation_says(job: Job, apps: Apps, tmp_path: Path, policy: Policy) -> None:
    """Two jobs whose periods are alike, and one that comes more often. No two of them hold each other up, so that each
    would take alone as long as it went.
    """
    periods = (100.0, 200.0, 10.0)
    with coordinator(tmp_path, "--policy", policy) as service:
        found = told_of(job, apps, service, [(40, "period=100"), (20, "period=200"), (30, "period=10")])
    jobs = [
        PolicyJob(str(place), 1, 1.0, one.begun, (IoPhase(0.0, one.seconds, 1.0),), period=period)
        for place, (one, period) in enumerate(zip(found, periods, strict=True))
    ]
    simulated = simulate(1000.0, jobs, policy).jobs
    assert [one.ended - one.begun for one in found] == pytest.approx([one.io_seconds for one in simulated], rel=0.1)
    is_beside = found[2].went < found[0].ended - 0.5
    assert is_beside == (policy != "fcfs")
    assert_replays(service)


def test_jobs_on_other_targets_do_not_wait(job: Job, apps: Apps, tmp_path: Path) -> None:
    with coordinator(tmp_path, "--policy", "fcfs") as service:
        first, other, both = told_of(job, apps, service, [(30, "targets=0,1"), (40, "targets=2"), (4, "targets=1,2")])
    assert other.went - other.begun < 0.2
    assert both.went > max(first.ended, other.ended) - 0.1
    assert_replays(service)
