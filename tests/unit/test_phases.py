"""Phases of I/O and time in it, against jobs whose answers are known."""

from __future__ import annotations

import json
import re

import pytest
from slicewise.analysis.job.phases import phases
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from support.command_line import slicewise_command
from support.swz import build_profile
from support.tabled_jobs import EPOCH, MIB, TAU_NS, write_job

S = 1_000_000_000


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


def test_a_job_without_bytes_has_no_phases(tmp_path):
    found = found_in(read_profile(build_profile(tmp_path / "quiet", [{"process": 1}])))
    assert (found.phases.height, found.between_bytes, found.periods) == (0, 0, [])
    assert found.time_in_io.slowest is None


def test_info_and_report_say_them(tmp_path):
    job = write_job(tmp_path / "j", [[50, 50, *[0] * 18] * 6, [0] * 120]).path
    page = tmp_path / "page.html"

    def run(*arguments):
        done = slicewise_command(*arguments)
        assert done.status == 0, done.errors
        return done.text

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
