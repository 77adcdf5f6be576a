"""What tests of the preloaded library share."""

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from _pytest.nodeid import NodeId
from support.programs import BUILD, Apps, Job, job_in

# To rewrite the assertions of all tests takes seconds in each process, and where it is kept, once.
sys.dont_write_bytecode, sys.pycache_prefix = False, str(BUILD / "pycache")

GROUP = "xdist_group"
pytest_plugins = ["support.second_look", "support.skips"]

# What a property takes on a loaded machine says nothing about the property. `make soak` tries more examples.
hypothesis.settings.register_profile(
    "untimed", deadline=None, max_examples=int(os.environ.get("PROPERTY_EXAMPLES", "20"))
)
hypothesis.settings.load_profile("untimed")


def pytest_configure() -> None:
    """Begun in the background or by nohup, tests find signals ignored, and so would programs that are to answer them.
    What has a handler is the default again in programs, and ends the tests no more than before.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda number, frame: None)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Tests for which their file makes something once are in one process: each further one would make it, too."""
    used = item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ()
    if any(fixture.scope == "module" for found in used for fixture in found) and not item.get_closest_marker(GROUP):
        item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one xdist_group run in one process: pytest-xdist 3.8 writes it to where pytest 9.2 does not look."""
    for item in items:
        if "_nodeid" in vars(item):
            item._id = NodeId.parse(vars(item)["_nodeid"])


def pytest_collection_finish() -> None:
    """As the command does: new objects are looked through for garbage rarely, and what was imported never."""
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture(scope="session")
def apps() -> Apps:
    """The programs of tests/apps."""
    return Apps()


@pytest.fixture(scope="session", autouse=True)
def sessions_of_open_mpi() -> Iterator[None]:
    """Two commands of Open MPI that begin at once may both make its directory of a host, and one then fails."""
    with tempfile.TemporaryDirectory(prefix="mpi-") as folder, pytest.MonkeyPatch.context() as patch:
        Path(folder).chmod(0o1777)
        patch.setenv("OMPI_MCA_orte_tmpdir_base", folder)
        yield


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    """A job of the test's own, with its own place for segments."""
    with job_in(tmp_path) as job:
        yield job


@pytest.fixture(autouse=True)
def witnessed_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every chart that a test has drawn in its own process is compared with what Plotly's package makes of it."""
    style = sys.modules.get("slicewise.charts.style")
    if style is not None:
        from support.plotly_witness import WitnessedFigure

        monkeypatch.setattr(style, "Figure", WitnessedFigure)
