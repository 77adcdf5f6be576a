"""SLICEWISE_NAMES: what profiles hold of the paths of programs and files, also of a process that was killed."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from slicewise.catalog.rows import PROGRAMS, hashed_program
from slicewise.catalog.schema import NAMES, NOT_KEPT
from slicewise.text.safe_text import masked
from support.programs import Job, need

SECRET = "patient-17.dat"
WORK = f"""
import os, signal
with open("{SECRET}", "wb") as file:
    for _ in range(300):
        file.write(b"x" * 70000)
"""
KILL = "os.kill(os.getpid(), signal.SIGKILL)\n"


@pytest.fixture(autouse=True)
def zstd() -> None:
    need("zstd")


def all_text(folder: Path) -> bytes:
    """The profile's bytes, unpacked: a name is found wherever it lies in them."""
    return b"".join(
        subprocess.run(["zstd", "-dc", file], capture_output=True, check=True).stdout for file in folder.glob("*.swz")
    )


def profiled(job: Job, form: str, is_killed: bool, key: str = "") -> tuple[set[str], set[str], bytes]:
    """Paths of files and programs in the profile of a process that wrote SECRET, and all text in it."""
    settings = {"SLICEWISE_NAMES": form, "SLICEWISE_NAMES_KEY": key, "SLICEWISE_SITE_MS": "1"}
    asked = [sys.executable, "-c", WORK + (KILL if is_killed else ""), job.data / SECRET, "--password", "hidden-one"]
    job.run(asked, cwd=job.data, **settings)
    if is_killed:
        job.recover()
    tables = job.profile()
    files = tables.files.filter(pl.col("write_bytes") > 0)["path"].to_list()
    return set(files), set(tables.processes["program"].to_list()), all_text(job.spool_dir)


@pytest.mark.parametrize("is_killed", [False, True], ids=["exit", "killed"])
@pytest.mark.parametrize("form", ["full", "base", "hash"])
def test_profiles_hold_what_is_asked_for(job: Job, form: str, is_killed: bool) -> None:
    environment = {"SLICEWISE_NAMES": form, "SLICEWISE_NAMES_KEY": "ours"}
    program = str(Path(sys.executable).resolve())
    files, programs, text = profiled(job, form, is_killed, "ours")
    assert files == {masked(str(job.data / SECRET), environment)}
    assert programs == {masked(program, environment)}
    # Mount points and hosts stay: without them jobs on one storage would not be known as such.
    assert (str(job.data).encode() in text) == (form == "full")
    assert (SECRET.encode() in text) == (form != "hash")
    assert (f"{SECRET} --password ...".encode() in text) == (form != "hash")
    assert b"hidden-one" not in text
    assert (Path(program).name.encode() in text) == (form != "hash")


def test_a_key_makes_other_hashes(job: Job) -> None:
    path = str(job.data / SECRET)
    hashes = {masked(path, {"SLICEWISE_NAMES": "hash", "SLICEWISE_NAMES_KEY": key}) for key in ("", "one", "other")}
    assert len(hashes) == 3
    assert {len(one) for one in hashes} == {16}


def test_catalogs_mask_the_same_columns() -> None:
    in_catalogs = {
        "processes.program": "processes.path", "processes.script": "processes.program",
        "processes.label": "processes.program", "processes.command": "processes.command",
        "processes.directory": "processes.directory", "files.path": "files.path",
        "unprofiled.program": "unprofiled.program",
        "launches.program": "launches.program", "launches.command": "launches.command",
        "modules.path": "site_frames.module", "frames.file": "site_frames.file",
        "node_processes.program": "sampled_processes.path",
    }  # fmt: skip
    named = json.loads(files("slicewise").joinpath("contract.json").read_text())["named"]
    assert named == [*in_catalogs, "regions.name"]
    assert "regions" in NOT_KEPT
    # Of a program's name that is masked what stands behind an interpreter's (`hashed_program`).
    masked_there = {f"{frame}.{column}" for frame, columns in NAMES.items() for column in columns}
    masked_there |= {f"{frame}.program" for frame in PROGRAMS}
    assert masked_there >= set(in_catalogs.values())
    assert hashed_program("python3.11 secret.py", b"salt").startswith("python3.11 ")
    assert "secret" not in hashed_program("python3.11 secret.py", b"salt")
    assert "secret" not in hashed_program("label secret", b"salt")
    assert hashed_program("tar", b"salt") == "tar"
