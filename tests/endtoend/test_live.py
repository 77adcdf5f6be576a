"""Looking on while jobs run: what is shown is what the job itself counted, and the job has nothing to do with it."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import slicewise
from support.command_line import refusal_of, slicewise_command
from support.programs import BUILD, COLLECTOR, Apps, Job, need
from support.terminal import LONGEST_WAIT_SECONDS, Terminal
from support.waiting import wait_until

SLICEWISE = BUILD / "bin" / "slicewise"


@pytest.fixture
def running(job: Job, apps: Apps) -> Iterator[subprocess.Popen[bytes]]:
    tally = job.folder / "tally"
    command = [apps.build("tally", "-pthread"), "steady", "2", "300", tally, job.data, job.data]
    with job.start(command) as process:
        wait_until(lambda: tally.exists() and sum(own_counts(tally)))
        yield process
        process.kill()
        process.wait()


def own_counts(tally: Path) -> tuple[int, int]:
    """Writes, and bytes written, as the program counts them itself."""
    words = memoryview(tally.read_bytes()).cast("Q")
    return sum(words[0::8]), sum(words[1::8])


def environment(job: Job) -> dict[str, str]:
    return job.environment({"LD_PRELOAD": ""})


def look(job: Job) -> dict:
    done = subprocess.run([COLLECTOR, "live"], env=environment(job), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def stop(running: subprocess.Popen[bytes]) -> None:
    os.kill(running.pid, signal.SIGSTOP)
    wait_until(lambda: ") T " in Path(f"/proc/{running.pid}/stat").read_text())


def test_a_look_has_what_the_program_counted(job: Job, running: subprocess.Popen[bytes]) -> None:
    tally = job.folder / "tally"
    stop(running)
    (process,) = look(job)["processes"]
    writes, bytes_written = own_counts(tally)
    os.kill(running.pid, signal.SIGCONT)
    assert (process["pid"], process["job"]) == (running.pid, "job")
    (files,) = [mount for mount in process["mounts"] if mount["object"] == "file"]
    assert writes <= files["write_ops"] <= writes + 2  # of each thread one call that it has not counted yet
    assert bytes_written <= files["write_bytes"] <= bytes_written + 2 * 4096
    assert len(job.segments()) == 1


def test_a_snapshot_has_what_the_program_counted(job: Job, running: subprocess.Popen[bytes], tmp_path: Path) -> None:
    tally = job.folder / "tally"
    stop(running)
    assert snapshot(job, tmp_path / "taken") == 1
    writes, bytes_written = own_counts(tally)
    os.kill(running.pid, signal.SIGCONT)
    digest = slicewise.read(tmp_path / "taken" / "job")
    (row,) = digest.jobs.iter_rows(named=True)
    assert row["is_running"]
    assert writes <= row["write_ops"] <= writes + 2
    assert bytes_written <= row["write_bytes"] <= bytes_written + 2 * 4096
    assert not digest.damage
    assert len(job.segments()) == 1  # and the process has it still


def test_a_snapshot_follows_what_is_drained_already(job: Job, tmp_path: Path) -> None:
    """Slices of 0.1 s, so that the collector has frames to take within seconds."""
    program = "import time\nwith open('f', 'wb', 0) as f:\n  while f.write(b'x' * 1000): time.sleep(0.001)"
    beside = subprocess.Popen(
        [COLLECTOR, "node", "--job", "job"], env=environment(job) | {"SLICEWISE_SLICE": "0.1"}, stderr=subprocess.PIPE
    )
    with job.start([sys.executable, "-c", program], SLICEWISE_SLICE="0.1") as process:
        try:
            before = written_so_far(job, tmp_path / "taken")
            assert snapshot(job, tmp_path / "taken") == 1
        finally:
            for one in (process, beside):
                one.kill()
                one.communicate()
    after = slicewise.read(tmp_path / "taken" / "job")
    assert not after.damage
    assert after.jobs["is_running"].item()
    assert after.jobs["write_bytes"].item() > before


def written_so_far(job: Job, into: Path) -> int:
    """Copies the job's profile as soon as its collector has drained anything of a program; the bytes in it."""
    deadline = time.monotonic() + LONGEST_WAIT_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.2)
        with contextlib.suppress(slicewise.UserError, FileNotFoundError):
            shutil.copytree(job.spool_dir, into / "job", dirs_exist_ok=True)
            if (written := slicewise.read(into / "job").jobs["write_bytes"].item()) > 0:
                return int(written)
    raise AssertionError("the collector drained nothing")


def snapshot(job: Job, into: Path) -> int:
    """Adds what the job's living processes have counted to the profile in `into`; how many they are."""
    command = [COLLECTOR, "snapshot", "--into", into, job.spool_dir]
    done = subprocess.run(command, env=environment(job), capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return int(done.stdout)


def test_top_in_a_script(job: Job, running: subprocess.Popen[bytes]) -> None:
    command = [SLICEWISE, "top", "--once", "--json"]
    done = subprocess.run(command, env=environment(job), capture_output=True, text=True, check=True)
    shown = json.loads(done.stdout)
    assert shown["host"] == os.uname().nodename
    (only,) = shown["jobs"]
    assert only["job"] == "job"
    assert only["activity"]["write_bytes_per_s"] > 0
    assert [process["pid"] for process in only["processes"]] == [running.pid]
    assert [mount["share"] for mount in only["mounts"]] == [1.0]
    plain = subprocess.run(
        [SLICEWISE, "top", "--once"], env=environment(job), capture_output=True, text=True, check=True
    )
    assert plain.stdout.splitlines()[1].split()[0] == "job"


def test_top_on_a_terminal(job: Job, running: subprocess.Popen[bytes]) -> None:
    """As over ssh: a terminal that knows no more than VT100 does, and keys."""
    terminal = Terminal([SLICEWISE, "top", "--every", "0.2"], environment(job), columns=150)
    terminal.wait_for("1 job, by throughput")
    terminal.press(b"\r")
    terminal.wait_for(rf"job job, 1 process(.|\n)*{running.pid}")
    terminal.press(b"l")
    terminal.wait_for("by latency")
    terminal.press(b"q")
    assert terminal.end() == 0


def test_metrics(job: Job, running: subprocess.Popen[bytes]) -> None:
    command = [SLICEWISE, "serve", "metrics", "--port", "0", "--every", "0.1"]
    with subprocess.Popen(command, env=environment(job), stdout=subprocess.PIPE, text=True) as server:
        address = server.stdout.readline().split()[1]
        assert address.startswith("http://127.0.0.1:")
        deadline = time.monotonic() + LONGEST_WAIT_SECONDS
        text = ""
        while 'slicewise_processes{job="job"} 1' not in text:
            assert time.monotonic() < deadline
            with urllib.request.urlopen(address) as answer:
                assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
                text = answer.read().decode()
        server.terminate()
    assert re.search(r'slicewise_moved_bytes_total\{job="job",.*kind="write"\} [1-9]', text)
    assert text.endswith("# EOF\n")
    assert str(running.pid) not in text


def test_metrics_at_a_unix_socket(job: Job, tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    command = [SLICEWISE, "serve", "metrics", "--bind", f"unix:{path}"]
    with subprocess.Popen(command, env=environment(job), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout.readline() == (
            f"slicewise: unix:{path}   (curl --unix-socket {path} http://localhost/metrics)\n"
        )
        assert path.stat().st_mode & 0o007 == 0
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            assert client.makefile("rb").read().endswith(b"# EOF\n")
        server.terminate()
    assert server.returncode == 0
    assert not path.exists()


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_top_says_what_it_cannot_do(arguments: list[str]) -> None:
    done = slicewise_command("top", *arguments)
    assert (done.status, done.text, done.errors.count("\n")) == (2, "", 1)
    assert "--once" in done.errors


def test_metrics_beyond_this_machine_need_a_certificate() -> None:
    done = refusal_of("serve", "metrics", "--bind", "192.0.2.1")
    assert done == (
        "slicewise: --bind 192.0.2.1: other machines can reach it, and nothing would be encrypted; give --certificate "
        "FILE --key FILE, or --bind unix:/PATH and let a proxy serve that\n"
    )


def test_looking_touches_nothing(job: Job, running: subprocess.Popen[bytes]) -> None:
    """What a process would notice, or wait for: a lock, a signal, a write. There is none."""
    need("strace")
    trace = job.folder / "trace"
    subprocess.run(
        ["strace", "-f", "-o", trace, COLLECTOR, "live"], env=environment(job), capture_output=True, check=True
    )
    lines = trace.read_text().splitlines()
    opened = [line for line in lines if re.search(rf'openat\(.*"job\.{running.pid}\.', line)]
    assert opened
    assert all("O_RDONLY" in line for line in opened)
    forbidden = r"flock|ptrace|process_vm_\w+|t?g?kill|pwrite64|ftruncate|unlink\w*|rename\w*|fchmod\w*|mkdir\w*"
    calls = [line for line in lines if re.search(rf"\b({forbidden})\(", line) and " kill(" not in line]
    kills = [line for line in lines if " kill(" in line]
    assert calls == []
    assert all(", 0)" in line for line in kills)  # asks whether it is there
    assert all("write(1," in line for line in lines if " write(" in line)
    assert not any("MAP_SHARED" in line and "PROT_WRITE" in line for line in lines)
