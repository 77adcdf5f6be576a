"""The period of I/O: trains of bursts whose period is known, and series that have none."""

import json
import re
from itertools import pairwise

import numpy as np
import pytest
import slicewise.analysis.job.period
from slicewise.analysis.job.period import find_period, next_burst
from slicewise.analysis.job.phases import phases
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from support.command_line import answer_of
from support.swz import build_profile
from support.tabled_jobs import EPOCH, MIB, TAU_NS, write_job

TAU = 4.0
S = 1_000_000_000


def train(period: float, bursts: int, *, burst: float = 20, amounts=(1.0,), jitter: float = 0, tau: float = TAU):
    """Bytes a slice: a burst of so many seconds every `period` seconds, of one amount after the other."""
    random = np.random.default_rng(7)
    moved = np.zeros(int((period * bursts + burst) / tau) + 2)
    edges = np.arange(len(moved) + 1) * tau
    for number in range(bursts):
        start = number * period + (abs(random.normal(0, jitter)) if jitter else 0)
        within = np.clip(np.minimum(edges[1:], start + burst) - np.maximum(edges[:-1], start), 0, None)
        moved += within * amounts[number % len(amounts)]
    return moved


def period_of(moved, tau: float = TAU):
    found = find_period(moved, tau, "write")
    return found and found.seconds


@pytest.mark.parametrize("burst", [2, 10, 60, 120, 200])
def test_checkpoints_every_312_s_are_neither_156_nor_624(burst):
    found = find_period(train(312, 10, burst=burst), TAU, "write")
    assert found.seconds == pytest.approx(312, abs=TAU / 4)
    assert found.confidence > 0.8
    assert found.times == pytest.approx(9.3, abs=0.4)


@pytest.mark.parametrize("jitter", [0, 6, 15])
def test_the_next_burst_begins_within_the_interval_that_is_told(jitter):
    """Of bursts every 156 s or so, asked for after each from the fifth on: 95 % of them, in 20 trains."""
    random, held = np.random.default_rng(11), []
    for _ in range(20):
        begins = np.cumsum(156 + random.normal(0, jitter, 14)) if jitter else 156.0 * np.arange(1, 15)
        moved = np.zeros(int(begins[-1] / TAU) + 10)
        for begin in begins:
            moved[int(begin / TAU) : int(begin / TAU) + 5] = 1
        for last, coming in pairwise(begins[4:]):
            now = int(last / TAU) + 15
            due = next_burst(moved[:now], TAU)
            if due is not None:
                held.append(due.low <= coming - now * TAU <= due.high and due.high - due.low < 156)
    assert len(held) > 100
    assert np.mean(held) > 0.9


def test_no_next_burst_of_io_without_a_period_or_that_has_ended():
    random = np.random.default_rng(3)
    assert next_burst((random.random(300) < 0.05).astype(float), TAU) is None
    regular = train(156, 8)
    assert next_burst(regular[: int(7.5 * 156 / TAU)], TAU) is not None
    assert next_burst(np.append(regular, np.zeros(60)), TAU) is None


@pytest.mark.parametrize(("varies", "least", "most"), [(0.15, 0.9, 1.0), (1.0, 0.0, 0.02)])
def test_bursts_that_vary_are_foretold_and_bursts_at_random_are_not(varies, least, most):
    """Their distances add up, so that they repeat at no lag."""
    random, told, held = np.random.default_rng(5), [], []
    for _ in range(60):
        apart = 156 * random.gamma(varies**-2, varies**2, 14)
        begins = (np.cumsum(apart) / TAU).astype(int)
        moved = np.zeros(begins[-1] + 10)
        moved[begins[:, np.newaxis] + np.arange(4)] = 1
        for last, coming in pairwise(begins[6:]):
            now = last + 6
            if coming > now:
                told.append(due := next_burst(moved[:now], TAU))
                held.append(due is None or due.low <= (coming - now) * TAU <= due.high)
    assert least <= np.mean([due is not None for due in told]) <= most
    assert np.mean(held) > 0.93


@pytest.mark.parametrize("small", [0.3, 0.5, 0.6])
def test_a_small_checkpoint_half_way_is_not_the_period(small):
    assert period_of(train(156, 20, amounts=(1.0, small))) == pytest.approx(312, abs=TAU / 4)


@pytest.mark.parametrize("period", [40, 156, 310, 313, 21.3])
def test_periods_that_are_no_whole_number_of_slices(period):
    assert period_of(train(period, 12, burst=3)) == pytest.approx(period, rel=0.005)


def test_the_first_one_may_be_much_larger():
    amounts = (20.0, *[1.0] * 9)
    assert period_of(train(312, 10, amounts=amounts)) == pytest.approx(312, abs=TAU / 4)


def test_irregular_bursts_have_their_mean_period_and_less_confidence():
    regular, irregular = (find_period(train(312, 16, jitter=jitter), TAU, "write") for jitter in (0, 20))
    assert irregular.seconds == pytest.approx(312, rel=0.03)
    assert irregular.confidence < regular.confidence


def test_noise_and_a_background_hide_nothing():
    moved = train(312, 10)
    assert period_of(moved + np.random.default_rng(3).random(len(moved))) == pytest.approx(312, rel=0.01)


@pytest.mark.parametrize("tau", [0.5, 1, 10, 60])
def test_any_length_of_slice(tau):
    assert period_of(train(312, 20, tau=tau), tau) == pytest.approx(312, abs=tau / 4)


def test_random_bursts_noise_and_constants_have_none():
    random = np.random.default_rng(11)
    claimed = 0
    for bursts in range(4, 104):
        moved = np.zeros(400)
        for start in random.integers(0, 396, bursts):
            moved[start : start + 3] += random.random() + 0.5
        claimed += find_period(moved, TAU, "write") is not None
        claimed += find_period(random.random(bursts), TAU, "write") is not None
    assert claimed <= 4
    for series in (np.ones(100), np.arange(100.0), np.zeros(100), np.r_[np.zeros(9), 1.0], np.zeros(0)):
        assert find_period(series, TAU, "write") is None


def test_few_bursts_in_a_long_run_are_smoothed_as_sums_of_products_would(monkeypatch):
    moved = np.zeros(20_001, dtype=np.int64)
    moved[100::4_000] = moved[101::4_000] = 10**9
    by_spectra = find_period(moved, 1.0, "write")
    monkeypatch.setattr(slicewise.analysis.job.period, "MOST_REACH_OF_SUMS", len(moved))
    by_sums = find_period(moved, 1.0, "write")
    assert by_spectra.seconds == pytest.approx(by_sums.seconds) == pytest.approx(4_000, abs=0.5)
    assert by_spectra.confidence == pytest.approx(by_sums.confidence)


def test_two_bursts_are_no_period_and_nor_are_bursts_faster_than_slices_can_show():
    assert period_of(train(312, 2)) is None
    assert period_of(train(9, 60, burst=3)) is None


def found_in(profile):
    return phases(profile if isinstance(profile, Digest) else Digest(profile))


def test_a_phase_is_where_the_bytes_are_and_all_bytes_are_accounted_for(tmp_path):
    trickle = 0.01
    ranks = [[trickle, 0, 40, 60, 20, trickle, 0, 0, 50, 50], [0, 0, 40, 60, 20, 0, 0, 0, 0, 0]]
    profile = write_job(tmp_path / "j", ranks)
    found = found_in(profile)
    places = [(first - EPOCH, end - EPOCH) for first, end in found.phases.select("first_slice", "end_slice").rows()]
    assert places == [(2, 5), (8, 10)]
    assert found.phases["write_bytes"].to_list() == [240 * MIB, 100 * MIB]
    assert found.phases["read_bytes"].to_list() == [0, 0]
    assert found.phases["processes"].to_list() == [2, 1]
    assert found.between_bytes == 2 * int(trickle * MIB)
    assert found.phases["start_ns"].to_list() == [(EPOCH + 2) * TAU_NS, (EPOCH + 8) * TAU_NS]
    assert found.phases["seconds"].to_list() == [12, 8]
    assert found.phases["rate"].to_list() == pytest.approx([20 * MIB, 12.5 * MIB])


def test_a_phase_within_slices_is_placed_by_the_time_in_calls(tmp_path):
    """From 3 s to 9 s of a run, without a pause: the last second of a slice, a whole one and the first of another."""
    rows = [(0, 1), (1, 4), (2, 1)]
    slices = [
        {"process": 1, "slice": 100 + place, "write_bytes": seconds * MIB, "write_ns": seconds * S, "threads": 1}
        for place, seconds in rows
    ]
    processes = [{"process": 1, "start_ns": 0, "end_ns": 9_000 * S}]
    (phase,) = found_in(read_profile(build_profile(tmp_path / "j", processes, slices))).phases.iter_rows(named=True)
    assert (phase["start_ns"], phase["end_ns"]) == (403 * S, 409 * S)
    assert (phase["rate"], phase["high_rate"]) == (MIB, MIB)
    assert phase["low_rate"] == MIB / 2


def test_a_short_lull_does_not_split_a_phase(tmp_path):
    busy = [10] * 8
    found = found_in(write_job(tmp_path / "j", [[*busy, 0, 0, *busy, 0, 0, 0, *busy]]))
    assert found.phases["first_slice"].to_list() == [EPOCH, EPOCH + 21]


def test_both_directions_have_their_own_period(tmp_path):
    write_every, read_every = 20, 30
    slices = [
        {"process": 1, "slice": 100 + place} | moved
        for place in range(400)
        if (
            moved := ({"write_bytes": MIB, "write_ns": S} if place % write_every == 0 else {})
            | ({"read_bytes": MIB, "read_ns": S} if place % read_every == 7 else {})
        )
    ]
    found = found_in(read_profile(build_profile(tmp_path / "j", [{"process": 1}], slices)))
    seconds = {period.direction: period.seconds for period in found.periods}
    assert seconds == pytest.approx({"write": 80, "read": 120}, abs=0.5)


def test_time_in_io_is_the_slowest_processes_and_the_medians(tmp_path):
    """Three ranks of 100 s: 1 s, 2 s and 40 s in calls; the last with two threads, 20 s each."""
    processes = [{"process": rank + 1, "rank": rank, "ranks": 3, "start_ns": 0, "end_ns": 100 * S} for rank in range(3)]
    slices = [
        {"process": 1, "slice": 1, "write_bytes": 1, "write_ns": S, "threads": 1},
        {"process": 2, "slice": 1, "write_bytes": 1, "write_ns": S, "meta_ns": S, "threads": 1},
        *({"process": 3, "slice": at, "write_bytes": 1, "sync_ns": 8 * S, "threads": 2} for at in range(5)),
    ]
    time = found_in(read_profile(build_profile(tmp_path / "j", processes, slices))).time_in_io
    assert time.label == "rank 2 on n1"
    assert (time.slowest, time.median) == pytest.approx((0.20, 0.02))


def test_a_process_of_half_a_second_is_not_the_one_that_waited_longest(tmp_path):
    """In a loop of a shell whose processes read a little each."""
    processes = [{"process": 1, "start_ns": 0, "end_ns": 100 * S}]
    processes += [{"process": n, "start_ns": n * S, "end_ns": n * S + S // 2} for n in range(2, 90)]
    slices = [{"process": n, "slice": n // 4, "read_bytes": 9, "read_ns": S // 3} for n in range(2, 90)]
    for number, at_work in enumerate(
        ([], [{"process": 1, "slice": n, "read_bytes": 9, "read_ns": 4 * S} for n in range(9)])
    ):
        profile = build_profile(tmp_path / str(number), processes, slices + at_work)
        time = found_in(read_profile(profile)).time_in_io
        assert (time.slowest is None) == (not at_work)


def test_a_job_without_bytes_has_no_phases(tmp_path):
    found = found_in(read_profile(build_profile(tmp_path / "quiet", [{"process": 1}])))
    assert (found.phases.height, found.between_bytes, found.periods) == (0, 0, [])
    assert found.time_in_io.slowest is None


def test_info_and_report_say_them(tmp_path):
    job = write_job(tmp_path / "j", [[50, 50, *[0] * 18] * 6, [0] * 120]).path
    page = tmp_path / "page.html"

    def run(*arguments):
        done = answer_of(*arguments)
        return done

    info, told = run("report", "--detail", job, "--phases"), run("report", job, "--html", page)
    for text in (info, told, re.sub("<[^>]+>", "", page.read_text())):
        assert "6 I/O phases moved" in text
        assert "Writes come back every 80" in text
    assert "I/O calls took" in run("report", "--detail", job, "--phases")
    assert "I/O phase" not in run("report", "--detail", job)
    for record in (run("report", "--detail", job, "--phases", "--json"), run("report", job, "--html", page, "--json")):
        found = json.loads(record)["phases"]
        assert len(found["phases"]) == 6
        assert found["phases"][0]["write_bytes"] == 100 * MIB
        assert found["periods"][0]["seconds"] == pytest.approx(80, abs=0.1)
        assert found["between_bytes"] == 0
        assert found["time_in_io"]["slowest"] == pytest.approx(0.1)
