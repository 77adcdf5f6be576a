"""What a job's own transfer sizes cost it, from profiles with a known time a call and a byte."""

import json
import struct

import pytest
from slicewise.analysis.size import job, predict
from slicewise.analysis.size.job import size_cost
from slicewise.analysis.size.points import curves, write_table
from slicewise.analysis.size.profiles import COMPANY, accesses_of, points_of
from slicewise.digest.digest import read_digest
from slicewise.digest.shared import read_digests
from support.command_line import answer_of, slicewise_command
from support.runs import write_run, wrote
from support.size_tables import KIB, MIB, measured

ALPHA, BETA = 0.2e-3, 1 / (400 * MIB)  # seconds a call and a byte


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch):
    monkeypatch.setattr(predict, "TREES", 5)


def bin_of(size: int) -> int:
    return sum(size > edge for edge in (100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20))


def calls_of(count: int, size: int, factor: float = 1.0, consecutive: float = 1.0) -> dict:
    """A slice's writes of one size, each of ALPHA and BETA's seconds."""
    row = wrote(count * size / MIB, count * (ALPHA + BETA * size) * factor, size)
    some = round(consecutive * count)
    return row | {"write_sequential": some, "write_consecutive": some, f"write_size_{bin_of(size)}": count}


def of_one_size(place, size, seconds=20, begin=0, processes=2, factor=1.0):
    """In calls for a half of each slice."""
    count = int(0.5 / (ALPHA + BETA * size))
    rows = [{at: calls_of(count, size, factor) for at in range(seconds)} for _ in range(processes)]
    return write_run(place, seconds, rows, begin=begin)


def of_two_sizes(place, noise=(1.0, 1.02, 0.98)):
    """Slices of 8 KiB calls and slices of 1 MiB calls in turn."""
    rows = [
        {at: calls_of(1000 if at % 2 else 100, 8 * KIB if at % 2 else MIB, noise[at % len(noise)]) for at in range(40)}
    ]
    return write_run(place, 40, rows)


def cost_of(place, table=None):
    digest = read_digest(place, distributions=True)
    [accesses] = accesses_of(digest, [])
    return size_cost(accesses, curves(table) if table is not None else [])


def test_a_job_of_two_sizes_tells_what_small_calls_cost(tmp_path):
    cost = cost_of(of_two_sizes(tmp_path / "job"))
    assert cost.alpha == pytest.approx(ALPHA, rel=0.05)
    assert cost.beta == pytest.approx(BETA, rel=0.05)
    assert cost.better == MIB
    moved = 20 * 1000 * 8 * KIB + 20 * 100 * MIB
    fewer = 20 * 1100 - moved / MIB
    assert cost.saved.value == pytest.approx(ALPHA * fewer, rel=0.05)
    assert cost.saved.low <= ALPHA * fewer <= cost.saved.high
    assert cost.is_claimed
    assert cost.accesses.size is None


def test_one_size_says_nothing_of_others(tmp_path):
    cost = cost_of(of_one_size(tmp_path / "job", 64 * KIB))
    assert cost.saved is None
    assert "too few sizes" in cost.how
    assert cost.accesses.size == 64 * KIB


def test_with_a_table_one_size_is_enough(tmp_path):
    """The table's law: 2 processes share 400 MiB/s x s / (s + 64 KiB); the job's calls take as long as it says."""
    table = measured(0.01, 4, mount="/scratch")
    takes = {size: 2 * (size + 64 * KIB) / (400 * MIB) for size in (64 * KIB, MIB)}
    factor = takes[64 * KIB] / (ALPHA + BETA * 64 * KIB)
    cost = cost_of(of_one_size(tmp_path / "job", 64 * KIB, factor=factor), table)
    assert cost.better in (MIB, 4 * MIB)
    kept = (MIB + 64 * KIB) / MIB / 2
    assert cost.saved.value / cost.accesses.seconds == pytest.approx(1 - kept, abs=0.05)
    assert cost.is_claimed


def test_a_table_that_does_not_hold_for_the_job_tells_nothing(tmp_path):
    cost = cost_of(of_one_size(tmp_path / "job", 64 * KIB, factor=0.05), measured(0.01, 4))
    assert cost.saved is None
    assert "page cache" in cost.how


def test_jobs_are_points_with_access_and_sharing(tmp_path):
    places = [of_one_size(tmp_path / f"job-{size}", size, begin=100 * at) for at, size in enumerate((64 * KIB, MIB))]
    digests = read_digests(places, distributions=True)
    points = points_of([each for digest in digests for each in accesses_of(digest, [])], {})
    [curve] = curves(points)
    assert (curve.curve.access, curve.curve.sharing, curve.curve.processes) == ("sequential", "file per process", 2)
    for point in curve.points:
        takes = ALPHA + BETA * point.size
        assert point.latency.value == pytest.approx(takes, rel=0.01)
        assert point.bandwidth.value == pytest.approx(2 * point.size / takes, rel=0.01)
        assert point.little == pytest.approx(1, rel=0.01)


def test_random_calls_are_told_from_sequential_ones(tmp_path):
    rows = [{at: calls_of(500, 64 * KIB, consecutive=0.5) | {"write_consecutive": 0} for at in range(10)}]
    place = write_run(tmp_path / "job", 10, rows)
    [accesses] = accesses_of(read_digest(place, distributions=True), [])
    assert accesses.curve.access == "random"


def test_slices_beside_another_job_make_a_point_of_their_own(tmp_path):
    half, size = 10, 64 * KIB
    rows = [{at: calls_of(300, size, 2.0 if at >= half else 1.0) for at in range(2 * half)}]
    job = write_run(tmp_path / "job", 2 * half, rows)
    other = of_one_size(tmp_path / "other", MIB, seconds=half, begin=half)
    first, second = read_digests([job, other], distributions=True)
    points = points_of(accesses_of(first, [second]), {first.job: [second]})
    by_company = {row["beside"]: row for row in points.to_dicts()}
    assert set(by_company) == {"", COMPANY}
    assert by_company[COMPANY]["latency"] == pytest.approx(2 * by_company[""]["latency"], rel=0.01)
    assert by_company[COMPANY]["bandwidth"] == pytest.approx(by_company[""]["bandwidth"] / 2, rel=0.01)


def test_the_command_tells_a_job_and_a_table(tmp_path):
    job = of_two_sizes(tmp_path / "job")
    done = answer_of("storage", "size", job)
    assert "job would save " in done
    assert "with calls of 1 MiB" in done
    write_table(measured(0.01, 4), tmp_path / "t.csv")
    printed = slicewise_command("storage", "size", job, "--table", tmp_path / "t.csv", "--json")
    record = json.loads(printed.output)
    [cost] = record["job"]["costs"]
    assert cost["is_claimed"]
    assert record["curves"][0]["throughput"]["size"] in (MIB, 4 * MIB)
    assert (tmp_path / "size-job.html").exists()


def test_a_job_of_one_size_is_named_as_yours(tmp_path):
    write_table(measured(0.001, 4), tmp_path / "t.csv")
    job = of_one_size(tmp_path / "job", 32 * KIB)
    done = answer_of("storage", "size", job, "--table", tmp_path / "t.csv")
    assert "job spent " in done or "job would save" in done


def plain_layout(magic: int = 0x0BD10BD0) -> bytes:
    return struct.pack("<II16sIHH", magic, 1, bytes(16), 4 * MIB, 8, 0)


def test_stripes_of_plain_and_composite_layouts(monkeypatch):
    monkeypatch.setattr(job.os, "getxattr", lambda path, name: plain_layout())
    assert job.stripes_of("/lustre/f") == job.Stripes("/lustre/f", 4 * MIB, 8)
    head = struct.pack("<IIIHHH6xQ", 0x0BD60BD0, 112, 1, 0, 1, 0, 0)
    entry = struct.pack("<IIQQII16x", 1, 0, 0, 1 << 30, 80, 36)
    padded = head + entry + plain_layout(0x0BD30BD0)
    assert (len(head), len(entry)) == (32, 48)
    assert job.parsed("f", padded) == job.Stripes("f", 4 * MIB, 8)
    assert job.parsed("f", b"") is None
    assert job.parsed("f", bytes(64)) is None


def test_a_file_that_is_not_on_lustre_has_no_stripes(tmp_path):
    (tmp_path / "f").write_text("x")
    assert job.stripes_of(str(tmp_path / "f")) is None
    assert job.stripes_of(str(tmp_path / "none")) is None
