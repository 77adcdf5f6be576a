"""What the user's cache keeps of profiles: found again while their files are as they were, and never else."""

import os

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slicewise import user_cache
from slicewise.analysis.blame.case import case_of, large_neighbour
from slicewise.analysis.calls import OF_JOBS, job_rows
from slicewise.digest import large
from slicewise.digest import outlines as outlines_of_jobs
from slicewise.digest.digest import read_digest
from slicewise.digest.outlines import outlines
from slicewise.digest.surroundings import Surroundings
from slicewise.profile import many
from support.jobs import write_competing_jobs
from support.runs import metadata, write_run, wrote
from support.swz import build_profile


@pytest.fixture(autouse=True)
def keeps_everything(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(outlines_of_jobs, "LEAST_BYTES", 1)
    monkeypatch.setattr(large, "LARGE_BYTES", 1)
    monkeypatch.setattr(outlines_of_jobs, "LARGE_BYTES", 1)
    monkeypatch.setattr(outlines_of_jobs, "SETTLED_NS", -1)


def refuse(*_, **__):
    raise AssertionError("a profile was read")


def jobs_in(directory):
    rows = [{at: wrote(10, 0.5) | metadata(5, 0.1) for at in range(10)}] * 3
    idle = write_run(directory / "idle", 10, [{at: metadata(5, 0.1) for at in range(3)}])
    return [write_run(directory / "job", 10, rows), *write_competing_jobs(directory, "a", "b"), idle]


def as_rows(found):
    order = ["storage", "begin_ns"]
    return [
        (one.place, one.program, one.did, one.storages, one.ids, one.active.select(*order, "end_ns").sort(order).rows())
        for one in found
    ]


def test_outlines_are_found_again(tmp_path, monkeypatch):
    places = jobs_in(tmp_path / "jobs")
    fresh = as_rows(outlines(places))
    monkeypatch.setattr("slicewise.digest.outlines.read_jobs", refuse)
    monkeypatch.setattr("slicewise.digest.outlines.parts_of", refuse)
    assert as_rows(outlines(places)) == fresh
    assert as_rows(outlines(places[1:])) == fresh[1:]
    with pytest.raises(AssertionError, match="was read"):
        outlines([*places, write_competing_jobs(tmp_path / "jobs", "c", "d")[0]])


def test_a_changed_profile_is_read_again(tmp_path):
    place, *_, other = jobs_in(tmp_path / "jobs")
    before = outlines([place, other])
    (file,) = place.glob("*.swz")
    (longer,) = other.glob("*.swz")
    file.write_bytes(longer.read_bytes())
    after = outlines([place, other])
    assert after[0].ids == before[1].ids != before[0].ids
    assert as_rows(after[1:]) == as_rows(before[1:])


def test_times_that_are_set_back_do_not_hide_a_change(tmp_path):
    place, *_ = jobs_in(tmp_path / "jobs")
    (file,) = place.glob("*.swz")
    state, status = outlines_of_jobs.state_of(place), file.stat()
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert outlines_of_jobs.state_of(place) != state


def test_what_changed_just_now_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(outlines_of_jobs, "SETTLED_NS", 3_600_000_000_000)
    outlines(jobs_in(tmp_path / "jobs"))
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    "harm", [lambda content: content[:-1], lambda _: b"", lambda content: content[:20] + b"x" + content[21:]]
)
def test_a_damaged_cache_is_as_none(tmp_path, harm):
    places = jobs_in(tmp_path / "jobs")
    fresh = as_rows(outlines(places))
    (kept,) = (tmp_path / "cache/slicewise/outlines").iterdir()
    kept.write_bytes(harm(kept.read_bytes()))
    assert as_rows(outlines(places)) == fresh


def test_another_version_does_not_take_it(monkeypatch):
    user_cache.keep("kind", "key", b"content")
    assert user_cache.kept("kind", "key") == b"content"
    assert user_cache.kept("kind", "another") is None
    monkeypatch.setattr(user_cache, "__version__", "another")
    assert user_cache.kept("kind", "key") is None


def test_the_oldest_go(tmp_path, monkeypatch):
    monkeypatch.setattr(user_cache, "MOST_BYTES", 250)
    for number in range(4):
        user_cache.keep("kind", str(number), bytes(84))
        for file in (tmp_path / "cache/slicewise/kind").iterdir():
            os.utime(file, ns=(0, file.stat().st_mtime_ns - 1_000_000_000))
    assert [user_cache.kept("kind", str(number)) is not None for number in range(4)] == [False, False, True, True]


def test_a_large_neighbour_is_what_its_digest_is(tmp_path, monkeypatch):
    place, *_ = jobs_in(tmp_path / "jobs")
    whole = read_digest(place)
    made = large_neighbour(place)
    monkeypatch.setattr(large, "parts_of", refuse)
    for one in (made, large_neighbour(place)):
        assert_frame_equal(one.together, job_rows([whole], whole.slice_ns).select(list(OF_JOBS)))
        for name in ("jobs", "processes", "storages", "mounts", "mishaps", "coverage", "calls"):
            assert_frame_equal(getattr(one, name), getattr(whole, name))
        for name in ("process_slices", "files"):  # read when asked for
            assert_frame_equal(getattr(one, name), getattr(whole, name))
        assert sorted(one.active_slices) == sorted(whole.active_slices)


def mapping_job(directory, begin=1_700_000_000):
    """A job that reads 64 MiB of a mapped file in ten seconds."""
    second, mib = 10**9, 1 << 20
    process = {"process": 77, "slice_ns": second, "start_ns": begin * second, "end_ns": (begin + 10) * second}
    looks = [
        {"process": 77, "number": at, "slice": begin + at, "sampled_ns": second, "major_faults": 50} for at in range(10)
    ]
    slices = [
        {"process": 77, "slice": begin, "meta_ops": 9, "meta_ns": 10**6, "mapped_bytes": 64 * mib},
        {"process": 77, "slice": begin, "layer": "kernel", "mount": 0, "kernel_read_bytes": 64 * mib},
    ]
    return build_profile(directory, [process], slices, usage=looks)


def test_what_a_large_neighbour_read_by_mapped_files_counts(tmp_path):
    place = mapping_job(tmp_path / "jobs" / "mapper")
    whole = read_digest(place)
    expected = job_rows([whole], whole.slice_ns).select(list(OF_JOBS))
    assert expected["read_bytes"].sum() == pytest.approx(64 << 20, abs=10)
    for _ in range(2):
        assert_frame_equal(large_neighbour(place).together, expected)


def test_of_a_large_job_of_another_time_its_outline_alone_is_kept(tmp_path):
    begins = {"own": 1000, "late": 2000, "near": 1005}
    own, late, near = (mapping_job(tmp_path / "jobs" / name, at) for name, at in begins.items())
    around = Surroundings(together_of=lambda digest: job_rows([digest], digest.slice_ns).drop("job"))
    around.nearby(own)
    assert len(list((tmp_path / "cache/slicewise/neighbours").iterdir())) == 1
    assert {one.place for one in outlines([own, late, near])} == {own, late, near}


def test_blame_is_the_same_of_large_neighbours(tmp_path, monkeypatch):
    own, _ = write_competing_jobs(tmp_path / "jobs", "a", "b")
    known = case_of(own).result()
    again = case_of(own)
    assert again.neighbours[0].together is not None
    monkeypatch.setattr(large, "LARGE_BYTES", 1 << 40)
    small = case_of(own)
    assert small.neighbours[0].together is None
    expected = small.result()
    assert expected.neighbours
    monkeypatch.setattr(large, "read_profile", refuse)  # whoever is named is not read once more
    for result in (known, again.result()):
        assert_frame_equal(result.shares, expected.shares)
        assert result.neighbours == expected.neighbours
        assert result.lost == expected.lost


def test_a_process_in_two_files_is_read_at_once(tmp_path):
    rows = [{at: wrote(10, 0.5) for at in range(10)}] * 2
    place = write_run(tmp_path / "job", 10, rows)
    (file,) = place.glob("*.swz")
    assert large_neighbour(place) is not None
    file.with_name("copy.swz").write_bytes(file.read_bytes())
    with pytest.raises(many.Whole):
        list(many.parts_of(place, large.WANTS))
    assert large_neighbour(place) is None
    assert [one.did["processes"] for one in outlines([place])] == [2]


def test_parts_are_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(many, "BYTES_AT_ONCE", 1)
    place, _ = write_competing_jobs(tmp_path, "a", "b")
    files = len(list(place.glob("*.swz")))
    assert files == len(list(many.parts_of(place, large.WANTS))) > 1
    whole, (outline,) = read_digest(place), outlines([place])
    assert outline.did["write_bytes"] == whole.about["write_bytes"]
    assert outline.active["begin_ns"].min() >= whole.about["start_ns"]
    found = large_neighbour(place)
    assert_frame_equal(found.processes, whole.processes)
    assert_frame_equal(found.together, job_rows([whole], whole.slice_ns).select(list(OF_JOBS)))
    assert isinstance(found.together, pl.DataFrame)
