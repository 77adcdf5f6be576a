"""A catalog keeps every job once, with the very frames that its digest has, and is whole whoever dies."""

import json
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from slicewise.catalog.check import check
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.kept import KeptDigest, find_job
from slicewise.catalog.prune import prune_older
from slicewise.catalog.schema import FRAMES, NAMES
from slicewise.catalog.store import Catalog, Journal, Writing, day_of, in_order, number_of_name, opened_here
from slicewise.constants import DAY_NS
from slicewise.digest.digest import read_digest
from slicewise.digest.processes import usage_in_sum
from slicewise.digest.schema import FRAMES as DIGEST_FRAMES
from slicewise.digest.shared import read_digests
from slicewise.errors import UserError
from support.catalogs import catalog_of
from support.command_line import answer_of, refusal_of, slicewise_command
from support.hostile import sound_tables
from support.hostile import write_job as write_hostile_job
from support.jobs import write_competing_jobs, write_job
from support.runs import write_run, wrote
from unit.test_catalog_damage import COMMANDS

KILLS = int(os.environ.get("SLICEWISE_TEST_KILLS", "5"))
PAIRS = int(os.environ.get("SLICEWISE_TEST_PAIRS", "1"))
# Takes jobs in one by one, each into a batch of its own, so that there are many moments to be killed at.
SLOWLY = """
import sys
from pathlib import Path
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.store import Catalog
catalog = Catalog.make(Path(sys.argv[1]))
print("begins", flush=True)
ingest(catalog, places([Path(sys.argv[2])]), rows_a_batch=1, jobs_at_once=2)
"""


def contents(catalog: Path) -> dict[str, pl.DataFrame]:
    """All frames of a catalog, in an order that does not depend on its batches."""
    opened = Catalog(catalog)
    assert check(opened) == []
    return {name: opened.scan(name).collect().sort(frame.keys) for name, frame in FRAMES.items()}


def assert_equal(one: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> None:
    for name in FRAMES:
        assert one[name].equals(other[name]), name


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fourteen jobs of six days, one of them there twice, one no profile, in directories of two users."""
    directory = tmp_path_factory.mktemp("jobs")
    write_competing_jobs(directory / "anna", interface="eth0")
    for number in range(12):
        begin = number * 8_000
        write_job(directory / "otto" / "deep" / f"9{number:02}", 2, 1, {range(begin, begin + 5): 50.0})
    shutil.copytree(directory / "otto" / "deep" / "903", directory / "otto" / "copy-of-903")
    (directory / "otto" / "empty").mkdir()
    (directory / "otto" / "empty" / "n1.swz").write_bytes(b"")
    return directory


@pytest.fixture(scope="module")
def undisturbed(jobs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    catalog = tmp_path_factory.mktemp("undisturbed") / "catalog"
    done = ingest(Catalog.make(catalog), places([jobs]))
    assert (done.added, done.known, done.replaced) == (14, 1, 0)
    assert [line.partition(":")[0] for line in done.unread] == [str(jobs / "otto" / "empty")]
    return catalog


def test_a_kept_job_has_the_frames_of_its_digest(jobs, undisturbed, tmp_path):
    hostile = write_hostile_job(tmp_path / "hostile", sound_tables())
    catalog = catalog_of(tmp_path / "catalog", hostile)
    cases = [(Catalog(undisturbed), digest) for digest in read_digests(sorted((jobs / "anna").iterdir()))]
    for opened, digest in [*cases, (catalog, read_digest(hostile))]:
        kept = KeptDigest(opened, find_job(opened, digest.job))
        assert (kept.slice_ns, kept.node_slice_ns) == (digest.slice_ns, digest.node_slice_ns)
        for name in set(DIGEST_FRAMES) & set(FRAMES):
            own, found = getattr(digest, name), getattr(kept, name)
            own = usage_in_sum(own) if name == "usage" else own
            keys = list(DIGEST_FRAMES[name].keys)
            assert found.schema == DIGEST_FRAMES[name].polars_schema
            assert own.sort(keys).equals(found.sort(keys)), name


def test_a_storage_has_the_name_by_which_its_job_mounted_it(tmp_path):
    """Whichever jobs came into the catalog with it."""
    for name in ("one", "two"):
        mounts = {"type": "nfs4", "source": f"{name}:/home", "address": "10.0.0.9"}
        write_run(tmp_path / "jobs" / name, 10, [{0: wrote(10, 0.5)}], mounts=mounts)
    catalog = catalog_of(tmp_path / "catalog", tmp_path / "jobs")
    first, second = read_digests(sorted((tmp_path / "jobs").iterdir()))
    assert first.storages["storage"].to_list() == second.storages["storage"].to_list()
    for digest in (first, second):
        assert KeptDigest(catalog, find_job(catalog, digest.job)).storages.equals(digest.storages)


def test_paths_are_kept_as_absolute_ones(jobs, tmp_path, monkeypatch):
    monkeypatch.chdir(jobs / "anna")
    catalog = catalog_of(tmp_path / "catalog", Path("48213"), Path("48190/n6.swz"))
    kept = catalog.scan("jobs").collect()["path"].sort().to_list()
    assert kept == [str(jobs / "anna" / "48190" / "n6.swz"), str(jobs / "anna" / "48213")]


def test_every_row_lies_in_the_day_in_which_its_job_began(undisturbed):
    pattern = f"{undisturbed}/day=*/batch=*/jobs.parquet"
    jobs = pl.scan_parquet(pattern, hive_partitioning=True).collect()
    assert jobs["day"].cast(pl.String).to_list() == [day_of(start) for start in jobs["start_ns"]]
    assert jobs["day"].n_unique() == 6


def test_what_is_there_already_is_not_read_again(jobs, undisturbed, monkeypatch):
    before = contents(undisturbed)
    read = []
    monkeypatch.setattr(
        "slicewise.catalog.ingest.read_rows", lambda chunk, unread, salt: read.extend(chunk) or iter(())
    )
    again = ingest(Catalog(undisturbed), places([jobs]))
    # The copy and the empty one are in no catalog by these files.
    assert (again.added, again.known) == (0, 14)
    assert len(read) == 2
    assert_equal(before, contents(undisturbed))


def test_a_copy_is_not_called_fuller(jobs, tmp_path):
    """Whichever of the two stays: a catalog is the same in whatever order copies come in."""
    for name in ("first", "zuletzt"):
        shutil.copytree(jobs / "anna" / "48213", tmp_path / name / "48213")
    both = Catalog.make(tmp_path / "both")
    assert ingest(both, places([tmp_path / "zuletzt"])).added == 1
    done = ingest(both, places([tmp_path / "first"]))
    assert (done.added, done.known, done.replaced) == (0, 1, 0)
    assert Path(find_job(both, "48213").row["path"]).parent.name == "first"


def test_a_fuller_profile_takes_the_place_of_one_that_lacks_a_node(jobs, tmp_path):
    whole = jobs / "anna" / "48213"
    part = tmp_path / "part" / "48213"
    part.mkdir(parents=True)
    shutil.copy(whole / "n2.swz", part)
    both = Catalog.make(tmp_path / "both")
    assert ingest(both, places([part, jobs / "anna" / "48190"])).added == 2
    assert find_job(both, "48213").row["missing_ranks"] == 48
    done = ingest(both, places([whole]))
    assert (done.added, done.replaced) == (0, 1)
    assert ingest(both, places([part])).known == 1
    plain = catalog_of(tmp_path / "plain", jobs / "anna")
    assert_equal(contents(both.path), contents(plain.path))


def test_small_batches_of_a_day_are_put_together(jobs, tmp_path):
    catalog = Catalog.make(tmp_path / "catalog")
    names = [path for path in sorted((jobs / "otto" / "deep").iterdir()) if path.name < "903"]
    for number in range(4):
        for name in names:
            copy = tmp_path / f"{name.name}-{number}"
            begin = 1000 * number + 10 * int(name.name)
            ingest(catalog, places([write_job(copy, 1, 1, {range(begin, begin + 4): 20.0})]))
    assert sum(batch.jobs for batch in catalog.batches()) == 12
    assert len(catalog.batches()) < 8
    assert check(catalog) == []


def test_prune_removes_whole_days(undisturbed, tmp_path):
    catalog = Catalog(shutil.copytree(undisturbed, tmp_path / "catalog"))
    first, *later = catalog.days()
    end_ns = max(batch.end_ns for batch in catalog.batches([first]))
    assert prune_older(catalog, DAY_NS, end_ns + DAY_NS) == []
    gone = prune_older(catalog, DAY_NS, end_ns + DAY_NS + 1)
    assert [day["day"] for day in gone] == [first]
    assert catalog.days() == later
    assert check(catalog) == []


@pytest.fixture(scope="module")
def damaged(undisturbed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog of whose batch with the job 48190 every Parquet file is cut off."""
    catalog = Path(shutil.copytree(undisturbed, tmp_path_factory.mktemp("damaged") / "catalog"))
    for file in find_job(Catalog(catalog), "48190").batch.place.glob("*.parquet"):
        file.write_bytes(file.read_bytes()[:-100])
    return catalog


@pytest.mark.parametrize("words", [words for words in COMMANDS if "prune" not in words])
def test_a_damaged_file_is_one_line_and_nothing_is_lost(words, damaged, jobs, tmp_path, monkeypatch):
    monkeypatch.setenv("SLICEWISE_CATALOG", str(damaged))
    monkeypatch.chdir(tmp_path)
    before = {file: file.read_bytes() for file in damaged.rglob("*.parquet")}
    places = {"CATALOG": damaged, "JOBS": jobs, "PAGE": tmp_path / "page.html"}
    done = slicewise_command(*(places.get(word, word) for word in words.split()))
    assert (done.status, done.text) == (2, "")
    file, _, told = done.errors.removeprefix("slicewise: ").partition(": ")
    assert Path(file) in before
    assert told.startswith("is damaged: it has ")
    assert told.endswith(f"; see: slicewise catalog verify {damaged}\n")
    assert not (tmp_path / "page.html").exists()
    assert all(file.read_bytes() == content for file, content in before.items())


def test_the_way_out_of_damage_that_verify_names_is_one(damaged, undisturbed, jobs, tmp_path):
    catalog = Path(shutil.copytree(damaged, tmp_path / "catalog"))
    done = slicewise_command("catalog", "verify", catalog, "--json")
    assert done.status == 1
    wrong = json.loads(done.text)
    assert all("move this directory out of the catalog and ingest again" in one["what"] for one in wrong)
    (place,) = {one["place"] for one in wrong}
    shutil.rmtree(place)
    slicewise_command("catalog", "ingest", catalog, jobs)
    assert_equal(contents(catalog), contents(undisturbed))


def test_an_error_that_no_damage_explains_is_a_defect(undisturbed, monkeypatch):
    def fails(self, name, batches=None):
        return pl.LazyFrame().select("no such column")

    opened_here.clear()  # other tests' catalogs of this process
    monkeypatch.setattr(Catalog, "scan", fails)
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        slicewise_command("catalog", "list", undisturbed)


def test_what_a_journal_says_counts_as_done(undisturbed, tmp_path):
    """A process that was killed between the journal and what it says: readers see the new state, and no job twice."""
    catalog = Catalog(shutil.copytree(undisturbed, tmp_path / "catalog"))
    before = contents(catalog.path)

    class Killed(Exception):
        pass

    class Cut(Writing):
        def finish(self):
            if (self.catalog.path / ".journal.json").exists():
                raise Killed

    old = catalog.batches()[0]
    with pytest.raises(Killed):
        Cut(catalog).put({old.day: {name: old.read(name) for name in old.rows}}, [old])
    assert_equal(before, contents(catalog.path))
    with catalog.locked():
        pass
    assert catalog._journal() == Journal({}, [])
    assert not old.place.exists()
    assert_equal(before, contents(catalog.path))


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [(1, "a")],
        [(1, "a"), (1, "a"), (1, "b"), (2, "a")],
        [(1, "a"), (1, "b"), (1, "a")],
        [(1, "a"), (2, "b"), (1, "c")],
        [(1, "b"), (1, None), (2, "a")],
    ],
)
def test_frames_are_sorted_also_where_they_seem_to_be(rows):
    frame = pl.DataFrame(rows, schema={"number": pl.UInt64, "name": pl.String}, orient="row")
    assert in_order(frame, ["number", "name"]).equals(frame.sort("number", "name"))


def test_a_profile_is_the_same_by_whatever_path(jobs, tmp_path):
    (tmp_path / "link").symlink_to(jobs)
    found, by_link = places([jobs / "anna"]), places([tmp_path / "link" / "anna"])
    assert [place.fingerprint(b"") for place in found] == [place.fingerprint(b"") for place in by_link]
    assert len(places([jobs / "anna", tmp_path / "link" / "anna"])) == len(found) > 0
    (file,) = list(found[0].path.glob("*.swz"))[:1]
    (tmp_path / "file.swz").symlink_to(file)
    assert len(places([file, tmp_path / "file.swz"])) == 1


def test_a_catalog_lies_anywhere(jobs, undisturbed, tmp_path):
    """Also where a name looks like a pattern."""
    catalog = tmp_path / "all* jobs? [2026]"
    done = slicewise_command("catalog", "ingest", catalog, jobs)
    assert "added" in done.text, done.errors
    assert_equal(contents(catalog), contents(undisturbed))
    assert find_job(Catalog(catalog), "48213").row["processes"] == 60


def start(catalog: Path, jobs: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", SLOWLY, catalog, jobs], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_killed_at_any_moment_it_goes_on_where_it_was(jobs, undisturbed, tmp_path):
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    expected = contents(undisturbed)
    process = start(tmp_path / "catalog", jobs)
    before = time.monotonic()
    assert process.wait(60) == 0
    longest = time.monotonic() - before
    for kill in range(KILLS):
        catalog = tmp_path / f"catalog-{kill}"
        process = start(catalog, jobs)
        time.sleep(chance.uniform(0, longest))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert check(Catalog(catalog)) == [], seed
        ingest(Catalog(catalog), places([jobs]), rows_a_batch=1, jobs_at_once=2)
        assert_equal(contents(catalog), expected)


def test_two_at_once_make_what_one_makes(jobs, undisturbed, tmp_path):
    expected = contents(undisturbed)
    for pair in range(PAIRS):
        catalog = tmp_path / f"catalog-{pair}"
        both = [start(catalog, jobs) for _ in range(2)]
        assert [process.wait(60) for process in both] == [0, 0]
        assert_equal(contents(catalog), expected)


def test_hashed_names_are_nowhere_in_the_catalog(jobs, tmp_path):
    catalog = tmp_path / "catalog"
    answer_of("catalog", "ingest", catalog, jobs / "anna", "--names", "hash")
    opened = Catalog(catalog)
    assert not opened.has_names
    assert stat.S_IMODE((catalog / ".salt").stat().st_mode) == 0o600
    assert stat.S_IMODE(catalog.stat().st_mode) == 0o700
    assert find_job(opened, "48213").row["processes"] == 60
    texts = [
        value
        for name in FRAMES
        for column in opened.scan(name).collect().get_columns()
        if column.dtype == pl.String
        for value in column.unique()
    ]
    # Among the digits of a hash may be those of the job.
    assert not any(re.search(r"(?<![0-9a-f])48213(?![0-9a-f])|anna|/scratch/out", text) for text in texts)
    for name, columns in NAMES.items():
        assert set(columns) <= set(FRAMES[name].columns)
    plain = contents_of(jobs / "anna", tmp_path / "plain")
    hashed = contents(catalog)
    # Keys are salted as well: whoever knows the processes' ids could try names until one fits.
    assert set(plain["jobs"]["key"]).isdisjoint(hashed["jobs"]["key"])
    amounts = [frames["job_slices"].drop("key").sort("storage", "slice", "write_bytes") for frames in (plain, hashed)]
    assert amounts[0].equals(amounts[1])
    assert plain["jobs"]["user"].to_list() != hashed["jobs"]["user"].to_list()


def contents_of(jobs: Path, catalog: Path) -> dict[str, pl.DataFrame]:
    ingest(Catalog.make(catalog), places([jobs]))
    return contents(catalog)


def test_the_command_names_what_it_leaves_out(jobs, tmp_path):
    catalog = tmp_path / "catalog"
    done = slicewise_command("catalog", "ingest", catalog, jobs, "--json")
    assert done.status == 1
    assert done.errors.count("\n") == 1
    assert "empty: is empty" in done.errors
    (told,) = json.loads(done.text)
    assert (told["added"], told["known"], len(told["unread"])) == (14, 1, 1)
    assert slicewise_command("catalog", "verify", catalog).status == 0
    again = slicewise_command("catalog", "ingest", catalog, jobs / "anna")
    assert (again.status, again.text) == (0, f"{catalog}: 0 jobs added, 2 known already\n")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("verify", "nowhere"), "nowhere: is no catalog; make one with: slicewise catalog ingest nowhere PROFILE..."),
        (("ingest", "full", "jobs"), "full: holds other files and is no catalog; name an empty or a new directory"),
        (("ingest", "new", "nothing"), "nothing: there is no .swz file in it or below; give a directory with profiles"),
        (("prune", "nowhere", "--older-than", "soon"), "--older-than soon: is no age; give one such as 90d, 12w or 2y"),
    ],
)
def test_bad_input_is_one_line(words, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nothing").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    done = refusal_of("catalog", *words)
    assert done.startswith(f"slicewise: {line}")


def test_an_index_says_which_batches_need_not_be_read(undisturbed, tmp_path):
    catalog = Catalog(shutil.copytree(undisturbed, tmp_path / "catalog"))
    named = [(batch, set(batch.read("jobs")["job"])) for batch in catalog.batches()]
    for batch, own in named:
        assert all(batch.may_have([number_of_name(name)]) for name in own)
        assert all(batch.may_have([0, key, 1]) for key in batch.read("jobs")["key"])
        assert not batch.may_have([number_of_name(name) for _, names in named for name in names - own])
    kept = find_job(catalog, "48213")
    for batch in catalog.batches():
        (batch.place / "_jobs.index").unlink()  # as in a catalog of an older version
    assert find_job(catalog, "48213") == kept


def test_a_job_that_is_not_there_or_not_alone_is_told(jobs, undisturbed):
    catalog = Catalog(undisturbed)
    with pytest.raises(UserError, match="no such job in the catalog"):
        find_job(catalog, "nobody")
    key = find_job(catalog, "48213").key
    assert find_job(catalog, f"{key:016x}").job == "48213"
