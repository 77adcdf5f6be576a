"""What a catalog answers about its jobs, and that its jobs are taken wherever a profile is."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.blame.case import case_of
from slicewise.analysis.site import worst as site_worst
from slicewise.analysis.site.at_once import neighbourhood_of_jobs
from slicewise.analysis.site.worst import head, worst
from slicewise.catalog.answers import ANSWERS
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.kept import find_job
from slicewise.catalog.neighbours import partners
from slicewise.catalog.store import Catalog
from support.command_line import answer_of, json_of, refusal_of, slicewise_command
from support.earlier_catalogs import without_sums
from support.jobs import write_competing_jobs, write_job

LAST = 1 << 62


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two competing jobs, two quiet earlier runs of the smaller one, and somebody on another day."""
    directory = tmp_path_factory.mktemp("jobs")
    write_competing_jobs(directory, quiet_runs=2)
    write_job(directory / "50000", 4, 4, {range(40_000, 40_020): 10.0}, program="/opt/other", ending="killed")
    return directory


@pytest.fixture(scope="module")
def catalog(jobs: Path, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    opened = Catalog.make(tmp_path_factory.mktemp("catalog") / "site")
    assert ingest(opened, places([jobs])).added == 5
    return opened


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ["48002", "48001", "48190", "48213", "50000"]),
        (("--program", "simulation"), ["48213"]),
        (("--storage", "/scratch", "--until", "2023-11-15T00:00+00:00"), ["48002", "48001", "48190", "48213"]),
        (("--storage", "/nowhere"), []),
        (("--since", "2023-11-15T12:00+00:00"), ["50000"]),
        (("--user", "0", "--account", "none"), []),
        (("--slowdown", "1.5", "--program", "postproc"), ["48190"]),
    ],
)
def test_list_filters(catalog, words, expected):
    assert [row["job"] for row in json_of("catalog", "list", catalog.path, *words)] == expected


def test_list_of_a_directory_is_that_of_a_catalog(jobs, catalog):
    assert json_of("list", jobs) == json_of("catalog", "list", catalog.path)
    assert "48213" in slicewise_command("list", jobs).text


def test_show_says_who_was_there(catalog):
    (row,) = json_of("catalog", "show", catalog.path, "48190")
    (storage,) = row["storages"]
    assert (storage["point"], storage["type"]) == ("/scratch", "lustre")
    (partner,) = row["partners"]
    assert (partner["job"], partner["storage"], partner["seconds"]) == ("48213", "/scratch", 51 * 4)
    text = slicewise_command("catalog", "show", catalog.path, "48190").text
    assert "48213" in text
    assert "/scratch (lustre, mds1:/scratch)" in text


def test_partners_agree(catalog):
    job, other = (find_job(catalog, name) for name in ("48190", "48213"))
    (of_job,), (of_other,) = (partners(catalog, one).to_dicts() for one in (job, other))
    assert (of_job["key"], of_other["key"]) == (other.key, job.key)
    assert of_job["seconds"] == of_other["seconds"] == 204
    assert "catalog overlaps is now: slicewise catalog show here 48213" in refusal_of(
        "catalog", "overlaps", "here", "48213"
    )


def test_quality_names_what_is_missing(jobs, catalog, tmp_path):
    assert [row["job"] for row in json_of("catalog", "quality", catalog.path)] == []
    assert len(json_of("catalog", "quality", catalog.path, "--all")) == 5
    part = tmp_path / "48213"
    part.mkdir()
    for name in ("n1.swz", "n2.swz"):
        shutil.copy(jobs / "48213" / name, part)
    content = bytearray((part / "n2.swz").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (part / "n2.swz").write_bytes(content)
    opened = Catalog.make(tmp_path / "catalog")
    assert ingest(opened, places([part])).damaged == 1
    (row,) = json_of("catalog", "quality", opened.path)
    assert (row["job"], row["is_good"], row["damage"]) == ("48213", False, 1)
    assert row["missing_ranks"] >= 36
    assert "1 job of 1 is incomplete" in slicewise_command("catalog", "quality", opened.path).text


@pytest.mark.parametrize(("unseen", "is_good"), [(200 << 10, True), (300 << 10, False)])
def test_what_the_loader_reads_for_itself_makes_no_job_a_bad_one(catalog, tmp_path, unseen, is_good):
    opened = Catalog(shutil.copytree(catalog.path, tmp_path / "catalog"))
    without_sums(opened.path)
    for file in opened.path.rglob("coverage.parquet"):
        unseen_reads = pl.lit(unseen, pl.UInt64), pl.lit(0, pl.UInt64)
        columns = [value.alias(name) for value, name in zip(unseen_reads, ("read_kernel", "read_seen"), strict=True)]
        frame = pl.read_parquet(file)
        frame.with_columns(one.cast(frame.schema[one.meta.output_name()]) for one in columns).write_parquet(file)
    compared = [row for row in json_of("catalog", "quality", opened.path, "--all") if row["read_seen"] is not None]
    assert {row["is_good"] for row in compared} == {is_good}
    assert {row["read_seen"] for row in compared} == {0.0}


def test_files_of_an_older_version_lack_columns(catalog, monkeypatch, tmp_path):
    opened = Catalog(shutil.copytree(catalog.path, tmp_path / "catalog"))
    without_sums(opened.path)
    for name in ("jobs", "processes"):
        for file in opened.path.rglob(f"{name}.parquet"):
            pl.read_parquet(file).drop("command", "directory").write_parquet(file)
    shutil.rmtree(opened.path / ANSWERS, ignore_errors=True)
    assert {one["command"] for one in json_of("catalog", "list", opened.path)} == {None}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLICEWISE_CATALOG", str(opened.path))
    (blamed,) = [json_of("blame", "48190")]
    assert (blamed["command"], blamed["lost_seconds"]["value"] > 0) == (None, True)
    more = write_job(tmp_path / "new" / "48999", 1, 1, {range(4): 1.0}, first_node=50)
    assert ingest(Catalog(opened.path), places([more])).added == 1
    assert {one["command"] for one in json_of("catalog", "list", opened.path)} == {None, ""}


def test_a_kept_job_is_blamed_as_its_profile_is(jobs, catalog, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLICEWISE_CATALOG", str(catalog.path))
    kept, plain = case_of(Path("48190")), case_of(jobs / "48190")
    assert [run.job for run in kept.found] == [run.job for run in plain.found] == ["48001", "48002"]
    ours, theirs = kept.result(), plain.result()
    assert (ours.lost, ours.confidence) == (theirs.lost, theirs.confidence)
    assert [(one.job, one.lost) for one in ours.neighbours] == [(one.job, one.lost) for one in theirs.neighbours]
    assert ours.slices.equals(theirs.slices)
    done = answer_of("blame", "48190")
    assert f"From the catalog {catalog.path}: beside it 48213, and standalone runs 48001 and 48002." in done
    assert (tmp_path / "blame-48190.html").exists()


def test_who_does_not_own_the_catalog_sees_load_and_no_names(catalog, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLICEWISE_CATALOG", str(catalog.path))
    monkeypatch.setattr("slicewise.catalog.store.os.geteuid", lambda: 12345)
    text = slicewise_command("blame", "48190").text
    assert "another job (A)" in text
    assert "48213" not in text
    assert "48213" not in (tmp_path / "blame-48190-anonymous.html").read_text(encoding="utf-8")
    compared = slicewise_command("compare", "48001", "48190").text
    assert "48213" not in slicewise_command("report", "48190").text
    assert "48213" not in compared


@pytest.mark.parametrize("command", ["overlap", "compare"])
def test_commands_take_names_of_kept_jobs(command, jobs, catalog, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    plain = slicewise_command(command, jobs / "48213", jobs / "48190", "--html", tmp_path / "page.html", "--json")
    monkeypatch.setenv("SLICEWISE_CATALOG", str(catalog.path))
    kept = answer_of(command, "48213", "48190", "--html", tmp_path / "page.html", "--json")
    ours, theirs = json.loads(kept), json.loads(plain.text)
    assert ours.keys() == theirs.keys()
    if command == "overlap":
        assert ours["region"] == theirs["region"]
        assert ours["jobs"] == theirs["jobs"]


def test_a_name_that_no_catalog_knows_is_told(catalog, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLICEWISE_CATALOG", str(catalog.path))
    done = refusal_of("blame", "nobody")
    assert done.startswith("slicewise: nobody: no such job in the catalog")


def test_worst_names_who_lost_and_who_cost(catalog):
    found = worst(catalog, 0, LAST, 10)
    assert (found.asked, found.of, found.most_unasked) == (2, 2, 0.0)
    first = found.rows.row(0, named=True)
    assert first["job"] == "48213"
    assert first["program"] == "simulation"
    lost = found.rows.filter(pl.col("job") == "48190")["lost_seconds"].item()
    assert first["caused_seconds"] == pytest.approx(lost)
    assert lost == pytest.approx(204 * (1 - 19 / 102), rel=0.1)
    rows = json_of("catalog", "worst", catalog.path, "--until", "2023-11-15")
    assert set(rows[0]) == {"key", "job", "user", "program", "lost_seconds", "caused_seconds", "confidence"}
    many, _ = neighbourhood_of_jobs(catalog, 0, LAST, 1000)
    bounds = many.jobs_with_company(catalog.days()).select("key", "at_most_seconds")
    assert dict(bounds.iter_rows())[find_job(catalog, "48190").key] >= lost
    (user,) = json_of("catalog", "worst", catalog.path, "--until", "2023-11-15", "--by", "user")
    assert user == {
        "user": first["user"], "jobs": 2, "lost_seconds": pytest.approx(sum(found.rows["lost_seconds"])),
        "caused_seconds": pytest.approx(sum(found.rows["caused_seconds"])),
        "caused_most_seconds": pytest.approx(sum(found.rows["caused_seconds"])), "confidence": first["confidence"],
    }  # fmt: skip
    text = slicewise_command("catalog", "worst", catalog.path, "--until", "2023-11-15", "--by", "program").text
    assert [line.split()[:2] for line in text.splitlines()[1:]] == [
        ["program", "jobs"], ["simulation", "1"], ["postproc", "1"],
    ]  # fmt: skip
    assert "2 jobs with a profile shared a file system with another job at the same time; each was asked" in text


def test_who_lost_most_is_told_beside_who_cost_most():
    rows = pl.DataFrame(
        {"job": list("abcdef"), "lost_seconds": [0.0, 0, 0, 0, 7, 900], "caused_seconds": [9.0, 8, 7, 6, 0, 0]}
    )
    assert head(rows, 4)["job"].to_list() == ["a", "b", "e", "f"]
    assert head(rows, 3)["job"].to_list() == ["a", "b", "f"]
    assert head(rows, 50).equals(rows)
    assert head(rows.with_columns(lost_seconds=pl.lit(0.0)), 2)["job"].to_list() == ["a", "b"]


def test_worst_names_whom_it_did_not_ask_and_asks_nobody_twice(catalog, monkeypatch):
    shutil.rmtree(catalog.path / ANSWERS, ignore_errors=True)
    first = worst(catalog, 0, LAST, 1)
    assert (first.asked, first.of, first.unasked.height) == (1, 2, 1)
    assert 0 < first.most_unasked == first.all_unasked
    (rest,) = json_of("catalog", "worst", catalog.path, "--until", "2023-11-15", "--ask", "1", "--unasked")
    assert rest["at_most_seconds"] == pytest.approx(first.most_unasked)
    asked = worst(catalog, 0, LAST, 2)
    assert (asked.asked, asked.unasked.height) == (2, 0)
    monkeypatch.setattr(site_worst, "_answer", lambda *_: pytest.fail("asked again"))
    assert worst(catalog, 0, LAST, 2).rows.equals(asked.rows)


def test_answers_go_with_the_jobs_that_they_are_about(catalog, tmp_path):
    shutil.copytree(catalog.path, tmp_path / "site")
    site = Catalog(tmp_path / "site")
    worst(site, 0, LAST, 2)
    kept = set((site.path / ANSWERS).glob("blame-*"))
    write_job(tmp_path / "new" / "48999", 1, 1, {range(4): 1.0}, first_node=50)
    ingest(site, places([tmp_path / "new"]))
    worst(site, 0, LAST, 2)
    others = set((site.path / ANSWERS).glob("blame-*"))
    assert len(others) == len(kept)
    assert others != kept


def test_a_file_that_went_meanwhile_is_asked_for_again(catalog, monkeypatch):
    real, asked = Catalog.batches, []

    def gone_at_first(self, days=None):
        asked.append(days)
        if len(asked) == 1:
            raise FileNotFoundError("jobs.parquet")
        return real(self, days)

    monkeypatch.setattr(Catalog, "batches", gone_at_first)
    assert len(json_of("catalog", "list", catalog.path)) == 5

    def always_gone(self, days=None):
        raise FileNotFoundError("jobs.parquet")

    monkeypatch.setattr(Catalog, "batches", always_gone)
    done = refusal_of("catalog", "list", catalog.path)
    assert "the catalog changes while it is read" in done


@pytest.mark.parametrize("question", ["list", "worst", "quality", "verify"])
def test_an_empty_catalog_answers(question, tmp_path):
    Catalog.make(tmp_path / "catalog")
    done = slicewise_command("catalog", question, tmp_path / "catalog")
    if question == "worst":
        assert (done.status, done.errors.count("\n")) == (2, 1)
        assert "is empty; fill it with: slicewise catalog ingest" in done.errors
    else:
        assert (done.status, done.errors) == (0, "")
