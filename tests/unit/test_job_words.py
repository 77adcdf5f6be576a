"""What `report` says of one job: each figure once, and no word of several where there is one."""

import pwd
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.calls import shares_of_seeks
from slicewise.analysis.job.sites import sites
from slicewise.analysis.job.totals import summarize
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from slicewise.report.job.job_page import JobReport, job_page, job_report, opening
from slicewise.report.job.job_tables import mounts_table
from slicewise.report.job.phase_words import phase_lines
from slicewise.report.job.run_lines import access_lines
from slicewise.report.job.site_words import FEWEST_STACKS, site_lines
from slicewise.text import words
from slicewise.text.words import user_name
from support.swz import build_profile

MIB = 1 << 20
S = 1_000_000_000
FIRST = 425_000_000
BEGAN = FIRST * 4 * S


def digest_of(directory: Path, rows: list[dict], processes: int = 1, site_ns: int = 0, **tables) -> Digest:
    who = [
        {"process": number, "pid": number, "start_ns": BEGAN, "end_ns": BEGAN + 20 * S, "site_ns": site_ns}
        for number in range(1, processes + 1)
    ]
    slices = [{"process": 1} | row | {"slice": FIRST + row["slice"]} for row in rows]
    return Digest(read_profile(build_profile(directory, who, slices, **tables), distributions=True))


def written_then_read(write_mib: int, read_mib: int) -> list[dict]:
    """Bytes written from 1.2 s to 7 s, and read from 7 s to 10 s."""
    write = {"write_size_4": 1, "write_ops": 1, "write_latency_20": 1}
    read = {"read_size_4": 1, "read_ops": 1, "read_latency_20": 1}
    return [
        {"slice": 0, "write_bytes": write_mib * MIB // 2, "write_ns": int(2.8 * S)} | write,
        {"slice": 1, "write_bytes": write_mib * MIB // 2, "write_ns": 3 * S} | write,
        {"slice": 1, "layer": "stdio", "read_bytes": read_mib * MIB // 3, "read_ns": S} | read,
        {"slice": 2, "read_bytes": 2 * read_mib * MIB // 3, "read_ns": 2 * S} | read,
    ]


@pytest.mark.parametrize(("write_mib", "read_mib", "seconds"), [(100, 90, 8.8), (90, 100, 8.8), (1000, 1, 5.8)])
def test_io_took_from_the_first_byte_to_the_last_in_both_directions(tmp_path, write_mib, read_mib, seconds):
    """A direction of next to nothing is in no span: a writer that reads a line of settings at its end."""
    report = job_report(digest_of(tmp_path / "job", written_then_read(write_mib, read_mib)))
    assert report.span is not None
    assert report.span.seconds.value == pytest.approx(seconds)
    assert f"from the first byte of its I/O to the last {words.seconds(seconds)} passed" in opening(report)[0]


def everything_said(report: JobReport) -> str:
    page = job_page(report, [])
    return " ".join([*page.texts(), *opening(report), *phase_lines(report.phases)])


def test_one_process_has_no_slowest_and_no_median(tmp_path):
    one = job_report(digest_of(tmp_path / "one", written_then_read(100, 90)))
    said = everything_said(one)
    assert "It spent 8.80 s in I/O calls." in said
    assert not re.search(r"slowest|median|waited longest", said)
    both = [row | {"process": number} for number in (1, 2) for row in written_then_read(100, 90 * number)]
    two = job_report(digest_of(tmp_path / "two", both, processes=2))
    assert "slowest process" in everything_said(two)


def test_of_several_processes_the_one_that_did_the_io_is_named(tmp_path):
    report = job_report(digest_of(tmp_path / "job", written_then_read(100, 90), processes=3))
    assert "Process 1 on n1 did it, and spent 8.80 s in I/O calls." in opening(report)[0]


def test_no_chart_has_one_bar(tmp_path):
    page = job_page(job_report(digest_of(tmp_path / "job", [written_then_read(10, 0)[0]])), [])
    sections = {section.heading: section for section in page.sections}
    assert "Time in I/O calls, by process" not in sections
    assert sections["Transfer sizes"].chart is None
    assert sections["Transfer sizes"].text == ["1 write, from 100 KiB to 1 MiB."]


def test_a_fact_is_one_number(tmp_path):
    page = job_page(job_report(digest_of(tmp_path / "job", written_then_read(100, 90))), [])
    facts = {fact.name: fact.said for fact in page.facts}
    assert (facts["write calls"], facts["read calls"], facts["metadata calls"]) == ("2", "2", "0")
    assert not [said for said in facts.values() if re.search(r"\d, \d", said)]


@pytest.mark.parametrize(("seeks", "heading"), [(900, "metadata calls, seeks"), (9, "metadata calls")])
def test_seeks_are_no_metadata_calls_to_a_reader(tmp_path, seeks, heading):
    calls = [{"process": 1, "operation": name, "calls": made} for name, made in (("lseek", seeks), ("stat", 100))]
    digest = digest_of(tmp_path / "job", [{"slice": 0, "meta_ops": seeks + 100, "meta_ns": S}], calls=calls)
    assert shares_of_seeks([digest]) == pytest.approx([seeks / (seeks + 100)])
    assert heading in [column.heading for column in mounts_table(summarize(digest)).columns]


def sampled(directory: Path, samples: int, calls: int, likely_bytes: int = 0) -> Digest:
    """A job that opened files, of which each sample stands for 1,000 calls; with bytes, that wrote 1 MB."""
    name = "write" if likely_bytes else "open"
    key = {"process": 1, "site": 1, "operation": name}
    return digest_of(
        directory,
        [
            {
                "slice": 0,
                "meta_ops": calls,
                "meta_ns": samples * 10_000_000,
                "write_bytes": 1_000_000 * bool(likely_bytes),
            }
        ],
        calls=[{"process": 1, "operation": name, "calls": calls}],
        modules=[{"process": 1, "module": 1, "path": "/bin/a"}],
        frames=[{"process": 1, "site": 1, "depth": 0, "function": "main", "file": "a.c", "line": 3}],
        site_ns=10_000_000,
        sites=[
            key
            | {"slice": FIRST, "samples": samples, "likely_calls": samples * 1_000_000, "likely_bytes": likely_bytes}
        ],
    )


@pytest.mark.parametrize(("samples", "calls", "told"), [(50, 5_759, 5_759), (50, 60_000, 60_000), (20, 30_000, 30_000)])
def test_call_sites_have_the_calls_that_were_counted(tmp_path, samples, calls, told):
    found = sites(sampled(tmp_path / "job", samples, calls))
    assert found.samples["calls"].sum() == pytest.approx(told)


def test_call_sites_have_no_more_bytes_than_were_moved(tmp_path):
    """A site of 7 samples was told to have written 73 MiB, in a job that wrote 29."""
    found = sites(sampled(tmp_path / "job", 50, 50_000, likely_bytes=3 << 50))
    assert found.samples["bytes"].sum() == pytest.approx(1_000_000)


def test_call_sites_have_no_more_bytes_than_their_process_moved(tmp_path):
    """A zip file of 113 MiB was told to have got 435 MiB: other processes had written more than that to pipes."""
    rows, kernel = {1: 1_000_000, 2: 9_000_000}, {"slice": 0, "layer": "kernel", "mount": 0}
    digest = digest_of(
        tmp_path / "job",
        [{"process": n, "slice": 0, "write_bytes": size} for n, size in rows.items()]
        + [kernel | {"process": n, "kernel_write_bytes": size} for n, size in rows.items()],
        processes=2,
        calls=[{"process": n, "operation": "write", "calls": 100} for n in rows],
        site_ns=10_000_000,
        sites=[
            {"process": n, "site": 0, "operation": "write", "slice": FIRST, "samples": 9, "likely_calls": 9000}
            | {"likely_bytes": 3_000_000 * 1000}
            for n in rows
        ],
    )
    by_process = dict(sites(digest).samples.group_by("process").agg(pl.col("bytes").sum()).iter_rows())
    assert by_process[1] <= 1_000_000


@pytest.mark.parametrize(("samples", "lines"), [(FEWEST_STACKS - 1, 0), (FEWEST_STACKS, 1)])
def test_few_samples_do_not_say_where_most_time_goes(tmp_path, samples, lines):
    found = sites(sampled(tmp_path / "job", samples, 99_000))
    assert len(list(site_lines(found))) == lines
    assert not list(site_lines(replace(found, elsewhere=0.7))), "mostly on pipes: it waits for another program"
    waits = list(site_lines(replace(found, elsewhere=0.3)))
    said = "Most time in calls on files, pipes, sockets and devices (100 %)"
    assert [line.startswith(said) for line in waits] == [True] * lines


def test_users_have_their_names():
    assert user_name(0) == pwd.getpwuid(0).pw_name
    assert user_name(4_294_000_000) == "4294000000"
    assert user_name(1 << 62) == str(1 << 62)


def said_of(directory, *rows: dict[str, object]) -> list[str]:
    slices = [{"process": 1, "slice": 1} | row for row in rows]
    return access_lines(summarize(Digest(read_profile(build_profile(directory, [{"process": 1}], slices)))))


def test_calls_of_all_own_layers_count_and_those_of_others_do_not(tmp_path):
    posix = {"layer": "posix", "write_ops": 6, "write_consecutive": 3, "write_sequential": 6}
    stdio = {"layer": "stdio", "write_ops": 2, "write_consecutive": 2, "write_sequential": 2}
    above = {"layer": "mpiio", "write_ops": 100}
    assert said_of(tmp_path / "job", posix, stdio, above) == [
        "Access pattern: 62.5 % of writes began where the thread's last access to the file ended, "
        "100 % there or further on."
    ]


def test_accesses_with_nothing_to_follow_are_in_no_share(tmp_path):
    """np.save: a header by write, and what follows through another descriptor and stdio."""
    posix = {"layer": "posix", "write_ops": 5, "write_first": 5, "read_ops": 4, "read_first": 1, "read_consecutive": 3}
    stdio = {"layer": "stdio", "write_ops": 5, "write_first": 5, "read_sequential": 3}
    assert said_of(tmp_path / "job", posix, stdio) == [
        "Access pattern: 100 % of reads began where the thread's last access to the file ended, "
        "100 % there or further on."
    ]


def test_a_job_without_reads_and_writes_has_no_pattern(tmp_path):
    assert said_of(tmp_path / "job", {"meta_ops": 5}) == []
