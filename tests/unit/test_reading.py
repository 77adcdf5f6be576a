"""Many jobs read at once, and only what is asked for."""

import json
from itertools import groupby
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import slicewise
from polars.testing import assert_frame_equal
from slicewise.digest import slices
from slicewise.digest.digest import read_digest
from slicewise.digest.schema import FRAMES
from slicewise.digest.shared import several
from slicewise.errors import UserError
from slicewise.profile.files import job_places
from slicewise.profile.reading import Want, read, read_jobs
from support.command_line import slicewise_command
from support.swz import LAST_FRAME, Frames, Writer, build_profile, schema_text

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/format-1.swz"


@pytest.fixture
def jobs(tmp_path) -> Path:
    """Two jobs, whose processes have the same unique ids."""
    for job, written in (("48213", 5), ("48190", 7)):
        slices = [
            {"process": process, "slice": number, "write_bytes": written, "write_size_2": 1, "write_slowest_ns": number}
            for process in (1, 2)
            for number in (100, 101)
        ]
        build_profile(tmp_path / job, [{"process": 1}, {"process": 2, "host": "n2"}], slices, rows_a_frame=1)
    return tmp_path


def test_many_jobs_are_one_frame_and_are_told_apart(jobs):
    reading = read([jobs], ["slices", "processes"], {"slices": ["write_bytes"]})
    assert [(source.number, source.job, source.path) for source in reading.sources] == [
        (0, "48190", jobs / "48190"),
        (1, "48213", jobs / "48213"),
    ]
    slices = reading.tables["slices"]
    assert slices.columns == ["profile", "process", "mount", "layer", "slice", "write_bytes"]
    assert slices.select("profile", "process", "slice", "write_bytes").rows() == [
        (profile, process, number, written)
        for profile, written in ((0, 7), (1, 5))
        for process in (1, 2)
        for number in (100, 101)
    ]
    assert reading.tables["processes"].select("profile", "process", "job").rows() == [
        (0, 1, "48190"), (0, 2, "48190"), (1, 1, "48213"), (1, 2, "48213")
    ]  # fmt: skip


def test_sums_over_slices(jobs):
    wants = {
        "distributions": Want("slices", ("write_size", "write_slowest_ns"), summed_over=("slice",)),
        "slices": Want("slices", ()),
    }
    reading = read([jobs / "48213"], wants)
    distributions = reading.tables["distributions"]
    assert distributions.columns[:4] == ["profile", "process", "mount", "layer"]
    assert distributions.select("process", "write_size_2", "write_size_3", "write_slowest_ns").rows() == [
        (1, 2, 0, 101),
        (2, 2, 0, 101),
    ]
    assert reading.tables["slices"].columns == ["profile", "process", "mount", "layer", "slice"]


def test_layers_that_are_left_out_and_the_last_slice_of_sums(tmp_path):
    rows = [
        {"process": process, "layer": layer, "slice": number, "write_bytes": number, "write_slowest_ns": 200 - number}
        for process in (1, 2, 3)
        for layer in (("posix", "stdio", "kernel") if process < 3 else ("kernel",))
        for number in (100, 101, 105)
    ]
    job = build_profile(tmp_path / "48213", [{"process": process} for process in (1, 2, 3)], rows, rows_a_frame=2)
    wants = {
        "all": Want("slices", ("write_bytes", "write_slowest_ns")),
        "some": Want("slices", ("write_bytes", "write_slowest_ns"), without=("layer", ("posix", "kernel"))),
        "sums": Want("slices", ("write_bytes",), last_of=("slice",), without=("layer", ("stdio",))),
        "none": Want("slices", ("write_bytes",), without=("layer", ("posix", "kernel", "stdio"))),
    }
    tables = read([job], wants).tables
    assert tables["some"].equals(tables["all"].filter(pl.col("layer") == "stdio"))
    assert tables["sums"].select("process", "layer", "slice", "write_bytes").rows() == [
        (1, "posix", 105, 306), (1, "kernel", 105, 306), (2, "posix", 105, 306), (2, "kernel", 105, 306),
        (3, "kernel", 105, 306),
    ]  # fmt: skip
    assert tables["none"].is_empty()


@pytest.mark.parametrize("mounts", [1, 3, 40])
def test_sums_are_those_of_the_rows(tmp_path, mounts):
    """Also of more keys than the decoder adds up at once."""
    random = np.random.default_rng(mounts)
    choices = (0, 1, 255, 65_536, 1 << 40)
    rows = [
        {
            "process": process, "mount": int(random.integers(mounts)),
            "layer": str(random.choice(["posix", "stdio", "kernel"])), "slice": 100 + number,
            "write_bytes": choices[random.integers(len(choices))], "write_ns": int(random.integers(1 << 20)),
            "write_size_2": int(random.integers(9)), "write_slowest_ns": int(random.integers(1 << 30)),
        }
        for process in (1, 2)
        for number in range(300)
    ]  # fmt: skip
    job = build_profile(tmp_path / "48213", [{"process": 1}, {"process": 2}], rows, rows_a_frame=96)
    columns = ("write_bytes", "write_ns", "write_size", "write_slowest_ns")
    want = Want("slices", columns, last_of=("slice",))
    kept = Want("slices", ("write_ns",), without=("layer", ("kernel",)))
    other = Want("slices", (), summed_over=("mount",), without=("layer", ("kernel", "posix")))
    layers = ("kernel", "stdio")
    added = Want("slices", columns, summed_over=("layer",), only=("layer", layers))
    tables = read([job], {"sums": want, "kept": kept, "other": other, "added": added}).tables
    everything = read([job], ["slices"], {"slices": columns}).tables["slices"]
    keys = ["profile", "process", "mount", "layer"]
    for row in tables["sums"].iter_rows(named=True):
        own = everything.filter(pl.all_horizontal(pl.col(key) == row[key] for key in keys))
        assert row["slice"] == own["slice"].max()
        assert row["write_bytes"] == own["write_bytes"].sum()
        assert row["write_ns"] == own["write_ns"].sum()
        assert row["write_size_2"] == own["write_size_2"].sum()
        assert row["write_slowest_ns"] == own["write_slowest_ns"].max()
    assert tables["sums"].height == everything.select(keys).n_unique()
    assert tables["kept"].equals(everything.filter(pl.col("layer") != "kernel").select(tables["kept"].columns))
    stdio = everything.filter(pl.col("layer") == "stdio").select("profile", "process", "layer", "slice").unique()
    assert tables["other"].equals(stdio.sort(stdio.columns))
    places = ["profile", "process", "mount", "slice"]
    greatest = pl.col("write_slowest_ns").max()
    sums = everything.filter(pl.col("layer").is_in(layers)).group_by(places).agg(
        pl.exclude("layer", "write_slowest_ns").sum(), greatest
    )  # fmt: skip
    assert tables["added"].equals(sums.sort(places).select(tables["added"].columns))
    assert "layer" not in tables["added"].columns


def test_rows_that_replace_each_other_are_not_summed(jobs):
    with pytest.raises(ValueError, match="do not add up"):
        read([jobs], {"mounts": Want("mounts", summed_over=("mount",))})


def test_a_table_that_no_schema_has_is_empty(jobs):
    assert read([jobs], ["tea_breaks"]).tables["tea_breaks"].columns == ["profile", "process"]


def test_damage_is_that_of_its_job(jobs):
    file = jobs / "48190" / "n1.swz"
    file.write_bytes(file.read_bytes()[:-5])
    one, other = read([jobs], ["slices"]).sources
    assert [damage.kind for damage in one.damage] == ["damaged", "unfinished"]
    assert other.damage == ()


def test_a_schema_counts_for_its_own_job_alone(jobs):
    """But for the reader's own: the lost job's is another version's."""
    writer = Writer(schema_text().replace(b'"slicewise 2', b'"slicewise 1', 1))
    build_profile(jobs / "of that version", [{"process": 9}], schema=writer.schema_text)
    lost = Frames([writer.frame(1, 0, writer.rows("processes", [{"job": "lost"}]), LAST_FRAME)])
    lost.write(jobs / "lost" / "n1.swz")
    with pytest.raises(UserError, match=f"{jobs / 'lost'}: no frame of it could be read"):
        read([jobs], ["slices"])


def test_jobs_of_versions_that_number_names_otherwise_are_read_together(jobs):
    other = json.loads(schema_text())
    other["enumerations"]["layers"].reverse()
    row = {"process": 1, "slice": 100, "write_bytes": 3, "layer": "stdio"}
    build_profile(jobs / "other", [{"process": 1}], [row], schema=json.dumps(other).encode())
    slices = read([jobs], ["slices"]).tables["slices"]
    written = slices.group_by("layer").agg(pl.col("write_bytes").sum()).sort("layer")
    assert written.rows() == [("posix", 48), ("stdio", 3)]


@pytest.mark.parametrize("number", [1 << 63, (1 << 64) - 1])
def test_a_slice_that_has_no_sign_bit_left_is_damage(tmp_path, number):
    slices = [{"process": 1, "slice": 5, "write_bytes": 1}, {"process": 1, "slice": number, "write_bytes": 1}]
    reading = read([build_profile(tmp_path / "job", [{"process": 1}], slices, rows_a_frame=1)], ["slices"])
    (source,) = reading.sources
    assert reading.tables["slices"]["slice"].to_list() == [5]
    assert "1 of 3 frames is damaged" in source.damage[0].message


@pytest.mark.parametrize("number", [(1 << 63) - 1, 1 << 40])
def test_a_slice_that_no_clock_can_tell_of_gets_one_line(tmp_path, number):
    directory = build_profile(tmp_path / "job", [{"process": 1}], [{"process": 1, "slice": number}])
    with pytest.raises(UserError, match=r"numbers that no job has \(slices.slice: "):
        read([directory], ["slices"])


def test_a_key_that_does_not_fit_one_number_with_the_others(tmp_path):
    slices = [
        {"process": 1, "mount": mount, "slice": number, "write_bytes": 1}
        for mount in (1 << 60, 3, (1 << 61) - 1)
        for number in (7, 1, 7, 1 << 30)
    ]
    directory = build_profile(tmp_path / "job", [{"process": 1}], slices)
    found = read([directory], ["slices"]).tables["slices"].select("mount", "slice", "write_bytes").rows()
    assert found == [
        (mount, number, written)
        for mount in (3, 1 << 60, (1 << 61) - 1)
        for number, written in ((1, 1), (7, 2), (1 << 30, 1))
    ]


def test_the_number_of_threads_changes_nothing(jobs):
    one, many = (read([jobs], ["slices", "mounts"], threads=threads).tables for threads in (1, 7))
    assert all(one[name].equals(many[name]) for name in one)


def test_a_file_that_vanishes_gets_one_line(tmp_path):
    with pytest.raises(UserError, match="does not exist"):
        read([tmp_path / "absent"], ["slices"])


def test_frames_outlive_their_reading():
    slices = read([GOLDEN], ["slices"]).tables["slices"]
    for _ in range(3):
        read([GOLDEN], ["slices"])
    assert slices.equals(read([GOLDEN], ["slices"]).tables["slices"])


def test_jobs_that_are_read_together_are_what_each_is_alone(jobs):
    """Also one of an older version, whose schema lacks columns and tables, and one whose files are of two versions."""
    old = json.loads(schema_text())
    old["tables"] = [table for table in old["tables"] if table["name"] not in ("unprofiled", "sites")]
    for table in old["tables"]:
        table["columns"] = [column for column in table["columns"] if column["name"] != "mapped_bytes"]
    row = {"process": 1, "slice": 100, "write_bytes": 3}
    former = json.dumps(old).encode()
    build_profile(jobs / "former", [{"process": 1}], [row], schema=former)
    build_profile(jobs / "mixed", [{"process": 1, "host": "n1"}], [row], schema=former)
    build_profile(
        jobs / "later", [{"process": 2, "host": "n2", "job": "mixed"}], [row | {"process": 2, "mapped_bytes": 4}]
    )
    (jobs / "later" / "n2.swz").rename(jobs / "mixed" / "n2.swz")
    (jobs / "later").rmdir()
    places = job_places([jobs, GOLDEN])
    together = several(places, distributions=True)
    assert [digest.path for digest in together] == places
    for digest in together:
        alone = read_digest(digest.path, distributions=True)
        assert (digest.job, digest.slice_ns, digest.damage) == (alone.job, alone.slice_ns, alone.damage)
        assert digest.counter_columns == alone.counter_columns
        assert in_order(digest.counters).equals(in_order(alone.counters))
        for name in FRAMES:
            assert_frame_equal(getattr(digest, name), getattr(alone, name))
    by_job = {digest.job: digest.coverage["mapped"].to_list() for digest in together}
    assert (by_job["former"], by_job["48190"]) == ([None], [0, 0])


def in_order(counters):
    """The frame with its lists, which are sets, in order."""
    return counters.with_columns(pl.col("processes").list.sort())


def test_jobs_that_are_large_together_are_read_one_after_the_other(jobs, monkeypatch):
    expected = [digest.process_slices for digest in several(job_places([jobs]))]
    monkeypatch.setattr("slicewise.profile.many.BYTES_AT_ONCE", 1)
    alone = [digest.process_slices for digest in several(job_places([jobs]))]
    assert len(alone) == 2
    assert all(one.equals(other) for one, other in zip(alone, expected, strict=True))


def test_commands_read_no_more_than_they_need(jobs, monkeypatch):
    asked = []

    def note(places, wants, *arguments, **options):
        asked.append(wants["slices"])
        return read_jobs(places, wants, *arguments, **options)

    monkeypatch.setattr("slicewise.profile.reader.read_jobs", note)
    monkeypatch.setattr("slicewise.digest.shared.read_jobs", note)
    both = [jobs / "48190", jobs / "48213"]
    slicewise.read(both[0])
    slicewise.read_jobs(both)
    assert "no samples of call sites" in slicewise_command("report", "--flamegraph", both[0]).errors
    assert "profiles of the same processes" in slicewise_command("overlap", *both).errors
    # Jobs of the same processes are one.
    assert "No two of these jobs did I/O at the same time" in slicewise_command("study", "campaign", *both).text
    # Jobs of the same processes cannot be asked together, and are read again.
    assert [want for want, _ in groupby(asked)] == [slices.WANTED, slices.NONE, slices.WANTED]
