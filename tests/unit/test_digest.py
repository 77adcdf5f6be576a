"""The digest's frames: as the schema lists them, and what is decided on the way to them."""

from pathlib import Path

import polars as pl
import polars.selectors as cs
import pytest
from slicewise.analysis.overlap.overlap import overlap
from slicewise.digest import Digest
from slicewise.digest.digest import read_digest
from slicewise.digest.full import full_slices
from slicewise.digest.schema import FRAMES
from slicewise.profile.reader import read_profile
from support.swz import START_NS, build_profile
from support.tabled_jobs import EPOCH, MIB, TAU_NS, write_job

S = 1_000_000_000


def digest_of(directory: Path, processes: list[dict], slices: list[dict], **tables) -> Digest:
    return Digest(read_profile(build_profile(directory, processes, slices, **tables), bins=True))


def test_every_frame_has_the_columns_and_types_that_the_schema_lists(tmp_path):
    digest = digest_of(tmp_path / "job", [{"process": 1}], [{"process": 1, "slice": 1, "write_bytes": 1}])
    for name, frame in FRAMES.items():
        assert getattr(digest, name).schema == frame.polars_schema, name
        assert all(key in frame.columns for key in frame.keys), name
        assert all(about.meaning for about in frame.columns.values()), name


def test_layers_that_lie_on_each_other_count_once(tmp_path):
    moved = {"process": 1, "slice": 7, "write_bytes": 4 * MIB, "write_ops": 2, "write_ns": S}
    layers = ("posix", "stdio", "mpiio", "mpiio_coll", "kernel")
    requests = {"process": 1, "slice": 7, "layer": "async", "write_bytes": MIB, "write_ops": 1, "write_ns": 9 * S}
    digest = digest_of(tmp_path / "job", [{"process": 1}], [*(moved | {"layer": layer} for layer in layers), requests])
    (row,) = digest.process_slices.iter_rows(named=True)
    assert (row["write_bytes"], row["write_ops"]) == (9 * MIB, 5)
    assert (row["write_ns"], row["write_request_ns"]) == (2 * S, 9 * S)


def test_a_digest_that_reads_what_it_needs_is_the_same(tmp_path):
    """Whether rows have to be added up over layers and mounts or not, with storages in whatever order."""
    mounts = [
        {"process": process, "mount": mount, "point": f"/{mount}", "source": f"server{mount}:/"}
        for process in (1, 2, 3)
        for mount in (1, 2, 3, 4, 5)
    ] + [{"process": 2, "mount": 6, "object": "pipe", "point": "", "type": "", "source": ""}]
    one_each = [
        {
            "process": process,
            "mount": mount,
            "slice": number,
            "layer": layer,
            "write_bytes": number,
            "write_ns": mount,
            "threads": 2,
        }
        for process in (1, 2)
        for mount, layer in ((1, "posix"), (2, "stdio"), (3, "async"), (4, "posix"), (5, "posix"))
        for number in range(7, 12)
    ]
    pipes = [{"process": 2, "mount": 6, "slice": 90, "layer": "posix", "write_bytes": 5}]
    above = [{"process": 1, "mount": 1, "slice": 95, "layer": layer, "write_bytes": 5} for layer in ("mpiio", "kernel")]
    several = [row | {"layer": "stdio", "threads": 3} for row in one_each if row["mount"] == 1]
    both = [row | {"layer": "async", "read_ns": 7, "sync_ns": 1} for row in one_each if row["mount"] == 1]
    for name, slices in (
        ("plain", one_each + pipes + above),
        ("several", one_each + pipes + above + several),
        ("requests", one_each + both + pipes + above + several),
    ):
        job = build_profile(tmp_path / name, [{"process": 1}, {"process": 2}, {"process": 3}], slices, mounts)
        whole, digest, in_sum = Digest(read_profile(job)), read_digest(job), read_digest(job, in_sum=True)
        expected = slow_process_slices(read_profile(job).slices, whole)
        for found in (whole, digest):
            assert found.process_slices.equals(expected), name
        for frame in ("processes", "mounts", "coverage", "counters"):
            told = in_order(getattr(whole, frame))
            assert in_order(getattr(digest, frame)).equals(told), frame
            assert in_order(getattr(in_sum, frame)).equals(told), frame
        for found in (whole, digest, in_sum):
            assert sorted(found.active_slices) == [7, 8, 9, 10, 11, 90, 95]
        with pytest.raises(ValueError, match="read in sum"):
            _ = in_sum.process_slices


def in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with its lists, which are sets, in order."""
    return frame.with_columns(cs.list().list.sort())


def slow_process_slices(rows: pl.DataFrame, digest: Digest) -> pl.DataFrame:
    """By its definition."""
    found: dict[tuple, dict] = {}
    storages = {(process, point): storage for process, storage, point in digest.mounts.select(
        "process", "storage", "point").iter_rows()}  # fmt: skip
    for row in rows.iter_rows(named=True):
        storage = storages.get((row["process"], f"/{row['mount']}"))
        if storage is None or row["layer"] not in ("posix", "stdio", "async"):
            continue
        key = {"process": row["process"], "storage": storage, "slice": row["slice"]}
        into = found.setdefault(tuple(key.values()), key | {"threads": 1, "spread": 1, "fetched_read_bytes": None})
        for name, value in row.items():
            if name.endswith(("_bytes", "_ops")):
                into[name] = into.get(name, 0) + value
            elif name.endswith("_ns"):
                name = name.replace("_ns", "_request_ns") if row["layer"] == "async" else name
                into[name] = into.get(name, 0) + value
        into["threads"] = max(into["threads"], row["threads"])
    columns = FRAMES["process_slices"].polars_schema
    full = [{name: row.get(name, 0) for name in columns} for _, row in sorted(found.items())]
    return pl.DataFrame(full, schema=columns)


def test_mpirun_is_not_the_job(tmp_path):
    processes = [{"process": 1, "rank": 0, "ranks": 1}, {"process": 2, "program": "/usr/bin/mpirun"}]
    moved = {"slice": 1, "write_bytes": MIB, "write_ns": S}
    digest = digest_of(tmp_path / "job", processes, [{"process": 1} | moved, {"process": 2} | moved])
    own = digest.processes.filter("is_of_job")
    assert own["process"].to_list() == [1]
    assert digest.jobs["write_bytes"].item() == MIB


PARENT = {"process": 1, "program": "/bin/sh"}
WORKER = {"process": 2, "program": "/opt/worker"}


@pytest.mark.parametrize(
    ("beside", "matters"),
    [
        ({"write_bytes": 1024, "write_ns": S // 1000}, False),  # a log
        ({"write_bytes": 10 * MIB, "write_ns": S // 1000}, True),  # 2 % of the worker's bytes
        ({"read_bytes": MIB, "read_ns": S // 1000}, False),  # the only reader, of next to nothing
        ({"read_bytes": 50 * MIB, "read_ns": S // 1000}, True),  # the only reader, of a tenth
        ({"meta_ops": 5000, "meta_ns": S}, True),  # a tenth of the worker's time, without a byte
        ({"meta_ops": 5, "meta_ns": S // 100}, False),
        ({}, False),
    ],
)
def test_a_process_matters_by_its_bytes_or_by_its_time(tmp_path, beside, matters):
    work = {"process": 2, "slice": 1, "write_bytes": 500 * MIB, "write_ns": 10 * S}
    slices = [work, {"process": 1, "slice": 1} | beside] if beside else [work]
    digest = digest_of(tmp_path / "job", [PARENT, WORKER], slices)
    found = dict(digest.processes.select("process", "matters").iter_rows())
    assert found == {1: matters, 2: True}
    assert digest.jobs["processes"].item() == 1 + matters
    assert digest.jobs["program"].item() == "worker"


@pytest.mark.parametrize(("moved", "matters"), [({"write_bytes": 48 * MIB}, False), ({}, True)])
def test_little_time_matters_where_there_are_no_bytes(tmp_path, moved, matters):
    """A parent that looks for its settings for 5 ms, beside a worker whose calls take 60 ms of a minute."""
    lives = {"start_ns": START_NS, "end_ns": START_NS + 60 * S}
    slices = [
        {"process": 1, "slice": 1, "meta_ops": 600, "meta_ns": S // 200},
        {"process": 2, "slice": 1, "meta_ops": 5, "meta_ns": 6 * S // 100, **moved},
    ]
    digest = digest_of(tmp_path / "job", [PARENT | lives, WORKER | lives], slices)
    assert dict(digest.processes.select("process", "matters").iter_rows()) == {1: matters, 2: True}


def test_a_parents_log_changes_no_region_no_ratio_and_no_match(tmp_path):
    """A worker of 500 MiB beside a parent that writes a line of a log, against the same job without the log."""

    def job(name: str, with_log: bool) -> Digest:
        directory = tmp_path / f"{name}-{with_log}"
        lives = {"start_ns": EPOCH * TAU_NS, "end_ns": (EPOCH + 10) * TAU_NS}
        ids = {"process": hash(directory) % 1000 * 2}, {"process": hash(directory) % 1000 * 2 + 1}
        slices = [ids[1] | {"slice": EPOCH + at, "write_bytes": 50 * MIB, "write_ns": 4 * S} for at in range(10)]
        if with_log:
            slices.append(ids[0] | {"slice": EPOCH + 4, "write_bytes": 1024, "write_ns": 1000})
        return digest_of(directory, [PARENT | lives | ids[0], WORKER | lives | ids[1]], slices)

    other = write_job(tmp_path / "other", [[25] * 10])
    with_log, without = (overlap([job("job", logs), other]).directions["write"] for logs in (True, False))
    assert with_log.regions == without.regions
    assert with_log.ratio == without.ratio
    assert with_log.ratio.processes == 1
    assert with_log.jobs[0].uniformity.rsd == without.jobs[0].uniformity.rsd == 0


def test_a_full_slice_has_all_processes_and_is_no_end():
    rows = [(job, process, at) for job, last in (("a", 5), ("b", 4)) for process in range(10) for at in range(last)]
    rows = [row for row in rows if row not in {("a", 0, 2), ("a", 1, 2), ("a", 0, 3)}]
    frame = pl.DataFrame(rows, schema=["job", "process", "slice"], orient="row").with_columns(bytes=pl.lit(1))
    assert full_slices(frame).rows() == [("a", 1, 10), ("a", 3, 9), ("b", 1, 10), ("b", 2, 10)]


def test_a_storage_has_one_number_wherever_it_is_mounted(tmp_path):
    network = {"type": "lustre", "source": "mds1:/scratch"}
    here, there = (
        write_job(tmp_path / host, [[4] * 3], host=host, mount=network | {"point": point})
        for host, point in (("n1", "/scratch"), ("n2", "/mnt/scratch"))
    )
    assert here.storages["storage"].to_list() == there.storages["storage"].to_list()
    local = [write_job(tmp_path / f"local-{host}", [[4] * 3], host=host, mount={"type": "ext4", "source": "/dev/sda"})
             for host in ("n1", "n2")]  # fmt: skip
    assert local[0].storages["storage"].to_list() != local[1].storages["storage"].to_list()
