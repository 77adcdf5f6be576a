"""Calls of libraries above MPI-IO and POSIX: each counted once, as its function, and passed on as it came."""

import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from slicewise.profile.reader import Profile
from support.command_line import json_of, slicewise_command
from support.programs import ROOT, Apps, Job, need, total

NAME = "io_libraries"
PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module")
def apps(tmp_path_factory: pytest.TempPathFactory) -> Apps:
    """In a folder of their own, for libraries get further names there."""
    return Apps(tmp_path_factory.mktemp("apps"))


def library(apps: Apps, salt: int, *options: str) -> Path:
    return apps.build(NAME, "-DSTAND_IN", f"-DSALT={salt}", "-shared", "-fPIC", *options)


def linked(apps: Apps, what: str, with_: Path, *options: str) -> Path:
    return apps.build(NAME, what, *options, "-Wl,--no-as-needed", str(with_), f"-Wl,-rpath,{with_.parent}")


def rows(profile: Profile) -> dict[str, dict[str, int]]:
    summed = profile.library_calls.group_by("function").agg(pl.col("calls", "ns", "file_ns", "mpi_ns").sum())
    return {row["function"]: row for row in summed.iter_rows(named=True)}


def symbols_of(job: Job) -> Counter[str]:
    """How many symbols each function has, by the list as the preprocessor reads it."""
    text = job.data / "symbols.c"
    text.write_text(
        f'#define LIBRARY_SYMBOL(mark, name, symbol, arguments) SYMBOL name\n#include "{ROOT}/schema/libraries.def"\n'
    )
    ended = job.run_plainly(["gcc", "-E", "-P", text])
    return Counter(re.findall(r"SYMBOL (\w+)", ended.output.decode()))


def test_every_symbol_is_passed_on_and_counts_as_its_function(job: Job, apps: Apps) -> None:
    program = linked(apps, "-DPROGRAM", library(apps, 5))
    assert job.run([program]).status == 0
    counted = {name: row["calls"] for name, row in rows(job.profile()).items()}
    assert counted == symbols_of(job)
    assert sum(counted.values()) > 500


def test_a_call_within_another_of_its_library_is_none_and_takes_time_off_nothing(job: Job, apps: Apps) -> None:
    """100 H5Dclose lie within the two H5Fflush, of which one lies within a netCDF call. All I/O lies in these."""
    ended = job.run([linked(apps, "-DPROGRAM", library(apps, 5)), job.data / "file"])
    assert ended.status == 0
    profile = job.profile()
    counted = rows(profile)
    assert {name: row["calls"] for name, row in counted.items()} == {"H5Fflush": 2, "nc_enddef": 1}
    flush, around = counted["H5Fflush"], counted["nc_enddef"]
    assert flush["ns"] >= 100_000_000
    assert around["ns"] >= 50_000_000
    assert flush["file_ns"] == total(profile, "write_ns", obj="file") > 2 * 100 * 10
    assert 0 < around["file_ns"] < flush["file_ns"]


def test_report_says_where_the_time_went(job: Job, apps: Apps) -> None:
    job.run([linked(apps, "-DPROGRAM", library(apps, 5)), job.data / "file"])
    command = ["report", str(job.spool_dir), "--html", str(job.folder / "page.html")]
    told = json_of(*command)["libraries"]
    assert [(row["library"], row["function"], row["calls"]) for row in told] == [
        ("hdf5", "H5Fflush", 2),
        ("netcdf", "nc_enddef", 1),
    ]
    assert all(
        row["own_seconds"] + row["file_seconds"] + row["mpi_seconds"] == pytest.approx(row["seconds"]) for row in told
    )
    assert "HDF5 took" in slicewise_command(*command).text
    assert "nc_enddef" in (job.folder / "page.html").read_text()


def test_a_killed_process_keeps_its_counts(job: Job, apps: Apps) -> None:
    job.run([linked(apps, "-DPROGRAM", library(apps, 5)), job.data / "file", "die"])
    job.recover()
    assert rows(job.profile())["H5Fflush"]["calls"] == 2


def test_off_by_a_setting(job: Job, apps: Apps) -> None:
    program = linked(apps, "-DPROGRAM", library(apps, 5))
    assert job.run([program, job.data / "file"], SLICEWISE_LIBRARIES="0").status == 0
    assert job.profile().library_calls.is_empty()


def plug_ins(apps: Apps, *, named: bool) -> list[Path]:
    """Three, each with a library of its own, which it needs by its path or by a name."""
    found = []
    for salt in (1, 2, 3):
        name = f"libstand-in-{salt}.so"
        own = library(apps, salt, *([f"-Wl,-soname,{name}"] if named else []))
        if named and not own.with_name(name).exists():
            own.with_name(name).symlink_to(own)
        found.append(linked(apps, "-DPLUG_IN", own, "-shared", "-fPIC"))
    return found


@pytest.mark.parametrize("named", [True, False])
def test_each_plug_in_reaches_the_library_that_it_needs(job: Job, apps: Apps, named: bool) -> None:
    """Two packages of a Python program may each bring an HDF5 of their own."""
    opener = [apps.build(NAME, "-DOPENER"), *plug_ins(apps, named=named)]
    assert job.run_plainly(opener).status == 0
    job.must_run(opener)
    assert rows(job.profile())["H5Dread"]["calls"] == 3 * (1 + 2 + 3)


def test_two_versions_that_a_program_is_linked_with(job: Job, apps: Apps) -> None:
    """As Debian has HDF5 with and without MPI: the program and a library that it needs ask for one each."""
    owns = []
    for salt in (1, 2):
        versions = job.data / f"versions-{salt}"
        versions.write_text(f"STAND_IN_{salt} {{ *; }};\n")
        owns.append(library(apps, salt, f"-Wl,--version-script={versions}", f"-Wl,-soname,libversioned-{salt}.so"))
        link = owns[-1].with_name(f"libversioned-{salt}.so")
        link.symlink_to(owns[-1])
    between = linked(apps, "-DPLUG_IN", owns[0], "-shared", "-fPIC", "-Wl,-soname,libbetween.so")
    between.with_name("libbetween.so").symlink_to(between)
    program = apps.build(
        NAME, "-DBETWEEN", "-Wl,--no-as-needed", str(owns[1]), str(between), f"-Wl,-rpath,{between.parent}"
    )
    assert job.run_plainly([program]).status == 0
    job.must_run([program])
    assert rows(job.profile())["H5Dread"]["calls"] == 4


@pytest.mark.parametrize("answer", ["error", "kill"])
def test_so_it_does_where_memory_must_not_be_copied(job: Job, apps: Apps, answer: str) -> None:
    """By a filter that it was begun with, or by one of its own that kills."""
    opener = [apps.build(NAME, "-DOPENER"), *plug_ins(apps, named=True)]
    assert job.run(opener, FORBID=answer).status == 0


def test_a_function_of_that_name_in_another_library_is_called_past_us(job: Job, apps: Apps) -> None:
    foreign = apps.build(NAME, "-DFOREIGN", "-shared", "-fPIC")
    job.must_run([linked(apps, "-DOPENER", foreign)])
    assert not job.spool_dir.exists() or job.profile().library_calls.is_empty()


def test_h5py(job: Job) -> None:
    """HDF5 itself: as many reads and writes as the program asked for, and no more time in files than in all calls."""
    need(PYTHON)
    script = (
        "import h5py, numpy\n"
        "with h5py.File('x.h5', 'w') as f:\n"
        "    d = f.create_dataset('x', (40, 1000), chunks=(1, 1000), compression='gzip')\n"
        "    for i in range(40): d[i] = numpy.random.rand(1000)\n"
        "with h5py.File('x.h5') as f:\n"
        "    for i in range(30): f['x'][i]\n"
    )
    assert job.run([PYTHON, "-c", script], cwd=job.data).status == 0
    counted = rows(job.profile())
    calls = {name: row["calls"] for name, row in counted.items()}
    assert (calls["H5Dwrite"], calls["H5Dread"], calls["H5Fcreate"], calls["H5Fopen"]) == (40, 30, 1, 1)
    assert all(row["file_ns"] <= row["ns"] and row["mpi_ns"] == 0 for row in counted.values())
