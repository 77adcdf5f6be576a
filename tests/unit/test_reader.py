"""What the reader makes of sound files: rows that add up, rows that replace, names, bins, schemas that differ."""

import json

import polars as pl
import pytest
from slicewise.profile.reader import read_profile
from support.swz import LAST_FRAME, START_NS, Frames, Writer, build_profile, schema_text

TWO_PROCESSES = [{"process": 1, "rank": 0, "host": "n1"}, {"process": 2, "rank": 1, "host": "n2"}]


def test_all_tables_come_back(tmp_path):
    profile = read_profile(
        build_profile(
            tmp_path / "48213",
            processes=TWO_PROCESSES,
            slices=[{"process": 2, "slice": 100, "write_bytes": 5, "write_ops": 1, "layer": "stdio"}],
            files=[{"process": 1, "file": 1, "path": "/scratch/Übung 1", "write_bytes": 7}],
            calls=[{"process": 1, "operation": "pwrite", "calls": 3}],
            mishaps=[{"process": 2, "mishap": "bad_setting", "count": 2}],
        )
    )
    assert (profile.job, profile.slice_ns, profile.damage) == ("48213", 4_000_000_000, [])
    assert profile.processes.select("process", "pid", "host", "rank", "ending", "start_ns").rows() == [
        (1, 1, "n1", 0, "exit", START_NS),
        (2, 2, "n2", 1, "exit", START_NS),
    ]
    assert profile.mounts.filter(mount=1).select("process", "object", "point", "source").rows() == [
        (1, "file", "/scratch", "mds1:/scratch"),
        (2, "file", "/scratch", "mds1:/scratch"),
    ]
    keys = ("process", "mount", "layer", "slice")
    assert profile.slices.select(*keys, "write_bytes").rows() == [(2, 1, "stdio", 100, 5)]
    assert profile.files.select("process", "file", "path", "write_bytes").rows() == [(1, 1, "/scratch/Übung 1", 7)]
    assert profile.calls.rows() == [(1, "pwrite", 3)]
    assert profile.mishaps.rows() == [(2, "bad_setting", 2)]


def test_one_file_of_a_job_is_a_profile_too(tmp_path):
    directory = build_profile(tmp_path / "48213", processes=TWO_PROCESSES)
    assert read_profile(directory / "n2.swz").processes["process"].to_list() == [2]


def test_ranks_may_be_negative(tmp_path):
    profile = read_profile(build_profile(tmp_path / "job", processes=[{"process": 1}, {"process": 2, "rank": 5}]))
    assert profile.processes["rank"].to_list() == [-1, 5]
    assert profile.processes.schema["rank"] == pl.Int64


def test_counters_that_no_row_holds_are_zero(tmp_path):
    slices = [{"process": 1, "slice": 7, "read_ops": 1}]
    profile = read_profile(build_profile(tmp_path / "job", [{"process": 1}], slices))
    assert profile.slices["sync_slowest_ns"].to_list() == [0]
    assert profile.slices.schema["sync_slowest_ns"] == pl.UInt64
    assert profile.slices.schema["slice"] == pl.Int64


def test_a_column_that_only_later_rows_hold_is_zero_before(tmp_path):
    slices = [{"process": 1, "slice": 1, "read_ops": 1}, {"process": 1, "slice": 2, "read_ops": 1, "errors": 4}]
    profile = read_profile(build_profile(tmp_path / "job", [{"process": 1}], slices, rows_a_frame=1))
    assert profile.slices["errors"].to_list() == [0, 4]


def test_a_profile_without_rows_of_slices_has_the_columns(tmp_path):
    profile = read_profile(build_profile(tmp_path / "job", [{"process": 1}]))
    assert profile.slices.is_empty()
    assert {"process", "mount", "layer", "slice", "write_bytes"} <= set(profile.slices.columns)


@pytest.mark.parametrize("rows_a_frame", [1, 3, 64])
def test_rows_of_one_key_add_up_by_their_merge(tmp_path, rows_a_frame):
    slices = [
        {"process": 1, "slice": 10, "write_bytes": 3, "write_slowest_ns": 50},
        {"process": 1, "slice": 11, "write_bytes": 1},
        {"process": 1, "slice": 10, "write_bytes": 4, "write_slowest_ns": 20},
        {"process": 1, "slice": 10, "write_bytes": 5, "layer": "mpiio"},
    ]
    profile = read_profile(build_profile(tmp_path / "job", [{"process": 1}], slices, rows_a_frame=rows_a_frame))
    assert set(profile.slices.select("layer", "slice", "write_bytes", "write_slowest_ns").rows()) == {
        ("posix", 10, 7, 50),
        ("posix", 11, 1, 0),
        ("mpiio", 10, 5, 0),
    }


def test_sums_keep_64_bits(tmp_path):
    half = 1 << 59
    slices = [{"process": 1, "slice": 10, "write_bytes": half}, {"process": 1, "slice": 10, "write_bytes": half + 5}]
    profile = read_profile(build_profile(tmp_path / "job", [{"process": 1}], slices))
    assert profile.slices["write_bytes"].to_list() == [2 * half + 5]


def test_the_highest_frame_has_the_last_word_wherever_it_lies(tmp_path):
    writer = Writer()

    def head(ending: str, calls: int) -> bytes:
        process = {"job": "job", "pid": 9, "ending": ending}
        return writer.rows("processes", [process]) + writer.rows("calls", [{"operation": "read", "calls": calls}])

    early, late = writer.frame(1, 0, head("running", 10)), writer.frame(1, 1, head("exit", 25), LAST_FRAME)
    for frames in ([early, late], [late, early]):
        file = Frames([writer.schema_frame(), *frames]).write(tmp_path / "job.swz")
        profile = read_profile(file)
        assert profile.processes["ending"].to_list() == ["exit"]
        assert profile.calls["calls"].to_list() == [25]
        assert profile.damage == []


def test_a_frame_that_is_there_twice_counts_once(tmp_path):
    writer = Writer()
    payload = writer.rows("processes", [{"job": "job"}]) + writer.rows("slices", [{"slice": 1, "write_bytes": 8}])
    frame = writer.frame(1, 0, payload, LAST_FRAME)
    profile = read_profile(Frames([writer.schema_frame(), frame, frame]).write(tmp_path / "job.swz"))
    assert profile.slices["write_bytes"].to_list() == [8]
    assert profile.damage == []


def test_bins_are_there_only_if_asked_for(tmp_path):
    slices = [{"process": 1, "slice": 1, "write_size_6": 4}, {"process": 1, "slice": 1, "write_size_6": 5}]
    directory = build_profile(tmp_path / "job", [{"process": 1}], slices)
    assert "write_size_6" not in read_profile(directory).slices.columns
    with_bins = read_profile(directory, bins=True)
    assert with_bins.slices["write_size_6"].to_list() == [9]
    assert with_bins.slices["read_latency_27"].to_list() == [0]
    assert with_bins.schema.bin_edges["write_size"][:3] == (0, 101, 1025)
    assert with_bins.schema.bin_edges["read_latency"][:4] == (0, 128, 256, 512)


def test_files_of_versions_that_number_names_and_columns_otherwise_are_read_together(tmp_path):
    other = json.loads(schema_text())
    other["enumerations"]["layers"].insert(0, {"name": "object_store", "meaning": "a layer of another version"})
    other["enumerations"]["endings"].reverse()
    tables = {table["name"]: table for table in other["tables"]}
    tables["slices"]["columns"].reverse()
    tables["slices"]["columns"].insert(
        0, {"name": "tea_breaks", "type": "U64", "unit": "count", "merge": "SUM", "meaning": "none"}
    )
    other["tables"].reverse()
    directory = build_profile(
        tmp_path / "job", TWO_PROCESSES[:1], [{"process": 1, "slice": 1, "layer": "stdio", "read_ops": 3}]
    )
    row = {"process": 2, "slice": 1, "read_ops": 4, "tea_breaks": 1}
    others = [row | {"layer": "posix"}, row | {"layer": "object_store"}]
    build_profile(directory, TWO_PROCESSES[1:], others, schema=json.dumps(other).encode())
    profile = read_profile(directory)
    assert set(profile.slices.select("process", "layer", "read_ops", "tea_breaks").rows()) == {
        (1, "stdio", 3, 0),
        (2, "posix", 4, 1),
        (2, "object_store", 4, 1),
    }
    assert profile.processes["ending"].to_list() == ["exit", "exit"]


def test_a_name_that_the_schema_does_not_list_is_unknown(tmp_path):
    profile = read_profile(build_profile(tmp_path / "job", [{"process": 1, "ending": 99}]))
    assert profile.processes["ending"].to_list() == ["unknown"]


def test_frames_before_their_schema_are_read(tmp_path):
    writer = Writer()
    frame = writer.frame(1, 0, writer.rows("processes", [{"job": "job"}]), LAST_FRAME)
    profile = read_profile(Frames([frame, writer.schema_frame()]).write(tmp_path / "job.swz"))
    assert profile.processes.height == 1
    assert profile.damage == []


def test_a_schema_in_another_nodes_file_will_do(tmp_path):
    writer = Writer()
    directory = build_profile(tmp_path / "job", TWO_PROCESSES[1:])
    Frames([writer.frame(1, 0, writer.rows("processes", [{"job": "job"}]), LAST_FRAME)]).write(directory / "n1.swz")
    assert read_profile(directory).processes["process"].to_list() == [1, 2]
