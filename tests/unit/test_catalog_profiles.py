"""A job that a catalog keeps is taken by every command that takes a profile, also when its profile is gone."""

import ast
from pathlib import Path

import pytest
from slicewise.catalog.find import places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.store import Catalog
from support.command_line import answer_of, json_of, refusal_of, slicewise_command
from support.jobs import write_competing_jobs, write_job

COMMANDS = Path(__file__).resolve().parents[2] / "analyzer" / "slicewise" / "commands"
# What reads a profile without asking the catalog. `run` reads what it has just made.
READERS = {"read_digest", "read_digests"}


def made(directory: Path) -> Path:
    """Two competing jobs and a quiet run, in profiles and in a catalog."""
    write_competing_jobs(directory / "jobs")
    write_job(directory / "jobs" / "48001", 12, 12, {range(-400, -360): 102.0}, first_node=6, program="/opt/postproc")
    ingest(Catalog.make(directory / "catalog"), places([directory / "jobs"]))
    return directory


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A site whose profiles lie where they were, and one whose profiles are gone."""
    whole, bare = (made(tmp_path_factory.mktemp(name)) for name in ("whole", "bare"))
    (bare / "jobs").rename(bare / "gone")
    return whole, bare


@pytest.fixture
def whole(sites, tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("SLICEWISE_CATALOG", str(sites[0] / "catalog"))
    monkeypatch.chdir(tmp_path)
    return sites[0]


@pytest.fixture
def bare(sites, tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("SLICEWISE_CATALOG", str(sites[1] / "catalog"))
    monkeypatch.chdir(tmp_path)
    return sites[1]


def test_commands_ask_the_catalog_too():
    for file in sorted(COMMANDS.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module == "slicewise.digest.digest":
                assert READERS.isdisjoint(name.name for name in node.names), f"{file.name}: see catalog/sources.py"


@pytest.mark.parametrize(
    "words",
    [
        ("report", "--detail", "JOB", "--phases", "--json"),
        ("report", "JOB", "--json", "--html", "/dev/null"),
        ("export", "JOB", "--format", "csv"),
    ],
)
def test_a_kept_job_is_told_as_its_profile_where_that_still_lies(whole, words):
    kept, plain = (
        slicewise_command(*(job if word == "JOB" else word for word in words))
        for job in ("48213", whole / "jobs" / "48213")
    )
    assert kept.status == 0, kept.errors
    assert kept.text == plain.text


@pytest.mark.parametrize(
    "words",
    [
        ("report", "--detail", "48213"),
        ("report", "48213"),
        ("turns", "policy", "48213", "48190", "--alone", "48001"),
        ("turns", "probability", "48213", "48190"),
        ("predict", "--copies", "48190", "--capacity", "2GiB/s"),
        ("export", "48213", "--format", "ftio"),
        ("export", "48213", "--format", "folded"),
    ],
)
def test_a_kept_job_is_taken_though_its_profile_is_gone(bare, words):
    done = answer_of(*words)
    if words[0] == "report":
        assert "which keeps sums over layers, files alone, and no sizes, latencies or errors of calls" in done


def test_what_a_catalog_does_not_keep_is_missing_and_not_zero(bare):
    kept = json_of("report", "--detail", "48213")
    known = json_of("report", "--detail", bare / "gone" / "48213")
    assert set(kept["totals"]) == {"all"}
    assert set(kept["by_object"]) == {"file"}
    assert kept["by_object"]["file"].items() <= known["by_object"]["file"].items()
    assert kept["mounts"][0].items() <= known["mounts"][0].items()
    record = json_of("report", "48213")
    assert (record["sizes"], record["latencies"]) == ([], [])
    page = Path("report-48213.html").read_text(encoding="utf-8")
    assert "keeps sums over layers" in page
    assert "calls that failed" not in page


def test_what_needs_the_profile_itself_says_so(bare):
    done = refusal_of("export", "48213", "--format", "csv")
    assert f"are not in the catalog, and its profile is not at {bare}/jobs/48213 as it was" in done


def test_a_profile_that_has_changed_is_not_taken_for_the_kept_job(whole):
    file = next((whole / "jobs" / "48001").glob("*.swz"))
    file.write_bytes(file.read_bytes() + b"x")
    assert "has changed" in slicewise_command("report", "--detail", "48001").text
