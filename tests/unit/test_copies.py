"""How many copies of a job may run side by side, from jobs and storages whose rates are known."""

import heapq
import random
import re
from pathlib import Path

import numpy as np
import pytest
from slicewise.analysis.capacity.capacity import given as given_capacity
from slicewise.analysis.copies.copies import (
    Customer,
    copies,
    demand_of,
    expected_loss,
    progress,
    stationary,
    where_most,
)
from slicewise.analysis.predict.side_by_side import Segment
from slicewise.digest.digest import read_digest
from slicewise.digest.shared import read_digests
from slicewise.errors import UserError
from slicewise.report.copies import copies_report
from slicewise.report.copies.copies_report import copies_page, copies_record, copies_table
from slicewise.report.page import html_of
from support.command_line import answer_of, json_of, refusal_of
from support.runs import MIB, metadata, read, write_run, wrote


def asking(volume, rate, computing, weight=1.0):
    """A job that moves so much at so much a second, and computes besides, on a storage that serves 100 a second."""
    own = Segment(volume / rate, (0.0, rate / 100, 0.0), (0.0, 1.0, 0.0))
    return Customer(own.seconds, computing), (own, weight)


def lost(copies, job, others=()):
    """One job at the storage gets whatever it asks for."""
    customer, (own, weight) = job
    return expected_loss(
        copies,
        customer,
        [one for one, _ in others],
        lambda active, working: progress(active, [own], weight, [others[place][1] for place in working], 1.0),
    )


def simulated_loss(copies: int, volume: float, own: float, computing: float, rate: float, rounds: int) -> float:
    """Copies that compute for random times and then move the same volume, event by event: time over time alone."""
    chance = random.Random(copies)
    left: dict[int, float] = {}
    wake = [(chance.expovariate(1 / computing), copy) for copy in range(copies)]
    heapq.heapify(wake)
    now, done = 0.0, 0
    while done < rounds * copies:
        speed = min(own, rate / len(left)) if left else 0.0
        first_done = now + min(left.values()) / speed if left else float("inf")
        then = min(first_done, wake[0][0] if wake else float("inf"))
        for copy in left:
            left[copy] -= speed * (then - now)
        now = then
        if wake and wake[0][0] <= now:
            _, copy = heapq.heappop(wake)
            left[copy] = volume
            continue
        for copy in [copy for copy, rest in left.items() if rest <= 1e-6 * volume]:
            del left[copy]
            done += 1
            heapq.heappush(wake, (now + chance.expovariate(1 / computing), copy))
    return now * copies / done / (computing + volume / own) - 1


@pytest.mark.parametrize(("copies", "loss"), [(1, 0), (2, 0), (3, 0.5), (4, 1), (8, 3)])
def test_jobs_that_do_nothing_but_io_share_what_there_is(copies, loss):
    assert lost(copies, asking(1000, 50, 0)) == pytest.approx(loss, abs=1e-4)


@pytest.mark.parametrize("copies", [2, 3, 5, 8])
def test_jobs_that_compute_lose_what_a_simulation_of_them_loses(copies):
    simulated = simulated_loss(copies, 1000, 60, 20, 100, 4_000)
    assert lost(copies, asking(1000, 60, 20)) == pytest.approx(simulated, abs=0.03)


def test_another_job_of_the_same_kind_is_one_more_copy():
    job = asking(1000, 60, 20)
    assert lost(3, job, [job, job]) == pytest.approx(lost(5, job))


def test_a_heavier_neighbour_costs_more():
    job = asking(1000, 60, 20)
    found = [lost(2, job, others) for others in ([], [asking(5000, 100, 0)], [asking(5000, 100, 0, 5)])]
    assert found == sorted(found)
    assert found[2] > 1.2 * found[1] > 0


def test_in_step_is_the_most_that_copies_lose(alone):
    found = copies(read_digest(alone), capacity=given_capacity(100 * MIB), most_loss=0.5)
    for row in found.rows:
        assert row.in_step >= row.loss.value
    # 12 s of I/O at 60 of 100 MiB/s: four at once take 12 * 4 * 60 / 100 s.
    assert found.row(4).in_step == pytest.approx((12 + 28.8) / 24 - 1, rel=1e-3)


def test_a_distribution_adds_up_and_is_in_balance():
    rates = np.array([[0, 2, 1], [1, 0, 3], [4, 1, 0]], dtype=float)
    share = stationary(rates)
    assert share.sum() == pytest.approx(1)
    assert share @ rates == pytest.approx(share * rates.sum(axis=1))


@pytest.fixture
def alone(tmp_path) -> Path:
    """In I/O for 12 of 24 s at 60 MiB/s."""
    return write_run(tmp_path / "sim", 24, [{at: wrote(60, 1.0) for at in range(0, 24, 2)}])


def side_by_side(directory: Path, each_mib: float) -> list[Path]:
    rows = [{at: wrote(each_mib, 0.99) for at in range(20)}]
    return [write_run(directory / f"pair-{place}", 20, rows, begin=1000) for place in range(2)]


@pytest.fixture
def seen(tmp_path) -> list[Path]:
    return side_by_side(tmp_path, 50)


def test_a_job_is_asked_for_its_rate_in_io_and_its_share_of_time(alone):
    digest = read_digest(alone)
    storage, direction = where_most(digest)
    demand = demand_of(digest, storage)
    assert (storage.point, direction) == ("/scratch", "write")
    assert demand.rate.value == pytest.approx(60 * MIB)
    assert demand.duty == pytest.approx(0.5)


def test_what_the_storage_serves_is_seen_while_several_jobs_are_at_it(alone, seen):
    found = copies(read_digest(alone), seen=read_digests(seen))
    assert found.capacity.rate.value == pytest.approx(100 * MIB, rel=1e-6)
    assert (found.capacity.source, found.capacity.is_floor) == ("jobs side by side", False)
    expected = lost(3, asking(720, 60, 12))
    assert found.row(3).loss.value == pytest.approx(expected, rel=1e-3)
    assert found.row(1).loss.value == 0
    assert found.fewest_sure <= found.most <= found.most_possible
    assert found.row(found.most).loss.value <= 0.1 < found.row(found.most + 1).loss.value


def test_a_storage_serves_several_what_it_served_one(alone, tmp_path):
    """A job that read a part from memory moved twice what others got together: two copies were to lose 178 %, high."""
    slow = [
        write_run(tmp_path / name, 20, [{at: wrote(15, 0.99) for at in range(20)}], program=f"/opt/{name}", begin=1000)
        for name in ("a", "b")
    ]
    found = copies(read_digest(alone), seen=read_digests(slow))
    assert found.company == []
    assert found.capacity.rate.value == pytest.approx(60 * MIB)
    assert found.row(2).loss.value == pytest.approx(lost(2, asking(1200, 100, 12)), rel=1e-3)
    assert (found.is_outdone, found.confidence) == (True, "low")
    assert "moved more a second than jobs did together" in " ".join(copies_report.notes(found))
    assert found.capacity.rate.how in copies_report.evidence(found)


def test_without_two_jobs_at_work_it_is_refused_in_one_line(alone):
    with pytest.raises(UserError, match=r"is not known: .* run two of simulation side by side once") as refused:
        copies(read_digest(alone))
    assert "\n" not in str(refused.value)


def test_a_capacity_that_is_given_counts(alone):
    found = copies(read_digest(alone), capacity=given_capacity(300 * MIB), most_loss=0.05)
    assert found.capacity.source == "given"
    assert found.most >= 5
    more = copies(read_digest(alone), capacity=given_capacity(300 * MIB), most_loss=0.5)
    assert more.most > found.most
    assert len(found.rows) == found.most + 2


def test_beside_another_job_fewer_fit(alone, tmp_path):
    other = write_run(tmp_path / "post", 20, [{at: wrote(80, 0.99) for at in range(20)}], program="/opt/post")
    capacity = given_capacity(300 * MIB)
    by_itself, beside = (
        copies(read_digest(alone), beside=found, capacity=capacity) for found in ([], [read_digest(other)])
    )
    assert beside.most < by_itself.most
    assert [one.job.job for one in beside.others] == ["post"]


def test_a_job_that_ran_in_company_is_told_so(alone, tmp_path):
    company = write_run(tmp_path / "company", 20, [{at: wrote(80, 0.99) for at in range(20)}], program="/opt/post")
    found = copies(read_digest(alone), seen=[read_digest(company)], capacity=given_capacity(300 * MIB))
    assert found.company == ["company"]


def test_what_is_not_on_the_storage_counts_as_computing(tmp_path):
    rows = {at: wrote(60, 0.5) | metadata(100, 0.3) for at in range(10)}
    digest = read_digest(write_run(tmp_path / "mixed", 10, [rows]))
    demand = demand_of(digest, where_most(digest)[0])
    assert (demand.io_seconds, demand.elsewhere_seconds) == (pytest.approx(5), pytest.approx(3))


def test_jobs_without_bytes_and_others_elsewhere_are_refused(alone, tmp_path):
    idle = write_run(tmp_path / "idle", 10, [{at: metadata(100, 0.3) for at in range(10)}])
    with pytest.raises(UserError, match="moved no bytes"):
        copies(read_digest(idle))
    with pytest.raises(UserError, match="did no I/O on /scratch"):
        copies(read_digest(alone), beside=[read_digest(idle)], capacity=given_capacity(1e9))


def test_reads_are_bytes_too(tmp_path):
    found = copies(
        read_digest(write_run(tmp_path / "reader", 20, [{at: read(60, 0.9) for at in range(20)}])),
        capacity=given_capacity(200 * MIB),
    )
    assert found.demand.read_share == 1


def test_the_first_sentence_says_how_many_and_what_they_lose(alone):
    headline = copies_report.opening(copies(read_digest(alone), capacity=given_capacity(150 * MIB)))[0]
    assert re.fullmatch(
        r"(\d) copies of sim may run side by side before each loses more than 10 %: "
        r"\1 lose [\d.]+ % \[[\d.]+-[\d.]+\], (\d) would lose [\d.]+ % \[[\d.]+-[\d.]+\]\. Confidence: (high|medium)\.",
        headline,
    )


def test_one_none_and_at_least(alone, seen, tmp_path):
    digest = read_digest(alone)
    assert copies_report.headline(copies(digest, capacity=given_capacity(60 * MIB))).startswith(
        "Only one sim may run at a time before each loses more than 10 %: 2 would lose "
    )
    other = write_run(tmp_path / "post", 20, [{at: wrote(80, 0.99) for at in range(20)}], program="/opt/post")
    beside = copies(digest, beside=[read_digest(other)], capacity=given_capacity(80 * MIB))
    assert copies_report.headline(beside).startswith(
        "Not even one sim may run beside post before it loses more than 10 %"
    )
    found = copies(digest, seen=read_digests(side_by_side(tmp_path, 59.5)))
    assert found.capacity.is_floor
    assert copies_report.headline(found).startswith("At least ")
    assert any("was never seen full" in line for line in copies_report.opening(found))


def test_evidence_names_the_demand_the_share_of_time_and_the_capacity(alone, seen):
    said = copies_report.evidence(copies(read_digest(alone), seen=read_digests(seen)))
    assert said.startswith("sim spends 50.0 % of its runtime in I/O on /scratch and moves 60.0 MiB/s [")
    assert "/scratch serves 100 MiB/s" in said
    assert said.endswith("what jobs wrote together in the slices that several filled, in 1 run.")


def test_the_table_goes_a_bit_beyond_the_limit(alone):
    found = copies(read_digest(alone), capacity=given_capacity(300 * MIB))
    table = copies_table(found)
    assert len(table.rows) == found.most + 2
    assert [row[-1].text for row in table.rows].index("the most") == found.most - 1
    assert len(copies_table(found, 3).rows) == 3


def test_json_and_page(alone, seen):
    found = copies(read_digest(alone), seen=read_digests(seen))
    record = copies_record(found, None)
    assert {"copies", "copies_low", "copies_high", "demand", "io_share", "capacity", "rows"} <= set(record)
    assert record["capacity"]["source"] == "jobs side by side"
    page = copies_page(found, [])
    assert sum(section.chart is not None for section in page.sections) == 1
    assert "copies that may run" in html_of(page)


def test_the_command(alone, seen, tmp_path):
    done = answer_of("predict", "--copies", alone, "--seen", seen[0], "--seen", seen[1], "--most-loss", "20")
    assert "before each loses more than 20 %" in done
    assert (tmp_path / "copies-sim.html").exists()
    as_json = json_of("predict", "--copies", alone, "--capacity", "150MiB/s")
    assert as_json["capacity"]["mib_s"] == 150
    for arguments in ([], ["--capacity", "150"], ["--capacity", "fast"]):
        refusal_of("predict", "--copies", alone, *arguments)
