"""What is asked of several jobs at once is what each job's profile by itself gives."""

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slicewise.analysis.blame.servers import shared_out
from slicewise.analysis.runs.storage import describe_all
from slicewise.digest.digest import SELDOM, Digest, read_digest
from slicewise.digest.schema import FRAMES
from slicewise.digest.shared import frames_of, read_together, several
from slicewise.digest.storages import lustre_name
from slicewise.imports.jobstats import read_served
from slicewise.profile import many
from slicewise.profile.reader import read_profile
from support.jobs import FIRST_SLICE, SLICE_NS, write_competing_jobs, write_job
from support.swz import build_profile

NEED_BINS = {"distributions", "storage_distributions"}
OLDER = Path(__file__).resolve().parents[1] / "golden" / "format-1.swz"
MIB = 1 << 20
GRID_NS = 4_000_000_000
SLICES = range(10)
BEGIN = FIRST_SLICE * SLICE_NS // 10**9


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Competing jobs on several nodes; a job without I/O; one with several mounts of one storage; an older profile."""
    folder = tmp_path_factory.mktemp("jobs")
    nfs = {"type": "nfs4", "source": "server:/export"}
    mounts = [{"process": 7, "mount": place, "point": f"/at{place}", **nfs} for place in range(2)]
    rows = [
        {"process": 7, "mount": place, "slice": number, "threads": 1, "write_bytes": 4096 << place, "write_ops": 1}
        for place in range(2)
        for number in range(3)
    ]
    idle = build_profile(folder / "idle", [{"process": 6, "rank": 1, "ranks": 2}, {"process": 5}], [])
    return [
        *write_competing_jobs(folder),
        idle,
        build_profile(folder / "mounts", [{"process": 7}], rows, mounts),
        OLDER,
    ]


def assert_as_by_themselves(digests: list[Digest], places: list[Path]) -> None:
    for digest, place in zip(digests, places, strict=True):
        alone = Digest(read_profile(place))
        alone.job = digest.job
        assert alone.active_slices.sort().equals(digest.active_slices.sort())
        for name in FRAMES.keys() - NEED_BINS:
            assert_frame_equal(getattr(digest, name), getattr(alone, name))


@pytest.mark.parametrize("together", [many.BYTES_AT_ONCE, 1])
def test_frames_of_jobs_that_are_looked_at_together(places, together, monkeypatch):
    monkeypatch.setattr(many, "BYTES_AT_ONCE", together)
    assert_as_by_themselves(several(places), places)


def test_tables_that_are_left_out_are_read_when_one_is_asked_for(places):
    assert_as_by_themselves(several(places, without=SELDOM), places)
    in_sum = read_digest(places[0], in_sum=True, without=("files", *SELDOM))
    assert_frame_equal(in_sum.files, Digest(read_profile(places[0])).files)


def test_a_frame_of_some_of_them_is_what_each_has_in_their_order(places):
    found = several(places)
    some = [found[-1], found[2], Digest(read_profile(places[0])), found[1]]
    for name in FRAMES.keys() - NEED_BINS:
        frames = [getattr(one, name).drop("job", strict=False) for one in some]
        places_of = [frame.with_columns(place=pl.lit(at, pl.UInt32)) for at, frame in enumerate(frames)]
        assert_frame_equal(
            frames_of(some, name).drop("job", strict=False), pl.concat(places_of), check_column_order=False
        )
        assert frames_of([], name).is_empty()


def test_a_job_of_an_older_version_is_read_by_itself(places):
    assert [len(jobs.sources) for jobs in read_together(places)] == [len(places) - 1, 1]


def test_a_job_that_is_there_twice(places):
    twice = [*places[:2], places[0], *places[2:]]
    digests = several(twice)
    assert digests[2].job == f"{digests[0].job} (2)"
    assert_as_by_themselves(digests, twice)


def test_a_job_may_get_another_name(places):
    first, second, *_ = several(places)
    second.job = "another"
    assert first.processes["job"].unique().to_list() == [first.job]
    assert second.processes["job"].unique().to_list() == second.jobs["job"].to_list() == ["another"]


@pytest.fixture
def jobs(tmp_path: Path) -> list[Digest]:
    """Two jobs on node n1 that write 10 and 30 MiB/s for 40 s, and one elsewhere."""
    for name, rate, node in (("7", 10.0, 1), ("8", 30.0, 1), ("9", 5.0, 2)):
        write_job(tmp_path / name, 2, 2, {SLICES: rate}, first_node=node)
    return [Digest(read_profile(tmp_path / name)) for name in ("7", "8", "9")]


def counted(folder: Path, clients: dict[str, float], seconds: int = 40, target: str = "") -> pl.DataFrame:
    """What a server counted of clients, MiB/s by client."""
    rows = [
        f"{BEGIN + at},{BEGIN + at + 4},{client},{target},{round(rate * 4 * MIB)}"
        for client, rate in clients.items()
        for at in range(0, seconds, 4)
    ]
    table = folder / f"clients-{target}.csv"
    table.write_text("begin,end,client,target,write_bytes\n" + "\n".join(rows) + "\n")
    return read_served([table])


def by_name(jobs: list[Digest], counts: pl.DataFrame) -> dict[str, float]:
    storages = describe_all(jobs[0].process_slices["storage"].unique().to_list(), jobs)
    told = shared_out(counts, jobs, storages, GRID_NS)
    sums = told.group_by("job").agg(pl.col("write_bytes").sum() / MIB)
    assert told["write_bytes"].sum() == pytest.approx(counts["write_bytes"].sum(), abs=100)
    return {name: float(size) for name, size in sums.rows()}


def test_jobs_of_one_node_have_what_their_profiles_say(jobs, tmp_path):
    """Headers and what was sent again are theirs, too; and nobody else was there."""
    found = by_name(jobs, counted(tmp_path, {"n1.cluster": 40.8, "n2": 5.0}))
    assert set(found) == {"7", "8", "9"}
    assert found["7"] == pytest.approx(40.8 / 4 * 40, rel=0.05)
    assert found["8"] == pytest.approx(40.8 * 3 / 4 * 40, rel=0.05)


def test_what_no_profile_explains_is_of_the_rest_of_the_node(jobs, tmp_path):
    found = by_name(jobs, counted(tmp_path, {"n1": 100.0}))
    assert found["the rest of n1"] == pytest.approx(60 * 40, rel=0.05)
    assert found["7"] == pytest.approx(400, rel=0.1)
    assert found["8"] == pytest.approx(1200, rel=0.1)


def test_before_and_after_its_jobs_a_node_is_a_client(jobs, tmp_path):
    """What it moved just before and after is no rest that was there beside them."""
    found = by_name(jobs, counted(tmp_path, {"n1": 40.0}, seconds=120))
    assert set(found) == {"7", "8", "n1"}
    assert found["n1"] == pytest.approx(40 * 80, rel=0.05)


def test_a_node_without_profiled_jobs_is_a_client(jobs, tmp_path):
    assert by_name(jobs, counted(tmp_path, {"n3": 40.0})) == {"n3": 1600.0}


def test_other_file_systems_are_none_of_it(jobs, tmp_path):
    (storage,) = describe_all(jobs[0].process_slices["storage"].unique().to_list(), jobs)
    here = counted(tmp_path, {"n1": 40.0}, target=f"{lustre_name(storage.source)}-OST0001")
    found = by_name(jobs, pl.concat([here, counted(tmp_path, {"n1": 500.0}, target="other-OST0001")]))
    assert found == {"7": pytest.approx(400, rel=0.1), "8": pytest.approx(1200, rel=0.1), "n1": 20_000}


def test_an_address_is_the_node_whose_jobs_moved_its_bytes(jobs, tmp_path):
    """As of clients of NFS 3, which have no names: two addresses, and one that nobody can be."""
    found = by_name(jobs, counted(tmp_path, {"10.0.0.1": 40.0, "10.0.0.2": 5.0, "10.0.0.3": 90.0}))
    assert set(found) == {"7", "8", "9", "10.0.0.3"}


def test_addresses_of_a_job_of_two_nodes_are_none_of_its_neighbours(tmp_path):
    job = Digest(read_profile(write_job(tmp_path / "5", 2, 1, {SLICES: 20.0})))
    found = by_name([job], counted(tmp_path, {"10.0.0.1": 10.2, "10.0.0.2": 10.3, "10.0.0.3": 90.0}))
    assert set(found) == {"5", "10.0.0.3"}


def test_of_two_addresses_that_moved_as_much_the_one_that_goes_on_is_another(jobs, tmp_path):
    both = pl.concat([counted(tmp_path, {"10.0.0.1": 40.0}), counted(tmp_path, {"10.0.0.3": 40.0}, seconds=80)])
    assert by_name(jobs[:2], both)["10.0.0.3"] == pytest.approx(40 * 80)


def test_of_two_addresses_that_may_be_the_node_the_rest_is_told(jobs, tmp_path):
    found = by_name(jobs[:2], counted(tmp_path, {"10.0.0.1": 40.0, "10.0.0.3": 40.0}))
    assert found.pop("the rest of 10.0.0.1 and 10.0.0.3") == pytest.approx(1600, rel=0.05)
    assert set(found) == {"7", "8"}


def test_an_address_that_a_collector_saw_is_its_node_whatever_moved_there(jobs, tmp_path):
    """By bytes, 10.0.0.1 would be n1."""
    counts = counted(tmp_path, {"10.0.0.1": 40.0, "10.0.0.3": 90.0})
    jobs[0].addresses = {"n1": frozenset({"10.0.0.3", "127.0.0.1"})}
    found = by_name(jobs[:2], counts)
    assert set(found) == {"7", "8", "10.0.0.1", "the rest of 10.0.0.3"}
    assert found["the rest of 10.0.0.3"] == pytest.approx(50 * 40, rel=0.05)


def test_an_address_that_two_nodes_have_is_neither(jobs, tmp_path):
    counts = counted(tmp_path, {"10.0.0.1": 40.0, "10.0.0.2": 5.0, "10.0.0.3": 90.0})
    for job in jobs:
        job.addresses = {"n1" if job.job != "9" else "n2": frozenset({"10.0.0.3"})}
    assert set(by_name(jobs, counts)) == {"7", "8", "9", "10.0.0.3"}


def test_addresses_of_a_node_are_those_at_its_ends_of_connections(tmp_path):
    run, own = {"process": 9}, {"kind": "connection", "name": "10.0.0.9:8003 from port 1"}
    collected = {
        "nodes": [run | {"host": "n1", "slice_ns": SLICE_NS}],
        "node_devices": [
            run | {"device": 0, "kind": "network", "name": "eth0"}, run | {"device": 1, "source": "10.0.0.1"} | own,
            run | {"device": 2, "source": "10.0.1.1"} | own, run | {"device": 3, "source": ""} | own,
        ],
        "node_slices": [run | {"slice": FIRST_SLICE, "sampled_ns": SLICE_NS}],
    }  # fmt: skip
    process = {"process": 7, "host": "n1"}
    place = build_profile(tmp_path / "job", [process], [], collected=collected)
    assert Digest(read_profile(place)).addresses == {"n1": {"10.0.0.1", "10.0.1.1"}}
