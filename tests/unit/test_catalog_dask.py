"""A catalog's work on Dask workers: the same frames as without them, also if a worker is killed in the middle."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from slicewise.analysis.site.worst import worst
from slicewise.catalog.answers import ANSWERS
from slicewise.catalog.check import check
from slicewise.catalog.find import places
from slicewise.catalog.ingest import Ingested, ingest
from slicewise.catalog.schema import FRAMES
from slicewise.catalog.store import ASIDE, Catalog
from slicewise.errors import UserError
from slicewise.running import dask_workers
from slicewise.running.dask_workers import DaskWorkers, local_cluster, workers_at
from support.command_line import answer_of, refusal_of, slicewise_command
from support.jobs import write_competing_jobs, write_job

ALWAYS = (0, 2**62)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight jobs of several days, one of them there twice, and a profile that cannot be read."""
    directory = tmp_path_factory.mktemp("jobs")
    write_competing_jobs(directory)
    for number in range(6):
        begin = number * 12_000
        write_job(directory / f"9{number:02}", 2, 1, {range(begin, begin + 5): 50.0})
    shutil.copytree(directory / "903", directory / "copy" / "903")
    (directory / "empty").mkdir()
    (directory / "empty" / "n1.swz").write_bytes(b"")
    return directory


@pytest.fixture(scope="module")
def expected(jobs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Catalog, Ingested]:
    catalog = Catalog.make(tmp_path_factory.mktemp("expected") / "catalog")
    return catalog, ingest(catalog, places([jobs]))


@pytest.fixture(scope="module")
def workers():
    """A scheduler and two workers, each a process."""
    cluster = local_cluster(2)
    workers = DaskWorkers(cluster.scheduler_address)
    yield workers
    workers.close()
    cluster.close()


def assert_same(one: Catalog, other: Catalog) -> None:
    assert check(one) == []
    for name, frame in FRAMES.items():
        found, due = (catalog.scan(name).collect().sort(frame.keys) for catalog in (one, other))
        assert found.equals(due), name


def test_workers_give_what_this_process_gives(jobs, expected, workers, tmp_path):
    catalog = Catalog.make(tmp_path / "catalog")
    assert ingest(catalog, places([jobs]), jobs_at_once=3, workers=workers) == expected[1]
    assert_same(catalog, expected[0])
    assert not (catalog.path / ASIDE).exists()
    first, second = (worst(catalog, *ALWAYS, 10, hands) for hands in (workers, None))
    assert first.rows.equals(second.rows)
    assert first.rows.height == 2
    assert (first.asked, first.of, first.most_unasked) == (second.asked, second.of, second.most_unasked)
    shutil.rmtree(catalog.path / ANSWERS)
    on_workers = worst(catalog, *ALWAYS, None, workers)
    shutil.rmtree(catalog.path / ANSWERS)
    here = worst(catalog, *ALWAYS)
    assert on_workers.rows.equals(here.rows)
    assert on_workers.beside == here.beside
    page = "--html", tmp_path / "page.html"
    done = answer_of("catalog", "page", catalog.path, "--dask", workers._client.scheduler_info()["address"], *page)
    assert slicewise_command("catalog", "page", catalog.path, *page).text == done


def test_a_killed_worker_loses_and_doubles_nothing(jobs, expected, workers, tmp_path):
    calls, killed = [], []

    def kill_one(*done: int) -> None:
        calls.append(done)
        if len(calls) == 3:  # the first one tells what is known already, the second one that a task is done
            killed.extend(workers._client.run(os.getpid).values())
            os.kill(killed[0], signal.SIGKILL)

    catalog = Catalog.make(tmp_path / "catalog")
    done = ingest(catalog, places([jobs]), kill_one, rows_a_batch=1, jobs_at_once=1, workers=workers)
    assert killed
    assert done == expected[1]
    assert_same(catalog, expected[0])
    assert not (catalog.path / ASIDE).exists()


def test_errors_of_a_task_come_as_they_are(workers):
    with pytest.raises(ZeroDivisionError):
        list(workers.each(divmod, [(4, 2), (1, 0)]))
    with pytest.raises(FileNotFoundError):
        list(workers.each(os.listdir, [("/nowhere",)]))


def test_without_dask_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match=r"Dask is not installed; install it with: pip install 'slicewise\[dask\]'"):
        workers_at("local").__enter__()


def test_a_scheduler_that_is_not_there_is_one_line(monkeypatch, expected):
    monkeypatch.setattr(dask_workers, "FIRST_SECONDS", 0.3)
    with pytest.raises(UserError, match="no scheduler answers"):
        workers_at("tcp://127.0.0.1:9").__enter__()
    done = refusal_of("catalog", "worst", expected[0].path, "--dask", "nonsense://nowhere")
    assert "no scheduler answers" in done
