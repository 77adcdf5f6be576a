"""What is the same program: by its script, a label, what its user says; and programs whose length is set by time."""

import json
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from slicewise.analysis.blame.case import case_of
from slicewise.analysis.blame.time_limited import asked_to_run_for, time_limited, why_its_work_did_not_end_it
from slicewise.digest.digest import Digest
from slicewise.digest.slices import TIMES
from slicewise.digest.surroundings import Surroundings
from slicewise.profile.reader import read_profile
from slicewise.report.blame import blame_words
from support.command_line import json_of, slicewise_command
from support.jobs import FIRST_SLICE, MIB, SLICE_NS
from support.swz import build_profile

S = 1_000_000_000
PYTHON = "/usr/bin/python3.11"


def write_run(
    directory: Path,
    rates: list[float],
    begin: int = 0,
    script: str = "",
    label: str = "",
    program: str = PYTHON,
    command: str = "",
) -> Path:
    """A process that writes `rates` MiB/s, slice after slice, without a pause."""
    number = begin + 1000 + len(directory.name)
    begins = FIRST_SLICE + begin
    process = {
        "process": number, "pid": number, "program": program, "script": script, "label": label, "command": command,
        "directory": "/home/me" if command else "", "start_ns": begins * SLICE_NS,
        "end_ns": (begins + len(rates)) * SLICE_NS,
    }  # fmt: skip
    rows = [
        {"process": number, "slice": begins + place, "write_bytes": int(rate * 4 * MIB), "write_ops": int(rate * 4)}
        | {"write_ns": int(3.9 * S), "write_size_4": int(rate * 4), "write_latency_20": int(rate * 4), "threads": 1}
        for place, rate in enumerate(rates)
    ]
    return build_profile(directory, [process], rows)


def program_of(profile: Path) -> str:
    return str(Digest(read_profile(profile)).jobs["program"].item())


def quiet_runs_of(job: Path) -> list[str]:
    return [place.name for place in Surroundings().nearby(job).quiet]


def test_another_script_is_another_program_and_a_label_joins_what_is_the_same(tmp_path):
    job = write_run(tmp_path / "job", [50.0] * 20, 0, "/home/me/train.py")
    write_run(tmp_path / "same", [100.0] * 10, -100, "/elsewhere/train.py")
    write_run(tmp_path / "other", [100.0] * 10, -200, "/home/me/check.py")
    labelled = write_run(tmp_path / "labelled", [50.0] * 20, 300, "/home/me/train.py", "sim-a")
    write_run(tmp_path / "compiled", [100.0] * 10, -300, label="sim-a", program="/opt/train")
    write_run(tmp_path / "labelled-b", [100.0] * 10, -400, "/home/me/train.py", "sim-b")
    assert (program_of(job), program_of(labelled)) == ("python3.11 train.py", "label sim-a")
    assert quiet_runs_of(job) == ["same"]
    assert quiet_runs_of(labelled) == ["compiled"]


@pytest.mark.parametrize(("option", "status"), [("--alone", 2), ("--same-as", 0)])
def test_the_user_can_say_what_is_the_same(tmp_path, option, status):
    job = write_run(tmp_path / "a" / "job", [50.0] * 20, 0, "train.py")
    run = write_run(tmp_path / "b" / "run", [100.0] * 10, -100, program="/opt/train")
    write_run(tmp_path / "a" / "writer", [50.0] * 20, 0, program="/opt/writer")
    done = slicewise_command("blame", job, option, run, "--html", tmp_path / "page.html", "--json")
    assert done.status == status
    if status:
        assert f"--same-as {run}" in done.errors
    else:
        assert json.loads(done.text)["alone_seconds"]["value"] == pytest.approx(40, rel=0.05)


@pytest.mark.parametrize("command", [("list", ".."), ("report", "--detail", "."), ("report", "."), ("blame", ".")])
def test_the_script_is_shown(tmp_path, command):
    job = write_run(tmp_path / "jobs" / "job", [50.0] * 20, 0, "train.py")
    name, *options, place = command
    html = ["--html", tmp_path / "page.html"] if command in (("report", "."), ("blame", ".")) else []
    done = slicewise_command(name, *options, (job / place).resolve(), *html)
    page = (tmp_path / "page.html").read_text() if html else ""
    assert "python3.11 train.py" in done.text + page


def test_a_program_of_a_set_length_did_less_and_took_no_longer(tmp_path):
    """80 s each: 4,000 MiB beside a writer, 8,000 MiB alone."""
    job = write_run(tmp_path / "job", [50.0] * 20, program="/usr/bin/fio")
    write_run(tmp_path / "alone", [100.0] * 20, -100, program="/usr/bin/fio")
    write_run(tmp_path / "writer", [50.0] * 20, program="/opt/writer")
    told = case_of(job).result()
    assert told.time_limited is not None
    assert told.time_limited.less == pytest.approx(0.5)
    assert (told.slowdown, told.alone.value) == (None, 80)
    assert told.lost.value == pytest.approx(40, rel=0.05)
    assert blame_words.headline(told) == (
        "job runs for a set time: in 80.0 s it moved 3.91 GiB, 50 % less than alone, because of writer."
    )


def test_a_catalog_knows_runs_of_a_set_length_by_their_time(tmp_path, monkeypatch):
    """A quarter of the bytes in the same 80 s: as much as it could."""
    write_run(tmp_path / "jobs" / "job", [25.0] * 20, program="/usr/bin/fio", command="fio a")
    write_run(tmp_path / "jobs" / "alone", [100.0] * 20, -100, program="/usr/bin/fio", command="fio a")
    write_run(tmp_path / "jobs" / "writer", [75.0] * 20, program="/opt/writer")
    assert slicewise_command("catalog", "ingest", tmp_path / "catalog", tmp_path / "jobs").status == 0
    of_files = json_of("blame", tmp_path / "jobs" / "job", "--html", tmp_path / "files.html")
    monkeypatch.setenv("SLICEWISE_CATALOG", str(tmp_path / "catalog"))
    monkeypatch.chdir(tmp_path)
    told = json_of("blame", "job", "--html", tmp_path / "catalog.html")
    assert told["time_limited"] is not None
    assert all(told[key] == of_files[key] for key in ("time_limited", "lost_seconds", "confidence"))


def write_loop(directory: Path, processes: int, in_series: bool, begin: int = 0) -> Path:
    """Processes that write 200 MiB each within 80 s: one after the other, or all the time."""
    first, slices = FIRST_SLICE + begin, 20 // processes if in_series else 20
    begins = [first + (place * slices if in_series else 0) for place in range(processes)]
    number = 1000 * len(directory.name) + begin
    who = [
        {"process": number + place, "pid": number + place, "program": "/bin/dd", "command": "loop"}
        | {"start_ns": at * SLICE_NS, "end_ns": (at + slices) * SLICE_NS}
        for place, at in enumerate(begins)
    ]
    calls = 200 // slices
    wrote = {"write_bytes": calls * MIB, "write_ops": calls, "write_ns": int(3.9 * S), "threads": 1}
    wrote |= {"write_size_4": calls, "write_latency_20": calls}
    rows = [
        {"process": number + place, "slice": at + of_it} | wrote
        for place, at in enumerate(begins)
        for of_it in range(slices)
    ]
    return build_profile(directory, who, rows)


@pytest.mark.parametrize(("in_series", "less"), [(True, 0.6), (False, None)])
def test_a_loop_until_a_deadline_began_fewer_processes_beside_others(tmp_path, in_series, less):
    """4 of them in 80 s, and 10 alone; where they run side by side these are runs of other sizes."""
    job = write_loop(tmp_path / "job", 4, in_series)
    write_loop(tmp_path / "alone", 10, in_series, -100)
    write_run(tmp_path / "writer", [50.0] * 20, program="/opt/writer")
    told = case_of(job).result()
    assert (told.time_limited and told.time_limited.less) == (less and pytest.approx(less))
    if less:
        assert (told.slowdown, told.alone.value) == (None, 80)
        assert [(one.job, one.without_it_end) for one in told.neighbours] == [("writer", None)]


def test_overlap_says_of_runs_that_nobody_gave_what_blame_says(tmp_path):
    """The loop until a deadline began other numbers of processes: no reason to refuse the question."""
    job, writer = write_loop(tmp_path / "job", 4, in_series=True), tmp_path / "writer"
    write_loop(tmp_path / "alone", 10, in_series=True, begin=-100)
    write_run(writer, [50.0] * 20, program="/opt/writer")
    told, page = json_of("blame", job, "--html", tmp_path / "b.html"), tmp_path / "o.html"
    same = next(one for one in json_of("overlap", job, writer, "--html", page)["blames"] if one["job"] == told["job"])
    assert [run["job"] for run in same["standalone_runs"] if run["is_taken"]] == ["alone"]
    assert all(same[key] == told[key] for key in ("time_limited", "lost_seconds", "confidence", "standalone_runs"))


def test_of_runs_that_did_as_much_those_with_its_command_line_count(tmp_path):
    """With other arguments the program wrote as much in half the time."""
    job = write_run(tmp_path / "job", [50.0] * 20, program="/opt/solve", command="solve --mode exact")
    write_run(tmp_path / "same", [80.0] * 12 + [40.0], -100, program="/opt/solve", command="solve --mode exact")
    write_run(tmp_path / "fast", [100.0] * 10, -50, program="/opt/solve", command="solve --mode fast")
    write_run(tmp_path / "writer", [50.0] * 20, program="/opt/writer")
    told = case_of(job).result()
    assert {one.job: one.is_taken for one in told.runs} == {"same": True, "fast": False}
    assert "command line" in next(one.why_not for one in told.runs if one.job == "fast")
    assert told.alone.value == pytest.approx(52, rel=0.05)
    given = case_of(job, alone=[tmp_path / "fast"]).result()
    assert {one.job: one.is_taken for one in given.runs}["fast"]


def test_runs_with_other_arguments_count_where_there_are_no_others(tmp_path):
    job = write_run(tmp_path / "job", [50.0] * 20, program="/opt/solve", command="solve --out a")
    write_run(tmp_path / "other", [100.0] * 10, -50, program="/opt/solve", command="solve --out b")
    write_run(tmp_path / "writer", [50.0] * 20, program="/opt/writer")
    told = case_of(job).result()
    assert [(one.job, one.is_taken) for one in told.runs] == [("other", True)]
    assert told.alone.value == pytest.approx(40, rel=0.05)


def test_the_command_line_is_that_of_the_first_process(tmp_path):
    job = write_run(tmp_path / "jobs" / "job", [50.0] * 3, program="/opt/solve", command="solve 'a b'")
    about = Digest(read_profile(job)).about
    assert (about["command"], about["directory"]) == ("solve 'a b'", "/home/me")
    assert "Command line: solve 'a b' in /home/me." in slicewise_command("report", "--detail", job).text
    listed = json_of("list", job.parent)
    assert [one["command"] for one in listed] == ["solve 'a b'"]


LAUNCHES = pl.DataFrame(schema={"command": pl.String})


def run(seconds: float, mib: int, meta_ops: int = 0, command: str = "") -> SimpleNamespace:
    did = {"read_bytes": 0, "write_bytes": mib * MIB, "meta_ops": meta_ops, "command": command}
    about = {"start_ns": 0, "end_ns": int(seconds * S)} | did
    return SimpleNamespace(about=about, processes=pl.DataFrame({"start_ns": [0]}), launches=LAUNCHES, not_kept={})


@pytest.mark.parametrize(
    ("job", "alone", "less"),
    [
        (run(60, 50), [run(60.2, 100), run(59.9, 100)], 0.5),
        (run(60, 200), [run(60, 100)], -1.0),
        (run(60, 0, 500), [run(60, 0, 1000)], 0.5),
        (run(60, 100), [run(30, 100)], None),  # as much, in less time
        (run(60, 100), [run(60, 103)], None),  # as much, in as much time
        (run(60, 50), [run(60, 100), run(30, 50)], None),  # a run of its size was faster: its length is not set
        (run(60, 50), [], None),
        # Python took 0.2 s longer to load; without the command line it may be another program.
        (run(8.35, 120, command="bench"), [run(8.15, 160, command="bench")], 0.25),
        (run(8.35, 120), [run(8.15, 160)], None),
        # Beside busy programs it began 2 s later; its command line says for how long it was to run.
        (run(12.8, 133, command="fio --runtime=10"), [run(10.9, 266, command="fio --runtime=10")], 0.5),
        (run(12.8, 133, command="fio"), [run(10.9, 266, command="fio")], None),
        (run(12.8, 266, command="fio --runtime=10"), [run(10.9, 266, command="fio --runtime=10")], None),
        # A loop that looks at its clock: its last step took longer.
        (run(8.72, 189, command="loop.py"), [run(8.11, 222, command="loop.py")], 1 - 189 / 222),
        (run(8.72, 189, command="loop.py"), [run(8.11, 222, command="other.py")], None),
        (run(8.72, 222, command="loop.py"), [run(8.11, 189, command="loop.py")], None),
        (run(9.5, 189, command="loop.py"), [run(8.11, 222, command="loop.py")], None),
    ],
)
def test_a_set_length_is_told_by_equal_times_and_other_amounts(job, alone, less):
    found = time_limited(job, alone)
    assert (None if found is None else pytest.approx(found.less)) == less


@pytest.mark.parametrize(
    ("command", "seconds", "asked"),
    [
        ("fio --name=f --time_based --runtime=30 --size=1g", 30.3, "--runtime=30"),
        ("timeout 30s ./server", 30.0, "timeout 30s"),
        ("iperf --time 10", 10.4, "--time 10"),
        ("fio --name=f --runtime=30", 12.0, ""),  # it was done sooner
        ("fio --name=f --runtime=30", 45.0, ""),
        ("head -c 30M big", 30.0, ""),
        ("solve --time-step=30", 30.0, ""),
    ],
)
@pytest.mark.parametrize("is_launcher", [False, True], ids=["own", "launched"])
def test_a_set_time_is_read_from_the_command_line(command, seconds, asked, is_launcher):
    """launched: timeout makes no calls, and the job's command line is that of what it runs."""
    processes = pl.DataFrame({"start_ns": [S]})
    about = {"start_ns": 0, "end_ns": S + round(seconds * S), "command": "bash job.sh" if is_launcher else command}
    launches = pl.DataFrame({"command": [command]}) if is_launcher else LAUNCHES
    job = SimpleNamespace(about=about, processes=processes, launches=launches, not_kept={})
    assert asked_to_run_for(job) == asked


@pytest.mark.parametrize(
    ("command", "inner", "seconds", "why"),
    [
        ("timeout 30 ./server", "./server", 30.0, "it runs for a set time (timeout 30)"),
        ("python3 loop.py /scratch/out 28", "", 28.3, "it may run for a set time (28 s)"),
        ("bash job.sh", "python3 loop.py /scratch/out 28", 28.3, "it may run for a set time (28 s)"),
        ("python3 loop.py /scratch/out 28", "", 27.5, ""),  # a loop that looks at its clock ends later
        ("python3 loop.py /scratch/out 28", "", 31.0, ""),
        ("solve 3", "", 3.1, ""),
        ("dd of=/scratch/30 bs=30", "", 30.2, ""),
        ("mpirun -n 16 python train.py --epochs 20", "", 16.4, ""),
    ],
)
def test_a_number_that_a_job_took_as_many_seconds_may_be_its_time(command, inner, seconds, why):
    about = {"start_ns": 0, "end_ns": S + round(seconds * S), "command": command, "is_running": False}
    processes = pl.DataFrame(
        {"process": [1], "start_ns": [S], "ending": ["exit"], "command": [inner], "end_ns": [9 * S]}
    )
    took = pl.DataFrame({"process": [1], **dict.fromkeys(TIMES, 1000)})
    job = SimpleNamespace(
        about=about, processes=processes, process_slices=took, launches=LAUNCHES, not_kept={}, slice_ns=S
    )
    assert why_its_work_did_not_end_it(job) == why


@pytest.mark.parametrize(
    ("endings", "is_running", "commands", "ends", "why"),
    [
        (("exit", "killed"), False, ("timeout 20 cat", "cat"), (20, 20), "it was killed"),  # by timeout
        (("killed", "exit"), False, ("helper", "cat"), (20, 20), ""),  # a helper was, which hardly did anything
        (("exit", "exit"), False, ("sh", "cat"), (20, 20), ""),
        (("exit", "killed"), True, ("sh", "cat"), (20, 20), ""),  # what it is known by until now
        (
            ("exit", "killed"),
            False,
            ("python pool.py", "python pool.py"),
            (20, 20.5),
            "",
        ),  # a pool's worker, at its end
        (("exit", "killed"), False, ("python pool.py", "python pool.py"), (20, 25), "it was killed"),
    ],
)
def test_a_job_that_was_killed_did_not_end_when_its_work_was_done(endings, is_running, commands, ends, why):
    about = {"start_ns": 0, "end_ns": 20 * S, "command": "bash job.sh", "is_running": is_running}
    processes = pl.DataFrame(
        {
            "process": [1, 2], "start_ns": [0, S], "ending": endings, "command": commands,
            "end_ns": [round(end * S) for end in ends],
        }
    )  # fmt: skip
    took = pl.DataFrame({"process": [1, 2], **dict.fromkeys(TIMES, 0)} | {"read_ns": [S // 100, 15 * S]})
    job = SimpleNamespace(
        about=about, processes=processes, process_slices=took, launches=LAUNCHES, not_kept={}, slice_ns=S
    )
    assert why_its_work_did_not_end_it(job) == why
