"""The digest's frames: as the schema lists them, and what is decided on the way to them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.overlap.overlap import overlap
from slicewise.digest import Digest
from slicewise.digest.describe import page
from slicewise.digest.full import full_slices
from slicewise.digest.schema import FRAMES
from slicewise.profile.reader import read_profile
from support.swz import build_profile
from support.tabled_jobs import EPOCH, MIB, TAU_NS, write_job

S = 1_000_000_000
DOCS = Path(__file__).resolve().parents[2] / "docs"


def digest_of(directory: Path, processes: list[dict], slices: list[dict], **tables) -> Digest:
    return Digest(read_profile(build_profile(directory, processes, slices, **tables), bins=True))


def test_every_frame_has_the_columns_and_types_that_the_schema_lists(tmp_path):
    digest = digest_of(tmp_path / "job", [{"process": 1}], [{"process": 1, "slice": 1, "write_bytes": 1}])
    for name, frame in FRAMES.items():
        assert getattr(digest, name).schema == frame.polars_schema, name
        assert all(key in frame.columns for key in frame.keys), name
        assert all(about.meaning for about in frame.columns.values()), name


def test_the_page_is_made_from_the_schema():
    assert (DOCS / "digest.md").read_text(encoding="utf-8") == page(), "run make docs"


def test_layers_that_lie_on_each_other_count_once(tmp_path):
    moved = {"process": 1, "slice": 7, "write_bytes": 4 * MIB, "write_ops": 2, "write_ns": S}
    layers = ("posix", "stdio", "mpiio", "mpiio_coll", "kernel")
    requests = {"process": 1, "slice": 7, "layer": "async", "write_bytes": MIB, "write_ops": 1, "write_ns": 9 * S}
    digest = digest_of(tmp_path / "job", [{"process": 1}], [*(moved | {"layer": layer} for layer in layers), requests])
    (row,) = digest.process_slices.iter_rows(named=True)
    assert (row["write_bytes"], row["write_ops"]) == (9 * MIB, 5)
    assert (row["write_ns"], row["write_request_ns"]) == (2 * S, 9 * S)


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
