"""What is said of jobs on one time axis: sentences, table, JSON and page, from one and the same analysis."""

import dataclasses

import pytest
from slicewise.analysis.coverage import coverage
from slicewise.analysis.overlap.direction import Contention
from slicewise.analysis.overlap.overlap import overlap
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from slicewise.report.coverage.unseen import unseen_lines
from slicewise.report.overlap import overlap_words as told
from slicewise.report.overlap.overlap_page import (
    colours_of,
    inapplicable,
    jobs_table,
    overlap_page,
    overlap_record,
    predictions_table,
)
from slicewise.text import words
from support.blames import blame, unknown
from support.jobs import write_competing_jobs, write_job
from support.tabled_jobs import write_job as write_tabled


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
    where, who, cost, model = told.opening(result, result.directions["write"])
    assert where.startswith("Jobs 48213 and 48190 both wrote to /scratch from ")
    assert where.endswith(" (51 slices of 4 s).")
    assert who == (
        "While both wrote, 48213 got 4.4 times the bandwidth of 48190 (83.1 against 19.0 MiB/s). "
        "48213 has 60 processes on 5 nodes, 48190 12 on 1."
    )
    assert cost.startswith("The I/O of 48190 would have taken about 15")
    assert cost.endswith(" alone; beside 48213 it took 320 s.")
    assert model.startswith("A model of sharing by ")
    assert ", its largest error." in model


def test_jobs_that_meet_again_and_again_are_told_in_how_many_slices(tmp_path):
    """Both write in every third slice for an hour: the region is one slice of those 300."""
    bursts = {range(slice_, slice_ + 1): 10.0 for slice_ in range(0, 900, 3)}
    jobs = [write_job(tmp_path / name, 2, 1, bursts) for name in ("a", "b")]
    met = overlap([Digest(read_profile(path)) for path in jobs], [])
    where = told.where_and_when(met, met.directions["write"])
    assert where.startswith("Jobs a and b both wrote to /scratch in 300 slices of 4 s from ")
    assert "The active overlapping region, the longest run of slices with all their processes, is from " in where
    assert where.endswith(" (1 slice of 4 s).")


def test_the_error_of_the_worst_predicted_job_is_told(result):
    writes = result.directions["write"]
    chosen = told.closest(writes)
    worst = max(chosen.jobs, key=lambda job: abs(job.relative_error))
    assert f"the I/O of {worst.job} " in told.how_well_predicted(writes)
    assert f"({words.signed_percent(worst.relative_error)})" in told.how_well_predicted(writes)


def test_what_is_known_of_each_job_comes_first_and_replaces_what_says_less(result):
    writes = result.directions["write"]
    headline, second, where, *rest = told.opening(result, writes, [blame(), unknown()])
    assert headline.startswith("small took 2.0 times")
    assert headline.endswith(" Confidence: high.")
    assert "10.9 s were lost" in second
    assert where.startswith("Jobs 48213 and 48190 both wrote")
    assert not any("would have taken" in sentence for sentence in rest)
    assert told.verdict(writes, [blame()]) == ""
    assert told.verdict(writes, [unknown()]) == told.verdict(writes)


def test_what_is_not_known_comes_with_the_step_that_would_tell_whatever_the_direction(result):
    reads = result.directions["read"]
    whether, step, *rest = told.opening(result, reads, [unknown(), unknown()])
    assert whether == (
        "Unknown whether small or small was slowed down: no standalone run was found, and large was active throughout."
    )
    assert step.startswith("To find out: run small once alone")
    assert rest == [reads.not_applicable.rstrip(".") + "."]
    doubtful = with_contention(result.directions["write"], None)
    assert told.verdict(doubtful, [unknown()]) == ""
    assert told.opening(result, doubtful, [unknown()])[0].startswith("Unknown whether small was slowed down")


def test_a_prediction_whose_assumptions_do_not_hold_is_grey_and_in_no_sentence(result):
    writes = result.directions["write"]
    doubted = [dataclasses.replace(each, doubt="48190 still runs") for each in writes.predictions]
    direction = dataclasses.replace(writes, predictions=doubted)
    assert told.closest(direction) is None
    assert told.how_well_predicted(direction) == ""
    assert "predicted" not in [column.heading for column in jobs_table(result, direction).columns]
    table = predictions_table(result, direction)
    assert len(table.greyed) == sum(len(each.jobs) for each in doubted)
    assert all(table.rows[row][1].text == "together" for row in table.greyed)
    greyed = "Greyed: a model's assumption does not hold here. 48190 still runs."
    assert greyed in inapplicable(direction)
    # Equations 1 and 2 always stand beside the solver, grey where they take for granted what does not hold.
    table = predictions_table(result, writes)
    assert {table.rows[row][3].text for row in table.greyed} == {"pair model (equations 1 and 2)"}
    assert len(table.greyed) == 4


def test_jobs_that_move_bytes_in_the_other_direction_too_are_not_predicted(tmp_path):
    mixed = write_tabled(tmp_path / "mixed", [[40, 40, 40, 40, 40, 40]])
    reads = write_tabled(tmp_path / "reads", [[40, 40, 40, 40, 40, 40]], direction="read")
    writes = write_tabled(tmp_path / "writes", [[40, 40, 40, 40, 40, 40]])
    of_two = {each.doubt for each in overlap([mixed, writes]).directions["write"].predictions if each.jobs}
    assert of_two == {"what mixed reaches alone is not known"}
    doubts = {each.doubt for each in overlap([mixed, writes, reads]).directions["write"].predictions if each.jobs}
    assert doubts == {"reads also read there, and the model knows one direction at a time"}


def test_ratios_are_told_from_the_side_of_the_job_that_got_more(profiles):
    turned = overlap(profiles[::-1])
    who = told.who_got_what(turned.directions["write"])
    assert who.startswith("While both wrote, 48213 got 4.4 times the bandwidth of 48190 (83.1 against 19.0 MiB/s).")


def test_ranks_that_moved_nothing_are_not_passed_over(profiles):
    write = overlap(profiles).directions["write"]
    of_two = [dataclasses.replace(write.jobs[0], processes=2, idle_processes=58, nodes=1), *write.jobs[1:]]
    assert " moved bytes there, on 1 node, and " in told.who_got_what(dataclasses.replace(write, jobs=of_two))
    assert " moved bytes there" not in told.who_got_what(write)


def test_next_to_nothing_is_not_compared(result):
    """9 KiB that a program reads to start, beside 600 MiB: no 12,905 times the bandwidth."""
    direction = result.directions["write"]
    small = dataclasses.replace(direction.jobs[1], bytes=9 << 10)
    said = told.who_got_what(dataclasses.replace(direction, jobs=[direction.jobs[0], small]))
    assert "times" not in said
    assert f"{small.job} wrote only 9 KiB: no more than programs need to start." in said


def test_a_direction_without_bytes_says_so_and_no_more(result):
    reads = result.directions["read"]
    assert told.opening(result, reads) == [reads.not_applicable.rstrip(".") + "."]
    assert told.verdict(reads) == ""


@pytest.mark.parametrize(
    ("contended", "verdict"),
    [
        (True, "There was contention: the evidence."),
        (False, "There was no contention: the evidence."),
        (None, "Unknown whether they slowed each other down: the evidence."),
    ],
)
def test_the_verdict_follows_the_evidence(result, contended, verdict):
    assert told.verdict(with_contention(result.directions["write"], contended)) == verdict


def test_no_cost_is_invented_where_contention_is_not_known(profiles):
    writes = overlap(profiles).directions["write"]
    assert "would have taken" in told.what_it_cost(with_contention(writes, True))
    assert told.what_it_cost(with_contention(writes, False)) == ""
    assert told.what_it_cost(with_contention(writes, None)) == ""


def test_the_table_has_a_row_a_job_and_columns_only_for_what_is_known(result, profiles):
    table = jobs_table(result, result.directions["write"])
    assert [row[0].text for row in table.rows] == ["48213", "48190"]
    assert [row[0].colour for row in table.rows] == list(colours_of(result).values())
    headings = [column.heading for column in table.columns]
    assert {"I/O alone", "I/O together", "error", "runtime"} <= set(headings)
    assert {"predicted", "predicted (fitted)"} & set(headings)
    without = jobs_table(result, overlap(profiles).directions["write"])
    assert "I/O alone" not in [column.heading for column in without.columns]


def test_json_has_the_main_direction_at_the_top_and_both_below(result):
    record = overlap_record(result, result.directions["read"], {}, None)
    assert record["direction"] == "read"
    assert record["not_applicable"] == record["directions"]["read"]["not_applicable"]
    writes = record["directions"]["write"]
    assert writes["region"]["kind"] == "every_process"
    assert set(writes["region"]["variants"]) == {"every_process", "union", "any_process", "any_union"}
    assert writes["ratios"].processes == 5
    assert 0 < writes["rsd"] < 0.2


def test_the_page_tells_the_same_and_mentions_the_quiet_direction_in_a_line(result, profiles):
    page = overlap_page(result, result.directions["write"], {}, unseen_lines(profiles))
    assert list(page.sentences) == told.opening(result, result.directions["write"])
    assert page.sections[-1].heading == "Reads"
    assert page.sections[-1].chart is None
    assert sum(section.is_linked for section in page.sections) == 4
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
    assert "killed: 2 processes ended before the profile was finished" in lines
