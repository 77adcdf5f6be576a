"""Copies of jobs that read and write and make metadata calls: against closed forms, and against simulated copies."""

import random
from dataclasses import replace

import pytest
from slicewise.analysis.capacity.by_kind import fullness
from slicewise.analysis.capacity.capacity import given as given_capacity
from slicewise.analysis.copies.copies import copies, progress
from slicewise.analysis.predict.side_by_side import Segment, joined
from slicewise.digest.shared import read_digests
from slicewise.report.copies import copies_report
from slicewise.report.copies.copies_report import copies_record
from support.blame_scenarios import reading, writing
from support.simulated_profiles import BEGIN_SECONDS, write_profile
from support.simulated_storage import MIB, Compute, SimulatedJob, Storage, Transfer, simulate

APART = 32.0
READS, WRITES = Segment(1.0, (1.0, 0.0, 0.0), (1.0, 0.0, 0.0)), Segment(1.0, (0.0, 1.0, 0.0), (0.0, 1.0, 0.0))


@pytest.mark.parametrize(
    ("exponent", "rates"), [(1, (50, 40)), (2, (70.710678, 56.568542)), (4, (84.089642, 67.271713))]
)
def test_a_reader_and_a_writer_share_by_the_region(exponent, rates):
    """Of a storage that reads 100 and writes 80 MiB/s."""
    read, write = progress(1, [READS], 1.0, [(WRITES, 1.0)], exponent)
    assert (100 * read, 80 * write) == (pytest.approx(rates[0], abs=1e-6), pytest.approx(rates[1], abs=1e-6))
    assert 1 / fullness((1, 1), exponent) == pytest.approx(read)


@pytest.mark.parametrize("copies", [1, 2, 3, 8])
def test_who_takes_turns_shares_all_and_who_does_not_waits_for_his_own_kind(copies):
    """The latter is a closed network of two stations: of n copies n + 1 are at each for every two visits."""
    assert progress(copies, [READS, WRITES], 1.0, [], 1.0) == [pytest.approx(1 / copies)]
    assert progress(copies, [READS, WRITES], 1.0, [], APART) == [pytest.approx(2 / (copies + 1))]


def test_whose_processes_do_both_at_once_fill_both_ways_by_themselves():
    at_once = Segment(2.0, (1.0, 1.0, 0.0), (0.5, 0.5, 0.0))
    assert progress(3, [at_once], 1.0, [], APART) == [pytest.approx(1 / 3)]


def test_who_asks_for_little_loses_nothing_until_the_storage_is_full():
    little = [replace(one, seconds=4.0, use=tuple(part / 4 for part in one.use)) for one in (READS, WRITES)]
    assert progress(3, little, 1.0, [], 1.0) == [pytest.approx(1)]
    assert progress(8, little, 1.0, [], 1.0) == [pytest.approx(0.5)]


def test_a_neighbour_that_does_both_has_a_share_of_each_by_its_weight():
    """Three weights on a device that takes turns: the copy has a third, the neighbour of two weights the rest."""
    beside = joined([READS, WRITES])
    assert progress(1, [READS], 1.0, [(beside, 2.0)], 1.0) == pytest.approx([1 / 3, 2 / 3])


def simulated(directory, exponent, steps):
    """The job alone, and who shows what the storage does: a reader, a writer, a metadata storm, alone and in pairs."""
    disk = Storage("scratch", 100 * MIB, 80 * MIB, 2000, exponent=exponent, noise=0.02)
    job = SimulatedJob("sim", steps * 20, program="/opt/sim")
    kinds = {"reader": reading(100), "writer": writing(80), "storm": Transfer("meta", 2000)}
    seen = {
        name: SimulatedJob(name, (step,) * 25, first_node=10 + place, program=f"/opt/{name}")
        for place, (name, step) in enumerate(kinds.items())
    }
    places, began = [], BEGIN_SECONDS
    for names in (["reader"], ["writer"], ["storm"], ["reader", "writer"], ["reader", "storm"]):
        began += 1000
        outcome = simulate([disk], [seen[name] for name in names], seed=began)
        places += [write_profile(outcome, name, directory / f"{began}-{name}", 1, began) for name in names]
    own = write_profile(simulate([disk], [job], 7), "sim", directory / "sim", 1, BEGIN_SECONDS)
    return disk, job, read_digests([own, *places])


def really_lost(disk, job, number):
    """What copies lose on average that begin at random."""
    chance = random.Random(number)
    several = [replace(job, name=f"copy{place}", start=chance.uniform(0, 10)) for place in range(number)]
    together = simulate([disk], several)
    alone = simulate([disk], [replace(several[0], start=0.0)]).runtime("copy0")
    return sum(together.runtime(copy.name) for copy in several) / number / alone - 1


@pytest.mark.parametrize("exponent", [1.0, 2.0, 4.0])
def test_copies_that_read_and_write_lose_what_simulated_ones_lose(tmp_path, exponent):
    steps = (Compute(3, 0.5), reading(100), Compute(3, 0.5), writing(80))
    disk, job, (own, *seen) = simulated(tmp_path, exponent, steps)
    found = copies(own, seen=seen, most_loss=0.5)
    region = found.capacity.region
    assert region.exponent == pytest.approx(exponent, rel=0.15)
    assert (region.most["read"], region.most["write"]) == (
        pytest.approx(100 * MIB, rel=0.05),
        pytest.approx(80 * MIB, rel=0.05),
    )
    for number in (2, 4, 6):
        assert found.row(number).loss.value == pytest.approx(really_lost(disk, job, number), abs=0.1)
    one = copies(own, seen=seen, most_loss=0.5, capacity=given_capacity(90 * MIB))
    assert one.most < found.most or exponent == 1.0


def test_metadata_calls_count_where_the_storage_was_seen_full_of_them(tmp_path):
    steps = (Compute(2, 0.5), reading(60), Transfer("meta", 1500), writing(40), Compute(2, 0.5))
    disk, job, (own, *seen) = simulated(tmp_path, 1.0, steps)
    found = copies(own, seen=seen, most_loss=0.5)
    assert found.demand.seconds["meta"] == pytest.approx(0.75 * 20, rel=0.05)
    assert found.row(4).loss.value == pytest.approx(really_lost(disk, job, 4), abs=0.1)
    notes = copies_report.notes(found)
    assert any(note.startswith("Reads, writes and metadata calls take turns on it (exponent 1") for note in notes)
    assert "MiB/s of reads or" in copies_report.evidence(found)
    assert copies_record(found, None)["capacity"]["region"]["metadata_calls_s"] == pytest.approx(2000, rel=0.05)
    without_storm = [digest for digest in seen if "storm" not in digest.job]
    assert "meta" not in copies(own, seen=without_storm).demand.seconds


def test_one_capacity_says_why_and_one_that_was_typed_in_is_an_assumption(tmp_path):
    _, _, (own, *seen) = simulated(tmp_path, 1.0, (Compute(3, 0.5), reading(100), writing(80)))
    given = copies(own, seen=seen, capacity=given_capacity(100 * MIB))
    assert given.confidence == "medium"
    said = " ".join(copies_report.notes(given))
    assert "to share one capacity, and to cost the same, because it was given as one number" in said
    assert "an assumption" in said
