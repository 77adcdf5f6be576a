"""Jobs on one time axis: synthetic profiles with regions, rates, standalone times and verdicts worked out by hand."""

from types import SimpleNamespace

import polars as pl
import pytest
from slicewise.analysis.overlap import comparison
from slicewise.analysis.overlap.overlap import is_negligible, overlap
from slicewise.analysis.runs.rates import StandaloneRun
from slicewise.digest.digest import Digest
from slicewise.digest.shared import several
from slicewise.errors import UserError
from slicewise.profile.reader import read_profile
from support.swz import build_profile
from support.tabled_jobs import EPOCH, MIB, TAU_NS, process_ids, write_job

LARGE = [[0, 40, 40, 40, 40, 36, 0, 0, 0, 0], [0, 40, 38, 42, 40, 0, 0, 0, 0, 0]]
SMALL = [[10, 20, 20, 0, 20, 22, 60, 60, 60, 12], [12, 20, 22, 20, 20, 18, 58, 62, 60, 0]]


@pytest.fixture
def two_jobs(tmp_path):
    """Two jobs whose region and rates were worked out by hand, compared in what they wrote."""
    large, small = write_job(tmp_path / "large", LARGE), write_job(tmp_path / "small", SMALL, host="n2")
    return overlap([large, small])


def test_region_and_its_variants(two_jobs):
    regions = two_jobs.directions["write"].regions
    every, union, any_ = regions.every_process, regions.union, regions.any_process
    assert (every.first_slice, every.end_slice, every.seconds) == (EPOCH + 1, EPOCH + 3, 8)
    assert (union.first_slice, union.end_slice, union.slices, union.seconds) == (EPOCH + 1, EPOCH + 5, 3, 12)
    assert (any_.first_slice, any_.end_slice, any_.slices) == (EPOCH + 1, EPOCH + 6, 5)
    assert two_jobs.directions["write"].basis == every


def test_rates_overall_and_in_the_region(two_jobs):
    large, small = two_jobs.directions["write"].jobs
    assert large.region_bytes_per_second / MIB == pytest.approx(19.75)
    assert small.region_bytes_per_second / MIB == pytest.approx(10.25)
    assert large.overall_bytes_per_second / MIB == pytest.approx(17.8)
    assert small.overall_bytes_per_second / MIB == pytest.approx(14.4)
    assert large.region_share == pytest.approx(19.75 / 30)
    ratio = two_jobs.directions["write"].ratio
    assert ratio.region == pytest.approx(19.75 / 10.25)
    assert (ratio.processes, ratio.nodes) == (1, 1)


@pytest.mark.parametrize(("served", "is_taken"), [(20, False), (190, True)])
def test_a_run_alone_whose_writes_stayed_in_the_cache_tells_no_time_alone(monkeypatch, served, is_taken):
    """perl wrote 200 MiB in 5.4 s, of which the disk got 20: alone it was said to take 52.7 s."""
    run = SimpleNamespace(
        run=SimpleNamespace(name="alone", digest=None), span=(0, 5), bytes=served * MIB,
        as_standalone=lambda: StandaloneRun("alone", served * MIB, None, None),
    )  # fmt: skip
    monkeypatch.setattr(comparison, "on_storage", lambda *_: run)
    called = pl.DataFrame({"storage": [1], "bytes": [200 * MIB]}, {"storage": pl.UInt64, "bytes": pl.Int64})
    monkeypatch.setattr(comparison, "bytes_by_storage", lambda *_: called)
    job = SimpleNamespace(use=SimpleNamespace(bytes=200 * MIB))
    assert (comparison._standalone([run], job, 1, "write") is not None) == is_taken


def write_from_to(directory, number: int, rate: float, begin: int, end: int):
    """A process that writes `rate` MiB/s from `begin` to `end`, in s, without a pause."""
    first, tau = EPOCH, TAU_NS // 10**9
    rows = []
    for place in range(begin // tau, -(-end // tau)):
        seconds = min(end, (place + 1) * tau) - max(begin, place * tau)
        moved = {"write_bytes": int(rate * seconds * MIB), "write_ops": int(rate * seconds), "threads": 1}
        rows.append({"process": number, "slice": first + place, "write_ns": seconds * 10**9} | moved)
    lived = {"start_ns": first * TAU_NS + begin * 10**9, "end_ns": first * TAU_NS + end * 10**9}
    who = {"process": number, "pid": number, "host": f"n{number}", "program": f"/opt/p{number}"}
    return Digest(read_profile(build_profile(directory, [who | lived], rows)))


def test_slices_that_were_filled_in_part_are_in_no_rate_of_the_region(tmp_path):
    """Rates of 1 and 12 processes of Kuo et al. (table 3, private), begun within a slice and ended within another."""
    pair = [write_from_to(tmp_path / "p", 1, 45.0, 2, 38), write_from_to(tmp_path / "q", 2, 52.5, 2, 30)]
    write = overlap(pair).directions["write"]
    assert (write.basis.first_slice, write.basis.end_slice) == (EPOCH, EPOCH + 8)
    rates = [job.region_bytes_per_second / MIB for job in write.jobs]
    assert rates == pytest.approx([45.0, 52.5], rel=1e-3)
    assert write.ratio.region == pytest.approx(45.0 / 52.5, rel=1e-3)


def test_uniformity_over_all_processes_of_the_region(two_jobs):
    even = two_jobs.directions["write"].uniformity
    assert even.rsd == pytest.approx(0.317105, abs=1e-6)
    assert even.jain == pytest.approx(0.908632, abs=1e-6)
    assert two_jobs.directions["write"].jobs[0].uniformity.processes == 2


def test_shares_of_a_slice_against_who_was_active_in_it(two_jobs):
    shares = two_jobs.directions["write"].shares
    assert shares["slice"].unique().sort().to_list() == list(range(EPOCH + 1, EPOCH + 6))
    one_idle = shares.row(by_predicate=(pl.col("job") == "small") & (pl.col("slice") == EPOCH + 3), named=True)
    assert one_idle["share"] == pytest.approx(20 / 102)
    assert one_idle["fair_by_process"] == pytest.approx(1 / 3)
    assert one_idle["fair_by_node"] == pytest.approx(1 / 2)
    assert one_idle["fair_bytes_by_process"] == pytest.approx(34 * MIB)


def test_own_slices_show_what_the_other_cost(two_jobs):
    write = two_jobs.directions["write"]
    assert write.jobs[1].demand.source == "own slices"
    assert write.jobs[1].demand.bytes_per_second.value / MIB == pytest.approx(360 / 12)
    assert write.jobs[0].demand is None
    assert write.contention.contended is True
    # In slices 2 and 4, which both jobs had in full, the small one moved 41 MiB of 4 s.
    assert write.contention.share_of_alone == {"small": pytest.approx(41 / 4 / 30)}


def test_a_direction_without_bytes_says_so(two_jobs):
    assert two_jobs.directions["read"].not_applicable == "no job read as much as 1 MiB of files"
    assert two_jobs.directions["read"].predictions == []
    assert two_jobs.main_direction == "write"


def test_reads_of_a_start_up_are_negligible_beside_output():
    def moved(*job_bytes):
        return SimpleNamespace(jobs=[SimpleNamespace(bytes=amount) for amount in job_bytes])

    assert is_negligible(moved(20_000, 20_000), beside=moved(500 * MIB, 0))
    assert not is_negligible(moved(20 * MIB, 0), beside=moved(500 * MIB, 500 * MIB))
    assert not is_negligible(moved(0, 0), beside=moved(0, 0))


def test_one_job_that_only_reads(tmp_path):
    writer = write_job(tmp_path / "writer", [[9, 9, 9]])
    reader = write_job(tmp_path / "reader", [[9, 9, 9]], direction="read")
    result = overlap([writer, reader])
    assert result.directions["write"].not_applicable == (
        "Only writer wrote bytes of files: reader read 27 MiB, which is not compared with that"
    )
    writer_alone, idle = result.directions["write"].jobs
    assert writer_alone.overall_bytes_per_second == pytest.approx(9 * MIB / 4)
    assert (idle.bytes, idle.span, idle.overall_bytes_per_second) == (0, None, None)


def test_what_a_program_reads_of_itself_is_compared_with_nothing(tmp_path):
    rows = {"loader": [[50] * 10], "starts": [[0.001] * 9]}
    jobs = [write_job(tmp_path / name, row, program=f"/opt/{name}", direction="read") for name, row in rows.items()]
    reads = overlap(jobs).directions["read"]
    assert reads.not_applicable == "Only loader read bytes of files: starts read none or next to none"
    assert (reads.ratio, reads.predictions, reads.contention.contended) == (None, [], None)
    assert [job.processes for job in reads.jobs] == [1, 1]


# Two saturating jobs of equal volume, C = 60 MiB a slice, 5 processes against 1: the large one ends after 12 slices at
# 50 of 60, the small one has 10 a slice until then and 60 for 8 slices more. Alone, each would take 10 slices.
LARGE_BESIDE = [[10] * 12] * 5
SMALL_BESIDE = [[10] * 12 + [60] * 8]


@pytest.fixture
def with_standalone(tmp_path):
    together = [write_job(tmp_path / "L", LARGE_BESIDE), write_job(tmp_path / "S", SMALL_BESIDE, program="/opt/post")]
    alone = [
        write_job(tmp_path / "S alone", [[60] * 10], program="/opt/post", first_slice=EPOCH + 1000),
        write_job(tmp_path / "L alone", [[12] * 10] * 5, first_slice=EPOCH + 2000),
    ]
    return overlap(together, alone).directions["write"]


def test_pair_model_predicts_from_standalone_runs(with_standalone):
    by_process, by_node = with_standalone.predictions
    assert (by_process.weight, by_process.method) == ("processes", "pair model")
    assert [job.seconds.value for job in by_process.jobs] == pytest.approx([48, 80])
    assert [job.relative_error for job in by_process.jobs] == pytest.approx([0, 0])
    assert [job.interference for job in by_process.jobs] == pytest.approx([1.2, 2])
    # Shares by node would have been equal, and both would have ended after twice their standalone time.
    assert [job.seconds.value for job in by_node.jobs] == pytest.approx([80, 80])
    assert abs(by_node.worst.relative_error) == pytest.approx(80 / 48 - 1)


def test_inverse_finds_the_standalone_times(with_standalone):
    by_process, by_node, conserved = with_standalone.inverses
    assert [job.seconds.value for job in by_process.jobs] == pytest.approx([40, 40])
    assert [job.relative_error for job in by_process.jobs] == pytest.approx([0, 0])
    assert by_process.disagreement == pytest.approx(0)
    assert [job.seconds.value for job in by_node.jobs] == pytest.approx([24, 56])
    assert by_node.disagreement > 1
    assert [job.seconds.value for job in conserved.jobs] == pytest.approx([40, 40])


def test_capacity_and_contention_from_standalone_runs(with_standalone):
    assert with_standalone.capacity.source == "standalone runs"
    assert with_standalone.capacity.rate.value == pytest.approx(15 * MIB)
    assert with_standalone.contention.contended is True
    assert with_standalone.contention.alone_bytes_per_second == pytest.approx(30 * MIB)
    assert with_standalone.contention.together_bytes_per_second == pytest.approx(15 * MIB)
    assert with_standalone.jobs[0].alone.job == "L alone"
    assert with_standalone.jobs[0].alone_seconds.value == pytest.approx(40)


def test_solver_takes_over_where_starts_differ(tmp_path):
    # The second job begins 5 slices later: 5 slices at 60, then 30 each; the first ends after 15 slices, the other 5
    # slices later.
    first = write_job(tmp_path / "first", [[60] * 5 + [30] * 10])
    second = write_job(tmp_path / "second", [[0] * 5 + [30] * 10 + [60] * 5])
    write = overlap([first, second]).directions["write"]
    prediction = write.predictions[0]
    assert (prediction.method, prediction.is_in_sample) == ("N-job solver", True)
    assert "began 20.0 s apart" in prediction.method_reason
    assert [job.seconds.value for job in prediction.jobs] == pytest.approx([60, 60])
    assert [job.relative_error for job in prediction.jobs] == pytest.approx([0, 0])
    # Alone at first and at last, half of the capacity in between: from these spans the inverse finds both.
    assert [job.seconds.value for job in write.inverses[0].jobs] == pytest.approx([40, 40])
    assert [job.seconds.value for job in write.inverses[-1].jobs] == pytest.approx([40, 40])


def test_three_jobs_with_a_cap(tmp_path):
    # C = 60 a slice; the third job reaches no more than 10 alone and loses nothing, the others share the rest.
    rows = {"a": [[25] * 12], "b": [[25] * 12], "c": [[10] * 12]}
    jobs = [write_job(tmp_path / name, row, program=f"/opt/{name}") for name, row in rows.items()]
    alone_rows = {"a": [[60] * 5], "b": [[60] * 5], "c": [[10] * 12]}
    alone = [write_job(tmp_path / f"{name}-alone", row, program=f"/opt/{name}") for name, row in alone_rows.items()]
    write = overlap(jobs, alone).directions["write"]
    assert write.ratio is None
    assert write.predictions[0].method_reason == "there are 3 jobs"
    assert [job.seconds.value for job in write.predictions[0].jobs] == pytest.approx([48, 48, 48])
    assert [job.interference for job in write.predictions[0].jobs] == pytest.approx([48 / 20, 48 / 20, 1])
    assert write.contention.share_of_alone == pytest.approx({"a": 25 / 60, "b": 25 / 60, "c": 1})


def test_no_contention_is_said_and_not_explained_away(tmp_path):
    jobs = [write_job(tmp_path / name, [[20] * 10], program=f"/opt/{name}") for name in "ab"]
    alone = [write_job(tmp_path / f"{name}-alone", [[20] * 10], program=f"/opt/{name}") for name in "ab"]
    write = overlap(jobs, alone).directions["write"]
    assert write.contention.contended is False
    # Together they moved more than either did alone: that much at least the storage serves.
    assert write.capacity.source == "jobs side by side"
    assert write.capacity.rate.value == pytest.approx(10 * MIB)
    assert [job.seconds.value for job in write.predictions[0].jobs] == pytest.approx([40, 40])
    # That is from this very run: labelled, no surer than runs repeat, and beside equations 1 and 2.
    assert [(each.method, each.is_in_sample) for each in write.predictions] == [
        ("N-job solver", True), ("N-job solver", True), ("pair model", False), ("pair model", False)
    ]  # fmt: skip
    for job in write.predictions[0].jobs:
        assert job.seconds.low == pytest.approx(40 / 1.06, rel=0.01)
        assert job.seconds.high == pytest.approx(40 * 1.06, rel=0.01)
    assert [job.seconds.value for job in write.predictions[2].jobs] == pytest.approx([80, 80])
    assert "equations 1 and 2 do not allow that a reaches 50 % of the capacity alone" in write.predictions[2].doubt
    assert write.inverses[0].jobs == []
    assert "did not slow each other down" in write.inverses[0].not_applicable


def test_contention_that_cannot_be_told(tmp_path):
    jobs = [write_job(tmp_path / name, [[20] * 10]) for name in "ab"]
    write = overlap(jobs).directions["write"]
    assert write.contention.contended is None
    assert "no standalone run" in write.contention.evidence
    assert write.capacity.source == "envelope"
    assert write.capacity.rate.value == pytest.approx(10 * MIB)


def test_the_capacity_is_not_less_than_a_job_was_seen_to_get_by_itself(tmp_path):
    steps = write_job(tmp_path / "steps", [[4] * 10 + [40] * 4])
    other = write_job(tmp_path / "other", [[20] * 5])
    write = overlap([steps, other]).directions["write"]
    assert write.capacity.source == "envelope"
    assert write.capacity.rate.value == pytest.approx(10 * MIB)
    assert write.capacity.rate.low == pytest.approx(6 * MIB)
    assert "had to itself" in write.capacity.rate.how


def test_short_jobs_are_judged_by_their_times(tmp_path):
    jobs = [write_job(tmp_path / name, [[20] * 2], program=f"/opt/{name}") for name in "ab"]
    alone = [write_job(tmp_path / f"{name}-alone", [[40]], program=f"/opt/{name}") for name in "ab"]
    contention = overlap(jobs, alone).directions["write"].contention
    assert contention.contended is True
    assert contention.share_of_alone == pytest.approx({"a": 0.5, "b": 0.5})
    assert contention.together_bytes_per_second is None


def test_ranks_that_write_nothing_change_no_region(tmp_path):
    collective = write_job(tmp_path / "collective", [[30] * 6, [0] * 6])
    other = write_job(tmp_path / "other", [[10] * 6])
    write = overlap([collective, other]).directions["write"]
    assert write.basis.kind == "every process"
    assert write.basis.slices == 6
    assert (write.jobs[0].processes, write.jobs[0].idle_processes) == (1, 1)
    assert write.jobs[0].uniformity.rsd == pytest.approx(0)
    assert any("1 of 2 ranks of collective wrote nothing" in note for note in write.notes)


def test_processes_without_ranks_count_if_they_moved_bytes(tmp_path):
    plain = write_job(tmp_path / "plain", [[10] * 6, [0] * 6], is_mpi=False)
    other = write_job(tmp_path / "other", [[10] * 6], is_mpi=False)
    result = overlap([plain, other])
    assert [job.processes for job in result.jobs] == [1, 1]
    assert result.directions["write"].regions.every_process.slices == 6


def test_coarser_grid_where_one_slice_divides_the_other(tmp_path):
    coarse = write_job(tmp_path / "coarse", [[40] * 5])
    fine = write_job(tmp_path / "fine", [[10] * 20], slice_ns=TAU_NS // 4, first_slice=4 * EPOCH)
    result = overlap([coarse, fine])
    assert result.slice_ns == TAU_NS
    assert result.directions["write"].basis.slices == 5
    assert [job.region_bytes for job in result.directions["write"].jobs] == [200 * MIB, 200 * MIB]


def test_slices_that_fit_no_grid_are_refused(tmp_path):
    four = write_job(tmp_path / "48213", [[40] * 5])
    three = write_job(tmp_path / "48300", [[40] * 5], slice_ns=3_000_000_000, first_slice=EPOCH * 4 // 3)
    with pytest.raises(UserError) as refusal:
        overlap([four, three])
    assert str(refusal.value) == (
        "48300 has 3 s slices and 48213 has 4 s ones, and neither divides the other; "
        "profile both with the same SLICEWISE_SLICE"
    )


def test_jobs_apart_in_time_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    early = write_job(tmp_path / "48213", [[40] * 5])
    late = write_job(tmp_path / "48300", [[40] * 5], first_slice=EPOCH + 230)
    with pytest.raises(UserError, match=r"do not overlap in time: 48213 ended at .*, 48300 began at "):
        overlap([late, early])


def test_jobs_whose_io_never_meets(tmp_path):
    early = write_job(tmp_path / "early", [[40] * 3 + [0] * 3])
    late = write_job(tmp_path / "late", [[0] * 3 + [40] * 3])
    write = overlap([early, late]).directions["write"]
    assert write.basis is None
    assert write.predictions == []
    assert write.jobs[0].region_bytes is None
    assert len(write.shares) == 0


def test_a_profile_twice_is_refused(tmp_path):
    job = write_job(tmp_path / "48213", [[40] * 5])
    with pytest.raises(UserError, match="of the same processes; give each job once"):
        overlap([job, job])


def test_namesakes_get_a_number(tmp_path):
    paths = [write_job(tmp_path / name / "run", [[4] * 5]).path for name in "ab"]
    digests = several(paths)
    assert [job.job for job in overlap(digests).jobs] == ["run", "run (2)"]


def test_a_standalone_run_of_something_else_is_refused(tmp_path):
    jobs = [write_job(tmp_path / name, [[40] * 5]) for name in "ab"]
    stranger = write_job(tmp_path / "stranger", [[40] * 5], program="/bin/other")
    with pytest.raises(
        UserError,
        match="fits none of the jobs as a standalone run: it ran other with 1 process, not simulation with 1 or",
    ):
        overlap(jobs, [stranger])


LOCAL = {"type": "ext4", "source": "/dev/sda1", "point": "/"}


@pytest.mark.parametrize(
    ("mount", "is_shared"),
    [
        (LOCAL, False),
        ({"type": "nfs4", "source": "server:/home", "point": "/home"}, True),
        ({"type": "fuse.unheard", "source": "server:/x", "point": "/x"}, True),
        ({"type": "gpfs", "source": "/dev/gpfs0", "point": "/gpfs"}, True),
        ({"type": "tmpfs", "source": "tmpfs", "point": "/tmp"}, False),
    ],
)
def test_storage_of_jobs_on_different_nodes(tmp_path, mount, is_shared):
    jobs = [write_job(tmp_path / host, [[40] * 5], host=host, mount=mount) for host in ("n1", "n2")]
    write = overlap(jobs).directions["write"]
    assert (write.storage is not None) == is_shared
    assert bool(write.not_applicable) != is_shared
    if not is_shared:
        assert "n1 wrote on " in write.not_applicable
        assert [job.overall_bytes_per_second for job in write.jobs] == [10 * MIB, 10 * MIB]


def test_local_storage_is_shared_on_one_node(tmp_path):
    jobs = [write_job(tmp_path / name, [[40] * 5], mount=LOCAL) for name in "ab"]
    storage = overlap(jobs).directions["write"].storage
    assert (storage.type, storage.host, storage.point) == ("ext4", "n1", "/")


def test_bytes_elsewhere_are_told_and_left_out(tmp_path):
    job = write_job(tmp_path / "a", [[40] * 5])
    process = next(process_ids)
    rows = [
        {"process": process, "mount": m, "slice": EPOCH + k, "write_bytes": MIB * m} for m in (1, 3) for k in range(5)
    ]
    mounts = [{"process": process, "mount": 1}, {"process": process, "mount": 3} | LOCAL]
    member = {"process": process, "rank": 0, "start_ns": EPOCH * TAU_NS, "end_ns": (EPOCH + 5) * TAU_NS}
    other = Digest(read_profile(build_profile(tmp_path / "b", [member], rows, mounts)))
    write = overlap([job, other]).directions["write"]
    assert write.storage.point == "/scratch"
    assert (write.jobs[1].bytes, write.jobs[1].use.elsewhere_share) == (5 * MIB, 0.75)
    assert "b wrote 75 % of its bytes on other file systems" in write.notes
