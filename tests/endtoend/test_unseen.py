"""What cannot be seen is named: programs that cannot be profiled, calls past libc, and what the kernel counted."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from slicewise.analysis.coverage import Unprofiled, coverage, coverage_by_process, unprofiled_programs
from slicewise.digest.digest import Digest
from slicewise.digest.processes import count_processes
from slicewise.report.coverage import coverage_words
from support.command_line import completed
from support.oracle import READS
from support.programs import BUILD, COLLECTOR, Apps, Job, build_go, calls, need, need_built
from support.witness import LIBC, LOADER, witness

SLICEWISE = BUILD / "bin" / "slicewise"
MIB = 1 << 20
OPENED_LATER = re.compile("/lib-dynload/|/lib(ssl|crypto|sqlite3)[.]so")
WAYS = [
    "execv", "execvp", "execve", "execl", "fexecve", "execveat", "v:execv", "v:execvp", "v:execve", "v:execl",
    "v:fexecve", "v:execveat", "here:execve", "here:execvp", "clone:execve", "posix_spawn", "posix_spawnp",
]  # fmt: skip


@pytest.fixture(scope="session")
def static_writer(apps: Apps) -> Path:
    return apps.build("unseen_writer", "-static")


@pytest.fixture(scope="session")
def parent(apps: Apps) -> Path:
    return apps.build("unseen_parent")


@pytest.fixture(scope="session")
def go_writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_go(tmp_path_factory.mktemp("go"), "unseen_go")


def unprofiled_of(job: Job) -> list[Unprofiled]:
    job.recover(job.spool_dir)
    if not job.spool_dir.exists():  # nobody counted anything, and so nobody wrote
        return []
    return unprofiled_programs(Digest(job.profile()))


@pytest.mark.parametrize("way", WAYS)
def test_a_static_program_is_noted_however_it_is_begun(job, parent, static_writer, way):
    command = shutil.copy(static_writer, job.data / "writer")
    job.must_run([parent, way, "writer", "out"], PATH=f"{job.data}:/usr/bin")
    assert (job.data / "out").stat().st_size == 3 * MIB
    assert unprofiled_of(job) == [Unprofiled(str(command), "static", 1)]


@pytest.mark.parametrize("way", WAYS)
def test_a_program_that_can_be_profiled_is_not_noted(job, apps, parent, way):
    shutil.copy(apps.build("unseen_writer"), job.data / "writer")
    assert job.run([parent, way, "writer", "out"], PATH=f"{job.data}:/usr/bin").status == 0
    assert unprofiled_of(job) == []


@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_there_is_not_noted(job, parent, way):
    assert job.run([parent, way, "nonesuch", "out"], PATH=f"{job.data}:/usr/bin").status == 77
    assert unprofiled_of(job) == []


@pytest.mark.parametrize("way", ["execve", "v:execve", "here:execve"])
def test_a_static_program_whose_exec_fails_is_taken_back(job, parent, static_writer, way):
    shutil.copy(static_writer, job.data / "writer").chmod(0o644)
    assert job.run([parent, way, "writer", "out"]).status == 77
    assert unprofiled_of(job) == []


def test_looking_at_programs_is_not_the_jobs_io(job, parent, static_writer):
    job.run([parent, "posix_spawn", static_writer, "out"])
    job.run([parent, "execv", static_writer, "out"])
    profile = job.profile(is_damaged=True)
    kernel = profile.slices.filter(layer="kernel")
    assert (kernel["read_bytes"].sum(), kernel["read_ops"].sum()) == (0, 0)
    assert calls(profile)["posix_spawn"] == 1


def test_many_programs_fill_the_table_and_are_counted(job, apps, static_writer):
    parent_script = "import subprocess, sys\nfor path in sys.argv[1:]: subprocess.run([path, 'out'], check=True)"
    copies = [shutil.copy(static_writer, job.data / f"writer{number}") for number in range(34)]
    job.run(["/usr/bin/python3", "-I", "-c", parent_script, *copies, *copies[:3]])
    profile = job.profile()
    assert sum(program.times for program in unprofiled_programs(Digest(profile))) == 32 + 3
    assert dict(profile.mishaps.select("mishap", "count").iter_rows())["unprofiled_full"] == 2


@pytest.fixture
def look():
    """look(path): why a program cannot be profiled, and its executable."""

    def call(path: str | Path, **settings: str) -> tuple[str, str]:
        done = subprocess.run(
            [COLLECTOR, "look", path], check=True, capture_output=True, text=True, env=os.environ | settings
        )
        reason, _, program = done.stdout.rstrip("\n").partition(" ")
        return reason, program

    return call


@pytest.mark.xdist_group("go")
def test_kinds_of_programs(look, apps, static_writer, go_writer, tmp_path):
    plain = apps.build("unseen_writer")
    assert look(plain) == ("unknown", str(plain))
    assert look(static_writer) == ("static", str(static_writer))
    static_pie = apps.build("unseen_writer", "-static-pie")
    assert look(static_pie) == ("static", str(static_pie))
    assert look(go_writer) == ("go", str(go_writer))
    assert look("nonesuch") == ("unknown", "")
    assert look(tmp_path)[0] == "unknown"
    assert look("writer", PATH=f"/nowhere::{go_writer.parent}") == ("go", str(go_writer))


def test_the_loader_itself_can_be_profiled(look, apps):
    interpreter = re.search(
        r"interpreter: (\S+)\]",
        subprocess.run(["readelf", "-l", apps.build("unseen_writer")], capture_output=True, text=True).stdout,
    )
    assert interpreter is not None
    assert look(interpreter[1])[0] == "unknown"


def test_scripts_are_their_interpreters(look, static_writer, tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#! {static_writer} -x\n")
    script.chmod(0o755)
    outer = tmp_path / "outer"
    outer.write_text(f"#!{script}\n")
    assert look(script) == look(outer) == ("static", str(static_writer))
    script.write_text(f"#!{outer}\n")
    assert look(script)[0] == "unknown"  # for ever around
    script.write_text("#!\n")
    assert look(script)[0] == "unknown"


@pytest.mark.parametrize("bytes_kept", [0, 3, 40, 63, 64, 200])
def test_torn_programs_do_no_harm(look, static_writer, tmp_path, bytes_kept):
    torn = tmp_path / "torn"
    torn.write_bytes(static_writer.read_bytes()[:bytes_kept])
    assert look(torn)[0] in ("unknown", "static")


def test_programs_of_another_kind(look, static_writer, tmp_path):
    foreign = tmp_path / "foreign"
    image = bytearray(static_writer.read_bytes())
    image[18:20] = (0x16).to_bytes(2, "little")  # e_machine: S390
    foreign.write_bytes(image)
    assert look(foreign) == ("foreign", str(foreign))


def test_programs_with_other_rights(look, apps, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can give a program to somebody else")
    program = Path(shutil.copy(apps.build("unseen_writer"), tmp_path / "program"))
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    assert look(program) == ("privileged", str(program))
    program.chmod(0o2755)
    assert look(program)[0] == "privileged"
    program.chmod(0o755)
    assert look(program)[0] == "unknown"


def segments_of(folder: Path) -> Path:
    """Where `run_command`'s segments lie, and nobody else's."""
    segments = folder / "segments"
    segments.mkdir(exist_ok=True)
    return segments


def run_command(folder: Path, *command: str | Path) -> tuple[str, dict]:
    """What `slicewise run` says, and the coverage as `info --json` tells it."""
    need_built(SLICEWISE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLICEWISE_", "LD_PRELOAD"))}
    kept["SLICEWISE_SEGMENT_DIR"] = str(segments_of(folder))
    words = [SLICEWISE, "run", "--job", "job", "--", *command]
    done = subprocess.run(words, cwd=folder, env=kept, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    told = completed("report", "--detail", "slicewise/job", "--json", directory=folder)
    return done.stderr, json.loads(told.stdout)["coverage"] if told.returncode == 0 else {}


@pytest.mark.xdist_group("go")
def test_run_knows_what_static_and_go_children_moved(tmp_path, apps, static_writer, go_writer):
    """A shell that writes 3 MiB itself, 3 MiB by a static child and 2 MiB by one in Go."""
    shutil.copy(static_writer, tmp_path / "unseen_static")
    shutil.copy(go_writer, tmp_path / "writer")
    command = f"{apps.build('unseen_writer')} a; ./unseen_static b; ./writer c"
    said, seen = run_command(tmp_path, "/bin/sh", "-c", command)
    assert "only 38 % of the bytes written" in said
    assert "2 processes could not be profiled (static and Go): unseen_static, writer" in said
    assert seen["unprofiled_write_bytes"] == 5 * MIB
    assert seen["write"] == pytest.approx(3 / 8, abs=0.001)


def test_run_knows_what_busybox_moved(tmp_path):
    need("busybox")
    reason = subprocess.run([COLLECTOR, "look", "busybox"], capture_output=True, text=True).stdout.split()[0]
    if reason != "static":
        pytest.skip("busybox is not static here: install busybox-static")
    copying = "busybox dd if=/dev/zero of=x bs=65536 count=32 2>&1; echo done"
    said, seen = run_command(tmp_path, "/bin/sh", "-c", copying)
    assert "1 process could not be profiled (static): busybox" in said
    assert 2 * MIB <= seen["unprofiled_write_bytes"] < 2 * MIB + 500  # and its report
    assert 2 * MIB <= seen["unprofiled_read_bytes"] < 2 * MIB + 8192


def test_run_of_a_static_command_finishes_what_another_run_of_its_name_left(tmp_path, job, static_writer):
    """Its segment lies where this run's would, and its profile elsewhere: this run still has none, and says why."""
    script = "import os; open('out', 'w').write('a'); os.kill(os.getpid(), 9)"
    elsewhere = {
        "SLICEWISE_JOB": "job",
        "SLICEWISE_DIR": tmp_path / "elsewhere",
        "SLICEWISE_SEGMENT_DIR": segments_of(tmp_path),
    }
    elsewhere = {name: str(value) for name, value in elsewhere.items()}
    assert job.run(["/usr/bin/python3", "-I", "-c", script], **elsewhere).status == -9
    assert not (tmp_path / "elsewhere").exists()
    said, seen = run_command(tmp_path, static_writer, "out")
    assert said.startswith(
        f"slicewise: nothing was profiled: 1 process could not be profiled (static): {static_writer.name}. "
        "By the kernel's count the command wrote 3 MiB"
    )
    assert seen == {}
    assert not (tmp_path / "slicewise").exists()
    assert (tmp_path / "elsewhere" / "job").exists()


def test_run_of_a_static_command_with_profiled_children(tmp_path, apps):
    need("busybox")
    said, seen = run_command(tmp_path, "busybox", "sh", "-c", f"{apps.build('unseen_writer')} out; true")
    assert seen["write"] == 1.0
    assert "1 process could not be profiled (static): busybox" in said


def test_many_profiled_children_are_no_noise(tmp_path, apps, static_writer):
    """What the loader and the profiler read in every process is none of the static one's."""
    plain = apps.build("unseen_writer")
    loop = f"for i in 1 2 3 4 5 6 7 8 9 10; do {plain} a; done; {static_writer} b"
    _, seen = run_command(tmp_path, "/bin/sh", "-c", loop)
    assert seen["unprofiled_write_bytes"] == 3 * MIB
    assert seen["unprofiled_read_bytes"] < 11 * 1024  # what the profiler reads after its last look at each count


@pytest.mark.xdist_group("go")
def test_a_go_program_with_libraries_is_named(tmp_path, apps):
    program = build_go(tmp_path, "unseen_go", cgo="1")
    said, seen = run_command(tmp_path, "/bin/sh", "-c", f"{apps.build('unseen_writer')} a; {program} b; true")
    assert f"1 process could not be profiled (Go): {program.name}" in said
    assert seen["unprofiled_write_bytes"] == 2 * MIB


def test_calls_past_libc_are_a_gap_with_a_guess(tmp_path, apps):
    program = apps.build("unseen_writer")
    said, seen = run_command(tmp_path, program, "out", "raw")
    assert "saw only 0 % of the bytes written" in said
    (gap,) = seen["gaps"]
    assert gap == {"direction": "write", "cause": "past_libc", "bytes": 3 * MIB, "calls": 3, "processes": 1}
    (least,) = seen["least_seen"]
    assert (least["share"], least["kernel_bytes"]) == (0.0, 3 * MIB)


def test_the_report_names_gaps_on_the_terminal_and_processes_on_the_page(tmp_path, apps):
    program = apps.build("unseen_writer")
    run_command(tmp_path, "/bin/sh", "-c", f"{program} seen; {program} unseen raw")
    told = completed("report", "--html", "page.html", "slicewise/job", directory=tmp_path).stdout
    assert "3 MiB written in at most 3 calls by 1 process: not seen; cause: not measured. Neither system calls" in told
    assert f"({program.name}: 0 % of 3 MiB written)" in told
    page = (tmp_path / "page.html").read_text()
    assert "How much was seen, by process" in page
    assert "calls past libc" in page


def test_headers_of_libraries_opened_later_are_the_small_reads(job: Job) -> None:
    """Those of the libraries that the program was begun with came before the kernel's count begins."""
    seen = witness(job, ["/usr/bin/python3", "-c", "import ssl, sqlite3"])
    assert seen.ended.status == 0
    gaps = coverage(Digest(job.profile())).gaps  # of cold libraries, their pages, too
    (gap,) = (gap for gap in gaps if (gap.direction, gap.cause) == ("read", "small"))
    by_loader = seen.by[LOADER].transfers(READS)
    headers = [call.result for call in by_loader if OPENED_LATER.search(call.target(0))]
    assert len(headers) >= 4
    assert sum(headers) <= gap.bytes <= sum(headers) + seen.by[LIBC].bytes_read()


def test_a_profiled_program_has_no_gap(job, apps):
    job.run([apps.build("unseen_writer"), "out"])
    profile = job.profile()
    seen = coverage(Digest(profile))
    assert (seen.write, seen.gaps, seen.unprofiled, seen.least_seen) == (1.0, [], [], [])


@pytest.mark.parametrize("order", ["ttv", "ttf", "tts", "ftt", "ltwt", "lttdw", "dvd", "t" * 20 + "vt", "v" + "d" * 20])
def test_what_threads_counted_that_ended_is_known_when_children_were_waited_for(job, apps, order):
    profile = job.profiled([apps.build("life_reaped", "-pthread"), job.data, order])
    seen = coverage(Digest(profile))
    assert (seen.processes, seen.of) == (count_processes(Digest(profile).processes),) * 2
    own = profile.processes.sort("start_ns")["process"][0]
    digest = Digest(profile)
    mine = coverage_by_process(digest, digest.processes.filter(process=own))
    assert (
        mine.select("write_seen", "write_kernel").row(0)
        == ((job.data / "reaped").stat().st_size - 700_000 * (order.count("f") + order.count("l")),) * 2
    )
    assert mine["read_kernel"][0] <= 4096


def pool_of_python(job: Job, *within: str) -> list[str | Path]:
    """The command, without how its workers begin: ten files of 100,000 B each, nine by the workers of a pool."""
    script = job.data / "pool.py"
    lines = (
        "import multiprocessing, os, signal, subprocess, sys",
        "def work(i):",
        "    with open(f'{sys.argv[1]}/{i}', 'wb') as file: return file.write(bytes(100_000))",
        "def be_killed(i): os.kill(os.getpid(), signal.SIGKILL)",
        "if __name__ == '__main__':",
        "    with multiprocessing.get_context(sys.argv[2]).Pool(3) as pool:",
        "        assert sum(pool.map(work, range(9))) == 900_000",
        *(f"        {line}" for line in within),
        "    work(9)",
    )
    script.write_text("\n".join(lines))
    return ["/usr/bin/python3", "-I", script, job.data]


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_every_process_of_pythons_pools_is_compared(job, way):
    command = pool_of_python(job, "subprocess.run(['true'], check=True)", "pool.close(); pool.join()")
    profile = job.profiled([*command, way])
    seen = coverage(Digest(profile))
    assert (seen.processes, seen.of) == (count_processes(Digest(profile).processes),) * 2
    assert seen.kernel_write_bytes >= 1_000_000
    assert seen.write > 0.999


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_workers_that_their_pool_kills_are_counted_and_said_to_be_left_out(job, way):
    """Python's pools end so by default: at the end of `with` their workers are sent SIGTERM."""
    command = pool_of_python(job, "pool.apply_async(be_killed, (0,)).wait(1)")
    assert job.run([*command, way]).status == 0
    assert job.recover(job.spool_dir).returncode == 0
    profile = job.profile()
    of_script = profile.files.filter(profile.files["path"].str.starts_with(str(job.data)))  # Python has its own
    assert of_script["write_bytes"].sum() == 1_000_000
    digest = Digest(profile)
    seen = coverage(digest)
    assert seen.killed == digest.processes.filter(ending="killed").height >= 1
    assert seen.processes == count_processes(digest.processes) - seen.killed
    words = "1 process was" if seen.killed == 1 else f"{seen.killed} processes were"
    assert f"of {seen.of} processes; {words} killed" in coverage_words.seen(seen)
    assert seen.write > 0.99


def test_a_rust_program_whose_threads_ended_is_compared(job, tmp_path):
    need("rustc")
    source = tmp_path / "threads.rs"
    source.write_text(
        "use std::{fs, process::Command, thread};\n"
        "fn put(name: String) { fs::write(name, vec![1u8; 1_000_000]).unwrap() }\n"
        "fn main() {\n"
        '    let threads: Vec<_> = (0..3).map(|i| thread::spawn(move || put(format!("r{i}")))).collect();\n'
        "    for thread in threads { thread.join().unwrap() }\n"
        '    assert!(Command::new("/bin/true").status().unwrap().success());\n'
        '    put("last".to_string());\n'
        "}\n"
    )
    built = subprocess.run(["rustc", "-o", tmp_path / "threads", source], capture_output=True, check=False)
    if built.returncode != 0:
        pytest.skip("rustc cannot build a program here")
    assert job.run([tmp_path / "threads"], cwd=job.data).status == 0
    profile = job.profile()
    seen = coverage(Digest(profile))
    # `true` does nothing, and so is no process of the job
    assert (seen.processes, seen.of, seen.write, seen.kernel_write_bytes) == (1, 1, 1.0, 4_000_000)
