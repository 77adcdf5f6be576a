"""Jobs side by side, foretold from runs alone: the simulation's vectors, laws found again, and what is said."""

import json
import math
import shutil

import numpy as np
import pytest
from slicewise.analysis.capacity.by_kind import serves
from slicewise.analysis.predict.fitted import seen_runs
from slicewise.analysis.predict.laws import LAWS, laws_of
from slicewise.analysis.predict.misfits import misfits_seen
from slicewise.analysis.predict.predict import alone_run as run_alone
from slicewise.analysis.predict.predict import predict, served_by, timeline, tried_on
from slicewise.analysis.predict.side_by_side import Member, Rules, Segment, ends, speeds
from slicewise.analysis.runs.campaign import campaign as campaign_of_all
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.profile.reader import read_profile
from slicewise.report.predict import predict_words
from support.blame_trials import digests
from support.command_line import json_of, slicewise_command
from support.runs import read, write_run, wrote
from support.swz import build_profile

MIB = 1 << 20
SLICE_NS = 1_000_000_000
FIRST = 1_700_000_000

READS = Segment(10.0, (1.0, 0.0, 0.0), (1.0, 0.0, 0.0))
WRITES = Segment(10.0, (0.0, 1.0, 0.0), (0.0, 1.0, 0.0))
BURSTS = Segment(10.0, (0.0, 0.5, 0.0), (0.0, 0.5, 0.0))  # in step: it fills the storage while it is in calls
PACED = Segment(10.0, (0.0, 0.25, 0.0), (0.0, 0.3, 0.0))


@pytest.mark.parametrize("is_behind", [False, True])
@pytest.mark.parametrize(
    ("exponent", "rates"), [(1, (50, 40)), (2, (70.710678, 56.568542)), (4, (84.089642, 67.271713))]
)
def test_a_reader_and_a_writer_of_equal_weight_share_the_storages_time(exponent, rates, is_behind):
    """C_r 100, C_w 80."""
    reads, writes = speeds(((READS, 1), (WRITES, 1)), Rules(exponent, is_behind))
    assert (100 * reads, 80 * writes) == pytest.approx(rates, rel=1e-6)


def test_where_kinds_do_not_meet_nobody_is_slower():
    assert speeds(((READS, 1), (WRITES, 1)), Rules(32)) == pytest.approx([1, 1])


def test_shares_are_as_weights_and_what_one_cannot_use_is_the_others():
    assert speeds(((WRITES, 1), (WRITES, 3)), Rules()) == pytest.approx([0.25, 0.75])
    assert speeds(((WRITES, 1), (PACED, 9)), Rules(1, True)) == pytest.approx([0.75, 1])


def test_a_job_in_step_has_half_of_the_storage_while_it_writes_and_leaves_it_whole_while_it_computes():
    """Its calls take twice as long: 5 s of computing and 10 of writing in place of 10 s; the other has the rest."""
    bursts, writes = speeds(((BURSTS, 1), (WRITES, 1)), Rules())
    assert bursts == pytest.approx(10 / 15, rel=1e-3)
    assert writes == pytest.approx(1 - 0.5 * bursts, rel=1e-3)


@pytest.mark.parametrize("idle", [wrote(1, 0.01), read(1, 0.01)])
@pytest.mark.parametrize("busy", [wrote(100, 0.9), read(100, 0.9)])
def test_a_job_that_hardly_does_anything_slows_nobody_down(tmp_path, busy, idle):
    """It is in calls for 1 % of its time, and nobody else shows how fast the storage is for those."""
    first = write_run(tmp_path / "busy", 20, [dict.fromkeys(range(20), busy)])
    other = write_run(tmp_path / "idle", 40, [dict.fromkeys(range(40), idle)], "/opt/idle", begin=100)
    found = predict([(digest, 0.0) for digest in digests(first, other)])
    assert [one.slowdown for one in found.jobs] == [pytest.approx(1.01, abs=0.02)] * 2


def test_jobs_that_fit_the_storage_together_are_as_fast_as_alone():
    assert speeds(((PACED, 1), (PACED, 5)), Rules(1, True)) == (1, 1)
    always = Segment(10.0, (0.0, 0.3, 0.0), (0.0, 1.0, 0.0))
    assert speeds(((always, 1), (always, 1), (always, 1)), Rules()) == (1, 1, 1)


def test_bursts_that_fit_the_storage_in_the_mean_still_meet_by_chance():
    """Each is in calls for 0.3 of the time; two of them meet in 0.3 of those, where they have 0.5 in place of 0.83."""
    met = speeds(((PACED, 1), (PACED, 1)), Rules())
    assert met == pytest.approx([0.957, 0.957], abs=0.003)


def test_metadata_calls_wait_behind_what_others_write():
    """A call of 1 ms beside writes of 9 ms that are always under way; what it does itself is not behind itself."""
    files = Segment(10.0, (0.0, 0.0, 0.1), (0.0, 0.0, 0.5))
    rules = Rules(32, is_one_queue=True)
    slow, writes = speeds(((files, 1), (WRITES, 4)), rules, ((0.005, 0.001, 0.0), (0.009, 0.0, 0.0)))
    assert slow == pytest.approx(1 / (0.5 + 0.5 * 10), rel=1e-6)
    assert writes == pytest.approx(1)
    assert speeds(((files, 1), (READS, 4)), rules, ((0.005, 0.001, 0.0), (0.0, 0.0, 0.0))) == pytest.approx([1, 1])


def test_reads_wait_behind_what_others_write_where_one_queue_serves_both():
    """Reads of 10 ms beside writes of 5 ms that are always under way, on a device that has room for both: 15 ms."""
    queues = ((0.0, 0.0, 0.01), (0.005, 0.0, 0.0))
    apart = speeds(((READS, 1), (WRITES, 1)), Rules(32, is_one_queue=True), queues)
    queued = speeds(((READS, 1), (WRITES, 1)), Rules(32, is_one_queue=True, are_reads_queued=True), queues)
    assert apart == pytest.approx([1, 1])
    assert queued == pytest.approx([1 / 1.5, 1])
    # A job's reads do not wait behind its own writes, nor behind reads.
    rules = Rules(32, is_one_queue=True, are_reads_queued=True)
    assert speeds(((READS, 1), (READS, 1)), rules, ((0.0, 0.0, 0.01),) * 2) == pytest.approx([0.5, 0.5])
    assert ends([Member(0, 1, (READS,), read=0.01), Member(0, 1, (WRITES, WRITES), under_way=0.005)], rules) == (
        pytest.approx([15, 20])
    )


def test_ends_of_jobs_that_come_later():
    """5 s alone, then two share: 10 s for the 5 that are left, then the second by itself."""
    assert ends([Member(0, 1, (WRITES,)), Member(5, 1, (WRITES,))], Rules()) == pytest.approx([15, 20])
    pause = Segment(7.0)
    assert ends([Member(0, 1, (WRITES,)), Member(2, 1, (pause, WRITES))], Rules()) == pytest.approx([11, 20])
    assert ends([Member(0, 1, ()), Member(2, 1, (WRITES,))], Rules()) == pytest.approx([0, 12])


def test_each_further_node_at_a_storage_that_seeks_costs_all_of_them():
    """With 1/2 more for each further node: two nodes together get 2/3 of what one gets, four of them 1/(1 + 3/2)."""
    rules = Rules(crowding=0.5)
    jobs = [Member(0, 1, (WRITES,)), Member(0, 1, (WRITES,))]
    assert ends(jobs, rules) == pytest.approx([30, 30])
    # What two nodes reach alone is less already: 10 s alone are 10 / 1.5 of a single node's.
    wide = [Member(0, 1, (WRITES,), nodes=2), Member(0, 1, (WRITES,), nodes=2)]
    assert ends(wide, rules) == pytest.approx([2 * 10 * 2.5 / 1.5] * 2)
    # A job that computes is not at it.
    assert ends([Member(0, 1, (WRITES,)), Member(0, 1, (Segment(30.0),))], rules) == pytest.approx([10, 30])


def job(folder, name, at, spans, processes=1, transfer=MIB, direction="write"):
    """Processes that move so many MiB a slice each, in calls for so much of it: spans is [(slices, MiB, share)]."""
    first = sum(map(ord, name)) << 8
    length = sum(slices for slices, _, _ in spans)
    members = [
        {
            "process": first + rank, "rank": rank, "ranks": processes, "program": "/opt/writer", "slice_ns": SLICE_NS,
            "start_ns": (FIRST + at) * SLICE_NS, "end_ns": (FIRST + at + length) * SLICE_NS,
        }
        for rank in range(processes)
    ]  # fmt: skip
    rows, slice_ = [], FIRST + at
    for slices, mib, share in spans:
        for _ in range(slices):
            rows += [
                {
                    "process": one["process"], "slice": slice_, f"{direction}_bytes": round(mib * MIB),
                    f"{direction}_ops": max(1, round(mib * MIB / transfer)), f"{direction}_ns": round(share * SLICE_NS),
                    "threads": 1,
                }
                for one in members
                if mib
            ]  # fmt: skip
            slice_ += 1
    return Digest(read_profile(build_profile(folder / name, members, rows)))


@pytest.fixture
def campaign(tmp_path):
    """100 MiB/s, shared by process; a job of 3 processes and one of 1, alone and, in 4 runs, beside each other."""
    jobs = [job(tmp_path, "alone-3", 0, [(20, 100 / 3, 0.999)], 3), job(tmp_path, "alone-1", 100, [(20, 100, 0.999)])]
    for number in range(4):
        at = 1000 * (number + 1)
        # 3 : 1 for 26 2/3 s, and then the smaller one by itself.
        jobs.append(job(tmp_path, f"large-{number}", at, [(26, 25, 0.999), (1, 50 / 3, 0.667)], 3))
        jobs.append(job(tmp_path, f"small-{number}", at, [(26, 25, 0.999), (1, 50, 0.999), (13, 100, 0.999)]))
    return jobs


def test_the_law_of_what_was_seen_is_found_and_foretells(campaign):
    alone = campaign[:2]
    found = predict([(alone[0], 0.0), (alone[1], 0.0)], campaign[2:])
    assert found.laws.chosen == LAWS[0]
    assert len(found.laws.errors) == 8
    assert found.mean_error < 0.01
    large, small = found.jobs
    assert (large.alone, small.alone) == (pytest.approx(20, abs=0.1), pytest.approx(20, abs=0.1))
    assert large.seconds.value == pytest.approx(26.667, rel=0.01)
    assert small.seconds.value == pytest.approx(40, rel=0.01)
    assert large.seconds.low < 26.6 < large.seconds.high < 28
    assert predict_words.lines(found)[0].startswith("alone-3 would take 1.33 times as long for its I/O as alone: 26.")
    later = predict([(alone[0], 0.0), (alone[1], 20.0)], campaign[2:])
    assert [one.seconds.value for one in later.jobs] == pytest.approx([20, 20], rel=0.01)
    assert predict_words.lines(later)[1].endswith("for its I/O, as alone.")


def test_without_anything_seen_the_interval_holds_all_laws(campaign):
    found = predict([(campaign[0], 0.0), (campaign[1], 0.0)])
    large = found.jobs[0].seconds
    # From not meeting at all to equal shares, and 5.9 % to either side: so much one run alone says of the next.
    assert (large.low, large.high) == (pytest.approx(20 / 1.059, rel=0.01), pytest.approx(40 * 1.059, rel=0.01))
    assert predict_words.lines(found)[-1].startswith("A guess: no jobs were seen side by side there")


def test_jobs_in_company_count_where_there_is_a_like_run_alone(campaign, tmp_path):
    storage = campaign[0].process_slices["storage"][0]
    there = [run_alone(digest, storage) for digest in campaign]
    quiet, runs = seen_runs(there)
    assert [one.digest.job for one in quiet] == ["alone-3", "alone-1"]
    assert [run.sizes for run in runs] == [("alone-1", "alone-3")] * 4
    assert serves(quiet)["write"] == pytest.approx(100 * MIB, rel=0.01)
    odd = run_alone(job(tmp_path, "odd", 1000, [(30, 7, 0.5)]), storage)
    assert len(seen_runs([*there, odd])[1]) == 3
    tried = tried_on(runs, served_by(quiet))
    assert laws_of(tried).chosen == LAWS[0]
    assert math.isinf(laws_of(tried).chosen.part)


def test_what_took_another_time_is_told_afterwards_with_what_it_did_otherwise(campaign, tmp_path):
    """Equal shares where all others have 3 : 1; and one run for which the storage gave half."""
    jobs, alone = campaign[2:], [(campaign[0], 0.0), (campaign[1], 0.0)]
    assert misfits_seen(predict(alone, jobs)) == []
    equal = [
        job(tmp_path, "equal-large", 9000, [(39, 50 / 3, 0.999), (1, 50 / 3, 0.999)], 3),
        job(tmp_path, "equal-small", 9000, [(40, 50, 0.999)]),
    ]
    found = predict(alone, [*jobs, *equal])
    [large] = misfits_seen(found)
    assert (large.job, large.kind) == ("equal-large", "other shares")
    assert (large.own_share, large.model_share) == (pytest.approx(0.5, abs=0.01), pytest.approx(0.75))
    assert large.with_own_shares == pytest.approx(40, rel=0.01)
    assert "1 of 10 jobs that ran side by side took another time" in predict_words.lines(found, [large])[-1]
    slow = [
        job(tmp_path, "half-large", 9000, [(53, 12.5, 0.999), (1, 5 / 6, 0.999)], 3),
        job(tmp_path, "half-small", 9000, [(53, 12.5, 0.999), (27, 50, 0.999)]),
    ]
    large, small = misfits_seen(predict(alone, [*jobs, *slow]))
    assert {large.kind, small.kind} == {"no share law"}
    assert large.capacity_ratio == pytest.approx(0.5, rel=0.01)


def test_what_a_servers_memory_takes_at_first_is_a_doubt(campaign, tmp_path):
    """60 % of the bytes in the first two seconds; then the disk."""
    burst = job(tmp_path, "burst", 300, [(2, 360, 0.5), (16, 30, 0.999)])
    found = predict([(burst, 0.0), (campaign[1], 0.0)])
    assert found.jobs[0].doubt.startswith("memory on the way took what it wrote at first: ")
    assert found.jobs[1].doubt.startswith("memory on the way took what burst wrote at first: ")
    assert not predict([(campaign[0], 0.0), (campaign[1], 0.0)]).jobs[0].doubt


def test_what_memory_took_first_is_not_what_the_storage_serves(tmp_path):
    """720 MiB in the first two seconds and 60 in each of the next eight: 1200 MiB in 10 s, and no slice shows 120. With
    less at first, slices tell it.
    """
    storage = job(tmp_path, "one", 0, [(4, 100, 0.999)]).process_slices["storage"][0]
    burst = run_alone(job(tmp_path, "burst", 300, [(2, 360, 0.999), (8, 60, 0.999)]), storage)
    assert burst.stored() == pytest.approx((120 * MIB, (720 / 120 - 2) / 10), rel=0.01)
    assert serves([burst]) == pytest.approx({"write": 120 * MIB}, rel=0.01)
    # Pauses are none of the time in which the storage stores.
    paused = run_alone(job(tmp_path, "paused", 400, [(2, 360, 0.999), (5, 0, 0), (8, 60, 0.999)]), storage)
    assert paused.stored()[0] == pytest.approx(120 * MIB, rel=0.01)
    little = run_alone(job(tmp_path, "little", 500, [(1, 150, 0.999), (9, 100, 0.999)]), storage)
    assert serves([little]) == pytest.approx({"write": 100 * MIB}, rel=0.01)


def test_a_profile_that_is_there_twice_is_one_job(campaign, tmp_path):
    alone = [(campaign[0], 0.0), (campaign[1], 0.0)]
    shutil.copytree(tmp_path, tmp_path.parent / f"{tmp_path.name}-copied")
    copied = [Digest(read_profile(path)) for path in sorted((tmp_path.parent / f"{tmp_path.name}-copied").iterdir())]
    once, twice = (predict(alone, [*campaign, *more]) for more in ([], copied))
    assert len(twice.runs) == len(once.runs) == 4
    assert twice.jobs == once.jobs
    assert campaign_of_all([*campaign, *copied], "write").jobs.height == len(campaign)


def test_a_run_in_company_is_no_run_alone(campaign):
    """A job that took 8.7 s alone was to take 27.9 "instead of 19.3 s", without a word of the neighbour that it had."""
    alone, large = campaign[1], campaign[2]
    doubts = [one.doubt for one in predict([(alone, 0.0), (large, 0.0)], campaign[3:]).jobs]
    assert doubts == ["", "it ran beside small-0, and may be faster alone; give a run of it that was alone"]


def test_what_cannot_be_foretold_is_said(campaign, tmp_path):
    with pytest.raises(UserError, match="two or more jobs"):
        predict([(campaign[0], 0.0)])
    assert slicewise_command("predict", campaign[0].path, tmp_path / "none").status == 2


def test_command(campaign, tmp_path):
    words = ["predict", campaign[0].path, f"{campaign[1].path}@5", "--seen", tmp_path]
    found = json_of(*words)
    assert [(one["job"], one["start"]) for one in found["jobs"]] == [("alone-3", 0.0), ("alone-1", 5.0)]
    assert found["law"]["share_by"] == "processes"
    assert found["seen_jobs"] == 8
    twice = slicewise_command("predict", campaign[0].path, campaign[0].path, "--json")
    assert [one["slowdown"] for one in json.loads(twice.text)["jobs"]] == pytest.approx([2, 2], rel=0.01)


def test_what_a_client_has_buffered_is_written_while_the_job_waits(tmp_path):
    """Of 150 MiB in the first second at 100 MiB/s, 50 MiB are written in the second, which has 50 MiB of its own."""
    one = job(tmp_path, "buffers", 0, [(1, 150, 0.999), (1, 50, 0.999), (8, 100, 0.999)])
    [segment] = timeline(run_alone(one, one.process_slices["storage"][0]), {"write": 100.0 * MIB})
    assert segment.use == pytest.approx((0, 1, 0), abs=0.01)
    assert segment.use[1] * segment.seconds == pytest.approx(10)


def test_a_few_files_opened_do_not_tell_how_many_the_storage_could_open(campaign):
    storage = campaign[0].process_slices["storage"][0]
    assert set(serves([run_alone(digest, storage) for digest in campaign[:2]])) == {"write"}


def test_storage_that_gets_slower_with_nodes_is_recognised(tmp_path):
    """100 MiB/s for one node, 100 / 1.4 for two."""
    alone = job(tmp_path, "alone", 0, [(20, 100, 0.999)])
    seen = [alone]
    for number in range(3):
        at = 1000 * (number + 1)
        seen += [job(tmp_path, f"{name}-{number}", at, [(56, 100 / 2.8, 0.999)]) for name in ("one", "two")]
    found = predict([(alone, 0.0), (alone, 0.0)], seen[1:])
    assert found.laws.chosen.rules.crowding == 0.4
    assert [one.seconds.value for one in found.jobs] == pytest.approx([56, 56], rel=0.01)
    assert "a byte costs 40 % more for each further node" in " ".join(predict_words.lines(found))


def of_calls(tmp_path, name, at, kib, slices, a_second):
    return job(tmp_path, name, at, [(slices, a_second * kib / 1024, 0.999)], transfer=kib << 10, direction="read")


def test_storage_that_limits_calls_is_a_possible_law_and_is_recognised(tmp_path):
    """1000 calls a second, of 4 and of 64 KiB: by bytes, the two leave each other nearly all; each has half."""
    small, large = (of_calls(tmp_path, f"alone-{kib}", at, kib, 20, 1000) for kib, at in ((4, 0), (64, 100)))
    guessed = predict([(small, 0.0), (large, 0.0)])
    assert all(one.seconds.low <= 20.01 and one.seconds.high >= 39.9 for one in guessed.jobs)
    seen = [
        of_calls(tmp_path, f"beside-{kib}-{number}", 1000 * number, kib, 40, 500)
        for number in (1, 2, 3)
        for kib in (4, 64)
    ]
    found = predict([(small, 0.0), (large, 0.0)], seen)
    assert found.laws.chosen.is_by_requests
    assert [one.seconds.value for one in found.jobs] == pytest.approx([40, 40], rel=0.01)
    assert "a call costs the storage as much whatever its size" in " ".join(predict_words.lines(found))


@pytest.mark.parametrize("direction", ["read", "write"])
def test_jobs_whose_io_is_shorter_than_a_slice_share_what_they_got(tmp_path, direction):
    """0.05 s of I/O in slices of 1 s: the storage gave each 100 MiB in 0.05 s, and two take twice as long at most."""
    jobs = [job(tmp_path, f"short-{at}", at, [(1, 100, 0.05)], direction=direction) for at in (0, 100)]
    assert predict([(one, 0.0) for one in jobs]).jobs[0].alone == pytest.approx(0.05, rel=0.2)
    for one in predict([(one, 0.0) for one in jobs]).jobs:
        assert 1.5 < one.slowdown <= 2.01
        assert one.seconds.high <= 2.01 * 1.059 * one.alone


def test_repeats_do_not_make_intervals_narrower():
    """The same three combinations once and four times: the error of each is there again in its repeats."""
    once = {law: [[0.1], [-0.1], [0.1]] for law in LAWS[:2]}
    often = {law: 4 * runs for law, runs in once.items()}
    few, many = laws_of(once, "abc"), laws_of(often, 4 * "abc")
    assert (len(few.errors), len(many.errors), few.combinations, many.combinations) == (3, 12, 3, 3)
    assert few.estimate(100, [100], 0.1).high == pytest.approx(many.estimate(100, [100], 0.1).high)
    # Student's t of three: 3.182.
    assert many.estimate(100, [100], 0.0).high == pytest.approx(100 * math.exp(0.3182), rel=1e-3)


def test_intervals_are_wide_where_a_time_depends_on_the_law():
    """Two jobs of two combinations: every law gives the first the same time, and the laws differ by the second."""
    first, second, *_ = LAWS
    errors = {
        law: [[0.01, 0.2 + 0.1 * place], [-0.01, -0.2 - 0.1 * place]] for place, law in enumerate((first, second))
    }
    laws = laws_of(errors, ["a", "b"])
    assert laws.is_held_out
    assert (laws.chosen, laws.possible) == (first, [first])
    assert (len(laws.errors), laws.at_stake) == (4, [pytest.approx(one) for one in (0, 0.05, 0, 0.05)])
    sure, unsure = (laws.estimate(100.0, [100.0], at_stake) for at_stake in (0.0, 0.05))
    assert math.log(unsure.high / 100) == pytest.approx(3 * math.log(sure.high / 100))
    assert sure.low * sure.high == pytest.approx(100**2)
    fitted = laws_of(errors, ["a", "a"]).estimate(100.0, [90.0, 130.0], 0.0)
    assert fitted.low < 90
    assert fitted.high > 130


@pytest.mark.parametrize("exponent", [1.0, 1.4, 2.0, 32.0])
@pytest.mark.parametrize("is_written_behind", [False, True])
def test_jobs_that_want_more_than_there_is_use_all_of_the_storage_and_no_more(exponent, is_written_behind):
    """Whatever their weights: jobs always in calls, whose speeds are found by steps."""
    for weights in ((1, 1), (1, 31), (1e-3, 1e3, 7)):
        kinds = [(0.9, 0.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.4, 0.1)][: len(weights)]
        jobs = [(Segment(1.0, use, use), weight) for use, weight in zip(kinds, weights, strict=True)]
        jobs.append((Segment(1.0, (1.0, 0.0, 0.0), (1.0, 0.0, 0.0)), 3.0))
        jobs.append((Segment(1.0, (0.0, 1.0, 0.0), (0.0, 1.0, 0.0)), 3.0))
        found = speeds(tuple(jobs), Rules(exponent, is_written_behind))
        assert all(0 < speed <= 1 for speed in found)
        used = [sum(speed * job.use[k] for speed, (job, _) in zip(found, jobs, strict=True)) for k in range(3)]
        taken = max(used) if exponent >= 32 else sum(one**exponent for one in used)
        assert taken == pytest.approx(1, abs=2e-3), weights


def test_of_laws_and_the_fitted_model_whichever_predicts_other_combinations_better_is_taken(tmp_path):
    """A byte costs 20 % more for each further process, of whichever job: no law knows that, and the model fits it."""

    def of(name, at, processes, beside=0):
        each = 100 / (1 + 0.2 * (processes + beside - 1)) / (processes + beside)
        whole, part = divmod(400 / each, 1)
        spans = [(int(whole), each, 0.999), (1, part * each, part * 0.999)]
        return job(tmp_path, name, at, spans, processes)

    alone = {count: of(f"alone-{count}", 100 * count, count) for count in (1, 2, 3, 4)}
    seen = []
    for number, (one, other) in enumerate([(1, 2), (1, 3), (2, 3), (2, 4), (1, 4)], 1):
        seen += [of(f"{one}of{number}", 1000 * number, one, other), of(f"{other}by{number}", 1000 * number, other, one)]
    found = predict([(alone[3], 0.0), (alone[4], 0.0)], [*alone.values(), *seen])
    assert found.fitted is not None
    assert [one.seconds.value for one in found.jobs] == pytest.approx([400 * 7 * 2.2 / 100] * 2, rel=0.05)
    assert found.mean_error < 0.05 < np.mean(np.abs(np.expm1(found.laws.errors)))
    assert misfits_seen(found) == []
    said = " ".join(predict_words.lines(found))
    assert "by this: the fitted model of sharing, by which shares go by processes" in said
    assert "what the storage serves changes with processes" in said
    assert predict_words.record(found)["model"].kind == "processes"
