"""A catalog of which any byte is another one gives the same answer or one line, never another number or a traceback."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slicewise.catalog import store, sums
from slicewise.catalog.answers import Answers
from slicewise.catalog.check import check
from slicewise.catalog.find import places
from slicewise.catalog.ingest import MOST_BATCHES, ingest
from slicewise.catalog.kept import find_job
from slicewise.catalog.store import Catalog
from slicewise.errors import UserError
from support.command_line import Done, json_of, slicewise_command
from support.earlier_catalogs import without_sums
from support.jobs import write_competing_jobs, write_job

ABOUT, JOURNAL, BATCH_ABOUT, INDEX = "catalog.json", ".journal.json", "_batch.json", "_jobs.index"
SOUND_JOURNAL = b'{"installs": {}, "removes": []}'
HUGE = b"9" * 5000
COMMANDS = (
    "catalog list CATALOG", "catalog show CATALOG 48190",
    "catalog worst CATALOG --since 2020-01-01", "catalog quality CATALOG",
    "catalog page CATALOG --since 2020-01-01 --html PAGE", "catalog ingest CATALOG JOBS",
    "catalog prune CATALOG --older-than 1d", "report 48190 --detail", "report 48190 --html PAGE",
    "blame 48190 --html PAGE",
)  # fmt: skip
MUTATIONS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "no JSON": lambda content: b"\xff\0" + content,
    "a list": lambda content: b"[1, 2]",
    "a number": lambda content: b"7",
    "another object": lambda content: b'{"jobs": []}',
    "nested": lambda content: b"[" * 100_000,
    "huge numbers": lambda content: content.replace(b": 1", b": " + HUGE).replace(b"[]", b"[" + HUGE + b"]"),
    "large numbers": lambda content: content.replace(b": 1", b": 1" + b"0" * 40).replace(b"[]", b"[1e400]"),
    "numbers as texts": lambda content: content.replace(b": 1", b': "1').replace(b"[]", b'"day=1/batch=1"'),
    "no numbers": lambda content: content.replace(b": 1", b": null, \"x\": 1").replace(b"[]", b"[null]"),
    "other places": lambda content: content.replace(b'"jobs"', b'"../jobs"').replace(b"[]", b'["/etc"]'),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is remembered of these catalogs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("jobs")
    write_competing_jobs(directory)
    return directory


@pytest.fixture(scope="module")
def sound(jobs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    catalog = Catalog.make(tmp_path_factory.mktemp("sound") / "catalog")
    assert ingest(catalog, places([jobs])).added == 2
    assert check(catalog) == []
    return catalog.path


@pytest.fixture(scope="module")
def answer(sound: Path) -> bytes:
    return asked(sound).output


@pytest.fixture
def catalog(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalog of one's own. That of no other test has been opened."""
    monkeypatch.setattr(store, "opened_here", set())
    monkeypatch.setattr("slicewise.catalog.check.opened_here", store.opened_here)
    return Path(shutil.copytree(sound, tmp_path / "catalog"))


def asked(catalog: Path) -> Done:
    return slicewise_command("catalog", "show", catalog, "48190", "--json")


def one_line(done: Done, catalog: Path, file: Path) -> str:
    """What a command that met damage says of a file, or of the catalog's format; it has done nothing else."""
    assert (done.status, done.output) == (2, b"")
    assert done.errors.count("\n") == 1
    assert done.errors.startswith((f"slicewise: {file}: ", f"slicewise: {catalog}: is a catalog of format "))
    return done.errors


def record_of(catalog: Path, name: str) -> Path:
    """The file of that name; a journal that says nothing, if there was none."""
    if name == BATCH_ABOUT:
        (file,) = catalog.glob(f"day=*/batch=*/{BATCH_ABOUT}")
        return file
    if name == JOURNAL:
        (catalog / JOURNAL).write_bytes(SOUND_JOURNAL)
    return catalog / name


@contextmanager
def changed(file: Path, content: bytes) -> Iterator[None]:
    before = file.read_bytes()
    file.write_bytes(content)
    try:
        yield
    finally:
        file.write_bytes(before)


def flipped(content: bytes, place: int) -> bytes:
    """The content with one bit that is another one."""
    byte, bit = divmod(place % (8 * len(content)), 8)
    return content[:byte] + bytes([content[byte] ^ 1 << bit]) + content[byte + 1 :]


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_flipped_bit_gives_the_same_answer_or_one_line(data, sound, answer):
    files = sorted(file for file in sound.rglob("*") if file.is_file() and file.stat().st_size)
    file = data.draw(st.sampled_from(files))
    with changed(file, flipped(file.read_bytes(), data.draw(st.integers(0, 1 << 40)))):
        done = asked(sound)
        assert (done.status, done.output) == (0, answer) or one_line(done, sound, file)


def test_a_flipped_bit_is_told_in_whatever_table_it_is(sound):
    (batch,) = Catalog(sound).batches()
    assert {"jobs", "processes", "storages", "process_slices", "job_slices", "files"} <= set(batch.rows)
    for number, name in enumerate(batch.rows):
        file = batch.file(name)
        content = file.read_bytes()
        with changed(file, flipped(content, 1000 * number + 35)):
            (wrong,) = check(Catalog(sound))
            assert wrong["place"] == str(batch.place)
            assert wrong["what"].startswith(f"{name}.parquet is damaged: its checksum is not the one")
            for read in (Catalog(sound).scan, batch.read):
                with pytest.raises(UserError, match="is damaged: its checksum"):
                    read(name)
    assert check(Catalog(sound)) == []


@pytest.mark.parametrize("mutation", sorted(MUTATIONS))
@pytest.mark.parametrize("name", [ABOUT, JOURNAL, BATCH_ABOUT])
def test_a_damaged_record_is_one_line(name, mutation, catalog):
    file = record_of(catalog, name)
    content = MUTATIONS[mutation](file.read_bytes())
    if content == file.read_bytes():
        content = b""  # there is nothing of the kind in it
    with changed(file, content):
        one_line(asked(catalog), catalog, file)
        if name == ABOUT:
            return
        done = slicewise_command("catalog", "verify", catalog, "--json")
        assert (done.status, done.errors) == (1, "")
        (wrong,) = json.loads(done.text)
        assert wrong["place"] == str(file if name == JOURNAL else file.parent)
        assert "out of the catalog and ingest again" in wrong["what"]


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("name", [ABOUT, JOURNAL, BATCH_ABOUT])
def test_every_command_tells_a_damaged_record_in_one_line_and_nothing_is_lost(
    name, words, catalog, jobs, tmp_path, monkeypatch
):
    monkeypatch.setenv("SLICEWISE_CATALOG", str(catalog))
    monkeypatch.chdir(tmp_path)
    file = record_of(catalog, name)
    aside = catalog / ".aside" / "batch=1" / "jobs.parquet"
    aside.parent.mkdir(parents=True)
    aside.write_bytes(b"of a batch that a journal may speak of")
    file.write_bytes(file.read_bytes()[:-5])
    before = {one: one.read_bytes() for one in catalog.rglob("*") if one.is_file() and one.name != ".lock"}
    if name == BATCH_ABOUT:
        before.pop(aside)  # no journal speaks of it
    named = {"CATALOG": catalog, "JOBS": jobs, "PAGE": tmp_path / "page.html"}
    one_line(slicewise_command(*(named.get(word, word) for word in words.split())), catalog, file)
    assert not named["PAGE"].exists()
    assert all(one.read_bytes() == content for one, content in before.items())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_record_with_any_other_value_is_the_same_answer_or_one_line(data, sound, answer):
    """Without its own checksum, too: as somebody else may write it."""
    (file,) = sound.glob(f"day=*/batch=*/{BATCH_ABOUT}")
    about = json.loads(file.read_bytes())
    if data.draw(st.booleans()):
        about.pop("own_crc32")
    inside = data.draw(st.sampled_from([about, about["rows"], about["bytes"], about["crc32"]]))
    name = data.draw(st.sampled_from(sorted(inside)) | st.text(max_size=5))
    inside[name] = data.draw(VALUES)
    with changed(file, json.dumps(about).encode()):
        done = asked(sound)
        is_same = (done.status, done.output) == (0, answer)
        # Where no checksum speaks for the record, a sound time may be another one, and its jobs lie elsewhere.
        elsewhere = "own_crc32" not in about and name in ("start_ns", "end_ns")
        assert is_same or elsewhere or one_line(done, sound, Path(done.errors.split(": ")[1]))


@pytest.mark.parametrize("name", ["jobs.parquet", "storages.parquet", BATCH_ABOUT])
def test_a_missing_file_is_told_as_missing(name, catalog, monkeypatch):
    (batch,) = Catalog(catalog).batches()
    (batch.place / name).unlink()
    assert f"{name}: is missing; see: slicewise catalog verify" in one_line(asked(catalog), catalog, batch.place / name)
    monkeypatch.setenv("SLICEWISE_CATALOG", str(catalog))
    assert "is missing; see:" in one_line(slicewise_command("report", "48190"), catalog, batch.place / name)
    done = slicewise_command("catalog", "verify", catalog)
    assert (done.status, done.errors) == (1, "")
    assert f"{batch.place}: {name} is missing; move this directory out of the catalog" in done.text


def test_a_catalog_of_an_earlier_build_is_read_and_what_is_unchecked_is_told(catalog, answer, monkeypatch):
    without_sums(catalog)
    monkeypatch.setattr(sums, "crc32_of", lambda file: pytest.fail(f"{file}: there is nothing to compare"))
    assert (asked(catalog).output, asked(catalog).errors) == (answer, "")
    done = slicewise_command("catalog", "verify", catalog)
    assert (done.status, done.errors.count("\n")) == (0, 1)
    assert "no checksums in 1 batch, which an early build wrote: a bit that changed there is not found" in done.errors
    (batch,) = Catalog(catalog).batches()
    with changed(batch.file("jobs"), batch.file("jobs").read_bytes()[:-50]):
        assert "jobs.parquet: cannot be read: " in asked(catalog).errors
    (batch.place / INDEX).write_bytes(flipped((batch.place / INDEX).read_bytes(), 9))
    (wrong,) = check(Catalog(catalog))
    assert f"{INDEX} is not the one of its jobs" in wrong["what"]


def test_what_was_sound_today_is_not_read_again(catalog, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    real, read = sums.crc32_of, []

    def counted(file):
        read.append(file.name)
        return real(file)

    def as_a_new_process():
        monkeypatch.setattr(sums, "_sound", (0, set()))
        read.clear()

    monkeypatch.setattr(sums, "crc32_of", counted)
    as_a_new_process()
    asked(catalog)
    assert {"jobs.parquet", "storages.parquet", INDEX} <= set(read)
    assert len(read) == len(set(read))
    as_a_new_process()
    asked(catalog)
    assert read == []
    slicewise_command("catalog", "verify", catalog)  # all of it, each time
    assert len(read) == len(Catalog(catalog).batches()[0].rows) + 1
    file = Catalog(catalog).batches()[0].file("jobs")
    file.touch()
    as_a_new_process()
    asked(catalog)
    assert read == ["jobs.parquet"]
    as_a_new_process()
    monkeypatch.setattr(sums, "SECONDS_A_DAY", 1)  # it is another day
    asked(catalog)
    assert "storages.parquet" in read


@pytest.mark.parametrize("content", [b"", b"no numbers", b"\xff" * 4096])
def test_a_cache_that_cannot_be_used_is_none(content, catalog, answer, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sums, "_sound", (0, set()))
    file = tmp_path / "cache" / "slicewise" / "checked"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    assert asked(catalog).output == answer
    file.unlink()
    file.mkdir()
    monkeypatch.setattr(sums, "_sound", (0, set()))
    assert asked(catalog).output == answer


def test_damage_is_never_copied_into_another_batch(catalog, tmp_path):
    """Batches of a day are put together, and each file is compared before, whatever was sound today."""
    for number in range(MOST_BATCHES - 1):
        place = write_job(tmp_path / f"small-{number}", 1, 1, {range(10 * number, 10 * number + 4): 20.0})
        ingest(Catalog(catalog), places([place]))
    batch = next(one for one in Catalog(catalog).batches() if one.jobs == 1)
    before = {one: one.read_bytes() for one in catalog.rglob("*.parquet")}
    file = batch.file("process_slices")
    file.write_bytes(flipped(before[file], 800))
    place = write_job(tmp_path / "another", 1, 1, {range(200, 204): 20.0})
    line = one_line(slicewise_command("catalog", "ingest", catalog, place), catalog, file)
    assert "is damaged: its checksum" in line
    assert all(one.exists() for one in before)
    file.write_bytes(before[file])
    assert check(Catalog(catalog)) == []
    assert find_job(Catalog(catalog), "another").job == "another"  # it came in before


def test_a_journal_of_a_batch_that_is_nowhere_takes_nothing_away(catalog, answer, jobs):
    (batch,) = Catalog(catalog).batches()
    place = f"{batch.place.parent.name}/{batch.place.name}"
    told = {"installs": {f"{place}0": f".aside/{batch.place.name}0"}, "removes": [place]}
    (catalog / JOURNAL).write_text(json.dumps(told))
    assert "it speaks of a batch that is nowhere" in one_line(asked(catalog), catalog, catalog / JOURNAL)
    one_line(slicewise_command("catalog", "ingest", catalog, jobs), catalog, catalog / JOURNAL)
    (wrong,) = check(Catalog(catalog))
    assert wrong["what"].endswith("move this file and .aside out of the catalog and ingest again")
    (catalog / JOURNAL).unlink()
    assert asked(catalog).output == answer


def test_a_damaged_index_hides_no_job(catalog, answer):
    (batch,) = Catalog(catalog).batches()
    (batch.place / INDEX).write_bytes(bytes((batch.place / INDEX).stat().st_size))
    assert asked(catalog).output == answer
    (wrong,) = check(Catalog(catalog))
    assert wrong["what"].startswith(f"{INDEX} is damaged")


def test_a_damaged_answer_is_asked_again(catalog):
    question = ("catalog", "worst", catalog, "--since", "2020-01-01", "--ask", 2, "--json")
    first = slicewise_command(*question)
    assert first.status == 0, first.errors
    kept = sorted((catalog / ".answers").iterdir())
    assert kept
    for file in kept:
        content = file.read_bytes()
        for place in (0, 37, 8 * len(content) // 2, 8 * len(content) - 1):
            file.write_bytes(flipped(content, place))
            name = file.name.rpartition("-")[0]
            assert Answers(Catalog(catalog)).read(name) is None
    assert slicewise_command(*question).output == first.output


@pytest.mark.parametrize("content", [b"", bytes(32), bytes(31)])
def test_another_salt_lets_no_job_in_twice(content, jobs, tmp_path):
    catalog = tmp_path / "catalog"
    assert slicewise_command("catalog", "ingest", catalog, jobs, "--names", "hash").status == 0
    (catalog / ".salt").write_bytes(content)
    for words in (("ingest", catalog, jobs), ("show", catalog, "48190")):
        one_line(slicewise_command("catalog", *words), catalog, catalog / ".salt")
    key = json_of("catalog", "list", catalog)[0]["key"]
    assert slicewise_command("catalog", "list", catalog, "--user", "1").status == 2
    assert len(key) == 16
