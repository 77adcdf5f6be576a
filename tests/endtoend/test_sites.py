"""Call sites of real programs: shares of I/O time, frames by name, and stacks that are odd."""

import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.job.sites import Sites, sites, totals
from slicewise.digest.digest import Digest
from slicewise.report.job.site_words import place_words
from support.programs import APPS, Apps, Job

SHARES_MS = 6000
# Shares of 1,000 samples, one standard deviation of which is at most 1.6 points.
MOST_POINTS, FEW_MS = 7.3, 1000
# Of stacks that are dear: each is paid for with ten stretches at most.
FEWEST = SHARES_MS // 10
# Of samples that fall where they may: one of the six shares is beyond it in one of 20,000 runs of the tests.
MOST_DEVIATIONS = 4.5


def names(found: Sites, stack: int) -> list[str]:
    return [place.function for place in found.stacks[stack]]


def folded(found: Sites) -> dict[str, float]:
    """Seconds by stack, its names with blanks between them."""
    frame = totals(found)
    return {" ".join(names(found, row["stack"])): row["seconds"] for row in frame.iter_rows(named=True)}


@pytest.mark.parametrize(
    "options", [(), ("-s",), ("-O2", "-fomit-frame-pointer", "-g0")], ids=["debug", "stripped", "bare"]
)
def test_shares_are_those_of_the_files_that_the_sites_use(apps: Apps, job: Job, options):
    assert job.run([apps.build("site_shares", *options), str(FEW_MS)], SLICEWISE_SITE_MS="1").status == 0
    profile = job.profile()
    found = sites(Digest(profile))
    files = profile.files.with_columns(
        name=pl.col("path").str.split("/").list.last(), seconds=(pl.col("read_ns") + pl.col("write_ns")) / 1e9
    )
    spent = dict(files.select("name", "seconds").iter_rows())
    spent = {name: spent[name] for name in ("checkpoint", "log", "input")}
    # Which of the three is which tells the size of its calls: how long each takes is the storage's affair.
    by_site = totals(found).head(3).sort(pl.col("bytes") / pl.col("calls"), descending=True)
    took = dict(zip(("checkpoint", "log", "input"), by_site["seconds"].to_list(), strict=True))
    for name, seconds in spent.items():
        share, expected = took[name] / by_site["seconds"].sum(), seconds / sum(spent.values())
        assert 100 * abs(share - expected) < MOST_POINTS, (name, share, expected)
    assert found.samples["seconds"].sum() == pytest.approx(sum(spent.values()), rel=0.05)
    assert found.sample_seconds == 0.001
    written = profile.files.filter(pl.col("path").str.ends_with("/checkpoint"))
    assert by_site["bytes"][0] == pytest.approx(written["write_bytes"][0], rel=0.25)
    assert by_site["calls"][0] == pytest.approx(written["write_ops"][0], rel=0.25)
    stacks = [names(found, stack) for stack in by_site["stack"]]
    assert [stack[-1] for stack in stacks] == ["pwrite", "pwrite", "pread"]
    if "-s" in options:
        assert all(re.fullmatch(r"site_shares-\d+\+0x[0-9a-f]+", name) for stack in stacks for name in stack[-3:-1])
        assert len({stack[-2] for stack in stacks}) == 3
        return
    expected = [["main", "step", "write_checkpoint"], ["main", "step", "write_log"], ["main", "step"]]
    if "-g0" not in options:
        expected[2].append("read_input")
        place = found.stacks[by_site["stack"][0]][-2]
        assert Path(place.file).name == "site_shares.c"
        assert "pwrite(fd, block, 700 << 10" in (APPS / "site_shares.c").read_text().splitlines()[place.line - 1]
    assert [stack[-1 - len(tail) : -1] for stack, tail in zip(stacks, expected, strict=True)] == expected


@pytest.mark.parametrize(("frames", "samples"), [(1, SHARES_MS), (60, FEWEST)], ids=["usual stacks", "dear stacks"])
def test_shares_are_those_of_times_that_are_known(apps: Apps, job: Job, frames: int, samples: int):
    """Three sites that take 70, 20 and 10 % of the time; what one late call made of it, the clock tells. Of dear stacks
    fewer are taken, one for ten stretches at least: a share is as sure as so many samples make it.
    """
    ended = job.run([apps.build("site_times"), str(SHARES_MS), str(frames)], SLICEWISE_SITE_MS="1")
    assert ended.status == 0
    profile = job.profile()
    found = sites(Digest(profile))
    assert profile.sites["calls"].sum() > 0.9 * FEWEST
    took = {stack.split()[-3]: seconds for stack, seconds in folded(found).items() if stack.endswith("wait_here read")}
    spent = {name: ended.told[name] for name in ("read_seven", "read_two", "read_one")}
    for name, microseconds in spent.items():
        share, expected = took[name] / sum(took.values()), microseconds / sum(spent.values())
        deviation = math.sqrt(expected * (1 - expected) / samples)
        assert abs(share - expected) < MOST_DEVIATIONS * deviation, (name, share, expected)


def test_sampling_can_be_switched_off(apps: Apps, job: Job):
    assert job.run([apps.build("site_shares"), "50"], SLICEWISE_SITE_MS="0").status == 0
    profile = job.profile()
    assert (profile.sites.height, profile.frames.height, profile.processes["site_ns"][0]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("mode", "stack"),
    [("signal", "be_interrupted .*in_handler"), ("trap", "trap trap_at_once .*step_over")],  # at its first byte
)
def test_a_signal_frame_is_passed_through_to_the_function_that_was_interrupted(apps: Apps, job: Job, mode, stack):
    assert job.run([apps.build("site_odd"), mode], SLICEWISE_SITE_MS="1").status == 0
    expected = re.compile(f" main {stack} wait_in_read read$")
    assert any(expected.search(found) for found in folded(sites(Digest(job.profile()))))


def test_deep_recursion_keeps_the_innermost_frames(apps: Apps, job: Job):
    assert job.run([apps.build("site_odd"), "deep"], SLICEWISE_SITE_MS="1").status == 0
    stacks = [stack.split() for stack in folded(sites(Digest(job.profile()))) if "go_deep" in stack]
    assert stacks[0][-2:] == ["wait_in_read", "read"]
    assert set(stacks[0][:-2]) == {"go_deep"}
    assert len(stacks[0]) == 65


def test_a_corrupt_stack_neither_crashes_nor_hangs(apps: Apps, job: Job):
    assert job.run([apps.build("site_odd"), "corrupt"], SLICEWISE_SITE_MS="1").status == 0
    found = sites(Digest(job.profile()))
    inside = [seconds for stack, seconds in folded(found).items() if "with_a_corrupt_stack wait_in_read read" in stack]
    assert sum(inside) > 8 * 0.014


def test_code_without_a_file_is_walked_by_its_frame_pointer(apps: Apps, job: Job):
    assert job.run([apps.build("site_odd"), "jit"], SLICEWISE_SITE_MS="1").status == 0
    stacks = list(folded(sites(Digest(job.profile()))))
    assert any(re.search(r" main jit code in no file\+0x0 wait_in_read read$", stack) for stack in stacks), stacks
    assert any(stack.startswith("code in no file+0x0 wait_in_read read") for stack in stacks), stacks


def test_threads_in_a_row_have_their_own_time_and_no_other(apps: Apps, job: Job):
    """Each thread gets the counters of the one before it; the first read began before anything was counted."""
    assert job.run([apps.build("site_odd"), "row"], SLICEWISE_SITE_MS="1").status == 0
    profile = job.profile()
    told = folded(sites(Digest(profile)))
    own, threads = (
        sum(seconds for stack, seconds in told.items() if f"{caller} wait_in_read read" in stack)
        for caller in ("threads_in_a_row", "read_once")
    )
    assert own >= 0.014
    assert threads >= 20 * 0.014
    assert sum(told.values()) == pytest.approx(profile.slices["read_ns"].sum() / 1e9, rel=0.05, abs=0.01)


def test_forked_children_are_sampled_by_themselves(apps: Apps, job: Job):
    assert job.run([apps.build("site_odd"), "fork"], SLICEWISE_SITE_MS="1").status == 0
    profile = job.profile()
    found = sites(Digest(profile))
    child = [number for number, stack in enumerate(found.stacks) if "fork_beside_threads" in names(found, number)]
    samples = found.samples.filter(pl.col("stack").is_in(child), pl.col("operation") == "read")
    assert samples["process"].n_unique() == 21
    threads = [number for number, _ in enumerate(found.stacks) if "keep_reading" in names(found, number)]
    assert found.samples.filter(pl.col("stack").is_in(threads))["process"].n_unique() == 1


def pythons() -> list[str]:
    """The interpreters here whose frames are known, CPython 3.11 and 3.12: this one, and what else is installed."""
    found = [getattr(sys, "_base_executable", sys.executable)]
    for version in ("3.11", "3.12"):
        own = Path.home().glob(f".pyenv/versions/{version}*/bin/python")
        candidates = [shutil.which(f"python{version}"), *map(str, own)]
        for path in filter(None, candidates):
            asked = [path, "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
            if subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() == version:
                found.append(os.path.realpath(path))
    return list(dict.fromkeys(map(os.path.realpath, found)))


@pytest.mark.parametrize("python", pythons(), ids=lambda path: Path(path).name)
def test_python_frames_are_shown_as_python_frames(job: Job, python):
    program = APPS / "site_python.py"
    assert job.run([python, program, "300"], SLICEWISE_SITE_MS="1").status == 0
    found = sites(Digest(job.profile()))
    stacks = {stack for stack in folded(found) if "main take" in stack}
    for tail in (
        "<module> main take main.<locals>.<lambda> Checkpoint.save pwrite",
        "<module> main take naïve.<locals>.closure pread",
        "<module> main take main.<locals>.<lambda> by_callback by_callback.<locals>.<lambda> pread",
    ):
        assert any(stack.endswith(tail) for stack in stacks), (tail, stacks)
    between = next(stack for stack in stacks if "by_c_code.<locals>.compare" in stack).split()
    assert between.index("by_c_code") < between.index("qsort_r") < between.index("by_c_code.<locals>.compare")
    saved = next(stack for stack in found.stacks if any(place.function == "Checkpoint.save" for place in stack))
    place = next(place for place in saved if place.function == "Checkpoint.save")
    assert place.file == str(program)
    assert "os.pwrite(fd, BLOCK, 0)" in program.read_text().splitlines()[place.line - 1]
    assert not any("_PyEval" in stack for stack in stacks)


def test_a_script_s_lines_are_known_in_bash(job: Job, tmp_path):
    """It is not known in which file a function stands, nor which script another one reads."""
    more, script = tmp_path / "more.sh", tmp_path / "append.sh"
    more.write_text("for ((i = 0; i < 10000; i++)); do echo a >> $1; done\n")
    script.write_text(
        "add() {\n  echo a >> $1\n}\nfor ((i = 0; i < 10000; i++)); do\n  echo a >> $1\n  add $1\ndone\n. $2 $1\n"
    )
    done = job.run(["bash", script, tmp_path / "out", more], SLICEWISE_SITE_MS="1")
    assert done.status == 0
    opens = [stack for stack in sites(Digest(job.profile())).stacks if stack[-1].function == "open"]
    assert {(place.function, place.file, place.line) for place in (stack[-2] for stack in opens)} == {
        ("main", str(script), 5), ("add", str(script), 0), ("main", str(script), 0),
    }  # fmt: skip


def test_a_script_is_named_whose_interpreter_shows_no_lines(job: Job, tmp_path):
    script = tmp_path / "append.pl"
    script.write_text("for (1..9000) { open(my $h, '>>', $ARGV[0]); print $h 1; close $h; }\n")
    assert job.run(["perl", script, tmp_path / "out"], SLICEWISE_SITE_MS="1").status == 0
    opens = [stack for stack in sites(Digest(job.profile())).stacks if stack[-1].function == "open"]
    assert {place_words(stack) for stack in opens} == {"open() called for append.pl"}


def test_a_killed_process_keeps_its_samples(apps: Apps, job: Job):
    with job.start([apps.build("site_shares"), "100000"], SLICEWISE_SITE_MS="1") as program:
        while not job.segments():
            assert program.poll() is None
        while program.poll() is None and not has_samples(job):
            pass
        program.kill()
    assert job.recover(job.spool_dir).returncode == 0
    found = sites(Digest(job.profile()))
    assert any("write_checkpoint pwrite" in stack for stack in folded(found))


def has_samples(job: Job) -> bool:
    """Whether a second of processor time has gone into the job's one process: then it was sampled."""
    for segment in job.segments():
        pid = segment.name.split(".")[-2]
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return True
        return int(fields[11]) + int(fields[12]) > os.sysconf("SC_CLK_TCK")
    return False
