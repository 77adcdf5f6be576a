"""What is said of jobs on one time axis: sentences, table, JSON and page, from one and the same analysis."""

import dataclasses

import pytest
from slicewise.analysis.coverage import coverage
from slicewise.analysis.overlap.contention import Contention
from slicewise.analysis.overlap.overlap import overlap
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from slicewise.report.coverage.unseen import unseen_lines
from slicewise.report.overlap import overlap_words
from slicewise.report.overlap.overlap_json import overlap_record
from slicewise.report.overlap.overlap_page import overlap_page
from slicewise.report.overlap.overlap_tables import colours_of, jobs_table
from support.jobs import write_competing_jobs, write_job


@pytest.fixture(scope="module")
def profiles(tmp_path_factory):
    return [Digest(read_profile(path)) for path in write_competing_jobs(tmp_path_factory.mktemp("jobs"))]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    directory = tmp_path_factory.mktemp("alone")
    large = write_job(directory / "alone-48213", 60, 12, {range(42): 102.0})
    small = write_job(directory / "alone-48190", 12, 12, {range(39): 102.0}, program="/opt/postproc")
    return [Digest(read_profile(large)), Digest(read_profile(small))]


@pytest.fixture(scope="module")
def result(profiles, alone):
    return overlap(profiles, alone)


def with_contention(direction, contended):
    return dataclasses.replace(direction, contention=Contention(contended, "the evidence", {}, None, None))


def test_the_opening_says_where_when_who_and_at_what_cost(result):
    where, who, cost = overlap_words.opening(result, result.directions["write"])
    assert where.startswith("Jobs 48213 and 48190 both wrote to /scratch from ")
    assert where.endswith(" (51 slices of 4 s).")
    assert who == (
        "There 48213 (60 processes on 5 nodes) got 83.1 MiB/s and 48190 (12 on 1) got 19.0 MiB/s: 4.4 to 1, "
        "where processes stand 5 to 1 and nodes 5 to 1."
    )
    assert cost.startswith("Alone, 48190 would have taken about 15")
    assert "; beside 48213 it took 320 s. Shares by " in cost


def test_ratios_are_told_from_the_side_of_the_job_that_got_more(profiles):
    turned = overlap(profiles[::-1])
    who = overlap_words.who_got_what(turned.directions["write"])
    assert "48190 (12 processes on 1 node) got 19.0 MiB/s and 48213 (60 on 5) got 83.1 MiB/s: 4.4 to 1" in who


def test_a_direction_without_bytes_says_so_and_no_more(result):
    reads = result.directions["read"]
    assert overlap_words.opening(result, reads) == [reads.not_applicable.rstrip(".") + "."]
    assert overlap_words.verdict(reads) == ""


@pytest.mark.parametrize(
    ("contended", "verdict"),
    [
        (True, "There was contention: the evidence."),
        (False, "There was no contention to be had: the evidence."),
        (None, "Whether there was contention cannot be told: the evidence."),
    ],
)
def test_the_verdict_follows_the_evidence(result, contended, verdict):
    assert overlap_words.verdict(with_contention(result.directions["write"], contended)) == verdict


def test_no_cost_is_invented_where_contention_is_not_known(profiles):
    writes = overlap(profiles).directions["write"]
    assert "would have taken" in overlap_words.what_it_cost(with_contention(writes, True))
    assert overlap_words.what_it_cost(with_contention(writes, False)) == ""
    assert overlap_words.what_it_cost(with_contention(writes, None)) == ""


def test_the_table_has_a_row_a_job_and_columns_only_for_what_is_known(result, profiles):
    table = jobs_table(result, result.directions["write"])
    assert [row[0].text for row in table.rows] == ["48213", "48190"]
    assert [row[0].colour for row in table.rows] == list(colours_of(result).values())
    headings = [column.heading for column in table.columns]
    assert {"alone", "together", "predicted", "error"} <= set(headings)
    without = jobs_table(result, overlap(profiles).directions["write"])
    assert "alone" not in [column.heading for column in without.columns]


def test_json_has_the_main_direction_at_the_top_and_both_below(result):
    record = overlap_record(result, result.directions["read"], {}, None)
    assert record["direction"] == "read"
    assert record["not_applicable"] == record["directions"]["read"]["not_applicable"]
    writes = record["directions"]["write"]
    assert writes["region"]["kind"] == "every_process"
    assert set(writes["region"]["variants"]) == {"every_process", "union", "any_process"}
    assert writes["ratios"].processes == 5
    assert 0 < writes["rsd"] < 0.2


def test_the_page_tells_the_same_and_mentions_the_quiet_direction_in_a_line(result, profiles):
    page = overlap_page(result, result.directions["write"], {}, unseen_lines(profiles))
    assert list(page.sentences) == overlap_words.opening(result, result.directions["write"])
    assert page.sections[-1].heading == "Reads"
    assert page.sections[-1].chart is None
    assert sum(section.is_linked for section in page.sections) == 3
    for section in page.sections:
        assert section.chart is None or section.note


def test_coverage_is_in_the_json_and_on_the_page_by_process(result, profiles):
    seen = {profile.job: coverage(profile) for profile in profiles}
    assert overlap_record(result, result.directions["write"], seen, None)["coverage"] == seen
    section = overlap_page(result, result.directions["write"], seen, []).sections[-1]
    assert section.heading == "How much was seen, by process"
    assert [table.title for table in section.tables] == ["48213", "48190"]
    assert [len(table.rows) for table in section.tables] == [20, 12]
    assert section.note.startswith("48213: 20 of 60 processes")


def test_what_was_not_seen_is_listed(profiles, tmp_path):
    killed = Digest(read_profile(write_job(tmp_path / "killed", 2, 2, {range(3): 1.0}, ending="killed")))
    lines = "\n".join(unseen_lines([*profiles, killed]))
    assert "48213: saw 100 % of the bytes written that the kernel counted" in lines
    assert "48190: the segment was full while the program ran" in lines
    assert "(3 times in 1 process)" in lines
    assert "killed: 2 processes ended without a word" in lines
