"""What share of a job's calls went on where the last one ended, in words."""

from __future__ import annotations

from slicewise.analysis.job.totals import summarize
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from slicewise.report.job.file_words import access_lines
from support.swz import build_profile


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
