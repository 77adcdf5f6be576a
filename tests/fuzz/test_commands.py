"""Every command on profiles that no program wrote: an answer, or one line and exit status 2, and never a traceback.

The files are sound in their bytes and by their grammar; their numbers, names, rows and schema are not what any job has.
SLICEWISE_FUZZ_PROFILES sets how many such profiles are tried (default 4); a failure names its seed and the changes.
"""

import contextlib
import os
import random
import signal
import subprocess
from pathlib import Path

import polars as pl
import pytest
from slicewise.errors import UserError
from slicewise.profile.reader import read_profile
from support.command_line import refusal_of, slicewise_command
from support.hostile import Tables, lying_writer, mutate, sound_tables, write_job
from support.programs import COLLECTOR

PROFILES = int(os.environ.get("SLICEWISE_FUZZ_PROFILES", "4"))
COMMANDS = (
    "report JOB --detail", "report JOB --detail --json --phases", "report JOB --html PAGE",
    "overlap JOB OTHER --html PAGE", "overlap OTHER JOB --alone JOB --html PAGE", "report JOB --flamegraph --html PAGE",
    "export JOB --format ftio", "export JOB --format folded",
    "export JOB --format parquet --table sites", "export JOB --format csv --table hardware", "export JOB --format csv",
    "study model fit JOB OTHER", "study campaign JOB OTHER --json",
    "study delta read JOB OTHER", "recover --merge JOB -o MERGED",
)  # fmt: skip
MOST_SECONDS = 60


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job that ran beside the hostile one."""
    return write_job(tmp_path_factory.mktemp("other") / "other", sound_tables("other", first=100))


def assert_answers(commands: list[str], job: Path, other: Path, folder: Path, what: object) -> None:
    """Each command ends soon, with an answer or with one line."""
    for number, command in enumerate(commands):
        places = {"JOB": job, "OTHER": other, "PAGE": folder / "page.html", "MERGED": folder / f"{number}.swz"}
        signal.alarm(MOST_SECONDS)  # ends the test's process: nothing less stops native code
        try:
            done = slicewise_command(*(places.get(word, word) for word in command.split()))
        except Exception as error:
            raise AssertionError(f"{command}: {what}") from error
        finally:
            signal.alarm(0)
        assert done.status in (0, 1, 2), (command, what)
        assert " is now: " not in done.errors, command
        assert (done.status == 2) == (done.errors.count("\n") == 1), (command, what, done.errors)


def test_all_commands_answer_on_the_seed(other, tmp_path):
    job = write_job(tmp_path / "job", sound_tables())
    assert read_profile(job).damage == []
    for command in COMMANDS:
        places = {"JOB": job, "OTHER": other, "PAGE": tmp_path / "page.html", "MERGED": tmp_path / "merged.swz"}
        done = slicewise_command(*(places.get(word, word) for word in command.split()))
        assert done.status in (0, 2), (command, done.errors)
        assert " is now: " not in done.errors, command  # a name of version 1 reads no profile


@pytest.mark.parametrize("seed", range(PROFILES))
def test_fields_at_extremes(other, tmp_path, seed):
    source = random.Random(seed)
    tables = sound_tables()
    done = mutate(tables, source, source.choice([1, 1, 2, 4]))
    job = write_job(tmp_path / "job", tables)
    assert_answers(source.sample(COMMANDS, 5), job, other, tmp_path, (seed, done))


@pytest.mark.parametrize("seed", range(PROFILES))
def test_schemas_that_lie(other, tmp_path, seed):
    source = random.Random(seed)
    job = write_job(tmp_path / "job", sound_tables(), lying_writer(source))
    assert_answers(source.sample(COMMANDS, 2), job, other, tmp_path, seed)


def changed(table: str, **fields: int) -> Tables:
    """The seed's tables with these fields in the first row of one."""
    tables = sound_tables()
    tables[table][0] |= fields
    return tables


ODD_NUMBERS: list[tuple[str, dict[str, int]]] = [
    ("slices", {"write_bytes": 1 << 63}),
    ("slices", {"write_ns": (1 << 64) - 1}),
    ("processes", {"rank": -(1 << 63)}),
    ("hardware", {"event_0": 1 << 63}),
    ("sites", {"samples": 1 << 63}),
]
OF_A_COLLECTOR: tuple[str, dict[str, int]] = ("node_slices", {"cpu_stall_ns": 1 << 63})


@pytest.mark.parametrize(("table", "fields"), [*ODD_NUMBERS, OF_A_COLLECTOR])
def test_a_process_with_numbers_that_no_job_has_costs_itself_alone(tmp_path, table, fields):
    tables = changed(table, **fields)
    job = write_job(tmp_path / "job", tables)
    (column,), odd = fields, tables[table][0]["process"]
    profile, sound = read_profile(job), read_profile(write_job(tmp_path / "sound", sound_tables()))
    (damage,) = profile.damage
    assert (damage.kind, damage.processes) == ("implausible", (odd,))
    assert f"({table}.{column}: {fields[column]})" in damage.message
    for name in ("processes", "mounts", "slices", "files", "calls", "hardware", "sites", "nodes", "node_slices"):
        assert getattr(profile, name).equals(getattr(sound, name).filter(pl.col("process") != odd)), name
    done = slicewise_command("report", "--detail", job)
    assert (done.status, done.errors, done.text.count(f"({table}.{column}: ")) == (0, "", 1)


@pytest.mark.parametrize(("table", "fields"), [*ODD_NUMBERS, ("processes", {"start_ns": 1 << 63})])
def test_numbers_that_no_job_has_are_one_line(tmp_path, table, fields):
    tables = changed(table, **fields)
    tables["processes"] = [row for row in tables["processes"] if row["process"] == tables[table][0]["process"]]
    job = write_job(tmp_path / "job", tables)
    (column,) = fields
    with pytest.raises(UserError, match=rf"holds numbers that no job has \({table}\.{column}: -?\d+\)"):
        read_profile(job)
    refusal_of("report", "--detail", job)


@pytest.mark.parametrize("table", ["slices", "hardware", "sites", "node_slices"])
@pytest.mark.parametrize("slice_", [1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_slices_that_no_clock_tells_of_are_damage_or_one_line(other, tmp_path, table, slice_):
    job = write_job(tmp_path / "job", changed(table, slice=slice_))
    with contextlib.suppress(UserError):
        assert read_profile(job).damage != []
    assert_answers(
        ["report JOB --detail", "report JOB --html PAGE", "export JOB --format csv"], job, other, tmp_path, slice_
    )


def test_a_slice_long_before_the_others_is_no_trouble(other, tmp_path):
    """A node's clock may have been set while it ran."""
    assert_answers(list(COMMANDS), write_job(tmp_path / "job", changed("slices", slice=3)), other, tmp_path, "slice 3")


@pytest.mark.parametrize("content", [b"", b"\0" * 100, os.urandom(5000), b"not a profile\n"], ids=range(4))
def test_foreign_files_are_one_line(other, tmp_path, content):
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "n1.swz").write_bytes(content)
    for command in COMMANDS:
        if "--merge" not in command:
            assert_answers([command], tmp_path / "job", other, tmp_path, content[:20])
    refusal_of("report", "--detail", tmp_path / "job")


def test_recovering_a_hostile_directory_is_no_trouble(tmp_path):
    job = write_job(tmp_path / "job", changed("slices", slice=1 << 63))
    done = subprocess.run([COLLECTOR, "recover", job], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
