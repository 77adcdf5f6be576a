"""`slicewise import`: what is in a log comes out byte by byte, in the right slices, and what is amiss is named."""

from pathlib import Path

import polars as pl
import pytest
from slicewise.digest.digest import read_digest
from slicewise.digest.quality import imported
from slicewise.imports import write
from support.command_line import json_of, slicewise_command
from support.io500_results import write_result

S = 1_000_000_000
START = 1_700_000_000
MIB = 1 << 20
ON_SCRATCH = "/scratch,lustre,mds:/s"
HEAD = "begin,end,kind,bytes,node,process,mount,type,source,path,calls"


def rows(*lines: str) -> str:
    return "\n".join([HEAD, *lines]) + "\n"


def write_csv(file: Path, *lines: str) -> Path:
    file.write_text(rows(*lines))
    return file


def a_job(file: Path, begin: int = START, calls: int = 1) -> Path:
    """20 s of writes by two processes on one storage."""
    lines = [
        f"{begin + at}.25,{begin + at}.75,write,{MIB},n{process},{process},{ON_SCRATCH},/scratch/{process},{calls}"
        for at in range(20)
        for process in (1, 2)
    ]
    return write_csv(file, *lines)


def told(*arguments: object) -> list[dict]:
    return json_of("import", *arguments)


def refusal(*arguments: object, status: int = 2) -> str:
    done = slicewise_command("import", *arguments)
    assert done.status == status, (done.text, done.errors)
    assert "Traceback" not in done.errors
    return done.errors.strip()


def test_csv_calls_are_cut_at_slices_and_sums_are_spread(tmp_path):
    file = write_csv(
        tmp_path / "job.csv",
        f"{START}.5,{START + 9}.5,write,1000003,n1,7,/scratch,lustre,mds:/s,/scratch/a,1",
        f"{START + 1},{START + 11},read,40,n1,8,/scratch,lustre,mds:/s,,10",
        f"{START + 1},{START + 1}.000000007,meta,0,n1,8,/scratch,lustre,mds:/s,,1",
    )
    (job,) = told("csv", file, "--into", tmp_path / "jobs")
    assert (job["job"], job["processes"], job["write_bytes"], job["read_bytes"]) == ("job", 2, 1000003, 40)
    digest = read_digest(job["profile"])
    first = START // 4
    of = digest.process_slices.join(digest.processes.select("process", "pid"), on="process")
    written = of.filter(pl.col("pid") == 7).sort("slice")
    # Of 9 s 3.5 s lie in the first slice; the call ends in the third one, and counts there.
    assert written["slice"].to_list() == [first, first + 1, first + 2]
    assert written["write_ns"].to_list() == [3_500_000_000, 4 * S, 1_500_000_000]
    assert written["write_bytes"].to_list() == [388890, 444445, 166668]
    assert written["write_ops"].to_list() == [0, 0, 1]
    assert written["spread"].to_list() == [1, 1, 1]
    spread = of.filter(pl.col("pid") == 8).sort("slice")
    assert spread["read_bytes"].to_list() == [12, 16, 12]
    assert spread["read_ops"].sum() == 10
    assert spread["spread"].to_list() == [3, 3, 3]
    assert spread["meta_ns"].to_list() == [7, 0, 0]
    assert digest.jobs.select("source", "spread", "clock_error_ns").row(0) == ("CSV", 3, 0)
    assert digest.files.select("path", "write_bytes").row(0) == ("/scratch/a", 1000003)
    assert digest.coverage.is_empty()
    assert told("csv", file, "--into", tmp_path / "jobs") == [job], "the same once more"
    assert read_digest(job["profile"]).process_slices.equals(digest.process_slices)


def test_an_imported_job_is_taken_wherever_a_profile_is(tmp_path):
    jobs = tmp_path / "jobs"
    places = []
    for name, begin in (("one", START), ("two", START + 8)):
        (job,) = told("csv", a_job(tmp_path / f"{name}.csv", begin, calls=4), "--into", jobs)
        places.append(job["profile"])
    one, two = places
    box = write_result(tmp_path / "box", (0.05, 0.1), (0.5, 10))
    commands = [
        ("report", "--detail", one, "--phases"), ("report", one), ("overlap", one, two), ("blame", one),
        ("compare", one, two),
        ("turns", "policy", one, two, "--capacity", "2GiB/s"), ("list", jobs),
        ("recover", "--merge", one, "-o", tmp_path / "one.swz"), ("catalog", "ingest", tmp_path / "catalog", jobs),
        ("catalog", "verify", tmp_path / "catalog"), ("catalog", "quality", tmp_path / "catalog", "--all"),
        ("storage", "place", one, "--box", box),
        *(("export", one, "--format", kind, "-o", tmp_path / kind) for kind in ("csv", "ftio")),
    ]  # fmt: skip
    said = {}
    for command in commands:
        done = slicewise_command(*command)
        assert done.status == 0, (command, done.errors)
        said[" ".join(map(str, command[:2]))] = done.text
    assert "Imported from CSV" in said["report --detail"]
    assert "Imported from CSV" in said[f"report {one}"]
    assert "imported from CSV" in said[f"overlap {one}"]
    assert "2 imported" in said["catalog quality"]
    quality = json_of("catalog", "quality", tmp_path / "catalog", "--all")
    assert [(row["source"], row["is_imported"], row["spread"]) for row in quality] == [("CSV", True, 1)] * 2


def test_what_a_log_does_not_say_is_unknown(tmp_path):
    """Its nodes, the sizes of its calls, and what share the kernel counted."""
    rows = [f"{START},{START + 9},write,{MIB * MIB},,{process},/scratch,lustre,mds:/s,,1000" for process in range(3)]
    (job,) = told("csv", write_csv(tmp_path / "job.csv", *rows), "--into", tmp_path / "jobs")
    info = slicewise_command("report", "--detail", job["profile"]).text
    assert "3 processes\n" in info
    assert " node" not in info.splitlines()[0]
    assert json_of("report", "--detail", job["profile"])["hosts"] == []
    assert slicewise_command("catalog", "ingest", tmp_path / "catalog", tmp_path / "jobs").status == 0
    quality = slicewise_command("catalog", "quality", tmp_path / "catalog")
    assert quality.text.startswith("1 job, all complete. Unknown what share of the bytes of 1 was seen (1 imported)")
    (row,) = json_of("catalog", "quality", tmp_path / "catalog", "--all")
    assert (row["is_good"], row["read_seen"], row["write_seen"]) == (None, None, None)
    (other,) = told("csv", write_csv(tmp_path / "other.csv", *rows[:2]), "--into", tmp_path / "jobs")
    overlap = slicewise_command("overlap", job["profile"], other["profile"]).text
    assert "job has 3 processes, other 2." in overlap


def test_blame_is_less_sure_of_spread_slices(tmp_path):
    jobs = tmp_path / "jobs"
    long = f"{START},{START + 20},write,{40 * MIB},n3,3,/scratch,lustre,mds:/s,,40"
    (one,) = told("csv", a_job(tmp_path / "one.csv"), "--into", jobs)
    (two,) = told("csv", write_csv(tmp_path / "two.csv", long), "--into", jobs)
    assert imported(read_digest(two["profile"])).spread == 5

    def confidence(job: str, other: str) -> str:
        return json_of("blame", job, other)["confidence"]

    assert confidence(one["profile"], two["profile"]) != "high"
    done = slicewise_command("overlap", one["profile"], two["profile"])
    page = next(jobs.glob("overlap*.html")).read_text()
    assert "spread over up to 5 slices" in done.text
    assert "≈ two: bytes were spread over up to 5 slices" in page
    assert "≈ one" not in page


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("1.5,1.4,write,1,n,1,/,x,,,1", "line 3 ends before it begins"),
        ("1,2,copy,1,n,1,/,x,,,1", "line 3 has the kind 'copy'"),
        ("1,2,write,-1,n,1,/,x,,,1", "line 3 has '-1' in bytes"),
        ("1,2,meta,1,n,1,/,x,,,1", "line 3 moves bytes"),
        ("1,2,write,1,n,1,/,x,,,0", "line 3 moves bytes in no calls"),
        ("yesterday,2,write,1,n,1,/,x,,,1", "line 3 has 'yesterday' in begin"),
        ("1,2,write", "line 3 has 3 fields"),
        (f"1,{10**10},write,1,n,1,/,x,,,1", "line 3 has '10000000000' in end"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path, line, wrong):
    file = write_csv(tmp_path / "job.csv", "1,2,read,1,n,1,/,x,,,1", line, "3,4,read,1,n,1,/,x,,,1")
    assert wrong in refusal("csv", file, "--into", tmp_path / "jobs")
    assert not (tmp_path / "jobs").exists()


def test_bad_csv_files_are_refused(tmp_path):
    for name, content, wrong in (
        ("columns.csv", "begin,end\n1,2\n", "has no column kind"),
        ("strange.csv", HEAD + ",colour\n", "has a column 'colour'"),
        ("empty.csv", HEAD + "\n", "has no rows"),
        ("binary.csv", b"\xff\xfe\0", "is no CSV in UTF-8"),
    ):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        assert wrong in refusal("csv", file, "--into", tmp_path / "jobs")
    assert "cannot be read" in refusal("csv", tmp_path / "absent.csv")


def test_a_profile_is_there_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    file = a_job(tmp_path / "job.csv")
    monkeypatch.setattr(write.os, "fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left")))
    assert "No space left" in refusal("csv", file, "--into", tmp_path / "jobs")
    assert list((tmp_path / "jobs" / "job").iterdir()) == []
    assert "there is no .swz file" in slicewise_command("report", "--detail", tmp_path / "jobs" / "job").errors


def test_bytes_that_do_not_come_out_are_not_written(tmp_path, monkeypatch):
    lost = write.slices_of
    monkeypatch.setattr(write, "slices_of", lambda found, slice_ns: lost(found, slice_ns).head(3))
    assert "would have come out; nothing was written" in refusal("csv", a_job(tmp_path / "a.csv"), "--into", tmp_path)
    assert not list(tmp_path.glob("*/*.swz"))


def test_another_job_of_the_same_name_is_not_overwritten(tmp_path):
    told("csv", a_job(tmp_path / "job.csv"), "--into", tmp_path / "jobs")
    a_job(tmp_path / "job.csv", START + 1000)
    assert "holds another job" in refusal("csv", tmp_path / "job.csv", "--into", tmp_path / "jobs")
    (tmp_path / "jobs" / "job" / "n1.swz").write_bytes(b"")
    assert "holds a profile already" in refusal("csv", tmp_path / "job.csv", "--into", tmp_path / "jobs")


def test_recorder_says_the_way_out(tmp_path):
    assert "slicewise import csv" in refusal("recorder", tmp_path)
